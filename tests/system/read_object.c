/*
 * Reads an object as the loader reads a shard: hints ahead, pieces by two threads; for
 * test_object_stores.sh.
 *
 *   read_object PATH [KEY=VALUE ...]     endpoint, id, key, token, ca_file, timeout_ms, region,
 * opened
 *
 * Prints "SIZE CRC32C", or the error; the status is that of the read.  With opened=FILE, makes that
 * file once the object is open, and reads when its standard input has ended.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "object_store/object_store.h"

enum { PIECE = 1 << 20, AHEAD = 64 };

typedef struct reading {
	sp_file file;
	uint32_t *sums; /* of each piece */
	size_t count;
} reading;

static size_t size_of(const reading *r, size_t i)
{
	uint64_t left = r->file.size - (uint64_t)i * PIECE;

	return left < PIECE ? (size_t)left : PIECE;
}

static sp_status read_piece(void *context, size_t i, sp_error *err)
{
	reading *r = context;
	char *piece = sp_alloc(PIECE);
	sp_status status;

	if (piece == NULL)
		return sp_no_memory(err, "a piece");
	sp_file_fetch(&r->file, (uint64_t)(i + AHEAD) * PIECE, PIECE, true);
	status = sp_file_read_at(&r->file, (uint64_t)i * PIECE, piece, size_of(r, i), err);
	r->sums[i] = sp_crc32c(0, piece, size_of(r, i));
	sp_free(piece);
	return status;
}

static void tell_and_wait(const char *opened)
{
	FILE *file = fopen(opened, "w");

	if (file == NULL)
		return;
	fputs("opened\n", file);
	fclose(file);
	while (getchar() != EOF)
		;
}

static sp_status read_all(const char *path, const char *opened, sp_error *err)
{
	reading r = {.count = 0};
	uint32_t crc = 0;
	sp_status status;

	SP_TRY(sp_file_open(&r.file, path, err));
	if (opened != NULL)
		tell_and_wait(opened);
	r.count = (size_t)((r.file.size + PIECE - 1) / PIECE);
	r.sums = sp_alloc_zero(r.count, sizeof(*r.sums));
	sp_file_fetch(&r.file, 0, (uint64_t)AHEAD * PIECE, true);
	status = sp_parallel_run(2, r.count, read_piece, &r, err);
	for (size_t i = 0; i < r.count; i++)
		crc = sp_crc32c_join(crc, r.sums[i], size_of(&r, i));
	if (status == SP_OK)
		printf("%" PRIu64 " %08" PRIx32 "\n", r.file.size, crc);
	sp_free(r.sums);
	sp_file_close(&r.file);
	return status;
}

int main(int argc, char **argv)
{
	sp_object_settings s = {.timeout_ms = 10000};
	const char *opened = NULL;
	sp_status status;
	sp_error err;

	for (int i = 2; i < argc; i++) {
		const char *value = strchr(argv[i], '=');
		const struct {
			const char *name, **text;
		} texts[] = {{"endpoint", &s.endpoint}, {"id", &s.access_id},
			     {"key", &s.access_key},    {"token", &s.session_token},
			     {"ca_file", &s.ca_file},   {"region", &s.region},
			     {"opened", &opened}};

		for (size_t t = 0; value != NULL && t < sizeof(texts) / sizeof(texts[0]); t++)
			if (strncmp(argv[i], texts[t].name, (size_t)(value - argv[i])) == 0)
				*texts[t].text = value + 1;
		if (value != NULL && strncmp(argv[i], "timeout_ms", 10) == 0)
			s.timeout_ms = strtoll(value + 1, NULL, 10);
	}
	sp_object_store_open();
	status = argc > 1 ? sp_object_store_set(argv[1], &s, &err) : SP_INVALID;
	if (status == SP_OK)
		status = read_all(argv[1], opened, &err);
	if (status != SP_OK)
		printf("%s: %s\n", sp_status_name(status), err.text);
	sp_object_store_close();
	return (int)status;
}
