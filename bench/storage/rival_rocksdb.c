#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/storage/rivals.h"

/*
 * RocksDB configured for fast reads: one level of sorted files, a hash index in each block, mapped
 * files so that rows are not copied into a cache, no compression, no checksums on reads, no writes.
 * The keys of a batch go through its batched multi-get.
 */

typedef struct rocks {
	rocksdb_t *db;
	rocksdb_options_t *options;
	rocksdb_readoptions_t *read;
	rocksdb_column_family_handle_t *family;
	char path[512];
	size_t dim;
} rocks;

static void check(char *error)
{
	if (error != NULL) {
		fprintf(stderr, "bench_store: rocksdb: %s\n", error);
		exit(1);
	}
}

/* Big-endian, so that byte order is numeric order. */
static void put_key(char *bytes, int64_t key)
{
	uint64_t big = __builtin_bswap64((uint64_t)key);

	memcpy(bytes, &big, sizeof(big));
}

static int by_key(const void *a, const void *b)
{
	int64_t x = sp_rival_key(*(const uint32_t *)a), y = sp_rival_key(*(const uint32_t *)b);

	return (x > y) - (x < y);
}

static void write_rows(rocksdb_options_t *options, const char *file, const sp_rival_data *data)
{
	rocksdb_envoptions_t *environment = rocksdb_envoptions_create();
	rocksdb_sstfilewriter_t *writer = rocksdb_sstfilewriter_create(environment, options);
	uint32_t *order = sp_rival_need(malloc(data->count * sizeof(*order)));
	float *row = sp_rival_need(malloc(data->dim * sizeof(*row)));
	char *error = NULL;

	for (uint32_t i = 0; i < data->count; i++)
		order[i] = i;
	qsort(order, data->count, sizeof(*order), by_key);
	rocksdb_sstfilewriter_open(writer, file, &error);
	check(error);
	for (size_t i = 0; i < data->count; i++) {
		char key[8];

		put_key(key, sp_rival_key(order[i]));
		for (size_t d = 0; d < data->dim; d++)
			row[d] = sp_rival_element(order[i], d);
		rocksdb_sstfilewriter_put(writer, key, 8, (const char *)row,
					  data->dim * sizeof(float), &error);
		check(error);
	}
	rocksdb_sstfilewriter_finish(writer, &error);
	check(error);
	rocksdb_sstfilewriter_destroy(writer);
	rocksdb_envoptions_destroy(environment);
	free(order);
	free(row);
}

static rocksdb_options_t *make_options(void)
{
	rocksdb_options_t *options = rocksdb_options_create();
	rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();

	rocksdb_block_based_options_set_block_size(table, 1024);
	rocksdb_block_based_options_set_data_block_index_type(
		table, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);
	rocksdb_block_based_options_set_data_block_hash_ratio(table, 0.75);
	rocksdb_block_based_options_set_filter_policy(table,
						      rocksdb_filterpolicy_create_bloom_full(10));
	rocksdb_block_based_options_set_no_block_cache(table, 1);
	rocksdb_options_set_block_based_table_factory(options, table);
	rocksdb_options_set_compression(options, rocksdb_no_compression);
	rocksdb_options_set_allow_mmap_reads(options, 1);
	rocksdb_options_set_create_if_missing(options, 1);
	rocksdb_options_set_disable_auto_compactions(options, 1);
	rocksdb_block_based_options_destroy(table);
	return options;
}

static void *build(const sp_rival_data *data)
{
	rocks *r = sp_rival_need(calloc(1, sizeof(*r)));
	rocksdb_ingestexternalfileoptions_t *ingest = rocksdb_ingestexternalfileoptions_create();
	char file[600], *error = NULL;
	const char *files[] = {file}, *family = "default";
	const rocksdb_options_t *options[1];

	r->dim = data->dim;
	snprintf(r->path, sizeof(r->path), "%s/bench_store.rocksdb", data->folder);
	snprintf(file, sizeof(file), "%s.sst", r->path);
	options[0] = r->options = make_options();
	rocksdb_destroy_db(r->options, r->path, &error);
	free(error);
	error = NULL;
	write_rows(r->options, file, data);
	r->db = rocksdb_open_column_families(r->options, r->path, 1, &family, options, &r->family,
					     &error);
	check(error);
	rocksdb_ingestexternalfileoptions_set_move_files(ingest, 1);
	rocksdb_ingest_external_file(r->db, files, 1, ingest, &error);
	check(error);
	rocksdb_ingestexternalfileoptions_destroy(ingest);
	remove(file);
	r->read = rocksdb_readoptions_create();
	rocksdb_readoptions_set_verify_checksums(r->read, 0);
	return r;
}

static void look_up(void *store, const int64_t *keys, size_t count, float *rows)
{
	enum { BATCH = 64 };
	rocks *r = store;
	rocksdb_pinnableslice_t *values[BATCH];
	const char *places[BATCH];
	char bytes[BATCH][8], *errors[BATCH];
	size_t sizes[BATCH];

	for (size_t first = 0; first < count; first += BATCH) {
		size_t n = count - first < BATCH ? count - first : BATCH;

		for (size_t i = 0; i < n; i++) {
			put_key(bytes[i], keys[first + i]);
			places[i] = bytes[i];
			sizes[i] = 8;
		}
		rocksdb_batched_multi_get_cf(r->db, r->read, r->family, n, places, sizes, values,
					     errors, false);
		for (size_t i = 0; i < n; i++) {
			float *to = rows + (first + i) * r->dim;
			size_t size;

			check(errors[i]);
			if (values[i] == NULL) {
				memset(to, 0, r->dim * sizeof(*to));
				continue;
			}
			memcpy(to, rocksdb_pinnableslice_value(values[i], &size),
			       r->dim * sizeof(*to));
			rocksdb_pinnableslice_destroy(values[i]);
		}
	}
}

static size_t footprint(void *store)
{
	rocks *r = store;
	char *size = rocksdb_property_value(r->db, "rocksdb.total-sst-files-size");
	size_t bytes = size != NULL ? strtoull(size, NULL, 10) : 0;

	free(size);
	return bytes;
}

static void destroy(void *store)
{
	rocks *r = store;
	char *error = NULL;

	rocksdb_readoptions_destroy(r->read);
	rocksdb_column_family_handle_destroy(r->family);
	rocksdb_close(r->db);
	rocksdb_destroy_db(r->options, r->path, &error);
	free(error);
	rocksdb_options_destroy(r->options);
	free(r);
}

const sp_rival sp_rival_rocksdb = {"rocksdb", build, look_up, footprint, destroy};
