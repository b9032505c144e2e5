#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "processor/config/config.h"
#include "tests/support/fuzz.h"

/* Any text as a configuration. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *merged;
	sp_config config;
	sp_error err;

	if (text == NULL)
		abort();
	sp_log_set_level(SP_LOG_ERROR);
	if (size != 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (sp_config_parse(&config, text, &err) == SP_OK)
		sp_config_fini(&config);
	sp_config_read_log_keys(&config, text);
	sp_config_fini(&config);
	if (sp_config_override(&merged, text, "{\"model_name\": \"x\"}", &err) == SP_OK)
		sp_free(merged);
	free(text);
	return 0;
}
