#include "engine/kernels/regex.h"

#include <string.h>

#include "base/size.h"
#include "base/utf8.h"
#include "engine/ops/string/text.h"

/* StaticRegexFullMatch, StaticRegexReplace: the pattern is compiled once per graph. */

typedef struct state {
	const sp_regex *regex;
	sp_bytes rewrite; /* of StaticRegexReplace */
	bool replace_all;
} state;

static void destroy(void *regex)
{
	sp_regex_destroy(regex);
}

static sp_status prepare_full_match(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));
	sp_bytes pattern;
	sp_regex *regex;

	SP_NEED_MEMORY(s, err, "a regular expression");
	SP_TRY(sp_text_attr(prepare, "pattern", &pattern, err));
	SP_TRY(sp_regex_create(&regex, pattern, err));
	if (!sp_arena_own(prepare->arena, destroy, regex)) {
		sp_regex_destroy(regex);
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a regular expression");
	}
	s->regex = regex;
	return sp_prepare_types(prepare, "string -> bool", err);
}

static sp_status prepare_replace(sp_prepare *prepare, sp_error *err)
{
	state *s;

	SP_TRY(prepare_full_match(prepare, err));
	s = prepare->state;
	SP_TRY(sp_text_attr(prepare, "rewrite", &s->rewrite, err));
	SP_TRY(sp_node_attr_bool(prepare->node, "replace_global", true, &s->replace_all, err));
	return sp_prepare_outputs(prepare, 1, SP_STRING, err);
}

static sp_status run_full_match(const sp_call *call)
{
	const state *s = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);

	SP_TRY(sp_call_output(call, 0, SP_BOOL, &call->in[0]->shape));
	for (size_t i = 0; i < call->in[0]->count; i++) {
		sp_status status = sp_regex_match_whole(s->regex, text[i]);

		if (status != SP_OK && status != SP_NOT_FOUND)
			return sp_call_no_memory(call);
		sp_tensor_bool(call->out[0])[i] = status == SP_OK;
	}
	return SP_OK;
}

/*
 * Replaces as RE2::Replace() and RE2::GlobalReplace() do, but in the request's memory, which is
 * limited: rewrites can multiply the size of a text.
 */
typedef struct replacer {
	const sp_call *call;
	const sp_regex *regex;
	sp_bytes rewrite;
	size_t group_count; /* of the groups that the rewrite uses, including the whole match */
	/* The result so far; grows by doubling. */
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

/* A rewrite may contain \0 ... \9 and \\; any other escape is refused. */
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

static bool append_rewrite(replacer *r, const sp_bytes groups[SP_REGEX_MAX_GROUPS])
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
 * The size of the first character, as RE2 decodes UTF-8: surrogates are characters, and an invalid
 * byte counts as one.
 */
static size_t character_size(sp_bytes text)
{
	const unsigned char *at = (const unsigned char *)text.data;

	if (text.size >= 3 && at[0] == 0xed && at[1] >= 0xa0 && at[1] <= 0xbf &&
	    sp_text_is_trail(text.data[2]))
		return 3;
	return text.size > 0 && sp_utf8_length(text.data, text.size) > 1
		       ? sp_utf8_length(text.data, text.size)
		       : 1;
}

/*
 * Copies the text between matches.  An empty match right after another match is skipped, as in RE2.
 */
static sp_status replace_in(replacer *r, sp_bytes text, bool all, bool *changed)
{
	sp_bytes groups[SP_REGEX_MAX_GROUPS];
	size_t at = 0, last_end = SIZE_MAX;

	*changed = false;
	r->size = 0;
	while (at <= text.size) {
		sp_status status = sp_regex_search(r->regex, text, at, groups, r->group_count);
		size_t begin;

		if (status == SP_NOT_FOUND)
			break;
		if (status != SP_OK)
			return status;
		begin = text.size == 0 ? 0 : (size_t)(groups[0].data - text.data);
		if (!append(r, text.data + at, begin - at))
			return SP_NO_MEMORY;
		at = begin;
		if (begin == last_end && groups[0].size == 0) {
			size_t n = character_size((sp_bytes){text.data + at, text.size - at});

			if (at < text.size && !append(r, text.data + at, n))
				return SP_NO_MEMORY;
			at += n;
			continue;
		}
		if (!append_rewrite(r, groups))
			return SP_NO_MEMORY;
		*changed = true;
		at = last_end = begin + groups[0].size;
		if (!all)
			break;
	}
	if (*changed && at < text.size && !append(r, text.data + at, text.size - at))
		return SP_NO_MEMORY;
	return SP_OK;
}

static sp_status run_replace(const sp_call *call)
{
	const state *s = call->state;
	const sp_bytes *text = sp_tensor_strings(call->in[0]);
	replacer r = {.call = call, .regex = s->regex, .rewrite = s->rewrite};
	sp_text_pool pool = {.call = call};
	sp_bytes *y;

	SP_TRY(check_rewrite(&r));
	SP_TRY(sp_call_output(call, 0, SP_STRING, &call->in[0]->shape));
	y = sp_tensor_strings(call->out[0]);
	for (size_t i = 0; i < call->in[0]->count; i++) {
		bool changed;
		char *copy;

		y[i] = text[i];
		/* As in RE2, a rewrite with a group that the pattern lacks changes nothing. */
		if (r.group_count > sp_regex_group_count(s->regex) + 1)
			continue;
		if (replace_in(&r, text[i], s->replace_all, &changed) != SP_OK)
			return sp_call_no_memory(call);
		if (!changed)
			continue;
		copy = sp_text_pool_take(&pool, r.size);
		if (copy == NULL)
			return sp_call_no_memory(call);
		if (r.size > 0)
			memcpy(copy, r.data, r.size);
		y[i] = (sp_bytes){copy, r.size};
	}
	return SP_OK;
}

SP_DEFINE_OP(StaticRegexReplace, "output", 0, prepare_replace, run_replace);
SP_DEFINE_OP(StaticRegexFullMatch, "output", 0, prepare_full_match, run_full_match);
