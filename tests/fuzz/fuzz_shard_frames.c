#include <stdlib.h>
#include <string.h>

#include "storage/shards/shard_address.h"
#include "storage/shards/shard_versions.h"
#include "storage/table/table_builder.h"
#include "tests/support/fuzz.h"

/*
 * The first byte chooses: frames that fronts send to a holder, which answers them; frames that a
 * holder sends, which are read; or a list of addresses.
 */

enum { KEYS = 64, DIM = 3, TOKEN = 5 /* in inputs, for the version that is held */ };

static sp_shard_versions *versions;
static uint64_t token;

static void find_token(void)
{
	const sp_shard_header header = {.kind = SP_SHARD_VERSION, .size = 16};
	const uint64_t version[2] = {1, 1};
	sp_shard_memory memory = {NULL};
	sp_shard_tables tables;
	sp_buffer out;

	sp_buffer_init(&out, 1 << 20);
	if (!sp_shard_versions_respond(versions, &header, (sp_bytes){(const char *)version, 16},
				       &out, &memory) ||
	    !sp_shard_tables_read(
		    &tables, (sp_bytes){out.data + SP_SHARD_HEADER, out.size - SP_SHARD_HEADER}))
		abort();
	token = tables.token;
	sp_buffer_fini(&out);
}

static void hold_a_table(void)
{
	sp_table_options options = {.name = "t", .dim = DIM};
	static int64_t keys[KEYS];
	static float rows[KEYS * DIM];
	sp_table *table;
	sp_shard_version version = {.full = 1, .content = 1, .slices = 1, .count = 1};
	const sp_table *tables[1];

	for (size_t i = 0; i < KEYS; i++)
		keys[i] = (int64_t)i;
	if (sp_table_from_rows(&table, &options, keys, rows, KEYS, NULL) != SP_OK ||
	    sp_shard_versions_create(&versions, 0, NULL) != SP_OK)
		abort();
	tables[0] = table;
	version.tables = tables;
	if (sp_shard_versions_publish(versions, &version, NULL) != SP_OK)
		abort();
	sp_table_destroy(table);
	find_token();
}

/* Reads all, so that a memory checker sees what is not there. */
static unsigned sum(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	unsigned total = 0;

	for (size_t i = 0; i < size; i++)
		total += at[i];
	return total;
}

static void read_answer(const sp_shard_header *header, sp_bytes body)
{
	sp_shard_tables tables;
	sp_shard_table table;
	sp_shard_rows rows;
	sp_shard_error_code fault;
	sp_bytes text;

	if (header->kind == SP_SHARD_TABLES && sp_shard_tables_read(&tables, body))
		while (sp_shard_tables_next(&tables, &table))
			(void)sum(table.name.data, table.name.size);
	if (header->kind == SP_SHARD_ERROR && sp_shard_error_read(&fault, &text, body))
		(void)sum(text.data, text.size);
	for (uint32_t count = 70; header->kind == SP_SHARD_ROWS && count > 0; count -= 23) {
		const char *end = body.data + body.size;

		if (!sp_shard_rows_next(&rows, &body, count, DIM))
			break;
		(void)sum(rows.rows, (size_t)(body.data - rows.rows));
		if (body.data > end)
			abort();
	}
}

/* What the holder answers is an answer. */
static void ask(const sp_shard_header *header, sp_bytes body)
{
	sp_shard_memory memory = {NULL};
	sp_shard_header answer;
	sp_buffer out;

	sp_buffer_init(&out, 1 << 20);
	if (sp_shard_versions_respond(versions, header, body, &out, &memory)) {
		if (!sp_shard_header_read(&answer, out.data, false) || answer.id != header->id ||
		    answer.size + SP_SHARD_HEADER != out.size)
			abort();
		read_answer(&answer,
			    (sp_bytes){out.data + SP_SHARD_HEADER, out.size - SP_SHARD_HEADER});
	} else if (out.size != 0) {
		abort();
	}
	sp_buffer_fini(&out);
	sp_shard_memory_fini(&memory);
}

static void put_token(char *body, size_t size)
{
	uint64_t asked;

	if (size < sizeof(asked))
		return;
	memcpy(&asked, body, sizeof(asked));
	if (asked == TOKEN)
		memcpy(body, &token, sizeof(token));
}

static void read_frames(char *bytes, size_t size, bool requests)
{
	sp_shard_header header;

	while (size >= SP_SHARD_HEADER && sp_shard_header_read(&header, bytes, requests) &&
	       size - SP_SHARD_HEADER >= header.size) {
		const sp_bytes body = {bytes + SP_SHARD_HEADER, header.size};

		if (requests) {
			put_token(bytes + SP_SHARD_HEADER, header.size);
			ask(&header, body);
		} else {
			read_answer(&header, body);
		}
		bytes += SP_SHARD_HEADER + header.size;
		size -= SP_SHARD_HEADER + header.size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static sp_shard_peers peers;
	char *copy;

	if (size == 0)
		return 0;
	if (versions == NULL)
		hold_a_table();
	/* 8-byte aligned, with a NUL behind it. */
	copy = calloc(1, size);
	if (copy == NULL)
		return 0;
	memcpy(copy, data + 1, size - 1);
	if (data[0] % 3 == 0)
		read_frames(copy, size - 1, true);
	else if (data[0] % 3 == 1)
		read_frames(copy, size - 1, false);
	else
		(void)!sp_shard_peers_parse(&peers, copy, NULL);
	free(copy);
	return 0;
}
