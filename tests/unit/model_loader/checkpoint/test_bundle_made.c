#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/checkpoint/ordered_code.h"
#include "tests/support/paths.h"
#include "tests/support/table_writer.h"
#include "tests/support/wire.h"

/* Bundles that are written here, field by field: what TensorFlow would not write, too. */

/* Fields of BundleHeaderProto and BundleEntryProto. */
enum { NUM_SHARDS = 1, ENDIANNESS = 2, VERSION = 3 };
enum { DTYPE = 1, SHAPE = 2, SHARD = 3, OFFSET = 4, SIZE = 5, CRC = 6, SLICES = 7, HASH = 100 };
static int setup(void **state)
{
	*state = sp_arena_create(4096);
	return *state == NULL;
}

static int teardown(void **state)
{
	sp_arena_destroy(*state);
	return 0;
}

typedef struct maker {
	char directory[SP_PATH_SIZE];
	char prefix[SP_PATH_SIZE];
	sp_table_writer table;
	sp_block_writer block;
	sp_buffer data; /* of shard 0 */
} maker;

static void make_begin(maker *m)
{
	sp_temp_make(m->directory);
	assert_true((size_t)snprintf(m->prefix, SP_PATH_SIZE, "%s/b", m->directory) < SP_PATH_SIZE);
	sp_table_begin(&m->table, false);
	sp_block_begin(&m->block, 16);
	m->data = sp_wire_begin();
}

static void make_header(maker *m, uint64_t shards, uint64_t endianness)
{
	sp_buffer header = sp_wire_begin();

	sp_wire_varint(&header, NUM_SHARDS, shards);
	sp_wire_varint(&header, ENDIANNESS, endianness);
	sp_wire_bytes(&header, VERSION, (sp_bytes){"\x08\x01", 2});
	sp_block_add(&m->block, (sp_bytes){"", 0}, sp_wire_view(&header));
	sp_buffer_fini(&header);
}

/* An entry without its place. */
static sp_buffer entry_of(uint64_t dtype, size_t rank, const int64_t *dims)
{
	sp_buffer entry = sp_wire_begin(), shape = sp_wire_begin();

	sp_wire_varint(&entry, DTYPE, dtype);
	for (size_t i = 0; i < rank; i++) {
		sp_buffer dim = sp_wire_begin();

		sp_wire_varint(&dim, 1, (uint64_t)dims[i]);
		sp_wire_message(&shape, 2, &dim);
	}
	sp_wire_message(&entry, SHAPE, &shape);
	return entry;
}

static void make_add(maker *m, sp_bytes name, sp_buffer *entry)
{
	sp_block_add(&m->block, name, sp_wire_view(entry));
	sp_buffer_fini(entry);
}

/* Puts the bytes into the shard and the place into the entry. */
static void place(maker *m, sp_buffer *entry, sp_bytes bytes)
{
	sp_wire_varint(entry, OFFSET, m->data.size);
	sp_wire_varint(entry, SIZE, bytes.size);
	sp_wire_fixed32(entry, CRC, sp_crc32c_mask(sp_crc32c(0, bytes.data, bytes.size)));
	sp_buffer_append(&m->data, bytes.data, bytes.size);
}

static void make_vector(maker *m, const char *name, sp_dtype dtype, int64_t count, sp_bytes bytes)
{
	sp_buffer entry = entry_of(dtype, 1, &count);

	place(m, &entry, bytes);
	make_add(m, sp_bytes_of(name), &entry);
}

static void make_end(maker *m)
{
	sp_table_add_block(&m->table, &m->block, sp_bytes_of("\xff"));
	sp_table_end(&m->table);
	sp_temp_write(m->prefix, ".index", sp_wire_view(&m->table.file));
	sp_temp_write(m->prefix, ".data-00000-of-00001", sp_wire_view(&m->data));
	sp_table_fini(&m->table);
	sp_buffer_fini(&m->data);
}

/* Opens what was made; NULL when it is refused, then *status and *err say why. */
static sp_bundle *made(maker *m, sp_status *status, sp_error *err)
{
	sp_bundle *bundle = NULL;

	make_end(m);
	*status = sp_bundle_open(&bundle, m->prefix, err);
	return *status == SP_OK ? bundle : NULL;
}

static sp_bundle *must_open(maker *m)
{
	sp_status status;
	sp_error err;
	sp_bundle *bundle = made(m, &status, &err);

	assert_ok(status, &err);
	return bundle;
}

static void must_refuse(maker *m, sp_status want, const char *words)
{
	sp_status status;
	sp_error err;
	sp_bundle *bundle = made(m, &status, &err);

	assert_null(bundle);
	assert_int_equal(status, want);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
	sp_temp_remove(m->directory);
}

static void make_close(maker *m, sp_bundle *bundle)
{
	sp_bundle_close(bundle);
	sp_temp_remove(m->directory);
}

/* Lengths enter the checksums as 32 bits, whatever their varint. */
static void strings_are_read(void **state)
{
	static const int64_t count = 2;
	sp_buffer entry = entry_of(SP_STRING, 1, &count);
	uint32_t crc = sp_crc32c(0, "\2\0\0\0\1\0\0\0", 8), masked = sp_crc32c_mask(crc);
	char bytes[9] = "\2\1....abc";
	sp_bundle *bundle;
	sp_tensor t;
	sp_error err;
	maker m;

	make_begin(&m);
	make_header(&m, 1, 0);
	for (int i = 0; i < 4; i++)
		bytes[2 + i] = (char)(masked >> 8 * i);
	crc = sp_crc32c(crc, bytes + 2, 7);
	sp_wire_varint(&entry, OFFSET, m.data.size);
	sp_wire_varint(&entry, SIZE, 9);
	sp_wire_fixed32(&entry, CRC, sp_crc32c_mask(crc));
	sp_buffer_append(&m.data, bytes, 9);
	make_add(&m, sp_bytes_of("s"), &entry);
	bundle = must_open(&m);
	assert_ok(sp_bundle_read(bundle, sp_bytes_of("s"), *state, &t, &err), &err);
	assert_true(sp_bytes_equal_text(sp_tensor_strings(&t)[0], "ab"));
	assert_true(sp_bytes_equal_text(sp_tensor_strings(&t)[1], "c"));
	make_close(&m, bundle);
}

static void a_bool_is_any_byte_but_zero(void **state)
{
	sp_bundle_span span;
	sp_bundle *bundle;
	sp_tensor t;
	sp_error err;
	maker m;

	make_begin(&m);
	make_header(&m, 1, 0);
	make_vector(&m, "b", SP_BOOL, 3, (sp_bytes){"\0\1\xfe", 3});
	bundle = must_open(&m);
	assert_ok(sp_bundle_read(bundle, sp_bytes_of("b"), *state, &t, &err), &err);
	assert_memory_equal(t.data, "\0\1\1", 3);
	assert_int_equal(sp_bundle_span_open(&span, bundle, sp_bytes_of("b"), &err),
			 SP_UNSUPPORTED);
	make_close(&m, bundle);
}

static void what_cannot_be_read_only_loses_itself(void **state)
{
	static const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
	static const char *const names[] = {"deep", "table", "unknown", "variant"};
	sp_buffer table, deep, unknown, variant;
	sp_bundle_span span;
	sp_bundle *bundle;
	sp_error err;
	sp_tensor t;
	maker m;

	make_begin(&m);
	make_header(&m, 1, 0);
	deep = entry_of(SP_FLOAT, 9, nine);
	place(&m, &deep, sp_bytes_of("1234"));
	make_add(&m, sp_bytes_of("deep"), &deep);
	make_vector(&m, "good", SP_UINT8, 1, sp_bytes_of("x"));
	table = entry_of(SP_FLOAT, 1, nine);
	sp_wire_varint(&table, HASH, 1);
	make_add(&m, sp_bytes_of("table"), &table);
	unknown = entry_of(77, 1, nine);
	make_add(&m, sp_bytes_of("unknown"), &unknown);
	variant = entry_of(SP_VARIANT, 1, nine);
	make_add(&m, sp_bytes_of("variant"), &variant);
	bundle = must_open(&m);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(sp_bundle_read(bundle, sp_bytes_of(names[i]), *state, &t, &err),
				 SP_UNSUPPORTED);
		assert_non_null(strstr(err.text, names[i]));
		assert_int_equal(sp_bundle_span_open(&span, bundle, sp_bytes_of(names[i]), NULL),
				 SP_UNSUPPORTED);
	}
	assert_ok(sp_bundle_read(bundle, sp_bytes_of("good"), *state, &t, &err), &err);
	make_close(&m, bundle);
}

static void headers_that_are_none_are_refused(void **state)
{
	static const uint64_t shards[] = {0, 100001, UINT64_MAX, (uint64_t)1 << 31};
	sp_buffer future = sp_wire_begin();
	maker m;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		make_begin(&m);
		make_header(&m, shards[i], 0);
		must_refuse(&m, SP_CORRUPT, "shards");
	}
	make_begin(&m);
	make_header(&m, 1, 1);
	must_refuse(&m, SP_UNSUPPORTED, "byte order");
	make_begin(&m);
	make_vector(&m, "t", SP_UINT8, 1, sp_bytes_of("x"));
	must_refuse(&m, SP_CORRUPT, "header");
	make_begin(&m);
	sp_block_add(&m.block, (sp_bytes){"", 0}, sp_bytes_of("\xff"));
	must_refuse(&m, SP_CORRUPT, "message");
	make_begin(&m);
	sp_wire_varint(&future, NUM_SHARDS, 1);
	sp_wire_bytes(&future, VERSION, (sp_bytes){"\x10\x02", 2});
	sp_block_add(&m.block, (sp_bytes){"", 0}, sp_wire_view(&future));
	sp_buffer_fini(&future);
	must_refuse(&m, SP_UNSUPPORTED, "version 2");
}

static void a_missing_shard_is_named(void **state)
{
	sp_bundle *bundle;
	sp_error err;
	maker m;

	(void)state;
	make_begin(&m);
	make_header(&m, 2, 0);
	make_end(&m);
	sp_temp_write(m.prefix, ".data-00000-of-00002", sp_bytes_of(""));
	assert_int_equal(sp_bundle_open(&bundle, m.prefix, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "b.data-00001-of-00002 is missing"));
	sp_temp_write(m.prefix, ".data-00001-of-00002", sp_bytes_of(""));
	assert_ok(sp_bundle_open(&bundle, m.prefix, &err), &err);
	make_close(&m, bundle);
}

static void a_missing_index_is_not_found(void **state)
{
	sp_bundle *bundle;

	(void)state;
	assert_int_equal(sp_bundle_open(&bundle, "/nonexistent/b", NULL), SP_NOT_FOUND);
	sp_bundle_close(NULL);
}

static void places_outside_the_shard_are_refused(void **state)
{
	static const struct {
		uint64_t shard, offset, size;
	} wrong[] = {
		{0, 0, 9},          {0, 1, 8},          {0, 9, 0},
		{0, UINT64_MAX, 8}, {0, 0, UINT64_MAX}, {0, INT64_MAX, INT64_MAX},
		{1, 0, 8},          {UINT64_MAX, 0, 8},
	};
	static const int64_t two = 2;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_buffer entry = entry_of(SP_FLOAT, 1, &two);
		maker m;

		make_begin(&m);
		make_header(&m, 1, 0);
		sp_buffer_append(&m.data, "12345678", 8);
		sp_wire_varint(&entry, SHARD, wrong[i].shard);
		sp_wire_varint(&entry, OFFSET, wrong[i].offset);
		sp_wire_varint(&entry, SIZE, wrong[i].size);
		make_add(&m, sp_bytes_of("t"), &entry);
		must_refuse(&m, SP_CORRUPT, "tensor t");
	}
}

static void sizes_must_be_those_of_the_shape(void **state)
{
	static const struct {
		uint64_t dtype;
		int64_t count;
		size_t size;
	} wrong[] = {
		{SP_FLOAT, 2, 4},  {SP_FLOAT, 1, 8},  {SP_FLOAT, 0, 4},
		{SP_BOOL, 1, 8},   {SP_STRING, 9, 8}, {SP_FLOAT, (int64_t)1 << 62, 8},
		{SP_FLOAT, -1, 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_buffer entry = entry_of(wrong[i].dtype, 1, &wrong[i].count);
		maker m;

		make_begin(&m);
		make_header(&m, 1, 0);
		place(&m, &entry, (sp_bytes){"12345678", wrong[i].size});
		make_add(&m, sp_bytes_of("t"), &entry);
		must_refuse(&m, SP_CORRUPT, "tensor t");
	}
}

/* Adds a vector of uint8 under the key of a slice of a matrix [2, 2]. */
static void add_piece(maker *m, int64_t row, int64_t column, int64_t rows, int64_t columns,
		      const int64_t *dims, sp_dtype dtype)
{
	sp_tensor_slice slice = {2, {row, column}, {rows, columns}};
	sp_buffer key = sp_wire_begin(), entry = entry_of(dtype, 2, dims);

	sp_ordered_code_slice_key(&key, sp_bytes_of("t"), &slice);
	place(m, &entry, (sp_bytes){"1234", (size_t)(dims[0] * dims[1])});
	make_add(m, sp_wire_view(&key), &entry);
	sp_buffer_fini(&key);
}

static void add_extent(sp_buffer *slice, int64_t start, int64_t length)
{
	sp_buffer extent = sp_wire_begin();

	sp_wire_varint(&extent, 1, (uint64_t)start);
	if (length >= 0)
		sp_wire_varint(&extent, 2, (uint64_t)length);
	sp_wire_message(slice, 1, &extent);
}

/* Adds the tensor "t", a matrix [2, 2] of uint8 in these slices of row, column, rows, columns. */
static void add_sliced(maker *m, const int64_t (*slices)[4], size_t count)
{
	static const int64_t dims[] = {2, 2};
	sp_buffer entry = entry_of(SP_UINT8, 2, dims);

	for (size_t i = 0; i < count; i++) {
		sp_buffer slice = sp_wire_begin();

		add_extent(&slice, slices[i][0], slices[i][2]);
		add_extent(&slice, slices[i][1], slices[i][3]);
		sp_wire_message(&entry, SLICES, &slice);
	}
	make_add(m, sp_bytes_of("t"), &entry);
}

static const int64_t row_dims[] = {1, 2}, column_dims[] = {2, 1}, whole_dims[] = {2, 2};

static void a_good_pair_of_slices_is_taken(void **state)
{
	static const int64_t slices[][4] = {{0, 0, 1, -1}, {1, 0, 1, -1}};
	sp_bundle *bundle;
	sp_error err;
	sp_tensor t;
	maker m;

	make_begin(&m);
	make_header(&m, 1, 0);
	add_piece(&m, 0, 0, 1, -1, row_dims, SP_UINT8);
	add_piece(&m, 1, 0, 1, -1, row_dims, SP_UINT8);
	add_sliced(&m, slices, 2);
	bundle = must_open(&m);
	assert_ok(sp_bundle_read(bundle, sp_bytes_of("t"), *state, &t, &err), &err);
	assert_memory_equal(t.data, "1212", 4);
	make_close(&m, bundle);
}

static void slices_that_overlap_are_refused(void **state)
{
	/* As many elements as there are, but one twice and one not at all. */
	static const int64_t slices[][4] = {{0, 0, 1, 2}, {0, 0, 2, 1}};
	sp_bundle *bundle;
	sp_error err;
	sp_tensor t;
	maker m;

	make_begin(&m);
	make_header(&m, 1, 0);
	add_piece(&m, 0, 0, 1, 2, row_dims, SP_UINT8);
	add_piece(&m, 0, 0, 2, 1, column_dims, SP_UINT8);
	add_sliced(&m, slices, 2);
	bundle = must_open(&m);
	assert_int_equal(sp_bundle_read(bundle, sp_bytes_of("t"), *state, &t, &err), SP_CORRUPT);
	assert_non_null(strstr(err.text, "overlap"));
	assert_int_equal(sp_bundle_read_slice(bundle, sp_bytes_of("t"), sp_bytes_of("2 2 1,1:1,1"),
					      *state, &t, &err),
			 SP_CORRUPT);
	assert_non_null(strstr(err.text, "leave out"));
	make_close(&m, bundle);
}

static void slices_that_do_not_fit_are_refused(void **state)
{
	static const int64_t one[][4] = {{0, 0, 1, 2}};
	static const int64_t below[][4] = {{0, 0, 1, 2}, {2, 0, 1, 2}};
	static const int64_t missing[][4] = {{0, 0, 1, 2}, {1, 0, 1, 2}};
	static const int64_t twice[][4] = {{0, 0, 1, 2}, {0, 0, 1, 2}, {0, 0, 1, 2}};
	static const struct {
		const int64_t (*slices)[4];
		size_t count;
		const char *words;
	} cases[] = {
		{one, 1, "2 of its 4"},
		{below, 2, "outside"},
		{missing, 2, "missing"},
		{twice, 3, "6 of its 4"},
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		maker m;

		make_begin(&m);
		make_header(&m, 1, 0);
		sp_buffer_append(&m.data, "enough to read", 14);
		add_piece(&m, 0, 0, 1, 2, row_dims, SP_UINT8);
		add_piece(&m, 2, 0, 1, 2, row_dims, SP_UINT8);
		add_sliced(&m, cases[i].slices, cases[i].count);
		must_refuse(&m, SP_CORRUPT, cases[i].words);
	}
}

static void slices_share_type_and_shape_with_their_tensor(void **state)
{
	static const int64_t slices[][4] = {{0, 0, 1, 2}, {1, 0, 1, 2}};

	(void)state;
	for (int i = 0; i < 2; i++) {
		maker m;

		make_begin(&m);
		make_header(&m, 1, 0);
		add_piece(&m, 0, 0, 1, 2, row_dims, SP_UINT8);
		add_piece(&m, 1, 0, 1, 2, i == 0 ? row_dims : column_dims,
			  i == 0 ? SP_INT8 : SP_UINT8);
		add_sliced(&m, slices, 2);
		must_refuse(&m, SP_CORRUPT, "another type or shape");
	}
}

static void slices_are_not_sliced_themselves(void **state)
{
	sp_tensor_slice whole = {2, {0, 0}, {2, 2}};
	sp_buffer key = sp_wire_begin(), entry = entry_of(SP_UINT8, 2, whole_dims);
	maker m;

	(void)state;
	make_begin(&m);
	make_header(&m, 1, 0);
	sp_ordered_code_slice_key(&key, sp_bytes_of("t"), &whole);
	sp_wire_bytes(&entry, SLICES, (sp_bytes){"\x0a\0\x0a\0", 4});
	make_add(&m, sp_wire_view(&key), &entry);
	sp_buffer_fini(&key);
	must_refuse(&m, SP_CORRUPT, "sliced itself");
}

static void a_slice_has_the_rank_of_its_tensor(void **state)
{
	sp_buffer entry = entry_of(SP_UINT8, 2, whole_dims);
	maker m;

	(void)state;
	make_begin(&m);
	make_header(&m, 1, 0);
	sp_wire_bytes(&entry, SLICES, (sp_bytes){"\x0a\0", 2});
	make_add(&m, sp_bytes_of("t"), &entry);
	must_refuse(&m, SP_CORRUPT, "rank");
}

/* A few bytes of index claim the same bytes of data again and again. */
static void slices_cannot_multiply_the_data(void **state)
{
	enum { COLUMNS = 50 };
	static const int64_t dims[] = {4, COLUMNS}, column[] = {4, 1};
	sp_buffer entry = entry_of(SP_UINT8, 2, dims);
	maker m;

	(void)state;
	make_begin(&m);
	make_header(&m, 1, 0);
	sp_buffer_append(&m.data, "1234", 4);
	for (int64_t i = 0; i < COLUMNS; i++) {
		sp_tensor_slice slice = {2, {0, i}, {SP_SLICE_FULL, 1}};
		sp_buffer key = sp_wire_begin(), piece = entry_of(SP_UINT8, 2, column);
		sp_buffer named = sp_wire_begin();

		sp_ordered_code_slice_key(&key, sp_bytes_of("t"), &slice);
		sp_wire_varint(&piece, SIZE, 4);
		make_add(&m, sp_wire_view(&key), &piece);
		sp_buffer_fini(&key);
		add_extent(&named, 0, -1);
		add_extent(&named, i, 1);
		sp_wire_message(&entry, SLICES, &named);
	}
	make_add(&m, sp_bytes_of("t"), &entry);
	must_refuse(&m, SP_CORRUPT, "share bytes");
}
int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {

		TEST(strings_are_read),
		TEST(a_bool_is_any_byte_but_zero),
		TEST(what_cannot_be_read_only_loses_itself),
		TEST(headers_that_are_none_are_refused),
		TEST(a_missing_shard_is_named),
		TEST(a_missing_index_is_not_found),
		TEST(places_outside_the_shard_are_refused),
		TEST(sizes_must_be_those_of_the_shape),
		TEST(a_good_pair_of_slices_is_taken),
		TEST(slices_that_overlap_are_refused),
		TEST(slices_that_do_not_fit_are_refused),
		TEST(slices_share_type_and_shape_with_their_tensor),
		TEST(slices_are_not_sliced_themselves),
		TEST(a_slice_has_the_rank_of_its_tensor),
		TEST(slices_cannot_multiply_the_data),
	};

	return cmocka_run_group_tests_name("bundle_made", tests, NULL, NULL);
}
