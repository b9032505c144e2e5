#include "tests/support/table_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/serving_processor.h"
#include "tests/support/checkpoint.h"
#include "tests/support/checkpoint_folder.h"

enum { DIM = 16, DENSE = 4, NAME_SIZE = 64, MAX_TENSORS = 1 + 3 * SP_TABLE_MODEL_TABLES };

static const char *const names[SP_TABLE_MODEL_TABLES] = {"first", "second", "third"};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

void sp_table_model_init(sp_table_model *model,
			 const size_t key_counts[static SP_TABLE_MODEL_TABLES])
{
	*model = (sp_table_model){.model = NULL};
	memcpy(model->key_counts, key_counts, sizeof(model->key_counts));
	sp_temp_make(model->work);
	snprintf(model->checkpoints, sizeof(model->checkpoints), "%.480s/checkpoints", model->work);
	sp_checkpoint_folder_make(model->checkpoints);
}

void sp_table_model_close(sp_table_model *model)
{
	serving_processor_destroy(model->model);
	model->model = NULL;
}

void sp_table_model_fini(sp_table_model *model)
{
	sp_table_model_close(model);
	sp_temp_remove(model->work);
}

void sp_table_model_open(sp_table_model *model, const char *more)
{
	char config[4 * SP_PATH_SIZE], all[SP_PATH_SIZE];
	serving_processor_error *error = NULL;

	snprintf(all, sizeof(all), ", \"update_poll_interval_ms\": 20 %s", more);
	sp_checkpoint_folder_config(config, sizeof(config), model->checkpoints, "ev-tables", all);
	model->model = serving_processor_create(config, &error);
	if (model->model == NULL)
		fprintf(stderr, "%s\n", serving_processor_error_text(error));
	serving_processor_error_free(error);
}

/* ------------------------------------------------------------------ versions */

static void *filled(size_t count, size_t size)
{
	void *out = calloc(count + 1, size);

	if (out == NULL)
		die("memory");
	return out;
}

static sp_checkpoint_tensor vector(const char *name, const int64_t *data, int64_t count)
{
	return (sp_checkpoint_tensor){
		.name = name, .dtype = SP_INT64, .rank = 1, .dims = {count, 0}, .data = data};
}

/* Keys, rows and, when they are said, versions, in the order of their names. */
static size_t add_table(sp_checkpoint_tensor *to, char text[3][NAME_SIZE], const char *name,
			size_t count, const sp_table_model_version *v)
{
	const char *middle = v->delta > 0 ? "-sparse_incr" : "";
	int64_t *keys = filled(count, sizeof(*keys)), *steps = filled(count, sizeof(*steps));
	int64_t rows = (int64_t)count;

	for (size_t i = 0; i < count; i++) {
		keys[i] = (int64_t)i;
		steps[i] = v->changed;
	}
	snprintf(text[0], NAME_SIZE, "%s%s%s", name, middle, v->delta > 0 ? "_keys" : "-keys");
	snprintf(text[1], NAME_SIZE, "%s%s%s", name, middle, v->delta > 0 ? "_values" : "-values");
	snprintf(text[2], NAME_SIZE, "%s%s%s", name, middle,
		 v->delta > 0 ? "_versions" : "-versions");
	to[0] = vector(text[0], keys, rows);
	to[1] = (sp_checkpoint_tensor){.name = text[1],
				       .dtype = SP_FLOAT,
				       .rank = 2,
				       .dims = {rows, DIM},
				       .value = v->value};
	to[2] = vector(text[2], steps, rows);
	return v->changed != 0 ? 3 : 2;
}

/* Written apart and then moved, data first: the watcher never sees the one without the other. */
static void move_in(const char *from, const char *to)
{
	static const char *const endings[] = {"data-00000-of-00001", "index"};
	char old[SP_PATH_SIZE + 32], new[SP_PATH_SIZE + 32];

	for (int i = 0; i < 2; i++) {
		snprintf(old, sizeof(old), "%s.%s", from, endings[i]);
		snprintf(new, sizeof(new), "%s.%s", to, endings[i]);
		if (rename(old, new) != 0)
			die(new);
	}
}

static void apart_of(const sp_table_model *model, char path[SP_PATH_SIZE])
{
	snprintf(path, SP_PATH_SIZE, "%.480s/apart", model->work);
}

void sp_table_model_prepare(const sp_table_model *model, const sp_table_model_version *v)
{
	char text[SP_TABLE_MODEL_TABLES][3][NAME_SIZE], apart[SP_PATH_SIZE];
	sp_checkpoint_tensor tensors[MAX_TENSORS];
	size_t count = 1;

	tensors[0] = (sp_checkpoint_tensor){.name = "dense",
					    .dtype = SP_FLOAT,
					    .rank = 1,
					    .dims = {DENSE, 0},
					    .value = v->value};
	for (int i = 0; i < SP_TABLE_MODEL_TABLES; i++) {
		size_t added = add_table(tensors + count, text[i], names[i], model->key_counts[i],
					 v);

		if (added == 2)
			free((void *)tensors[count + 2].data);
		count += added;
	}
	apart_of(model, apart);
	sp_checkpoint_write(apart, tensors, count, 1);
	for (size_t i = 0; i < count; i++)
		free((void *)tensors[i].data);
}

void sp_table_model_publish(const sp_table_model *model, const sp_table_model_version *v)
{
	char apart[SP_PATH_SIZE], prefix[SP_PATH_SIZE];

	apart_of(model, apart);
	if (v->delta > 0)
		snprintf(prefix, sizeof(prefix),
			 "%s/v1/.incremental_checkpoint/incremental_model.ckpt-%d",
			 model->checkpoints, v->delta);
	else
		snprintf(prefix, sizeof(prefix), "%s/v1/model.ckpt-%d", model->checkpoints,
			 v->full);
	move_in(apart, prefix);
}

void sp_table_model_write(const sp_table_model *model, const sp_table_model_version *v)
{
	sp_table_model_prepare(model, v);
	sp_table_model_publish(model, v);
}

/* ------------------------------------------------------------------- answers */

/* The one value of all elements; *consistent is cleared when there are several. */
static float value_of(const serving_processor_result *result, size_t i, bool *consistent)
{
	const serving_processor_tensor *tensor = serving_processor_result_tensor(result, i);
	const float *at = tensor->data;

	for (size_t k = 1; k < tensor->count; k++)
		if (at[k] != at[0])
			*consistent = false;
	return at[0];
}

sp_table_model_answer sp_table_model_ask(const sp_table_model *model)
{
	static const char *const outputs[] = {"first",       "second", "third",
					      "first_again", "fixed",  "dense"};
	static const int64_t keys[] = {1, 2}, dims[] = {2};
	serving_processor_tensor input = {.name = "keys",
					  .dtype = SERVING_PROCESSOR_INT64,
					  .rank = 1,
					  .dims = dims,
					  .count = 2,
					  .data = keys};
	sp_table_model_answer out = {.answered = false};
	serving_processor_result *result;

	if (serving_processor_run(model->model, NULL, &input, 1, outputs, 6, &result, NULL) !=
	    SERVING_PROCESSOR_OK)
		return out;
	out.answered = out.consistent = true;
	for (size_t i = 0; i < SP_TABLE_MODEL_TABLES; i++)
		out.tables[i] = value_of(result, i, &out.consistent);
	out.dense = value_of(result, 5, &out.consistent);
	if (value_of(result, 3, &out.consistent) != out.tables[0] ||
	    value_of(result, 4, &out.consistent) != out.tables[1])
		out.consistent = false;
	serving_processor_result_free(result);
	return out;
}

bool sp_table_model_await(const sp_table_model *model, float value)
{
	for (int i = 0; i < 2000; i++) {
		sp_table_model_answer a = sp_table_model_ask(model);

		if (a.tables[0] == value && a.tables[1] == value && a.tables[2] == value &&
		    a.dense == value)
			return true;
		usleep(5000);
	}
	return false;
}

bool sp_table_model_await_state(const sp_table_model *model, const char *text)
{
	for (int i = 0; i < 2000; i++) {
		char *json = serving_processor_versions(model->model);
		bool found = json != NULL && strstr(json, text) != NULL;

		serving_processor_free(json);
		if (found)
			return true;
		usleep(5000);
	}
	return false;
}
