#include "api/host/predict/signature.h"

const sp_host_signature *sp_host_signature_find(const sp_host_signatures *set, sp_bytes name)
{
	for (size_t i = 0; i < set->count; i++)
		if (sp_bytes_equal_text(name, set->signatures[i].name))
			return &set->signatures[i];
	return NULL;
}
