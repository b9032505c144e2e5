#include "tests/support/embeddings.h"

#include <stdio.h>

#include "tests/support/cmocka.h"
#include "tests/support/paths.h"

enum { STEP = 37 }; /* between two keys */

sp_bundle *sp_embeddings_open(const char *name)
{
	char relative[128], path[SP_PATH_SIZE];
	sp_bundle *bundle;
	sp_error err;

	snprintf(relative, sizeof(relative), "tests/golden/embeddings/%s", name);
	assert_ok(sp_bundle_open(&bundle, sp_source_path(path, relative), &err), &err);
	return bundle;
}

float sp_embeddings_element(int64_t key, size_t d)
{
	return (float)(key % 9973) * 0.5f + (float)d * 0.125f;
}

int64_t sp_embeddings_seen(int64_t key)
{
	return key / STEP % 10 + 1;
}
