#include "model_loader/checkpoint/key_numbers.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

/* Both tensors, and memory for one piece of them. */
typedef struct reader {
	sp_bundle_span keys, numbers;
	uint32_t keys_crc, numbers_crc;
	int64_t key[SP_KEY_NUMBERS_PIECE], number[SP_KEY_NUMBERS_PIECE];
} reader;

/* NULL in *out when the bundle has no such tensor. */
static sp_status find(const sp_bundle_entry **out, const sp_key_numbers *from, const char *suffix,
		      sp_error *err)
{
	sp_arena *arena = sp_arena_create(1024);
	const char *name = NULL;

	*out = NULL;
	if (arena != NULL)
		name = sp_arena_printf(arena, "%s%s", from->name, suffix);
	if (name != NULL)
		*out = sp_bundle_find(from->bundle, sp_bytes_of(name));
	sp_arena_destroy(arena);
	if (name == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for the name of a tensor");
	return SP_OK;
}

static sp_status bad_tensor(const sp_key_numbers *from, const sp_bundle_entry *entry,
			    const char *want, sp_error *err)
{
	char shape[SP_SHAPE_TEXT_SIZE];

	return sp_error_set(err, SP_CORRUPT, "%s: '%.*s' is %s %s, not %s",
			    sp_bundle_prefix(from->bundle), (int)entry->name.size, entry->name.data,
			    sp_dtype_name(entry->dtype), sp_shape_text(&entry->shape, shape), want);
}

static sp_status find_keys(const sp_bundle_entry **out, const sp_key_numbers *from, sp_error *err)
{
	const sp_bundle_entry *keys;
	char want[64];

	SP_TRY(find(out, from, from->keys, err));
	keys = *out;
	if (keys == NULL ||
	    (!keys->sliced && keys->dtype == from->key_dtype && keys->shape.rank == 1))
		return SP_OK;
	snprintf(want, sizeof(want), "one dimension of %s", sp_dtype_name(from->key_dtype));
	return bad_tensor(from, keys, want, err);
}

static sp_status find_numbers(const sp_bundle_entry **out, const sp_key_numbers *from,
			      int64_t count, sp_error *err)
{
	const sp_bundle_entry *numbers;
	char want[64];

	SP_TRY(find(out, from, from->numbers, err));
	numbers = *out;
	if (numbers == NULL || (!numbers->sliced && numbers->dtype == SP_INT64 &&
				numbers->shape.rank == 1 && numbers->shape.dims[0] <= count))
		return SP_OK;
	snprintf(want, sizeof(want), "at most %lld of DT_INT64", (long long)count);
	return bad_tensor(from, numbers, want, err);
}

static sp_status read_piece(reader *r, size_t first, sp_key_numbers_piece *piece, sp_error *err)
{
	size_t left = r->keys.count - first;
	size_t known = first < r->numbers.count ? r->numbers.count - first : 0;

	*piece = (sp_key_numbers_piece){.keys = r->key, .numbers = r->number};
	piece->count = left < SP_KEY_NUMBERS_PIECE ? left : SP_KEY_NUMBERS_PIECE;
	piece->known = known < piece->count ? known : piece->count;
	SP_TRY(sp_bundle_span_read_keys(&r->keys, first, piece->count, r->key, &r->keys_crc, err));
	if (piece->known == 0)
		return SP_OK;
	return sp_bundle_span_read(&r->numbers, first, piece->known, r->number, &r->numbers_crc,
				   err);
}

static sp_status read_all(reader *r, const sp_key_numbers *from, const sp_bundle_entry *keys,
			  const sp_bundle_entry *numbers, sp_key_numbers_take *take, void *context,
			  sp_error *err)
{
	SP_TRY(sp_bundle_span_open(&r->keys, from->bundle, keys->name, err));
	if (numbers != NULL)
		SP_TRY(sp_bundle_span_open(&r->numbers, from->bundle, numbers->name, err));
	for (size_t first = 0; first < r->keys.count; first += SP_KEY_NUMBERS_PIECE) {
		sp_key_numbers_piece piece;

		SP_TRY(read_piece(r, first, &piece, err));
		SP_TRY(take(context, &piece, err));
	}
	SP_TRY(sp_bundle_span_check(&r->keys, r->keys_crc, err));
	return numbers != NULL ? sp_bundle_span_check(&r->numbers, r->numbers_crc, err) : SP_OK;
}

sp_status sp_key_numbers_read(const sp_key_numbers *from, sp_key_numbers_take *take, void *context,
			      sp_error *err)
{
	const sp_bundle_entry *keys, *numbers;
	sp_status status;
	reader *r;

	SP_TRY(find_keys(&keys, from, err));
	if (keys == NULL)
		return SP_OK;
	SP_TRY(find_numbers(&numbers, from, keys->shape.dims[0], err));
	r = sp_alloc_zero(1, sizeof(*r));
	if (r == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to read '%s%s'", from->name,
				    from->numbers);
	status = read_all(r, from, keys, numbers, take, context, err);
	sp_free(r);
	return status;
}

sp_status sp_key_numbers_count(const sp_key_numbers *from, size_t *count, sp_error *err)
{
	const sp_bundle_entry *keys;

	SP_TRY(find_keys(&keys, from, err));
	*count = keys != NULL ? (size_t)keys->shape.dims[0] : 0;
	return SP_OK;
}
