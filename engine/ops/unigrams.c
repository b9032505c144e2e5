#include "engine/ops/unigrams.h"

#include <math.h>
#include <string.h>

#include "engine/ops/number.h"

#define INLINE "bytes://"

enum { MOST_CLASSES = 1 << 26 };

/* Where weights come from: a list, or lines. */
typedef struct source {
	const float *list;
	size_t count; /* left in the list */
	sp_bytes lines;
} source;

/* The next line that is not empty, without a '\r' at its end; false behind the last. */
static bool next_line(source *from, sp_bytes *out)
{
	while (from->lines.size != 0) {
		const char *at = from->lines.data;
		const char *end = memchr(at, '\n', from->lines.size);
		size_t size = end != NULL ? (size_t)(end - at) : from->lines.size;
		size_t used = size + (end != NULL);

		from->lines = (sp_bytes){at + used, from->lines.size - used};
		size -= size != 0 && at[size - 1] == '\r';
		*out = (sp_bytes){at, size};
		if (size != 0)
			return true;
	}
	return false;
}

static bool last_field(sp_bytes line, float *out)
{
	size_t n = line.size;

	while (n != 0 && line.data[n - 1] != ',')
		n--;
	return sp_number_read_f32((sp_bytes){line.data + n, line.size - n}, out);
}

/* A weight, or where it is not `wanted` no more than whether there is one. */
static sp_status next_weight(source *from, bool wanted, float *out, bool *more, sp_error *err)
{
	sp_bytes line;

	if (from->list != NULL) {
		*more = from->count != 0;
		if (*more) {
			*out = *from->list++;
			from->count--;
		}
		return SP_OK;
	}
	*more = next_line(from, &line);
	if (!*more || !wanted || last_field(line, out))
		return SP_OK;
	return sp_error_set(err, SP_INVALID, "Wrong vocabulary format at line: %.*s",
			    (int)(line.size < 100 ? line.size : 100), line.data);
}

typedef struct shard {
	int32_t reserved, count, which;
	float distortion;
} shard;

static sp_status read_shard(const sp_node *node, shard *out, sp_error *err)
{
	int64_t reserved, count, which;

	SP_TRY(sp_node_attr_int(node, "num_reserved_ids", 0, &reserved, err));
	SP_TRY(sp_node_attr_int(node, "num_shards", 1, &count, err));
	SP_TRY(sp_node_attr_int(node, "shard", 0, &which, err));
	SP_TRY(sp_node_attr_float(node, "distortion", 1, &out->distortion, err));
	if (count < 1 || count > INT32_MAX || which < 0 || which > INT32_MAX ||
	    reserved > MOST_CLASSES)
		return sp_error_set(err, SP_INVALID, "shard %lld of %lld with %lld reserved ids",
				    (long long)which, (long long)count, (long long)reserved);
	out->reserved = reserved < 0 ? 0 : (int32_t)reserved;
	out->count = (int32_t)count;
	out->which = (int32_t)which;
	return SP_OK;
}

static sp_status wrong_size(int64_t range, sp_error *err)
{
	return sp_error_set(err, SP_INVALID, "range is %lld, which the weights do not number",
			    (long long)range);
}

static sp_status read_weights(source *from, const shard *s, int64_t range, sp_unigrams *out,
			      sp_error *err)
{
	int64_t n = 0;
	bool more = true;

	for (int32_t i = 0; i < s->reserved; i++)
		if (i % s->count == s->which) {
			if (n == range)
				return wrong_size(range, err);
			out->weights[n++] = 0;
		}
	for (int64_t id = n; more; id++) {
		bool wanted = id % s->count == s->which;
		float weight = 0;

		SP_TRY(next_weight(from, wanted, &weight, &more, err));
		if (!more || !wanted)
			continue;
		if (n == range)
			return wrong_size(range, err);
		out->weights[n] = powf(weight, s->distortion);
		out->total += out->weights[n++];
	}
	return n == range ? SP_OK : wrong_size(range, err);
}

/*
 * Every place gets 1: a class with less fills its place up with a part of one with more, the last
 * that became such first.  shares [count] in places; stacks [count], the two of them from both
 * ends.
 */
static void fill_places(sp_unigrams *u, double *shares, int32_t *stacks)
{
	size_t low = 0, high = u->count;
	double sum = 0;

	for (size_t i = 0; i < u->count; i++)
		sum += (double)u->weights[i];
	for (size_t i = 0; i < u->count; i++) {
		shares[i] = (double)(u->weights[i] * (float)(int32_t)u->count) / sum;
		u->others[i] = (int32_t)i;
		stacks[shares[i] < 1.0 ? low++ : --high] = (int32_t)i;
	}
	while (low != 0 && high != u->count) {
		int32_t small = stacks[--low], large = stacks[high++];

		u->others[small] = large;
		shares[large] -= 1.0 - shares[small];
		stacks[shares[large] < 1.0 ? low++ : --high] = large;
		u->parts[small] = (float)shares[small];
	}
	/* What rounding leaves of either kind is close to 1. */
	while (low != 0)
		u->parts[stacks[--low]] = 1;
	while (high != u->count)
		u->parts[stacks[high++]] = 1;
}

static sp_status open_source(sp_prepare *prepare, source *out, sp_error *err)
{
	const sp_attr *list = sp_node_attr(prepare->node, "unigrams");
	sp_bytes file;

	*out = (source){.lines = {"", 0}};
	SP_TRY(sp_node_attr_bytes(prepare->node, "vocab_file", "", &file, err));
	if (list != NULL && list->kind == SP_ATTR_LIST && list->element == SP_ATTR_FLOAT) {
		out->list = list->f_list;
		out->count = list->count;
	}
	if ((file.size != 0) == (out->count != 0))
		return sp_error_set(err, SP_INVALID, "%s",
				    file.size == 0 ? "Must provide either vocab_file or unigrams."
						   : "Must only provide one of vocab_file and "
						     "unigrams.");
	if (file.size == 0)
		return SP_OK;
	out->list = NULL;
	if (!sp_bytes_starts_with(file, INLINE))
		return sp_error_set(err, SP_INVALID, "vocab_file %.*s was not there",
				    (int)(file.size < 100 ? file.size : 100), file.data);
	out->lines = (sp_bytes){file.data + strlen(INLINE), file.size - strlen(INLINE)};
	return SP_OK;
}

sp_status sp_unigrams__prepare(sp_prepare *prepare, int64_t range, sp_unigrams *out, sp_error *err)
{
	sp_arena *arena = prepare->arena;
	double *shares;
	int32_t *stacks;
	source from;
	shard s;

	*out = (sp_unigrams){.count = (size_t)range};
	SP_TRY(read_shard(prepare->node, &s, err));
	SP_TRY(open_source(prepare, &from, err));
	if (range > MOST_CLASSES ||
	    (range > s.reserved && (size_t)(range - s.reserved) > from.count &&
	     (size_t)(range - s.reserved) > from.lines.size))
		return wrong_size(range, err);
	out->weights = sp_arena_array(arena, out->count, sizeof(*out->weights));
	out->parts = sp_arena_array(arena, out->count, sizeof(*out->parts));
	out->others = sp_arena_array(arena, out->count, sizeof(*out->others));
	shares = sp_arena_array(arena, out->count, sizeof(*shares));
	stacks = sp_arena_array(arena, out->count, sizeof(*stacks));
	if (out->weights == NULL || out->parts == NULL || out->others == NULL || shares == NULL ||
	    stacks == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %lld weights",
				    (long long)range);
	SP_TRY(read_weights(&from, &s, range, out, err));
	fill_places(out, shares, stacks);
	return SP_OK;
}

/* Below n, each as likely. */
static uint32_t draw_below(sp_random_words *words, uint32_t n)
{
	uint32_t rest = UINT32_MAX % n + 1, bits;

	if ((n & (n - 1)) == 0)
		return sp_random__word(words) & (n - 1);
	do
		bits = sp_random__word(words);
	while (bits < rest);
	return bits % n;
}

int64_t sp_unigrams__draw(const sp_unigrams *u, sp_random_words *words)
{
	float part = (float)(sp_random__word(words) & 0x7fffff) * 0x1p-23f;
	uint32_t place = draw_below(words, (uint32_t)u->count);

	return part < u->parts[place] ? (int64_t)place : u->others[place];
}

float sp_unigrams__probability(const sp_unigrams *u, int64_t value)
{
	if (value < 0 || (uint64_t)value >= u->count)
		return 0;
	return u->weights[value] / u->total;
}
