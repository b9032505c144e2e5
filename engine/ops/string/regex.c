#include "engine/kernels/regex.h"

#include <string.h>

#include "base/size.h"
#include "engine/ops/ops.h"
#include "engine/ops/string/text.h"

/*
 * Patterns are compiled once per graph where they are constants, which they
 * nearly always are, else once per call.
 */

typedef struct state {
	const sp_regex *regex; /* NULL: compiled from input 1 */
	sp_bytes rewrite;      /* of StaticRegexReplace */
	bool is_static;
	bool replace_all;
} state;

static void *take_from_arena(void *context, size_t count, size_t size)
{
	return sp_arena_array(context, count, size);
}

static void *take_from_call(void *context, size_t count, size_t size)
{
	return sp_call_bytes(context, count, size);
}

static sp_status prepare_pattern(sp_prepare *prepare, state *s, sp_bytes pattern, sp_error *err)
{
	sp_regex_memory memory = {take_from_arena, prepare->arena};
	sp_regex *regex;

	SP_TRY(sp_regex_compile(&regex, &memory, pattern, err));
	s->regex = regex;
	return SP_OK;
}

/* Input 1, when it is a constant: what is no scalar is refused when it runs. */
static sp_status prepare_constant_pattern(sp_prepare *prepare, state *s, sp_error *err)
{
	const sp_tensor *pattern = prepare->in_values[1];

	if (pattern == NULL || !sp_tensor_is_scalar(pattern))
		return SP_OK;
	return prepare_pattern(prepare, s, sp_tensor_strings(pattern)[0], err);
}

static sp_status new_state(sp_prepare *prepare, state **out, sp_error *err)
{
	*out = sp_prepare_state(prepare, sizeof(**out));
	if (*out == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a regular expression");
	return SP_OK;
}

static sp_status prepare_static_full_match(sp_prepare *prepare, sp_error *err)
{
	sp_bytes pattern;
	state *s;

	SP_TRY(new_state(prepare, &s, err));
	SP_TRY(sp_text_attr(prepare, "pattern", &pattern, err));
	SP_TRY(prepare_pattern(prepare, s, pattern, err));
	return sp_text_prepare_unary(prepare, SP_BOOL, err);
}

static sp_status prepare_full_match(sp_prepare *prepare, sp_error *err)
{
	state *s;

	SP_TRY(new_state(prepare, &s, err));
	SP_TRY(sp_text_prepare_inputs(prepare, 2, err));
	SP_TRY(prepare_constant_pattern(prepare, s, err));
	return sp_prepare_outputs(prepare, 1, SP_BOOL, err);
}

static sp_status prepare_static_replace(sp_prepare *prepare, sp_error *err)
{
	state *s;

	SP_TRY(prepare_static_full_match(prepare, err));
	s = prepare->state;
	s->is_static = true;
	SP_TRY(sp_text_attr(prepare, "rewrite", &s->rewrite, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "replace_global", true, &s->replace_all, err));
	return sp_prepare_outputs(prepare, 1, SP_STRING, err);
}

static sp_status prepare_replace(sp_prepare *prepare, sp_error *err)
{
	state *s;

	SP_TRY(new_state(prepare, &s, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "replace_global", true, &s->replace_all, err));
	SP_TRY(sp_text_prepare_inputs(prepare, 3, err));
	SP_TRY(prepare_constant_pattern(prepare, s, err));
	return sp_prepare_outputs(prepare, 1, SP_STRING, err);
}

/* The expression of this call, and scratch for it. */
static sp_status ready(const sp_call *call, size_t group_count, const sp_regex **regex,
		       void **scratch)
{
	const state *s = call->state;
	sp_regex_memory memory = {take_from_call, (void *)call};
	sp_regex *compiled;

	*regex = s->regex;
	if (*regex == NULL) {
		if (!sp_tensor_is_scalar(call->in[1]))
			return sp_call_invalid(call, "the pattern must be a scalar");
		SP_TRY(sp_regex_compile(&compiled, &memory, sp_tensor_strings(call->in[1])[0],
					call->err));
		*regex = compiled;
	}
	*scratch = sp_call_bytes(call, 1, sp_regex_scratch_size(*regex, group_count));
	return *scratch != NULL ? SP_OK : sp_call_no_memory(call);
}

static sp_status run_full_match(const sp_call *call)
{
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	const sp_regex *regex;
	void *scratch;

	SP_TRY(ready(call, 0, &regex, &scratch));
	SP_TRY(sp_call_output(call, 0, SP_BOOL, &call->in[0]->shape));
	for (size_t i = 0; i < call->in[0]->count; i++)
		sp_tensor_bool(call->out[0])[i] = sp_regex_match(regex, text[i], 0, SP_REGEX_FULL,
								 NULL, 0, scratch);
	return SP_OK;
}

/* ----------------------------------------------------------------- replacing */

enum { MAX_GROUPS = 10 }; /* \0 ... \9 */

typedef struct replacer {
	const sp_call *call;
	const sp_regex *regex;
	void *scratch;
	sp_bytes rewrite;
	bool all;
	size_t group_count; /* that the rewrite names, the whole match among them */
	/* The text that is being made; grows by doubling. */
	char *data;
	size_t size, capacity;
} replacer;

static bool append(replacer *r, const char *data, size_t size)
{
	size_t wanted;

	if (size == 0)
		return true;
	if (!sp_size_add(&wanted, r->size, size))
		return false;
	if (wanted > r->capacity) {
		size_t capacity = wanted < 256 ? 512 : 2 * wanted;
		char *wider = capacity > wanted ? sp_call_bytes(r->call, 1, capacity) : NULL;

		if (wider == NULL)
			return false;
		if (r->size > 0)
			memcpy(wider, r->data, r->size);
		r->data = wider;
		r->capacity = capacity;
	}
	memcpy(r->data + r->size, data, size);
	r->size = wanted;
	return true;
}

/* The rewrite's groups are \0 ... \9, its backslash is \\; any other escape is refused. */
static sp_status check_rewrite(replacer *r)
{
	r->group_count = 1;
	for (size_t i = 0; i < r->rewrite.size; i++) {
		char c;

		if (r->rewrite.data[i] != '\\')
			continue;
		c = ++i < r->rewrite.size ? r->rewrite.data[i] : '\0';
		if (c >= '0' && c <= '9') {
			if ((size_t)(c - '0') + 1 > r->group_count)
				r->group_count = (size_t)(c - '0') + 1;
		} else if (c != '\\') {
			return sp_error_set(r->call->err, SP_UNSUPPORTED,
					    "the rewrite '%.*s' has an unknown escape",
					    (int)(r->rewrite.size > 200 ? 200 : r->rewrite.size),
					    r->rewrite.data);
		}
	}
	return SP_OK;
}

static bool append_rewrite(replacer *r, const sp_bytes groups[MAX_GROUPS])
{
	for (size_t i = 0; i < r->rewrite.size; i++) {
		const char *at = &r->rewrite.data[i];
		sp_bytes part = {at, 1};

		if (*at == '\\') {
			i++;
			part = at[1] == '\\' ? (sp_bytes){at + 1, 1} : groups[at[1] - '0'];
		}
		if (!append(r, part.data, part.size))
			return false;
	}
	return true;
}

/*
 * RE2's order of things: what lies between matches is copied, and an empty
 * match right behind the match before it gives way to the next character.
 */
static bool replace_in(replacer *r, sp_bytes text, bool *changed)
{
	sp_bytes groups[MAX_GROUPS];
	size_t at = 0, last_end = SIZE_MAX;

	*changed = false;
	r->size = 0;
	while (at <= text.size && sp_regex_match(r->regex, text, at, SP_REGEX_SEARCH, groups,
						 r->group_count, r->scratch)) {
		size_t begin = text.size == 0 ? 0 : (size_t)(groups[0].data - text.data);

		if (!append(r, text.data + at, begin - at))
			return false;
		at = begin;
		if (begin == last_end && groups[0].size == 0) {
			uint32_t rune;
			size_t n = at < text.size ? sp_regex_character(text, at, &rune) : 0;

			n += n == 0; /* a byte that is none */
			if (at < text.size && !append(r, text.data + at, n))
				return false;
			at += n;
			continue;
		}
		if (!append_rewrite(r, groups))
			return false;
		*changed = true;
		at = begin + groups[0].size;
		last_end = at;
		if (!r->all)
			break;
	}
	return !*changed || at >= text.size || append(r, text.data + at, text.size - at);
}

static sp_status replace_all_texts(replacer *r)
{
	const sp_call *call = r->call;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	sp_text_pool pool = {.call = call};
	sp_bytes *y;

	SP_TRY(sp_call_output(call, 0, SP_STRING, &call->in[0]->shape));
	y = sp_tensor_strings(call->out[0]);
	for (size_t i = 0; i < call->in[0]->count; i++) {
		bool changed = false;
		char *copy;

		y[i] = text[i];
		/* As in RE2, a rewrite of groups that are not there changes nothing. */
		if (r->group_count > sp_regex_group_count(r->regex) + 1)
			continue;
		if (!replace_in(r, text[i], &changed))
			return sp_call_no_memory(call);
		if (!changed)
			continue;
		copy = sp_text_pool_take(&pool, r->size);
		if (copy == NULL)
			return sp_call_no_memory(call);
		if (r->size > 0)
			memcpy(copy, r->data, r->size);
		y[i] = (sp_bytes){copy, r->size};
	}
	return SP_OK;
}

static sp_status run_replace(const sp_call *call)
{
	const state *s = call->state;
	replacer r = {.call = call, .rewrite = s->rewrite, .all = s->replace_all};

	if (!s->is_static) {
		if (!sp_tensor_is_scalar(call->in[2]))
			return sp_call_invalid(call, "the rewrite must be a scalar");
		r.rewrite = sp_tensor_strings(call->in[2])[0];
	}
	SP_TRY(check_rewrite(&r));
	SP_TRY(ready(call, r.group_count, &r.regex, &r.scratch));
	return replace_all_texts(&r);
}

const sp_op sp_op_StaticRegexReplace = {
	.name = "StaticRegexReplace",
	.outputs = "output",
	.prepare = prepare_static_replace,
	.run = run_replace,
};

const sp_op sp_op_RegexReplace = {
	.name = "RegexReplace",
	.outputs = "output",
	.prepare = prepare_replace,
	.run = run_replace,
};

const sp_op sp_op_StaticRegexFullMatch = {
	.name = "StaticRegexFullMatch",
	.outputs = "output",
	.prepare = prepare_static_full_match,
	.run = run_full_match,
};

const sp_op sp_op_RegexFullMatch = {
	.name = "RegexFullMatch",
	.outputs = "output",
	.prepare = prepare_full_match,
	.run = run_full_match,
};
