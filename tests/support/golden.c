#include "tests/support/golden.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/predict.pb-c.h"

static void die(const char *what, const char *path)
{
	fprintf(stderr, "golden: %s: %s\n", what, path);
	exit(1);
}

/* ---------------------------------------------------------------- folders */

static const char *join(char out[SP_PATH_SIZE], const char *folder, const char *name)
{
	if ((size_t)snprintf(out, SP_PATH_SIZE, "%s/%s", folder, name) >= SP_PATH_SIZE)
		die("path too long", folder);
	return out;
}

char *sp_golden_read(const sp_golden_case *golden, const char *relative, size_t *size)
{
	char path[SP_PATH_SIZE], *data;

	if (sp_file_read(&data, size, join(path, golden->work, relative), 64 << 20, NULL) != SP_OK)
		return NULL;
	return data;
}

static void set_time(const char *path, time_t when)
{
	struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};

	if (utimensat(AT_FDCWD, path, times, 0) != 0)
		die("cannot set the time of", path);
}

/* The newest file named checkpoint tells the version: first all old, then those of "touch". */
static void touch_all(sp_golden_case *golden, const cJSON *list)
{
	char root[SP_PATH_SIZE], path[SP_PATH_SIZE];
	const cJSON *touch;

	join(root, golden->work, "checkpoints");
	cJSON_ArrayForEach (touch, list)
		set_time(join(path, root, touch->valuestring), golden->newest += 10);
}

static void set_checkpoint_times(sp_golden_case *golden)
{
	char command[2 * SP_PATH_SIZE], root[SP_PATH_SIZE];

	golden->newest = time(NULL) - 1000;

	if (!sp_file_is_directory(join(root, golden->work, "checkpoints")))
		return;
	snprintf(command, sizeof(command),
		 "find '%s' -name checkpoint -exec touch -d '2001-01-01' {} +", root);
	if (system(command) != 0)
		die("cannot run", command);
	touch_all(golden, cJSON_GetObjectItem(golden->about, "touch"));
}

/* ---------------------------------------------------------------- timeline */

static const cJSON *step_of(const sp_golden_case *golden, int step)
{
	return cJSON_GetArrayItem(cJSON_GetObjectItem(golden->about, "timeline"), step);
}

static int64_t number_of(const cJSON *live, const char *name)
{
	const cJSON *number = cJSON_GetObjectItem(live, name);

	return cJSON_IsNumber(number) ? (int64_t)number->valuedouble : -1;
}

bool sp_golden_step_of(const sp_golden_case *golden, int step, sp_golden_step *out)
{
	const cJSON *entry = step_of(golden, step), *live = cJSON_GetObjectItem(entry, "live");

	if (entry == NULL)
		return false;
	snprintf(out->requests, sizeof(out->requests), "timeline/%.16s/requests",
		 cJSON_GetObjectItem(entry, "step")->valuestring);
	out->is_new = strcmp(cJSON_GetObjectItem(entry, "expect")->valuestring, "new") == 0;
	snprintf(out->model_path, sizeof(out->model_path), "%s",
		 cJSON_GetObjectItem(live, "model_path")->valuestring);
	out->full_step = number_of(live, "full_step");
	out->delta_step = number_of(live, "delta_step");
	return true;
}

/*
 * The shell copies: first what is neither an index nor `checkpoint`, then the
 * indices, then `checkpoint`, with an old time until it is touched.
 */
static const char copy_script[] =
	"set -e; cd '%s'; to='%s'\n"
	"put() { mkdir -p \"$to/$(dirname \"$1\")\"; cp \"$1\" \"$to/$1.tmp\";\n"
	"  if [ \"$(basename \"$1\")\" = checkpoint ]; then touch -d 2001-01-01 \"$to/$1.tmp\"; "
	"fi\n"
	"  mv \"$to/$1.tmp\" \"$to/$1\"; }\n"
	"find . -type f ! -name '*.index' ! -name checkpoint | while read -r f; do put \"$f\"; "
	"done\n"
	"find . -type f -name '*.index' | while read -r f; do put \"$f\"; done\n"
	"find . -type f -name checkpoint | while read -r f; do put \"$f\"; done\n";

bool sp_golden_play(sp_golden_case *golden, int step)
{
	const cJSON *entry = step_of(golden, step), *gone;
	char command[4 * SP_PATH_SIZE], name[64], from[SP_PATH_SIZE], to[SP_PATH_SIZE];
	char path[SP_PATH_SIZE];

	if (entry == NULL)
		return false;
	snprintf(name, sizeof(name), "timeline/%.16s/checkpoints",
		 cJSON_GetObjectItem(entry, "step")->valuestring);
	join(to, golden->work, "checkpoints");
	if (sp_file_is_directory(join(from, golden->work, name))) {
		snprintf(command, sizeof(command), copy_script, from, to);
		if (system(command) != 0)
			die("cannot run", command);
	}
	touch_all(golden, cJSON_GetObjectItem(entry, "touch"));
	cJSON_ArrayForEach (gone, cJSON_GetObjectItem(entry, "remove"))
		if (unlink(join(path, to, gone->valuestring)) != 0)
			die("cannot remove", path);
	return true;
}

static void open_case(sp_golden_case *golden, const char *folder)
{
	char command[4 * SP_PATH_SIZE], *text;
	size_t size;

	sp_temp_make(golden->work);
	snprintf(command, sizeof(command), "cp -r '%s/.' '%s' && chmod -R u+w '%s'", folder,
		 golden->work, golden->work);
	if (system(command) != 0)
		die("cannot run", command);
	text = sp_golden_read(golden, "case.json", &size);
	golden->about = text != NULL ? cJSON_Parse(text) : NULL;
	free(text);
	if (golden->about == NULL)
		die("no readable case.json", folder);
	set_checkpoint_times(golden);
}

/* Whether this build has what the case's model needs: models of JAX need the front end for
 * StableHLO. */
static bool is_served(const char *name)
{
#ifdef SP_STABLEHLO
	(void)name;
	return true;
#else
	return strncmp(name, "jax-", 4) != 0 && strstr(name, "-jax-") == NULL;
#endif
}

static void visit_folder(const char *root, bool ours, const char *only, sp_golden_visit *visit)
{
	struct dirent **entries;
	int count = scandir(root, &entries, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		sp_golden_case golden = {.ours = ours};
		char folder[SP_PATH_SIZE], about[SP_PATH_SIZE];

		join(folder, root, entries[i]->d_name);
		if (is_served(entries[i]->d_name) &&
		    sp_file_exists(join(about, folder, "case.json")) &&
		    (only == NULL || fnmatch(only, entries[i]->d_name, FNM_EXTMATCH) == 0)) {
			snprintf(golden.name, sizeof(golden.name), "%s", entries[i]->d_name);
			open_case(&golden, folder);
			if (only != NULL || cJSON_GetObjectItem(golden.about, "in_order") == NULL)
				visit(&golden);
			cJSON_Delete(golden.about);
			sp_temp_remove(golden.work);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

void sp_golden_each(const char *only, sp_golden_visit *visit)
{
	const char *more = getenv("SP_GOLDEN_DIR");
	char ours[SP_PATH_SIZE], beside[SP_PATH_SIZE];

	sp_source_path(beside, "../shared/golden");
	visit_folder(sp_source_path(ours, "tests/golden"), true, only, visit);
	visit_folder(more != NULL ? more : beside, false, only, visit);
}

/* The members of the object in $SP_GOLDEN_CONFIG, over those that are there. */
static void add_from_environment(cJSON *config)
{
	const char *text = getenv("SP_GOLDEN_CONFIG");
	cJSON *more = text != NULL ? cJSON_Parse(text) : NULL;

	if (text != NULL && more == NULL)
		die("no JSON in $SP_GOLDEN_CONFIG", text);
	while (more != NULL && more->child != NULL) {
		cJSON *item = cJSON_DetachItemViaPointer(more, more->child);

		cJSON_DeleteItemFromObject(config, item->string);
		cJSON_AddItemToObject(config, item->string, item);
	}
	cJSON_Delete(more);
}

char *sp_golden_config(const sp_golden_case *golden, const char *signature, bool reference)
{
	cJSON *config = cJSON_Duplicate(cJSON_GetObjectItem(golden->about, "model_config"), 1);
	const char *const folders[] = {"savedmodel_dir", "checkpoint_dir"};
	const char *store = getenv("SP_GOLDEN_STORE");
	char path[SP_PATH_SIZE], url[2 * SP_PATH_SIZE], *text;

	for (int i = 0; i < 2; i++) {
		cJSON *folder = cJSON_GetObjectItem(config, folders[i]);

		if (folder == NULL)
			continue;
		join(path, golden->work, folder->valuestring);
		snprintf(url, sizeof(url), "%s%s", store != NULL ? store : "", path);
		cJSON_SetValuestring(folder, url);
	}
	if (signature != NULL)
		cJSON_SetValuestring(cJSON_GetObjectItem(config, "signature_name"), signature);
	if (reference)
		cJSON_AddTrueToObject(config, "reference_kernels");
	add_from_environment(config);
	text = cJSON_PrintUnformatted(config);
	cJSON_Delete(config);
	return text;
}

/* -------------------------------------------------------------- tolerance */

typedef struct measure {
	double rtol;
	double atol;
	bool lenient; /* elements that are wanted not finite are not compared */
} measure;

static void take_tolerance(const cJSON *from, measure *m)
{
	const cJSON *rtol = cJSON_GetObjectItem(from, "rtol");
	const cJSON *atol = cJSON_GetObjectItem(from, "atol");

	m->rtol = rtol != NULL ? rtol->valuedouble : m->rtol;
	m->atol = atol != NULL ? atol->valuedouble : m->atol;
}

static measure measure_for(const sp_golden_case *golden, const char *request, const char *output)
{
	const cJSON *by_output = cJSON_GetObjectItem(golden->about, "tolerance_by_output");
	const cJSON *lenient;
	measure m = {0};

	take_tolerance(cJSON_GetObjectItem(golden->about, "tolerance"), &m);
	take_tolerance(cJSON_GetObjectItem(by_output, output), &m);
	cJSON_ArrayForEach (lenient, cJSON_GetObjectItem(golden->about, "lenient_nonfinite"))
		m.lenient |= strcmp(lenient->valuestring, request) == 0;
	return m;
}

static bool same_number(double got, double want, const measure *m)
{
	if (m->lenient && !isfinite(want))
		return true;
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want);
	if (isinf(got) || isinf(want))
		return got == want;
	return fabs(got - want) <= m->atol + m->rtol * fabs(want);
}

/* --------------------------------------------------------------- protobuf */

static const Tensorflow__Eas__ArrayProto *find_output(
	const Tensorflow__Eas__PredictResponse *response, const char *name)
{
	for (size_t i = 0; i < response->n_outputs; i++)
		if (strcmp(response->outputs[i]->key, name) == 0)
			return response->outputs[i]->value;
	return NULL;
}

static bool same_shape(const Tensorflow__Eas__ArrayProto *a, const Tensorflow__Eas__ArrayProto *b)
{
	size_t rank_a = a->array_shape != NULL ? a->array_shape->n_dim : 0;
	size_t rank_b = b->array_shape != NULL ? b->array_shape->n_dim : 0;

	return rank_a == rank_b && (rank_a == 0 || memcmp(a->array_shape->dim, b->array_shape->dim,
							  rank_a * sizeof(int64_t)) == 0);
}

static bool same_count(const Tensorflow__Eas__ArrayProto *a, const Tensorflow__Eas__ArrayProto *b)
{
	return a->n_float_val == b->n_float_val && a->n_double_val == b->n_double_val &&
	       a->n_int_val == b->n_int_val && a->n_string_val == b->n_string_val &&
	       a->n_int64_val == b->n_int64_val && a->n_bool_val == b->n_bool_val;
}

static bool same_floats(const Tensorflow__Eas__ArrayProto *got,
			const Tensorflow__Eas__ArrayProto *want, const measure *m)
{
	for (size_t i = 0; i < want->n_float_val; i++)
		if (!same_number(got->float_val[i], want->float_val[i], m)) {
			printf("  element %zu is %.9g, wanted %.9g\n", i, got->float_val[i],
			       want->float_val[i]);
			return false;
		}
	for (size_t i = 0; i < want->n_double_val; i++)
		if (!same_number(got->double_val[i], want->double_val[i], m)) {
			printf("  element %zu is %.17g, wanted %.17g\n", i, got->double_val[i],
			       want->double_val[i]);
			return false;
		}
	return true;
}

static bool same_exact(const Tensorflow__Eas__ArrayProto *got,
		       const Tensorflow__Eas__ArrayProto *want)
{
	for (size_t i = 0; i < want->n_int_val; i++)
		if (got->int_val[i] != want->int_val[i])
			return false;
	for (size_t i = 0; i < want->n_int64_val; i++)
		if (got->int64_val[i] != want->int64_val[i])
			return false;
	for (size_t i = 0; i < want->n_bool_val; i++)
		if (got->bool_val[i] != want->bool_val[i])
			return false;
	for (size_t i = 0; i < want->n_string_val; i++)
		if (got->string_val[i].len != want->string_val[i].len ||
		    (want->string_val[i].len != 0 &&
		     memcmp(got->string_val[i].data, want->string_val[i].data,
			    want->string_val[i].len) != 0))
			return false;
	return true;
}

static bool same_outputs(const sp_golden_case *golden, const char *request,
			 const Tensorflow__Eas__PredictResponse *got,
			 const Tensorflow__Eas__PredictResponse *want)
{
	bool same = true;

	if (got->n_outputs != want->n_outputs) {
		printf("  %zu outputs, wanted %zu\n", got->n_outputs, want->n_outputs);
		return false;
	}
	for (size_t i = 0; i < want->n_outputs; i++) {
		const char *name = want->outputs[i]->key;
		const Tensorflow__Eas__ArrayProto *a = find_output(got, name),
						  *b = want->outputs[i]->value;
		measure m = measure_for(golden, request, name);

		if (a == NULL || a->dtype != b->dtype || !same_shape(a, b) || !same_count(a, b) ||
		    !same_floats(a, b, &m) || !same_exact(a, b)) {
			printf("  output '%s' differs\n", name);
			same = false;
		}
	}
	return same;
}

bool sp_golden_same_response(const sp_golden_case *golden, const char *request, const void *got,
			     size_t got_size, const void *want, size_t want_size)
{
	Tensorflow__Eas__PredictResponse *a = tensorflow__eas__predict_response__unpack(
		NULL, got_size, got);
	Tensorflow__Eas__PredictResponse *b = tensorflow__eas__predict_response__unpack(
		NULL, want_size, want);
	bool same;

	if (a == NULL || b == NULL) {
		printf("  not a PredictResponse\n");
		same = false;
	} else {
		same = same_outputs(golden, request, a, b);
	}
	if (a != NULL)
		tensorflow__eas__predict_response__free_unpacked(a, NULL);
	if (b != NULL)
		tensorflow__eas__predict_response__free_unpacked(b, NULL);
	return same;
}

/* ------------------------------------------------------------------- JSON */

static bool same_tree(const cJSON *got, const cJSON *want, const measure *m)
{
	const cJSON *a, *b;

	if (got == NULL || (got->type & 0xff) != (want->type & 0xff))
		return false;
	if (cJSON_IsNumber(want))
		return same_number(got->valuedouble, want->valuedouble, m);
	if (cJSON_IsString(want))
		return strcmp(got->valuestring, want->valuestring) == 0;
	if (cJSON_GetArraySize(got) != cJSON_GetArraySize(want))
		return false;
	if (cJSON_IsObject(want)) {
		cJSON_ArrayForEach (b, want)
			if (!same_tree(cJSON_GetObjectItemCaseSensitive(got, b->string), b, m))
				return false;
		return true;
	}
	for (a = got->child, b = want->child; b != NULL; a = a->next, b = b->next)
		if (!same_tree(a, b, m))
			return false;
	return true;
}

bool sp_golden_same_json(const sp_golden_case *golden, const char *request, const char *got,
			 const char *want)
{
	cJSON *a = cJSON_Parse(got), *b = cJSON_Parse(want);
	measure m = measure_for(golden, request, "");
	bool same = b != NULL && same_tree(a, b, &m);

	if (!same)
		printf("  got %.300s\n  wanted %.300s\n", got, want);
	cJSON_Delete(a);
	cJSON_Delete(b);
	return same;
}
