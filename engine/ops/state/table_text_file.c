#include "engine/graph/environment.h"
#include "engine/ops/string/number.h"
#include "engine/ops/state/table_fill.h"

#include <string.h>

/*
 * Tables from text files: one key and one value per line, each of which is the line number, the
 * whole line, or one column.  The file's bytes are in the version's arena, and the table's strings
 * are views of them.
 */

enum { WHOLE_LINE = -2, LINE_NUMBER = -1 };

typedef struct state {
	int64_t key_index;
	int64_t value_index;
	int64_t vocab_size; /* -1: all lines */
	int64_t offset;
	char delimiter;
} state;

static sp_status prepare_text_file(sp_prepare *prepare, sp_error *err)
{
	const sp_node *node = prepare->node;
	state *s = sp_prepare_state(prepare, sizeof(*s));
	sp_bytes delimiter;

	SP_NEED_MEMORY(s, err, "a table initializer");
	SP_TRY(sp_node_attr_int(node, "key_index", INT64_MIN, &s->key_index, err));
	SP_TRY(sp_node_attr_int(node, "value_index", INT64_MIN, &s->value_index, err));
	SP_TRY(sp_node_attr_int(node, "vocab_size", -1, &s->vocab_size, err));
	SP_TRY(sp_node_attr_int(node, "offset", 0, &s->offset, err));
	SP_TRY(sp_node_attr_bytes(node, "delimiter", "\t", &delimiter, err));
	if (s->key_index < WHOLE_LINE || s->value_index < WHOLE_LINE || s->vocab_size < -1)
		return sp_error_set(
			err, SP_INVALID,
			"key_index %lld, value_index %lld or vocab_size %lld is invalid",
			(long long)s->key_index, (long long)s->value_index,
			(long long)s->vocab_size);
	if (delimiter.size != 1)
		return sp_error_set(err, SP_INVALID, "the delimiter must be one character");
	s->delimiter = delimiter.data[0];
	return sp_prepare_types(prepare, "resource string ->", err);
}

static sp_status check_dtype(const sp_call *call, const char *what, int64_t index, sp_dtype dtype)
{
	bool fits = true;

	if (index == LINE_NUMBER)
		fits = dtype == SP_INT64;
	else if (index == WHOLE_LINE)
		fits = dtype == SP_STRING || dtype == SP_INT32 || dtype == SP_INT64;
	else
		fits = dtype == SP_STRING || dtype == SP_INT32 || dtype == SP_INT64 ||
		       dtype == SP_FLOAT || dtype == SP_DOUBLE;
	if (fits)
		return SP_OK;
	return sp_call_invalid(call, "a table's %s of type %s cannot come from column %lld", what,
			       sp_dtype_name(dtype), (long long)index);
}

/* A number or string, laid out like a tensor's element. */
typedef union element {
	int32_t i32;
	int64_t i64;
	float f32;
	double f64;
	sp_bytes text;
} element;

typedef struct reader {
	const sp_call *call;
	const state *state;
	sp_bytes path;
	sp_bytes rest;
	sp_bytes line;
	int64_t number; /* of the line, from 0 */
} reader;

/* The next line, without its "\n" or "\r\n"; false at the end. */
static bool next_line(reader *r)
{
	const char *end = r->rest.size == 0 ? NULL : memchr(r->rest.data, '\n', r->rest.size);
	size_t used;

	r->line = r->rest;
	if (end != NULL)
		r->line.size = (size_t)(end - r->rest.data);
	used = r->line.size + (end != NULL);
	if (r->line.size > 0 && r->line.data[r->line.size - 1] == '\r')
		r->line.size--;
	/* What follows the last newline is a line unless it is empty. */
	if (end == NULL && r->line.size == 0)
		return false;
	r->rest = (sp_bytes){r->rest.data + used, r->rest.size - used};
	return true;
}

static sp_status take_column(const reader *r, int64_t index, sp_bytes *out)
{
	sp_bytes rest = r->line;

	for (int64_t i = 0;; i++) {
		const char *end = rest.size == 0
					  ? NULL
					  : memchr(rest.data, r->state->delimiter, rest.size);

		*out = (sp_bytes){rest.data, end != NULL ? (size_t)(end - rest.data) : rest.size};
		if (i == index)
			return SP_OK;
		if (end == NULL)
			return sp_call_invalid(r->call,
					       "line %lld of %.*s has %lld columns, not %lld",
					       (long long)r->number, (int)r->path.size,
					       r->path.data, (long long)i + 1, (long long)index);
		rest = (sp_bytes){end + 1, rest.size - out->size - 1};
	}
}

static bool read_element(const reader *r, sp_bytes text, sp_dtype dtype, element *out)
{
	if (dtype == SP_STRING) {
		out->text = text;
		return true;
	}
	text.size = strnlen(text.data, text.size); /* numbers end at a NUL, as in TensorFlow */
	switch (dtype) {
	case SP_INT32:
		if (!sp_number_read_i32(text, &out->i32))
			return false;
		/* As in TensorFlow, the offset applies to int32 columns and line numbers only. */
		out->i32 = (int32_t)((uint32_t)out->i32 + (uint32_t)r->state->offset);
		return true;
	case SP_INT64:
		return sp_number_read_i64(text, &out->i64);
	case SP_FLOAT:
		return sp_number_read_f32(text, &out->f32);
	default:
		return sp_number_read_f64(text, &out->f64);
	}
}

static sp_status take_element(const reader *r, int64_t index, sp_dtype dtype, element *out)
{
	sp_bytes text = r->line;

	if (index == LINE_NUMBER) {
		out->i64 = (int64_t)((uint64_t)r->number + (uint64_t)r->state->offset);
		return SP_OK;
	}
	if (index != WHOLE_LINE)
		SP_TRY(take_column(r, index, &text));
	if (!read_element(r, text, dtype, out))
		return sp_call_invalid(r->call, "'%.*s' in line %lld of %.*s is not a %s",
				       (int)(text.size > 64 ? 64 : text.size), text.data,
				       (long long)r->number, (int)r->path.size, r->path.data,
				       sp_dtype_name(dtype));
	return SP_OK;
}

static sp_status insert_line(const reader *r, sp_hash_table *table)
{
	const sp_hash_table_options *options = sp_hash_table_options_of(table);
	element key, value;
	sp_tensor keys = {.dtype = options->key_dtype, .count = 1, .data = &key};
	sp_tensor values = {.dtype = options->value_dtype, .count = 1, .data = &value};

	if (r->line.size == 0)
		return sp_call_invalid(r->call, "line %lld of %.*s is empty", (long long)r->number,
				       (int)r->path.size, r->path.data);
	SP_TRY(take_element(r, r->state->key_index, keys.dtype, &key));
	SP_TRY(take_element(r, r->state->value_index, values.dtype, &value));
	return sp_hash_table_insert(table, &keys, &values, SP_HASH_TABLE_TEXTS_STAY, r->call->err);
}

/* An upper bound, for the table's initial size. */
static size_t count_lines(sp_bytes file)
{
	size_t count = 1;

	for (size_t i = 0; i < file.size; i++)
		count += file.data[i] == '\n';
	return count;
}

static sp_status read_lines(reader *r, sp_hash_table *table)
{
	int64_t wanted = r->state->vocab_size;
	size_t lines = count_lines(r->rest);

	if (wanted >= 0 && (uint64_t)wanted < lines)
		lines = (size_t)wanted;
	SP_TRY(sp_hash_table_reserve(table, lines, r->call->err));
	/* Lines past vocab_size are ignored. */
	while (r->number != wanted && next_line(r)) {
		SP_TRY(insert_line(r, table));
		r->number++;
	}
	if (wanted >= 0 && r->number < wanted)
		return sp_call_invalid(r->call, "%.*s has %lld lines, vocab_size says %lld",
				       (int)r->path.size, r->path.data, (long long)r->number,
				       (long long)wanted);
	if (r->number == 0)
		return sp_call_invalid(r->call, "no line of %.*s is read", (int)r->path.size,
				       r->path.data);
	return SP_OK;
}

static sp_status find_resource(const sp_call *call, sp_resource **out)
{
	const state *s = call->state;

	SP_TRY(sp_resources_get(call->resources, call->in[0], SP_RESOURCE_HASH_TABLE, out,
				call->err));
	if ((*out)->is_mutable)
		return sp_call_invalid(call, "table '%s' is not initializable", (*out)->name);
	SP_TRY(check_dtype(call, "key", s->key_index, (*out)->key_dtype));
	return check_dtype(call, "value", s->value_index, (*out)->dtype);
}

static sp_status run_text_file(const sp_call *call)
{
	const sp_environment *environment = call->environment;
	reader r = {.call = call, .state = call->state};
	sp_resource *resource;
	sp_hash_table *table;

	SP_TRY(find_resource(call, &resource));
	if (!sp_tensor_is_scalar(call->in[1]) || sp_tensor_strings(call->in[1])[0].size == 0)
		return sp_call_invalid(call,
				       "the file's name must be one string that is not empty");
	if (environment == NULL)
		return sp_call_invalid(call, "there are no files to initialize a table from");
	r.path = sp_tensor_strings(call->in[1])[0];
	if (resource->hash_table != NULL)
		return SP_OK; /* the first initialization stays */
	SP_TRY(environment->read_file(environment->context, r.path, call->resources->arena, &r.rest,
				      call->err));
	SP_TRY(sp_table_fill_begin(call, resource, &table));
	SP_TRY(read_lines(&r, table));
	return sp_table_fill_end(call, resource, table);
}

SP_DEFINE_OP(InitializeTableFromTextFile, "", SP_OP_STATEFUL | SP_OP_LOAD_ONLY, prepare_text_file,
	     run_text_file);
SP_DEFINE_OP(InitializeTableFromTextFileV2, "", SP_OP_STATEFUL | SP_OP_LOAD_ONLY, prepare_text_file,
	     run_text_file);
