#include "api/host/samples/sample_message.h"

#include "api/host/messages/examples_message.h"
#include "api/host/messages/message_fields.h"
#include "api/host/messages/message_writer.h"
#include "api/host/messages/predict_message.h"
#include "base/wire.h"

enum {
	LOG_METADATA = 1, /* of PredictionLog */
	LOG_CLASSIFY = 2,
	LOG_REGRESS = 3,
	LOG_PREDICT = 6,

	METADATA_SPEC = 1,
	METADATA_SAMPLING = 2,
	METADATA_SECONDS = 4,

	SAMPLING_RATE = 1,

	LOGGED_REQUEST = 1, /* of all logs */
	LOGGED_RESPONSE = 2,
};

static void put_metadata(sp_buffer *out, const sp_sample *sample, const sp_model_spec *answered)
{
	size_t metadata = sp_message_open(out, LOG_METADATA), sampling;
	double rate = sample->servable->sampling->rate;

	sp_model_spec_append(out, METADATA_SPEC, answered);
	sampling = sp_message_open(out, METADATA_SAMPLING);
	sp_buffer_append_char(out, SAMPLING_RATE << 3 | SP_WIRE_FIXED64);
	sp_buffer_append(out, &rate, sizeof(rate));
	sp_message_close(out, sampling);
	sp_message_put_number(out, METADATA_SECONDS, (uint64_t)sample->unix_seconds);
	sp_message_close(out, metadata);
}

/* A ClassificationRequest or RegressionRequest. */
static void put_examples(sp_buffer *out, const sp_sample *sample, const sp_model_spec *spec)
{
	const serving_processor_bytes *examples = sample->request->inputs[0].data;
	size_t input, list;

	sp_model_spec_append(out, SP_REQUEST_SPEC, spec);
	input = sp_message_open(out, SP_EXAMPLES_INPUT);
	list = sp_message_open(out, SP_INPUT_LIST);
	for (size_t i = 0; i < sample->request->inputs[0].count; i++)
		sp_message_put_bytes(out, SP_LIST_EXAMPLES,
				     (sp_bytes){examples[i].data, examples[i].size});
	sp_message_close(out, list);
	sp_message_close(out, input);
}

static uint32_t kind_of(const sp_sample *sample)
{
	if (sample->examples == NULL)
		return LOG_PREDICT;
	return sample->examples->method == SP_EXAMPLES_CLASSIFY ? LOG_CLASSIFY : LOG_REGRESS;
}

sp_status sp_sample_message_encode(sp_buffer *out, const sp_sample *sample, sp_error *err)
{
	const sp_model_spec asked = {
		.name = sp_bytes_of(sample->servable->model->name),
		.signature_name = sp_bytes_of(sample->request->signature->name)};
	sp_model_spec answered = asked;
	size_t log, part;

	answered.has_version = true;
	answered.version = sample->servable->version;
	put_metadata(out, sample, &answered);
	log = sp_message_open(out, kind_of(sample));
	part = sp_message_open(out, LOGGED_REQUEST);
	if (sample->examples != NULL)
		put_examples(out, sample, &asked);
	else
		SP_TRY(sp_predict_message_encode_request(out, sample->request, &asked, err));
	sp_message_close(out, part);
	part = sp_message_open(out, LOGGED_RESPONSE);
	if (sample->examples != NULL)
		SP_TRY(sp_examples_message_encode(out, sample->examples, &answered, err));
	else
		SP_TRY(sp_predict_message_encode(out, sample->result->tensors,
						 sample->result->count, &answered,
						 SP_TENSOR_IN_FIELDS, err));
	sp_message_close(out, part);
	sp_message_close(out, log);
	return out->failed ? sp_no_memory(err, "a logged request") : SP_OK;
}
