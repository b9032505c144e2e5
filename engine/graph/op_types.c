#include <stdio.h>
#include <string.h>

#include "engine/graph/op.h"

enum { LETTERS = 'Z' - 'A' + 1 };

/* The words of a declaration, one at a time. */
typedef struct words {
	const char *at;
	const char *word; /* of `size` bytes */
	size_t size;
	char many; /* '*' or '+' behind the word, else 0 */
} words;

/* False behind the last word, and at "->". */
static bool next(words *w)
{
	while (*w->at == ' ')
		w->at++;
	w->word = w->at;
	while (*w->at != '\0' && *w->at != ' ' && *w->at != '*' && *w->at != '+')
		w->at++;
	w->size = (size_t)(w->at - w->word);
	w->many = *w->at == '*' || *w->at == '+' ? *w->at++ : '\0';
	return w->size != 0 && *w->word != '-';
}

static bool is_word(const words *w, const char *text)
{
	return *text == *w->word && strncmp(text, w->word, w->size) == 0 && text[w->size] == '\0';
}

/* The type of a word of several characters. */
static sp_status named(const sp_prepare *prepare, const words *w, sp_dtype *out, sp_error *err)
{
	static const struct {
		char word[10];
		sp_dtype dtype;
	} types[] = {{"int64", SP_INT64},       {"float", SP_FLOAT},   {"string", SP_STRING},
		     {"resource", SP_RESOURCE}, {"int32", SP_INT32},   {"bool", SP_BOOL},
		     {"variant", SP_VARIANT},   {"uint64", SP_UINT64}, {"double", SP_DOUBLE}};
	char attr[64];

	if (*w->word == '@') {
		snprintf(attr, sizeof(attr), "%.*s", (int)w->size - 1, w->word + 1);
		return sp_node_attr_type(prepare->node, attr, SP_INVALID_DTYPE, out, err);
	}
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (is_word(w, types[i].word)) {
			*out = types[i].dtype;
			return SP_OK;
		}
	return sp_error_set(err, SP_INTERNAL, "%.*s is not a type", (int)w->size, w->word);
}

/* Checks input i against the class of a letter. */
static sp_status check_class(const sp_prepare *prepare, size_t i, char letter, sp_error *err)
{
	sp_dtype dtype = prepare->in_dtypes[i];
	bool fits = true;

	switch (letter) {
	case 'I':
	case 'J':
		return sp_prepare_input_index(prepare, i, err);
	case 'S':
		return dtype == SP_INT16 ? SP_OK : sp_prepare_input_index(prepare, i, err);
	case 'E':
		fits = sp_dtype_size(dtype) != 0;
		break;
	case 'P':
		fits = sp_dtype_size(dtype) != 0 && dtype != SP_STRING && dtype != SP_RESOURCE;
		break;
	case 'F':
		fits = sp_dtype_is_floating(dtype);
		break;
	case 'N':
		fits = dtype == SP_INT32 || dtype == SP_INT64 || dtype == SP_FLOAT ||
		       dtype == SP_DOUBLE;
		break;
	default:
		break;
	}
	return fits ? SP_OK : sp_prepare_unsupported(prepare, dtype, err);
}

/* `bound`: the first input of each letter, plus one. */
static sp_status check_input(const sp_prepare *prepare, size_t i, const words *w,
			     size_t bound[LETTERS], sp_error *err)
{
	size_t *first;
	sp_dtype dtype;

	if (is_word(w, "any"))
		return SP_OK;
	if (is_word(w, "index"))
		return sp_prepare_input_index(prepare, i, err);
	if (w->size != 1) {
		SP_TRY(named(prepare, w, &dtype, err));
		return sp_prepare_input_dtype(prepare, i, dtype, err);
	}
	first = &bound[*w->word - 'A'];
	if (*first != 0)
		return sp_prepare_input_dtype(prepare, i, prepare->in_dtypes[*first - 1], err);
	*first = i + 1;
	return check_class(prepare, i, *w->word, err);
}

/* How many inputs the word with a '*' or '+' stands for; sets an error if that is impossible. */
static sp_status count_many(const sp_prepare *prepare, const char *types, size_t *out,
			    sp_error *err)
{
	words w = {.at = types};
	size_t single = 0;
	char many = '\0';

	while (next(&w)) {
		single += w.many == '\0';
		many = w.many != '\0' ? w.many : many;
	}
	*out = prepare->in_count - single;
	if (many == '\0')
		return sp_prepare_inputs(prepare, single, err);
	if (prepare->in_count >= single + (many == '+'))
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "%s takes at least %zu inputs, not %zu",
			    prepare->node->op_name, single + (many == '+'), prepare->in_count);
}

sp_status sp_prepare_types(sp_prepare *prepare, const char *types, sp_error *err)
{
	size_t bound[LETTERS] = {0}, many, i = 0, outputs = 0;
	words w = {.at = types}, out;

	SP_TRY(count_many(prepare, types, &many, err));
	while (next(&w))
		for (size_t n = w.many != '\0' ? many : 1; n > 0; n--)
			SP_TRY(check_input(prepare, i++, &w, bound, err));
	if (w.size == 0)
		return SP_OK;
	for (out = w; next(&out);)
		outputs++;
	SP_TRY(sp_prepare_outputs(prepare, outputs, SP_INVALID_DTYPE, err));
	for (i = 0; next(&w); i++) {
		if (w.size == 1)
			prepare->out_dtypes[i] = prepare->in_dtypes[bound[*w.word - 'A'] - 1];
		else
			SP_TRY(named(prepare, &w, &prepare->out_dtypes[i], err));
	}
	return SP_OK;
}

sp_status sp_prepare_by_types(sp_prepare *prepare, sp_error *err)
{
	return sp_prepare_types(prepare, prepare->node->op->types, err);
}
