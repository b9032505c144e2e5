#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "storage/shards/shard_versions.h"
#include "storage/table/table_builder.h"

/* Two tables: rows of keys 0, 3, 6 ...; "b" has rows that begin with what stands for an absent key.
 */
enum { KEYS = 300, STEP = 3, DIM_A = 5, DIM_B = 1, ABSENT = 0x7fedc0de };

static sp_table *tables[2];
static sp_shard_versions *versions;
static sp_shard_memory memory;
static sp_buffer out;
static sp_error err;

static void make_row(int64_t key, size_t table, float *row)
{
	const uint32_t mark = ABSENT;
	size_t dim = table == 0 ? DIM_A : DIM_B;

	for (size_t d = 0; d < dim; d++)
		row[d] = (float)(key + 1) + (float)d / 8;
	if (table == 1 && key % 2 == 0)
		memcpy(row, &mark, sizeof(mark));
}

static sp_table *make_table(size_t table, const char *name)
{
	size_t dim = table == 0 ? DIM_A : DIM_B;
	sp_table_options options = {.name = name, .dim = dim};
	int64_t keys[KEYS];
	float rows[KEYS * DIM_A];
	sp_table *made;

	for (size_t i = 0; i < KEYS; i++) {
		keys[i] = (int64_t)i * STEP;
		make_row(keys[i], table, rows + i * dim);
	}
	assert_ok(sp_table_from_rows(&made, &options, keys, rows, KEYS, &err), &err);
	return made;
}

static void publish(int64_t full)
{
	const sp_table *const both[] = {tables[0], tables[1]};
	const sp_shard_version version = {
		.full = full, .content = 11, .slice = 1, .slices = 3, .tables = both, .count = 2};

	assert_ok(sp_shard_versions_publish(versions, &version, &err), &err);
}

static int set_up(void **state)
{
	(void)state;
	tables[0] = make_table(0, "a");
	tables[1] = make_table(1, "b");
	sp_buffer_init(&out, SP_SHARD_MAX_RESPONSE);
	assert_ok(sp_shard_versions_create(&versions, 1000, &err), &err);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_shard_versions_destroy(versions);
	sp_table_destroy(tables[0]);
	sp_table_destroy(tables[1]);
	sp_shard_memory_fini(&memory);
	sp_buffer_fini(&out);
	return 0;
}

/* Sends the frame in `request`; the answer's body, or its error. */
static sp_bytes lookup(sp_buffer *request, sp_shard_header *header)
{
	sp_bytes body = {request->data + SP_SHARD_HEADER, request->size - SP_SHARD_HEADER};

	sp_buffer_clear(&out);
	assert_true(sp_shard_header_read(header, request->data, true));
	assert_true(sp_shard_versions_respond(versions, header, body, &out, &memory));
	sp_buffer_fini(request);
	assert_true(sp_shard_header_read(header, out.data, false));
	assert_int_equal(header->size + SP_SHARD_HEADER, out.size);
	assert_int_equal(header->id, 5);
	return (sp_bytes){out.data + SP_SHARD_HEADER, header->size};
}

static bool find(int64_t full, uint64_t content, uint64_t *token)
{
	sp_shard_tables found;
	sp_shard_header header;
	sp_buffer request;
	sp_bytes body;

	sp_buffer_init(&request, 1 << 20);
	sp_shard_version_write(&request, 5, full, content);
	body = lookup(&request, &header);
	if (header.kind == SP_SHARD_ERROR)
		return false;
	assert_int_equal(header.kind, SP_SHARD_TABLES);
	assert_true(sp_shard_tables_read(&found, body));
	assert_int_equal(found.slice, 1);
	assert_int_equal(found.slices, 3);
	assert_int_equal(found.count, 2);
	*token = found.token;
	return true;
}

static void begin_ask(sp_buffer *request, uint64_t token, uint32_t parts)
{
	sp_buffer_init(request, 1 << 20);
	(void)sp_shard_frame_begin(request, SP_SHARD_LOOKUP, 5);
	sp_shard_put_u64(request, token);
	sp_shard_put_u32(request, parts);
	sp_shard_put_u32(request, 0);
}

static void add_part(sp_buffer *request, uint32_t table, int64_t first, uint32_t count)
{
	sp_shard_put_u32(request, table);
	sp_shard_put_u32(request, count);
	for (uint32_t i = 0; i < count; i++)
		sp_shard_put_u64(request, (uint64_t)(first + i));
}

static void check_part(sp_bytes *body, size_t table, int64_t first, uint32_t count)
{
	size_t dim = table == 0 ? DIM_A : DIM_B;
	sp_shard_rows rows;

	assert_true(sp_shard_rows_next(&rows, body, count, dim));
	for (uint32_t i = 0; i < count; i++) {
		int64_t key = first + i;
		bool served_version = key >= 0 && key % STEP == 0 && key < (int64_t)KEYS * STEP;
		float wanted[DIM_A];

		assert_int_equal(rows.bits[i / 64] >> i % 64 & 1, served_version);
		if (!served_version)
			continue;
		make_row(key, table, wanted);
		assert_memory_equal(rows.rows, wanted, dim * sizeof(float));
		rows.rows += dim * sizeof(float);
	}
}

static void rows_and_absent_keys_are_told_apart(void **state)
{
	sp_shard_versions_counters counters;
	sp_shard_header header;
	sp_buffer request;
	uint64_t token = 0;
	sp_bytes body;

	(void)state;
	publish(7);
	assert_true(find(7, 11, &token));
	begin_ask(&request, token, 4);
	add_part(&request, 1, -5, 100); /* the marks -1 and -2 among them */
	add_part(&request, 0, 0, 65);
	add_part(&request, 0, 890, 64);
	add_part(&request, 1, 3, 1);
	assert_true(sp_shard_frame_end(&request, 0));
	body = lookup(&request, &header);
	assert_int_equal(header.kind, SP_SHARD_ROWS);
	check_part(&body, 1, -5, 100);
	check_part(&body, 0, 0, 65);
	check_part(&body, 0, 890, 64);
	check_part(&body, 1, 3, 1);
	assert_int_equal(body.size, 0);
	sp_shard_versions_count(versions, &counters);
	assert_int_equal(counters.requests, 1);
	assert_int_equal(counters.keys, 230);
	assert_int_equal(counters.faults, 0);
}

static void ask_in_vain(uint64_t token, uint32_t table, uint32_t count, sp_shard_error_code wanted)
{
	sp_shard_header header;
	sp_shard_error_code fault;
	sp_buffer request;
	sp_bytes text;

	begin_ask(&request, token, 1);
	add_part(&request, table, 0, count);
	assert_true(sp_shard_frame_end(&request, 0));
	assert_true(sp_shard_error_read(&fault, &text, lookup(&request, &header)));
	assert_int_equal(fault, wanted);
}

static void other_versions_and_tables_are_refused(void **state)
{
	uint64_t token = 0, other = 0;

	(void)state;
	assert_false(find(7, 11, &token));
	publish(7);
	assert_false(find(8, 11, &token));
	assert_false(find(7, 12, &token));
	assert_true(find(7, 11, &token));
	ask_in_vain(token + 1, 0, 1, SP_SHARD_NO_VERSION);
	ask_in_vain(token, 2, 1, SP_SHARD_REFUSED);
	ask_in_vain(token, UINT32_MAX, 1, SP_SHARD_REFUSED);
	ask_in_vain(token, 0, 0, SP_SHARD_REFUSED);
	/* The same tables under another step are another version. */
	publish(8);
	assert_true(find(8, 11, &other));
	assert_true(other != token);
}

static void the_former_version_stays_for_a_while(void **state)
{
	sp_shard_versions_counters counters;
	int64_t now_ns = sp_clock_now_ns(), ends_ns;
	uint64_t token;

	(void)state;
	publish(7);
	assert_true(sp_shard_versions_expire(versions, INT64_MAX - 1) == INT64_MAX);
	publish(7); /* a delta, or the same again */
	sp_shard_versions_count(versions, &counters);
	assert_int_equal(counters.versions, 1);
	publish(8);
	/* What the tables were made of is not needed any more. */
	sp_table_destroy(tables[0]);
	tables[0] = NULL;
	assert_true(find(7, 11, &token));
	ends_ns = sp_shard_versions_expire(versions, now_ns);
	assert_true(ends_ns >= now_ns + 1000 && ends_ns < INT64_MAX);
	assert_true(find(7, 11, &token));
	assert_true(sp_shard_versions_expire(versions, ends_ns) == INT64_MAX);
	assert_false(find(7, 11, &token));
	assert_true(find(8, 11, &token));
}

static void malformed_requests_get_no_response(void **state)
{
	sp_shard_header header = {.kind = SP_SHARD_LOOKUP, .size = 8, .id = 1};
	const sp_bytes body = {"\0\0\0\0\0\0\0\0", 8};

	(void)state;
	publish(7);
	assert_false(sp_shard_versions_respond(versions, &header, body, &out, &memory));
	header.kind = SP_SHARD_VERSION;
	assert_false(sp_shard_versions_respond(versions, &header, body, &out, &memory));
	header.kind = SP_SHARD_ROWS;
	assert_false(sp_shard_versions_respond(versions, &header, body, &out, &memory));
	assert_int_equal(out.size, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(rows_and_absent_keys_are_told_apart),
		TEST(other_versions_and_tables_are_refused),
		TEST(the_former_version_stays_for_a_while),
		TEST(malformed_requests_get_no_response),
	};

	return cmocka_run_group_tests_name("shard_versions", tests, NULL, NULL);
}
