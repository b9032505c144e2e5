#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "storage/shards/shard_frame.h"

static sp_buffer out;

static int set_up(void **state)
{
	(void)state;
	sp_buffer_init(&out, 1 << 20);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_buffer_fini(&out);
	return 0;
}

/* The only frame in `out`. */
static sp_bytes body_of(sp_shard_kind kind, uint64_t id)
{
	bool asks = kind == SP_SHARD_VERSION || kind == SP_SHARD_LOOKUP;
	sp_shard_header header;

	assert_int_equal(out.size % 8, 0);
	assert_true(sp_shard_header_read(&header, out.data, asks));
	assert_false(sp_shard_header_read(&header, out.data, !asks));
	assert_true(sp_shard_header_read(&header, out.data, asks));
	assert_int_equal(header.kind, kind);
	assert_int_equal(header.id, id);
	assert_int_equal(header.size, out.size - SP_SHARD_HEADER);
	return (sp_bytes){out.data + SP_SHARD_HEADER, header.size};
}

/* A reader must refuse a body that is cut anywhere, or longer. */
static void cut(sp_bytes body, bool (*read)(sp_bytes body))
{
	assert_true(read(body));
	for (size_t size = 0; size <= body.size + 8; size += size < body.size ? 1 : 8) {
		/* A block of its own, so that a memory checker sees what is read beyond it. */
		char *copy = calloc(1, size + 1);

		memcpy(copy, body.data, size < body.size ? size : body.size);
		assert_int_equal(read((sp_bytes){copy, size}), size == body.size);
		free(copy);
	}
}

/* ---- each kind ---- */

static bool read_version(sp_bytes body)
{
	uint64_t content = 0;
	int64_t full = 0;

	return sp_shard_version_read(&full, &content, body) && full == -7 && content == 9;
}

static void a_version_is_asked_for(void **state)
{
	(void)state;
	sp_shard_version_write(&out, 5, -7, 9);
	cut(body_of(SP_SHARD_VERSION, 5), read_version);
}

static bool read_tables(sp_bytes body)
{
	sp_shard_tables tables;
	sp_shard_table table;

	if (!sp_shard_tables_read(&tables, body))
		return false;
	assert_int_equal(tables.token, 77);
	assert_int_equal(tables.slice, 1);
	assert_int_equal(tables.slices, 2);
	assert_int_equal(tables.count, 1);
	assert_true(sp_shard_tables_next(&tables, &table));
	assert_int_equal(table.dim, 16);
	assert_int_equal(table.row_count, 1000);
	assert_true(sp_bytes_equal_text(table.name, "emb"));
	assert_false(sp_shard_tables_next(&tables, &table));
	return true;
}

static void write_tables(uint32_t slice, uint32_t count, uint32_t dim, const char *name)
{
	size_t start = sp_shard_frame_begin(&out, SP_SHARD_TABLES, 6);

	sp_shard_put_u64(&out, 77);
	sp_shard_put_u32(&out, slice);
	sp_shard_put_u32(&out, 2);
	sp_shard_put_u32(&out, count);
	sp_shard_put_u32(&out, 0);
	sp_shard_put_u32(&out, dim);
	sp_shard_put_u32(&out, 3);
	sp_shard_put_u64(&out, 1000);
	sp_buffer_append(&out, name, 8);
	assert_true(sp_shard_frame_end(&out, start));
}

static void tables_are_told(void **state)
{
	static const struct {
		uint32_t slice, count, dim;
		const char *name;
	} wrong[] = {
		{2, 1, 16, "emb\0\0\0\0"}, {1, 2, 16, "emb\0\0\0\0"}, {1, 0, 16, "emb\0\0\0\0"},
		{1, 1, 0, "emb\0\0\0\0"},  {1, 1, 16, "emb\0x\0\0"},  {1, 70000, 16, "emb\0\0\0\0"},
	};

	(void)state;
	write_tables(1, 1, 16, "emb\0\0\0\0");
	cut(body_of(SP_SHARD_TABLES, 6), read_tables);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		sp_shard_tables tables;

		sp_buffer_clear(&out);
		write_tables(wrong[i].slice, wrong[i].count, wrong[i].dim, wrong[i].name);
		assert_false(sp_shard_tables_read(&tables, body_of(SP_SHARD_TABLES, 6)));
	}
}

static bool read_ask(sp_bytes body)
{
	sp_shard_lookup ask;
	sp_shard_part part;

	if (!sp_shard_lookup_read(&ask, body))
		return false;
	assert_int_equal(ask.token, 77);
	assert_int_equal(ask.parts, 2);
	assert_true(sp_shard_lookup_next(&ask, &part));
	assert_int_equal(part.table, 4);
	assert_int_equal(part.count, 2);
	assert_int_equal(part.keys[1], -3);
	assert_true(sp_shard_lookup_next(&ask, &part));
	assert_int_equal(part.count, 0);
	assert_false(sp_shard_lookup_next(&ask, &part));
	return true;
}

static void rows_are_asked_for(void **state)
{
	size_t start = sp_shard_frame_begin(&out, SP_SHARD_LOOKUP, 7);

	(void)state;
	sp_shard_put_u64(&out, 77);
	sp_shard_put_u32(&out, 2);
	sp_shard_put_u32(&out, 0);
	sp_shard_put_u32(&out, 4);
	sp_shard_put_u32(&out, 2);
	sp_shard_put_u64(&out, 12);
	sp_shard_put_u64(&out, (uint64_t)-3);
	sp_shard_put_u32(&out, 5);
	sp_shard_put_u32(&out, 0);
	assert_true(sp_shard_frame_end(&out, start));
	cut(body_of(SP_SHARD_LOOKUP, 7), read_ask);
	out.data[SP_SHARD_HEADER + 12] = 1; /* must be zero */
	assert_false(read_ask(body_of(SP_SHARD_LOOKUP, 7)));
	out.data[SP_SHARD_HEADER + 12] = 0;
	memset(out.data + SP_SHARD_HEADER + 8, 0xff, 4); /* parts */
	assert_false(read_ask(body_of(SP_SHARD_LOOKUP, 7)));
}

static bool read_rows(sp_bytes body)
{
	sp_shard_rows rows;
	float first;

	if (!sp_shard_rows_next(&rows, &body, 70, 3) || body.size != 0)
		return false;
	assert_int_equal(rows.bits[0], 1);
	memcpy(&first, rows.rows, sizeof(first));
	assert_float_equal(first, 1.5f, 0);
	return true;
}

static void write_rows(uint64_t bits, uint64_t more)
{
	static const float row[4] = {1.5f, 2, 3, 0};
	size_t start = sp_shard_frame_begin(&out, SP_SHARD_ROWS, 8);

	sp_shard_put_u64(&out, bits);
	sp_shard_put_u64(&out, more);
	sp_buffer_append(&out, row, sizeof(row));
	assert_true(sp_shard_frame_end(&out, start));
}

static void rows_are_told(void **state)
{
	sp_shard_rows rows;
	sp_bytes body;

	(void)state;
	write_rows(1, 0);
	body = body_of(SP_SHARD_ROWS, 8);
	cut(body, read_rows);
	assert_false(sp_shard_rows_next(&rows, &body, 70, SIZE_MAX / 4));
	sp_buffer_clear(&out);
	write_rows(1, 1 << 6); /* key 70 of 0 to 69 */
	body = body_of(SP_SHARD_ROWS, 8);
	assert_false(sp_shard_rows_next(&rows, &body, 70, 3));
	sp_buffer_clear(&out);
	write_rows(3, 0); /* two rows, where there is one */
	body = body_of(SP_SHARD_ROWS, 8);
	assert_false(sp_shard_rows_next(&rows, &body, 70, 3));
}

static bool read_error(sp_bytes body)
{
	sp_shard_error_code fault = SP_SHARD_FAILED;
	sp_bytes text;

	return sp_shard_error_read(&fault, &text, body) && fault == SP_SHARD_NO_VERSION &&
	       sp_bytes_equal_text(text, "not here");
}

static void errors_are_told(void **state)
{
	sp_shard_error_code fault;
	sp_bytes text;

	(void)state;
	sp_shard_error_write(&out, 9, SP_SHARD_NO_VERSION, "not here");
	cut(body_of(SP_SHARD_ERROR, 9), read_error);
	out.data[SP_SHARD_HEADER] = 4; /* no such fault */
	assert_false(sp_shard_error_read(&fault, &text, body_of(SP_SHARD_ERROR, 9)));
}

/* ---- headers ---- */

static void wrong_headers_are_refused(void **state)
{
	/* Where, and what instead: mark, version, kind, odd sizes, and sizes above the limit. */
	static const struct {
		size_t at;
		unsigned char byte;
	} wrong[] = {{0, 0}, {1, 0}, {2, 2}, {3, 0}, {3, 6}, {4, 1}, {4, 4}, {7, 1}, {6, 0x41}};
	sp_shard_header header;
	char bytes[SP_SHARD_HEADER];

	(void)state;
	sp_shard_version_write(&out, 1, 2, 3);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		memcpy(bytes, out.data, sizeof(bytes));
		assert_true(sp_shard_header_read(&header, bytes, true));
		bytes[wrong[i].at] = (char)wrong[i].byte;
		assert_false(sp_shard_header_read(&header, bytes, true));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_version_is_asked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tables_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_are_asked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(errors_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(wrong_headers_are_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("shard_frame", tests, NULL, NULL);
}
