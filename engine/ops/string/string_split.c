#include "engine/ops/string/text.h"

#include <string.h>

/*
 * Pieces are views of the input.  Each string is split twice, to count its pieces and to write
 * them, so that outputs are allocated at their final size.
 */

typedef struct state {
	bool skip_empty;  /* StringSplit */
	int64_t maxsplit; /* StringSplitV2; negative: no bound */
} state;

typedef struct splitter {
	sp_bytes separator;
	const state *state;
	/* Reads the next piece of *rest into *piece; false when there is none. */
	bool (*next)(struct splitter *s, sp_bytes *piece);
	/* Of the current string. */
	sp_bytes rest;
	bool done;
	int64_t splits;
} splitter;

static inline sp_bytes after(sp_bytes text, size_t n)
{
	return (sp_bytes){text.data + n, text.size - n};
}

/* StringSplit: any byte of the separator separates; an empty string has no pieces. */
static bool next_any_of(splitter *s, sp_bytes *piece)
{
	size_t n;

	while (!s->done && s->rest.size + s->splits > 0) {
		for (n = 0; n < s->rest.size; n++)
			if (memchr(s->separator.data, s->rest.data[n], s->separator.size) != NULL)
				break;
		*piece = (sp_bytes){s->rest.data, n};
		s->done = n == s->rest.size;
		s->splits++;
		if (!s->done)
			s->rest = after(s->rest, n + 1);
		if (n > 0 || !s->state->skip_empty)
			return true;
	}
	return false;
}

/* StringSplit with an empty separator: every byte is a piece. */
static bool next_byte(splitter *s, sp_bytes *piece)
{
	if (s->rest.size == 0)
		return false;
	*piece = (sp_bytes){s->rest.data, 1};
	s->rest = after(s->rest, 1);
	return true;
}

/* After maxsplit splits the rest of the string is the last piece. */
static bool next_is_rest(splitter *s, sp_bytes *piece)
{
	if (s->state->maxsplit < 0 || s->splits < s->state->maxsplit)
		return false;
	s->done = true;
	*piece = s->rest;
	return true;
}

static bool next_text(splitter *s, sp_bytes *piece)
{
	const char *found;

	if (s->done)
		return false;
	if (next_is_rest(s, piece))
		return true;
	found = s->rest.size == 0
			? NULL
			: memmem(s->rest.data, s->rest.size, s->separator.data, s->separator.size);
	if (found == NULL) {
		s->done = true;
		*piece = s->rest;
		return true;
	}
	*piece = (sp_bytes){s->rest.data, (size_t)(found - s->rest.data)};
	s->rest = after(s->rest, piece->size + s->separator.size);
	s->splits++;
	return true;
}

static bool next_word(splitter *s, sp_bytes *piece)
{
	size_t n = 0;

	if (s->done)
		return false;
	if (s->splits == 0 && s->state->maxsplit != 0)
		s->rest = sp_text_skip_space(s->rest);
	if (next_is_rest(s, piece))
		return true;
	if (s->rest.size == 0)
		return false;
	while (n < s->rest.size && !sp_text_is_space(s->rest.data[n]))
		n++;
	*piece = (sp_bytes){s->rest.data, n};
	s->rest = sp_text_skip_space(after(s->rest, n));
	s->splits++;
	return true;
}

static inline void start(splitter *s, sp_bytes text)
{
	s->rest = text;
	s->done = false;
	s->splits = 0;
}

static sp_status prepare_split(sp_prepare *prepare, sp_error *err)
{
	state *s = sp_prepare_state(prepare, sizeof(*s));

	SP_NEED_MEMORY(s, err, "StringSplit");
	SP_TRY(sp_prepare_types(prepare, "string string -> int64 string int64", err));
	SP_TRY(sp_node_attr_bool(prepare->node, "skip_empty", true, &s->skip_empty, err));
	return sp_node_attr_int(prepare->node, "maxsplit", -1, &s->maxsplit, err);
}

static void count_pieces(splitter *s, const sp_tensor *in, int64_t *total, int64_t *longest)
{
	sp_bytes piece;

	*total = 0;
	*longest = 0;
	for (size_t i = 0; i < in->count; i++) {
		int64_t n = 0;

		start(s, sp_tensor_strings(in)[i]);
		while (s->next(s, &piece))
			n++;
		*total += n;
		if (n > *longest)
			*longest = n;
	}
}

static void write_pieces(splitter *s, const sp_tensor *in, int64_t *indices, sp_bytes *values)
{
	for (size_t i = 0; i < in->count; i++) {
		start(s, sp_tensor_strings(in)[i]);
		for (int64_t n = 0; s->next(s, values); n++, values++, indices += 2) {
			indices[0] = (int64_t)i;
			indices[1] = n;
		}
	}
}

static sp_status split(const sp_call *call, splitter *s)
{
	const sp_tensor *in = call->in[0];
	int64_t total, longest;

	count_pieces(s, in, &total, &longest);
	SP_TRY(sp_call_output_matrix(call, 0, SP_INT64, total, 2));
	SP_TRY(sp_call_output_vector(call, 1, SP_STRING, total));
	SP_TRY(sp_call_output_vector(call, 2, SP_INT64, 2));
	write_pieces(s, in, sp_tensor_i64(call->out[0]), sp_tensor_strings(call->out[1]));
	sp_tensor_i64(call->out[2])[0] = (int64_t)in->count;
	sp_tensor_i64(call->out[2])[1] = longest;
	return SP_OK;
}

static sp_status check_shapes(const sp_call *call)
{
	SP_TRY(sp_call_need_rank(call, 0, 1));
	SP_TRY(sp_call_need_rank(call, 1, 0));
	return SP_OK;
}

static sp_status run_split(const sp_call *call)
{
	splitter s = {.state = call->state};

	SP_TRY(check_shapes(call));
	s.separator = sp_tensor_strings(call->in[1])[0];
	s.next = s.separator.size == 0 ? next_byte : next_any_of;
	return split(call, &s);
}

static sp_status run_split_v2(const sp_call *call)
{
	splitter s = {.state = call->state};

	SP_TRY(check_shapes(call));
	s.separator = sp_tensor_strings(call->in[1])[0];
	s.next = s.separator.size == 0 ? next_word : next_text;
	return split(call, &s);
}

SP_DEFINE_OP(StringSplit, "indices values shape", 0, prepare_split, run_split);
SP_DEFINE_OP(StringSplitV2, "indices values shape", 0, prepare_split, run_split_v2);
