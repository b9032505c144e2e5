#include <stdlib.h>
#include <string.h>

#include "api/host/model/config_text.h"
#include "api/host/model/model_config.h"
#include "tests/support/fuzz.h"

/* Any bytes as a file of --model_config_file, in either form. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_arena *arena = sp_arena_create(1 << 12);
	char *text = arena != NULL ? sp_arena_text(arena, (sp_bytes){(const char *)data, size})
				   : NULL;
	const sp_config_field *first;
	sp_model_configs *configs;
	sp_status status;
	sp_error err;

	if (text == NULL)
		abort();
	status = sp_config_text_parse(&first, (sp_bytes){text, size}, arena, &err);
	status = sp_config_json_parse(&first, (sp_bytes){text, size}, arena, &err);
	(void)status; /* whatever it is */
	if (sp_model_configs_parse(&configs, (sp_bytes){text, size}, &err) == SP_OK)
		sp_model_configs_destroy(configs);
	sp_arena_destroy(arena);
	return 0;
}
