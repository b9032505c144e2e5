#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "processor/warmup/warmup_recorded.h"
#include "tests/support/fuzz.h"
#include "tests/support/small_model.h"

/*
 * Any bytes as the file of recorded requests that a SavedModel brings, answered by
 * a small model.  Checksums are made right first, where there is a record to have
 * them: no mutation would come past them.
 */

enum { LENGTH_BYTES = 8, CRC_BYTES = 4 };

static sp_small_model model;
static sp_session_set *sessions;
static char path[64];
static int fd = -1;

static void drop_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

static void set_up(void)
{
	sp_log_set_sink(drop_line, NULL);
	sp_small_model_init(&model);
	fd = memfd_create("recorded", MFD_CLOEXEC);
	if (fd < 0 ||
	    sp_session_set_create(&sessions, model.program, 1, 1 << 20, NULL, NULL) != SP_OK)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
}

static void put_crc(uint8_t *data, size_t size)
{
	uint32_t crc = sp_crc32c_mask(sp_crc32c(0, data, size));

	memcpy(data + size, &crc, sizeof(crc));
}

static void correct(uint8_t *data, size_t size)
{
	while (size >= LENGTH_BYTES + 2 * CRC_BYTES) {
		uint64_t length;

		memcpy(&length, data, sizeof(length));
		put_crc(data, LENGTH_BYTES);
		data += LENGTH_BYTES + CRC_BYTES;
		size -= LENGTH_BYTES + CRC_BYTES;
		if (length > size - CRC_BYTES)
			return;
		put_crc(data, (size_t)length);
		data += length + CRC_BYTES;
		size -= (size_t)length + CRC_BYTES;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	sp_runtime runtime = {.endpoints = model.endpoints,
			      .endpoint_count = 2,
			      .configured = &model.endpoints[0]};
	sp_warmup_target target = {.count = 1};
	uint8_t *copy = malloc(size + 1);
	sp_error err = {SP_OK, ""};

	if (fd < 0)
		set_up();
	if (copy == NULL)
		abort();
	if (size != 0)
		memcpy(copy, data, size);
	correct(copy, size);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, copy, size, 0) != (ssize_t)size)
		abort();
	free(copy);
	target.sessions = sessions;
	target.snapshot = model.snapshot;
	if (sp_warmup_recorded(&target, &runtime, path, SIZE_MAX, &err) != SP_OK &&
	    (err.status == SP_OK || err.text[0] == '\0'))
		abort();
	return 0;
}
