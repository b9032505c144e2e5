#include "api/serving_processor.h"

#include <stdio.h>

#include "api/handle.h"
#include "base/alloc.h"
#include "base/log.h"
#include "processor/request/predict_codec.h"

void *initialize(const char *model_entry, const char *model_config, int *state)
{
	sp_handle *handle = NULL;
	sp_config about = {0};
	const char *outer;
	sp_error error;

	(void)model_entry;
	if (sp_handle_open(&handle, model_config, &error) != SP_OK) {
		if (model_config != NULL)
			sp_config_read_log_keys(&about, model_config);
		outer = sp_log_set_subject(about.model_name);
		sp_log(SP_LOG_ERROR, "[TensorFlow] Processor initialize failed, status: %s",
		       error.text);
		sp_log_set_subject(outer);
		sp_config_fini(&about);
	}
	if (state != NULL)
		*state = handle != NULL ? 0 : -1;
	return handle;
}

int process(void *model_buf, const void *input_data, int input_size, void **output_data,
	    int *output_size)
{
	return sp_handle_process(model_buf, NULL, input_data, input_size, output_data, output_size);
}

int batch_process(void *model_buf, const void *input_data[], int *input_size, void *output_data[],
		  int *output_size)
{
	bool has_input = input_data != NULL && input_size != NULL;

	/* sp_handle_process() rejects a size of -1. */
	return sp_handle_process(model_buf, NULL, has_input ? input_data[0] : NULL,
				 has_input ? input_size[0] : -1, output_data, output_size);
}

static sp_status model_info(sp_handle *handle, void **output_data, int *output_size, sp_error *err)
{
	sp_version *live;
	sp_status status;
	size_t size;

	if (handle == NULL)
		return sp_error_set(err, SP_INVALID, "the model is NULL");
	live = sp_processor_acquire(handle->processor);
	status = sp_model_info_encode(output_data, &size, live->checkpoint_prefix, err);
	sp_processor_release(live);
	if (status == SP_OK)
		*output_size = (int)size;
	return status;
}

int get_serving_model_info(void *model_buf, void **output_data, int *output_size)
{
	char text[SP_ERROR_TEXT_SIZE + 64];
	sp_error error;
	int size;

	if (output_data == NULL || output_size == NULL)
		return 500;
	if (model_info(model_buf, output_data, output_size, &error) == SP_OK)
		return 200;
	size = snprintf(text, sizeof(text),
			"[TensorFlow] Processor get serving model info failed: %s", error.text);
	*output_data = sp_alloc_text(text);
	*output_size = *output_data != NULL ? size : 0;
	return 500;
}
