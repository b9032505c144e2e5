#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "storage/sst/sst_run.h"
#include "tests/support/fuzz.h"
#include "tests/support/sst_writer.h"
#include "tests/support/wire.h"

enum { ROW = 8, PAGES = 4 };

/* What an open file promises: blocks in order, each where its keys are. */
static void check_index(const char *path)
{
	uint64_t end = 0;
	sp_sst_file *file;

	if (sp_sst_file_open(&file, path, NULL) != SP_OK)
		return;
	for (size_t b = 0; b < sp_sst_file_block_count(file); b++) {
		const sp_sst_place place = sp_sst_file_block(file, b);

		if (place.offset != end || place.span == 0 || place.size >= place.span ||
		    place.offset + place.span > sp_sst_file_size(file))
			abort();
		end = place.offset + place.span;
	}
	for (uint64_t key = 0; key < 100; key++)
		if (sp_sst_file_find(file, key << 57) > sp_sst_file_block_count(file))
			abort();
	sp_sst_file_close(file);
}

/* Every row that a scan has seen is found. */
static void check_rows(const char *path)
{
	const char *files[] = {path};
	size_t found = 0;
	sp_sst_run *run;

	if (sp_sst_run_scan(&run, files, 1, ROW, 64, NULL) != SP_OK)
		return;
	for (int64_t key = 0; key < 256; key++) {
		sp_sst_place place;
		const void *row = NULL;
		char *bytes;

		if (!sp_sst_run_locate(run, key, &place))
			continue;
		bytes = sp_alloc_aligned(SP_SST_PAGE, place.span);
		if (bytes == NULL ||
		    pread(place.fd, bytes, place.span, (off_t)place.offset) !=
			    (ssize_t)place.span ||
		    sp_sst_run_check(&place, bytes, NULL) != SP_OK ||
		    sp_sst_run_find(run, &place, bytes, key, &row, NULL) != SP_OK)
			abort();
		found += row != NULL;
		sp_free(bytes);
	}
	if (found > sp_sst_run_row_count(run))
		abort();
	sp_sst_run_release(run);
}

static void check_file(sp_bytes file)
{
	int fd = memfd_create("sst", MFD_CLOEXEC);
	char path[64];

	if (fd < 0 || write(fd, file.data, file.size) != (ssize_t)file.size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	check_index(path);
	check_rows(path);
	close(fd);
}

/* Behind checksums that hold: as an index over some pages, and as a block of rows. */
static void check_block(sp_bytes block)
{
	static const char page[4000];
	const sp_sst_key last = sp_sst_key_of(1 << 20);
	sp_sst_writer sst;

	sp_sst_writer_begin(&sst);
	for (size_t i = 0; i < PAGES; i++)
		sp_sst_writer_put_block(&sst, (sp_bytes){page, sizeof(page)});
	sp_sst_writer_end_with(&sst, block);
	check_file(sp_wire_view(&sst.file));
	sp_sst_writer_fini(&sst);

	sp_sst_writer_begin(&sst);
	sp_sst_writer_name_block(&sst, (sp_bytes){last.bytes, 8}, 0, block.size);
	sp_sst_writer_put_block(&sst, block);
	sp_sst_writer_end(&sst);
	check_file(sp_wire_view(&sst.file));
	sp_sst_writer_fini(&sst);
}

/* Any bytes as a sorted file, and as a block of one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const sp_bytes bytes = {(const char *)data, size};

	check_file(bytes);
	check_block(bytes);
	return 0;
}
