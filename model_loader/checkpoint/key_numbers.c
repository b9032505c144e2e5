#include "model_loader/checkpoint/key_numbers.h"

#include "base/alloc.h"

/* Both tensors, and buffers for one piece of them. */
typedef struct reader {
	sp_bundle_span keys, numbers;
	uint32_t keys_crc, numbers_crc;
	int64_t key[SP_KEY_NUMBERS_PIECE], number[SP_KEY_NUMBERS_PIECE];
} reader;

sp_status sp_key_numbers_check(const sp_bundle *bundle, const sp_bundle_entry *keys,
			       sp_dtype key_dtype, const sp_bundle_entry *numbers, sp_error *err)
{
	if (keys->sliced || keys->dtype != key_dtype || keys->shape.rank != 1)
		return sp_bundle_bad_tensor(err, bundle, keys, "a vector of %s",
					    sp_dtype_name(key_dtype));
	if (numbers != NULL &&
	    (numbers->sliced || numbers->dtype != SP_INT64 || numbers->shape.rank != 1 ||
	     numbers->shape.dims[0] > keys->shape.dims[0]))
		return sp_bundle_bad_tensor(err, bundle, numbers, "at most %lld of DT_INT64",
					    (long long)keys->shape.dims[0]);
	return SP_OK;
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
	const sp_bundle_entry *keys = sp_bundle_find_joined(from->bundle, from->name, from->keys);
	const sp_bundle_entry *numbers = sp_bundle_find_joined(from->bundle, from->name,
							       from->numbers);
	sp_status status;
	reader *r;

	if (keys == NULL)
		return SP_OK;
	SP_TRY(sp_key_numbers_check(from->bundle, keys, from->key_dtype, numbers, err));
	r = sp_alloc_zero(1, sizeof(*r));
	SP_NEED_MEMORY(r, err, "reading '%s%s'", from->name, from->numbers);
	status = read_all(r, from, keys, numbers, take, context, err);
	sp_free(r);
	return status;
}

sp_status sp_key_numbers_count(const sp_key_numbers *from, size_t *count, sp_error *err)
{
	const sp_bundle_entry *keys = sp_bundle_find_joined(from->bundle, from->name, from->keys);

	*count = keys != NULL ? (size_t)keys->shape.dims[0] : 0;
	return keys != NULL ? sp_key_numbers_check(from->bundle, keys, from->key_dtype, NULL, err)
			    : SP_OK;
}
