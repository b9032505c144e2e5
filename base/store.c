#include "base/store.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic(const sp_store *) registered;

void sp_store_register(const sp_store *store)
{
	atomic_store(&registered, store);
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool sp_store_is_remote(const char *path)
{
	const char *at = path;

	if (!is_letter(*at))
		return false;
	while (is_letter(*at) || (*at >= '0' && *at <= '9') || *at == '+' || *at == '-' ||
	       *at == '.')
		at++;
	return strncmp(at, "://", 3) == 0;
}

sp_status sp_store_get(const sp_store **out, const char *path, sp_error *err)
{
	*out = atomic_load(&registered);
	if (*out != NULL)
		return SP_OK;
	return sp_error_set(err, SP_UNSUPPORTED,
			    "%s is no local path, and object stores are not read here", path);
}
