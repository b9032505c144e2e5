#include <stdlib.h>

#include "model_loader/proto/saved_model.pb-c.h"
#include "model_loader/saved_model.h"
#include "model_loader/text_format.h"
#include "tests/support/fuzz.h"

/* Any bytes as a saved_model.pbtxt. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_arena *arena = sp_arena_create(1 << 16);
	sp_saved_model model;
	sp_buffer bytes;
	sp_error err;

	if (arena == NULL)
		abort();
	if (sp_text_format_encode(&bytes, &sp_pb__saved_model__descriptor,
				  (sp_bytes){(const char *)data, size}, &err) == SP_OK) {
		sp_status status = sp_saved_model_parse(&model, bytes.data, bytes.size, NULL, arena,
							&err);

		(void)status; /* whatever it is */
	}
	sp_buffer_fini(&bytes);
	sp_arena_destroy(arena);
	return 0;
}
