#include "api/host/predict/signature.h"

const sp_host_signature *sp_host_signature_find(const sp_host_signatures *set, sp_bytes name)
{
	if (name.size == 0)
		return set->fallback;
	for (size_t i = 0; i < set->count; i++)
		if (sp_bytes_equal_text(name, set->signatures[i].name))
			return &set->signatures[i];
	return NULL;
}

sp_status sp_host_signature_get(const sp_host_signature **out, const sp_host_signatures *set,
				sp_bytes name, sp_error *err)
{
	*out = sp_host_signature_find(set, name);
	return *out != NULL
		       ? SP_OK
		       : sp_error_set(err, SP_NOT_FOUND,
				      "Serving signature name: \"%.*s\" not found in signature def",
				      sp_bytes_shown(name, 200), name.data);
}
