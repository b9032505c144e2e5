#ifndef SP_TESTS_SUPPORT_TABLE_MODEL_H
#define SP_TESTS_SUPPORT_TABLE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/paths.h"

/*
 * The model of tests/golden/ev-tables, and versions of it in which every number
 * of a table, and of the dense weights, is one value: an answer says which
 * version each of them is of.
 */
enum { SP_TABLE_MODEL_TABLES = 3 };

typedef struct sp_table_model {
	char work[SP_PATH_SIZE];
	char checkpoints[512];
	size_t key_counts[SP_TABLE_MODEL_TABLES]; /* keys are 0 ... count - 1 */
	void *model; /* of api/serving_processor.h; NULL until opened */
} sp_table_model;

/* A folder without any version. */
void sp_table_model_init(sp_table_model *model,
			 const size_t key_counts[static SP_TABLE_MODEL_TABLES]);
/* Closes the model, removes the folder. */
void sp_table_model_fini(sp_table_model *model);

/* `more` is more of the configuration: ", \"key\": value". */
void sp_table_model_open(sp_table_model *model, const char *more);
void sp_table_model_close(sp_table_model *model);

/* A full checkpoint, or with delta > 0 a delta on it in which all keys have changed. */
typedef struct sp_table_model_version {
	int full; /* steps */
	int delta;
	float value;
	int64_t changed; /* the step at which all rows were changed; 0: it is not said */
} sp_table_model_version;

/* Writes the version's files where nobody sees them yet; moves them to where it is discovered. */
void sp_table_model_prepare(const sp_table_model *model, const sp_table_model_version *version);
void sp_table_model_publish(const sp_table_model *model, const sp_table_model_version *version);

/* Both. */
void sp_table_model_write(const sp_table_model *model, const sp_table_model_version *version);

/* What answers key 1: a value for each table, and for the dense weights. */
typedef struct sp_table_model_answer {
	bool answered;
	bool consistent; /* no table has two values */
	float tables[SP_TABLE_MODEL_TABLES];
	float dense;
} sp_table_model_answer;

sp_table_model_answer sp_table_model_ask(const sp_table_model *model);

/* Waits up to ten seconds until everything has that value; false when it does not. */
bool sp_table_model_await(const sp_table_model *model, float value);

/* Waits as long until serving_processor_versions() holds `text`. */
bool sp_table_model_await_state(const sp_table_model *model, const char *text);

#endif
