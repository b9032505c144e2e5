#include "tests/support/row_model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "base/clock.h"
#include "tests/support/checkpoint_folder.h"

enum { ROW_DIM = 64 };

static void die(const char *what)
{
	perror(what);
	exit(1);
}

void sp_row_model_prefix(const sp_row_model *model, int full, int delta, char out[SP_PATH_SIZE])
{
	const char *format = delta > 0 ? "%s/v1/.incremental_checkpoint/incremental_model.ckpt-%d"
				       : "%s/v1/model.ckpt-%d";

	snprintf(out, SP_PATH_SIZE, format, model->checkpoints, 1000 * full + delta);
}

void sp_row_model_write_full(const sp_row_model *model, int full)
{
	char prefix[SP_PATH_SIZE];
	sp_rows_version version = {.prefix = prefix,
				   .keys = model->keys,
				   .count = model->key_count,
				   .value = 1000.0f * (float)full,
				   .seldom = 1000.0f * (float)full,
				   .shards = model->shards};

	sp_row_model_prefix(model, full, 0, prefix);
	sp_checkpoint_write_rows(&version);
}

/* Delta 0 is none: then it does not matter. */
static int64_t every_of(const sp_row_model *model, int delta)
{
	return delta >= SP_LATE_DELTA ? model->every_late : model->every;
}

void sp_row_model_write_delta(const sp_row_model *model, int full, int delta)
{
	size_t every = (size_t)every_of(model, delta);
	size_t count = (model->key_count + every - 1) / every;
	int64_t *keys = malloc((count + 1) * sizeof(*keys));
	char prefix[SP_PATH_SIZE];
	sp_rows_version version = {.prefix = prefix,
				   .keys = keys,
				   .count = count,
				   .value = 1000.0f * (float)full + (float)delta,
				   .is_delta = 1,
				   .shards = model->shards};

	if (keys == NULL)
		die("memory");
	for (size_t i = 0; i < count; i++)
		keys[i] = (int64_t)(i * every);
	sp_row_model_prefix(model, full, delta, prefix);
	sp_checkpoint_write_rows(&version);
	free(keys);
}

void sp_row_model_remove(const sp_row_model *model, int full, int delta)
{
	static const char *const endings[] = {"index", "data-00000-of-00001", "data-00000-of-00002",
					      "data-00001-of-00002"};
	char prefix[SP_PATH_SIZE], path[SP_PATH_SIZE + 32];

	sp_row_model_prefix(model, full, delta, prefix);
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s.%s", prefix, endings[i]);
		unlink(path);
	}
}

void sp_row_model_init(sp_row_model *model, size_t key_count)
{
	*model = (sp_row_model){.key_count = key_count, .every = 2, .every_late = 2};
	sp_temp_make(model->work);
	snprintf(model->checkpoints, sizeof(model->checkpoints), "%.480s/checkpoints", model->work);
	sp_checkpoint_folder_make(model->checkpoints);
	model->keys = malloc((key_count + 1) * sizeof(*model->keys));
	if (model->keys == NULL)
		die("memory");
	for (size_t i = 0; i < key_count; i++)
		model->keys[i] = (int64_t)i;
	sp_row_model_write_full(model, 1);
}

void sp_row_model_fini(sp_row_model *model)
{
	serving_processor_destroy(model->model);
	sp_temp_remove(model->work);
	free(model->keys);
}

void sp_row_model_open(sp_row_model *model, const char *more)
{
	char config[4 * SP_PATH_SIZE];
	serving_processor_error *error = NULL;

	sp_checkpoint_folder_config(config, sizeof(config), model->checkpoints, "ev-rows", more);
	model->model = serving_processor_create(config, &error);
	if (model->model == NULL)
		fprintf(stderr, "%s\n", serving_processor_error_text(error));
	serving_processor_error_free(error);
}

static bool all_are(const serving_processor_tensor *tensor, size_t first, size_t count,
		    double value)
{
	const float *at = (const float *)tensor->data + first;

	for (size_t i = 0; i < count; i++)
		if ((double)at[i] != value)
			return false;
	return true;
}

/* rows, dense, seldom, product: in the order in which they are asked for below. */
static double check(const sp_row_model *model, const serving_processor_result *result,
		    const int64_t *keys, size_t count)
{
	const serving_processor_tensor *rows = serving_processor_result_tensor(result, 0);
	const serving_processor_tensor *product = serving_processor_result_tensor(result, 3);
	double value = ((const float *)serving_processor_result_tensor(result, 1)->data)[0];
	double full = 1000 * floor(value / 1000);
	int64_t every = every_of(model, (int)(value - full));

	if (!all_are(serving_processor_result_tensor(result, 1), 0, 4, value) ||
	    !all_are(serving_processor_result_tensor(result, 2), 0, 16, full))
		return -2;
	for (size_t i = 0; i < count; i++) {
		double want = keys[i] % every == 0 ? value : full;
		double sum = ((const float *)product->data)[i];

		if (!all_are(rows, i * ROW_DIM, ROW_DIM, want) ||
		    fabs(sum - ROW_DIM * want * value) > 1e-4 * sum)
			return -2;
	}
	return value;
}

double sp_row_model_ask(const sp_row_model *model, const int64_t *keys, size_t count)
{
	int64_t ns;

	return sp_row_model_time(model, keys, count, &ns);
}

double sp_row_model_time(const sp_row_model *model, const int64_t *keys, size_t count, int64_t *ns)
{
	static const char *const outputs[] = {"rows", "dense", "seldom", "product"};
	const int64_t dims[] = {(int64_t)count};
	serving_processor_tensor input = {.name = "keys",
					  .dtype = SERVING_PROCESSOR_INT64,
					  .rank = 1,
					  .dims = dims,
					  .count = count,
					  .data = keys};
	serving_processor_result *result;
	int64_t start = sp_clock_now_ns();
	bool answered = serving_processor_run(model->model, NULL, &input, 1, outputs, 4, &result,
					      NULL) == SERVING_PROCESSOR_OK;
	double value;

	*ns = sp_clock_now_ns() - start;
	if (!answered)
		return -1;
	value = check(model, result, keys, count);
	serving_processor_result_free(result);
	return value;
}

bool sp_row_model_await(const sp_row_model *model, double value)
{
	for (int i = 0; i < 2000; i++) {
		if (sp_row_model_ask(model, model->keys, 2) == value)
			return true;
		usleep(i < 20 ? 500 : 5000);
	}
	return false;
}
