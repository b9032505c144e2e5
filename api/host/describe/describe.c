#include "api/host/describe/describe.h"

#include "api/host/messages/infer_message.h"

enum { STATUSES_ARENA = 16 << 10 };

/* --------------------------------------------------------- TensorFlow Serving */

/* A map of TensorInfo. */
static void put_infos(sp_document *d, const char *name, uint32_t number,
		      const serving_processor_tensor_info *const *infos, size_t count)
{
	enum { NAME = 1, DTYPE, SHAPE, DIM = 2, UNKNOWN_RANK, SIZE = 1 };

	sp_document_open_map(d, name);
	for (size_t i = 0; i < count; i++) {
		const serving_processor_tensor_info *info = infos[i];
		sp_document_mark entry = sp_document_open_entry(d, info->alias, number), shape;

		sp_document_word(d, "dtype", DTYPE, serving_processor_dtype_name(info->dtype),
				 info->dtype);
		shape = sp_document_open(d, "tensor_shape", SHAPE);
		sp_document_open_list(d, "dim");
		for (int k = 0; k < info->rank; k++) {
			sp_document_mark dim = sp_document_open(d, NULL, DIM);

			sp_document_int64(d, "size", SIZE, info->dims[k]);
			sp_document_text(d, "name", 0, (sp_bytes){"", 0});
			sp_document_close(d, dim);
		}
		sp_document_close_list(d);
		sp_document_flag(d, "unknown_rank", UNKNOWN_RANK, info->rank < 0);
		sp_document_close(d, shape);
		sp_document_text(d, "name", NAME, sp_bytes_of(info->tensor_name));
		sp_document_close(d, entry);
	}
	sp_document_close_map(d);
}

void sp_describe_signatures(sp_document *d, const serving_processor_handle *handle)
{
	enum { MAP = 1, INPUTS = 1, OUTPUTS, METHOD };
	size_t count;
	const serving_processor_signature *all = serving_processor_handle_signatures(handle,
										     &count);
	sp_document_mark root = sp_document_open(d, NULL, 0);

	sp_document_open_map(d, "signature_def");
	for (size_t i = 0; i < count; i++) {
		sp_document_mark entry = sp_document_open_entry(d, all[i].name, MAP);

		put_infos(d, "inputs", INPUTS, all[i].inputs, all[i].input_count);
		put_infos(d, "outputs", OUTPUTS, all[i].outputs, all[i].output_count);
		sp_document_text(d, "method_name", METHOD, sp_bytes_of(all[i].method));
		sp_document_open_map(d, "defaults");
		sp_document_close_map(d);
		sp_document_close(d, entry);
	}
	sp_document_close_map(d);
	sp_document_close(d, root);
}

void sp_describe_statuses(sp_document *d, const sp_version_statuses *list)
{
	enum { STATUSES = 1, VERSION = 1, STATE, STATUS, CODE = 1, MESSAGE };
	sp_document_mark root = sp_document_open(d, NULL, 0);

	sp_document_open_list(d, "model_version_status");
	for (size_t i = 0; i < list->count; i++) {
		const sp_version_status *s = &list->items[i];
		sp_document_mark item = sp_document_open(d, NULL, STATUSES), status;

		sp_document_int64(d, "version", VERSION, s->version);
		sp_document_word(d, "state", STATE, sp_version_state_word(s->state), s->state);
		status = sp_document_open(d, "status", STATUS);
		sp_document_word(d, "error_code", CODE, sp_tensorflow_code_name(s->code), s->code);
		sp_document_text(d, "error_message", MESSAGE, s->message);
		sp_document_close(d, status);
		sp_document_close(d, item);
	}
	sp_document_close_list(d);
	sp_document_close(d, root);
}

sp_status sp_describe_selected(sp_document *d, sp_models *models, const sp_model_selector *selector,
			       sp_error *err)
{
	sp_arena *arena = sp_arena_create(STATUSES_ARENA);
	sp_version_statuses list;
	sp_status status;

	if (arena == NULL)
		return sp_no_memory(err, "the versions");
	status = sp_models_statuses(models, selector, &list, arena, err);
	if (status == SP_OK)
		sp_describe_statuses(d, &list);
	sp_arena_destroy(arena);
	return status;
}

/* ------------------------------------------------------------------------- V2 */

#define PLATFORM "tensorflow_savedmodel"

void sp_describe_server(sp_document *d)
{
	enum { NAME = 1, VERSION, EXTENSIONS };
	static const char *const extensions[] = {"model_repository", "model_configuration",
						 "statistics"};
	sp_document_mark root = sp_document_open(d, NULL, 0);

	sp_document_text(d, "name", NAME, sp_bytes_of("serving_host"));
	sp_document_text(d, "version", VERSION, sp_bytes_of(serving_processor_version()));
	sp_document_open_list(d, "extensions");
	sp_document_text(d, NULL, 0, sp_bytes_of("binary_tensor_data")); /* HTTP's */
	for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++)
		sp_document_text(d, NULL, EXTENSIONS, sp_bytes_of(extensions[i]));
	sp_document_close_list(d);
	sp_document_close(d, root);
}

static sp_status find_signature(const serving_processor_signature **out,
				const sp_servable *servable, sp_error *err)
{
	*out = serving_processor_handle_signature(servable->handle,
						  servable->served->signature_name);
	return *out != NULL ? SP_OK
			    : sp_error_set(err, SP_NOT_FOUND, "the model has no default signature");
}

/* A tensor of unknown rank has one length, which is unknown. */
static void put_dims(sp_document *d, const char *name, uint32_t number,
		     const serving_processor_tensor_info *info)
{
	const int64_t unknown = -1;
	bool known = info->rank >= 0;

	sp_document_numbers(d, name, number, known ? info->dims : &unknown,
			    known ? (size_t)info->rank : 1);
}

static void put_tensors(sp_document *d, const char *name, uint32_t number,
			const serving_processor_tensor_info *const *infos, size_t count)
{
	enum { NAME = 1, DATATYPE, SHAPE };

	sp_document_open_list(d, name);
	for (size_t i = 0; i < count; i++) {
		sp_document_mark item = sp_document_open(d, NULL, number);
		const char *datatype = sp_infer_datatype(infos[i]->dtype);

		sp_document_text(d, "name", NAME, sp_bytes_of(infos[i]->alias));
		sp_document_text(d, "datatype", DATATYPE,
				 sp_bytes_of(datatype != NULL ? datatype
					     : d->is_json     ? "INVALID"
							      : ""));
		put_dims(d, "shape", SHAPE, infos[i]);
		sp_document_close(d, item);
	}
	sp_document_close_list(d);
}

static sp_status put_versions(sp_document *d, uint32_t number, sp_models *models, sp_bytes name,
			      sp_arena *arena, sp_error *err)
{
	const sp_model_selector selector = {.name = name};
	sp_version_statuses list;

	SP_TRY(sp_models_statuses(models, &selector, &list, arena, err));
	sp_document_open_list(d, "versions");
	for (size_t i = 0; i < list.count; i++)
		if (list.items[i].state == SP_VERSION_AVAILABLE)
			sp_document_digits(d, NULL, number, list.items[i].version);
	sp_document_close_list(d);
	return SP_OK;
}

sp_status sp_describe_metadata(sp_document *d, sp_models *models, const sp_servable *servable,
			       sp_arena *arena, sp_error *err)
{
	enum { NAME = 1, VERSIONS, PLATFORM_NAME, INPUTS, OUTPUTS };
	const serving_processor_signature *signature;
	sp_bytes name = sp_bytes_of(servable->model->name);
	sp_document_mark root;

	SP_TRY(find_signature(&signature, servable, err));
	root = sp_document_open(d, NULL, 0);
	sp_document_text(d, "name", NAME, name);
	SP_TRY(put_versions(d, VERSIONS, models, name, arena, err));
	sp_document_text(d, "platform", PLATFORM_NAME, sp_bytes_of(PLATFORM));
	put_tensors(d, "inputs", INPUTS, signature->inputs, signature->input_count);
	put_tensors(d, "outputs", OUTPUTS, signature->outputs, signature->output_count);
	sp_document_close(d, root);
	return SP_OK;
}

/* The name and number of ModelConfig's DataType. */
static void put_data_type(sp_document *d, const char *name, uint32_t number, int dtype)
{
	static const struct {
		const char *name;
		int number;
	} types[] = {
		[SERVING_PROCESSOR_BOOL] = {"TYPE_BOOL", 1},
		[SERVING_PROCESSOR_UINT8] = {"TYPE_UINT8", 2},
		[SERVING_PROCESSOR_UINT16] = {"TYPE_UINT16", 3},
		[SERVING_PROCESSOR_UINT32] = {"TYPE_UINT32", 4},
		[SERVING_PROCESSOR_UINT64] = {"TYPE_UINT64", 5},
		[SERVING_PROCESSOR_INT8] = {"TYPE_INT8", 6},
		[SERVING_PROCESSOR_INT16] = {"TYPE_INT16", 7},
		[SERVING_PROCESSOR_INT32] = {"TYPE_INT32", 8},
		[SERVING_PROCESSOR_INT64] = {"TYPE_INT64", 9},
		[SERVING_PROCESSOR_HALF] = {"TYPE_FP16", 10},
		[SERVING_PROCESSOR_FLOAT] = {"TYPE_FP32", 11},
		[SERVING_PROCESSOR_DOUBLE] = {"TYPE_FP64", 12},
		[SERVING_PROCESSOR_STRING] = {"TYPE_STRING", 13},
		[SERVING_PROCESSOR_BFLOAT16] = {"TYPE_BF16", 14},
	};
	bool known = dtype >= 0 && (size_t)dtype < sizeof(types) / sizeof(types[0]) &&
		     types[dtype].name != NULL;

	sp_document_word(d, name, number, known ? types[dtype].name : "TYPE_INVALID",
			 known ? types[dtype].number : 0);
}

static void put_config_tensors(sp_document *d, const char *name, uint32_t number,
			       uint32_t dims_number,
			       const serving_processor_tensor_info *const *infos, size_t count)
{
	enum { NAME = 1, DATA_TYPE };

	sp_document_open_list(d, name);
	for (size_t i = 0; i < count; i++) {
		sp_document_mark item = sp_document_open(d, NULL, number);

		sp_document_text(d, "name", NAME, sp_bytes_of(infos[i]->alias));
		put_data_type(d, "data_type", DATA_TYPE, infos[i]->dtype);
		put_dims(d, "dims", dims_number, infos[i]);
		sp_document_close(d, item);
	}
	sp_document_close_list(d);
}

/*
 * max_batch_size is 0, which tells Triton's clients that shapes have the batch as their first
 * dimension.  Only the message has an object around the configuration.
 */
sp_status sp_describe_config(sp_document *d, const sp_servable *servable, sp_error *err)
{
	enum { CONFIG = 1, NAME = 1, PLATFORM_NAME, MAX_BATCH = 4, INPUT, OUTPUT };
	enum { INPUT_DIMS = 4, OUTPUT_DIMS = 3 };
	const serving_processor_signature *signature;
	sp_document_mark config;

	SP_TRY(find_signature(&signature, servable, err));
	config = sp_document_open(d, NULL, CONFIG);
	sp_document_text(d, "name", NAME, sp_bytes_of(servable->model->name));
	sp_document_text(d, "platform", PLATFORM_NAME, sp_bytes_of(PLATFORM));
	sp_document_text(d, "backend", 0, sp_bytes_of("tensorflow"));
	sp_document_number(d, "max_batch_size", MAX_BATCH, 0);
	put_config_tensors(d, "input", INPUT, INPUT_DIMS, signature->inputs,
			   signature->input_count);
	put_config_tensors(d, "output", OUTPUT, OUTPUT_DIMS, signature->outputs,
			   signature->output_count);
	sp_document_close(d, config);
	return SP_OK;
}

/* A model without versions is written with a status of NULL. */
static void put_index(sp_document *d, const char *name, const sp_version_status *status)
{
	enum { MODELS = 1, NAME = 1, VERSION, STATE, REASON };
	sp_document_mark item = sp_document_open(d, NULL, MODELS);
	const char *state = "UNAVAILABLE";

	sp_document_text(d, "name", NAME, sp_bytes_of(name));
	if (status != NULL) {
		sp_document_digits(d, "version", VERSION, status->version);
		state = sp_version_state_in_index(status->state);
	}
	sp_document_text(d, "state", STATE, sp_bytes_of(state));
	sp_document_text(d, "reason", REASON, status != NULL ? status->message : (sp_bytes){"", 0});
	sp_document_close(d, item);
}

sp_status sp_describe_index(sp_document *d, sp_models *models, bool only_ready, sp_arena *arena,
			    sp_error *err)
{
	const sp_model_summary *all;
	size_t count;

	SP_TRY(sp_models_list(models, &all, &count, arena, err));
	sp_document_open_list(d, NULL);
	for (size_t i = 0; i < count; i++) {
		const char *name = all[i].model->name;
		const sp_model_selector selector = {.name = sp_bytes_of(name)};
		sp_version_statuses list;

		if (sp_models_statuses(models, &selector, &list, arena, NULL) != SP_OK)
			list.count = 0;
		for (size_t k = 0; k < list.count; k++)
			if (!only_ready || list.items[k].state == SP_VERSION_AVAILABLE)
				put_index(d, name, &list.items[k]);
		if (list.count == 0 && !only_ready)
			put_index(d, name, NULL);
	}
	sp_document_close_list(d);
	return SP_OK;
}

static void put_duration(sp_document *d, const char *name, uint32_t number, uint64_t count,
			 uint64_t ns)
{
	enum { COUNT = 1, NS };
	sp_document_mark duration = sp_document_open(d, name, number);

	sp_document_number(d, "count", COUNT, count);
	sp_document_number(d, "ns", NS, ns);
	sp_document_close(d, duration);
}

static void put_statistics(sp_document *d, const sp_model *model)
{
	enum { STATS = 1, NAME = 1, VERSION, COUNT = 4, EXECUTIONS, INFER };
	enum { SUCCESS = 1, FAIL, COMPUTE_INFER = 5 };
	const sp_model_totals totals = sp_model_counters_sum(&model->counters);
	sp_document_mark item = sp_document_open(d, NULL, STATS), infer;

	sp_document_text(d, "name", NAME, sp_bytes_of(model->name));
	sp_document_text(d, "version", VERSION, (sp_bytes){"", 0});
	sp_document_number(d, "inference_count", COUNT, totals.good);
	sp_document_number(d, "execution_count", EXECUTIONS, totals.runs);
	infer = sp_document_open(d, "inference_stats", INFER);
	put_duration(d, "success", SUCCESS, totals.good, totals.good_ns);
	put_duration(d, "fail", FAIL, totals.failed, 0);
	put_duration(d, "compute_infer", COMPUTE_INFER, totals.runs, totals.runs_ns);
	sp_document_close(d, infer);
	sp_document_close(d, item);
}

sp_status sp_describe_statistics(sp_document *d, sp_models *models, sp_bytes name, sp_arena *arena,
				 sp_error *err)
{
	const sp_model_summary *all;
	sp_document_mark root;
	size_t count;

	if (name.size != 0 && sp_models_find(models, name) == NULL)
		return sp_error_set(err, SP_NOT_FOUND,
				    "Servable not found for request: Latest(%.*s)",
				    sp_message_shown(name), name.data);
	SP_TRY(sp_models_list(models, &all, &count, arena, err));
	root = sp_document_open(d, NULL, 0);
	sp_document_open_list(d, "model_stats");
	for (size_t i = 0; i < count; i++)
		if (name.size == 0 || sp_bytes_equal_text(name, all[i].model->name))
			put_statistics(d, all[i].model);
	sp_document_close_list(d);
	sp_document_close(d, root);
	return SP_OK;
}
