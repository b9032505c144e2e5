#include <stdlib.h>

#include "engine/kernels/protobuf_reader.h"
#include "engine/ops/json_example.h"
#include "tests/support/fuzz.h"

/* Any text, into room of exactly the stated size; what comes out is protobuf. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *out = malloc(sp_json_example_room(size));
	sp_json_key *keys = calloc(sp_json_example_keys(size), sizeof(*keys));
	size_t out_size;

	if (out == NULL || keys == NULL)
		abort();
	if (sp_json_example_read((sp_bytes){(const char *)data, size}, out, &out_size, keys) ==
	    NULL) {
		sp_bytes rest = {out, out_size};

		if (out_size > sp_json_example_room(size))
			abort();
		while (rest.size > 0)
			if (!sp_protobuf_skip_field(&rest))
				abort();
	}
	free(out);
	free(keys);
	return 0;
}
