#include "tests/support/text_models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/support/cmocka.h"
#include "tests/support/paths.h"

#define SHAPE "tensor_shape { dim { size: -1 } }"

/* The folder that FOLDER/NAME is in, made when it is not there. */
static void make_parent(char out[SP_PATH_SIZE], const char *folder, const char *name)
{
	const char *slash = strrchr(name, '/');

	mkdir(folder, 0700);
	snprintf(out, SP_PATH_SIZE, "%s/%.*s", folder, slash != NULL ? (int)(slash - name) : 0,
		 name);
	mkdir(out, 0700);
}

void sp_text_models_write_file(const char *folder, const char *name, const char *text)
{
	char parent[SP_PATH_SIZE], hidden[SP_PATH_SIZE + 16], path[SP_PATH_SIZE];
	FILE *file;

	make_parent(parent, folder, name);
	snprintf(hidden, sizeof(hidden), "%s/.new", parent);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(hidden, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(hidden, path), 0);
}

static void write_graph(const char *folder, const char *text)
{
	sp_text_models_write_file(folder, "saved_model.pbtxt", text);
}

/* ----------------------------------------------------------------------- sum */

static void put_nodes(FILE *out, const sp_sum_model *model)
{
	for (int i = 0; i < model->inputs; i++)
		fprintf(out,
			"node { name: 'in/x%d' op: 'Placeholder'"
			" attr { key: 'dtype' value { type: DT_FLOAT } } }\n",
			i);
	fputs("node { name: 'all' op: 'AddN' attr { key: 'T' value { type: DT_FLOAT } }", out);
	fprintf(out, " attr { key: 'N' value { i: %d } }", model->inputs);
	for (int i = 0; i < model->inputs; i++)
		fprintf(out, " input: 'in/x%d'", i);
	fprintf(out,
		" }\nnode { name: 'factor' op: 'Const'"
		" attr { key: 'dtype' value { type: DT_FLOAT } }"
		" attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape {}"
		" float_val: %d } } } }\n"
		"node { name: 'result' op: 'Mul' attr { key: 'T' value { type: DT_FLOAT } }"
		" input: 'all' input: 'factor' }\n",
		model->times);
}

static void put_end(FILE *out, const char *side, const char *alias, const char *tensor)
{
	fprintf(out, "  %s { key: '%s' value { name: '%s:0' dtype: DT_FLOAT " SHAPE " } }\n", side,
		alias, tensor);
}

void sp_text_models_write_sum(const char *folder, const sp_sum_model *model)
{
	char *text = NULL, alias[16], tensor[32];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	fputs("saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' }\n"
	      "graph_def {\n",
	      out);
	put_nodes(out, model);
	fprintf(out, "}\nsignature_def { key: '%s' value {\n", model->signature);
	for (int i = 0; i < model->inputs; i++) {
		snprintf(alias, sizeof(alias), "x%d", i);
		snprintf(tensor, sizeof(tensor), "in/x%d", i);
		put_end(out, "inputs", alias, tensor);
	}
	put_end(out, "outputs", model->output, "result");
	fputs("  method_name: 'tensorflow/serving/predict' } } }\n", out);
	assert_int_equal(fclose(out), 0);
	write_graph(folder, text);
	free(text);
}

/* --------------------------------------------------------------------- words */

void sp_text_models_write_words(const char *folder)
{
	write_graph(
		folder,
		"saved_model_schema_version: 1 meta_graphs { meta_info_def { tags: 'serve' }\n"
		"graph_def {\n"
		"node { name: 'word' op: 'Placeholder'"
		" attr { key: 'dtype' value { type: DT_STRING } } }\n"
		"node { name: 'path' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }"
		" attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape {}"
		" string_val: 'nowhere' } } } }\n"
		"node { name: 'none' op: 'Const' attr { key: 'dtype' value { type: DT_INT64 } }"
		" attr { key: 'value' value { tensor { dtype: DT_INT64 tensor_shape {}"
		" int64_val: -1 } } } }\n"
		"node { name: 'table' op: 'HashTableV2'"
		" attr { key: 'key_dtype' value { type: DT_STRING } }"
		" attr { key: 'value_dtype' value { type: DT_INT64 } }"
		" attr { key: 'shared_name' value { s: 'words' } } }\n"
		"node { name: 'init' op: 'InitializeTableFromTextFileV2'"
		" input: 'table' input: 'path'"
		" attr { key: 'key_index' value { i: -2 } }"
		" attr { key: 'value_index' value { i: -1 } }"
		" attr { key: 'vocab_size' value { i: -1 } }"
		" attr { key: 'delimiter' value { s: '\\t' } } }\n"
		"node { name: 'id' op: 'LookupTableFindV2'"
		" input: 'table' input: 'word' input: 'none'"
		" attr { key: 'Tin' value { type: DT_STRING } }"
		" attr { key: 'Tout' value { type: DT_INT64 } } }\n"
		"}\n"
		"asset_file_def { tensor_info { name: 'path:0' } filename: 'words.txt' }\n"
		"collection_def { key: 'saved_model_main_op'"
		" value { node_list { value: 'init' } } }\n"
		"signature_def { key: 'serving_default' value {\n"
		"  inputs { key: 'word' value { name: 'word:0' dtype: DT_STRING " SHAPE " } }\n"
		"  outputs { key: 'id' value { name: 'id:0' dtype: DT_INT64 " SHAPE " } }\n"
		"  method_name: 'tensorflow/serving/predict' } } }\n");
}
