#include "model_loader/embedding/bucket_offsets.h"

#include "storage/rows/rows.h"

sp_status sp_bucket_offsets_check(const sp_bundle *bundle, const sp_bundle_entry *entry,
				  sp_error *err)
{
	if (!entry->sliced && entry->dtype == SP_INT32 && entry->shape.rank == 1 &&
	    entry->shape.dims[0] == SP_BUCKETS + 1)
		return SP_OK;
	return sp_bundle_bad_tensor(err, bundle, entry, "a vector of %d DT_INT32", SP_BUCKETS + 1);
}

static bool ascend(const sp_bucket_offsets *offsets, size_t rows)
{
	if (offsets->first[0] != 0)
		return false;
	for (int b = 0; b < SP_BUCKETS; b++)
		if (offsets->first[b] > offsets->first[b + 1])
			return false;
	return (size_t)offsets->first[SP_BUCKETS] <= rows;
}

sp_status sp_bucket_offsets_read(sp_bucket_offsets *out, const sp_bundle *bundle,
				 const sp_bundle_entry *entry, size_t rows, sp_error *err)
{
	sp_bundle_span span;
	uint32_t crc = 0;

	SP_TRY(sp_bucket_offsets_check(bundle, entry, err));
	SP_TRY(sp_bundle_span_open(&span, bundle, entry->name, err));
	SP_TRY(sp_bundle_span_read(&span, 0, SP_BUCKETS + 1, out->first, &crc, err));
	SP_TRY(sp_bundle_span_check(&span, crc, err));
	if (ascend(out, rows))
		return SP_OK;
	return sp_error_set(err, SP_CORRUPT,
			    "%s: '%.*s' does not ascend from 0 to at most the %zu rows there are",
			    sp_bundle_prefix(bundle), (int)entry->name.size, entry->name.data,
			    rows);
}

bool sp_bucket_offsets_allow(const sp_bucket_offsets *offsets, int64_t key, size_t row)
{
	int64_t bucket = key % SP_BUCKETS;

	if (sp_key_is_mark(key) || row >= (size_t)offsets->first[SP_BUCKETS])
		return true;
	return bucket >= 0 && row >= (size_t)offsets->first[bucket] &&
	       row < (size_t)offsets->first[bucket + 1];
}
