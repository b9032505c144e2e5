#ifndef SP_TESTS_SUPPORT_STREAM_MESSAGES_H
#define SP_TESTS_SUPPORT_STREAM_MESSAGES_H

#include <stddef.h>
#include <stdint.h>

/*
 * Messages of row streams, blocks for free().  Every element of a row is the same.
 */
typedef struct sp_stream_rows {
	const char *table; /* NULL: a message of "hps" */
	int64_t full_step, step;
	uint64_t batch;
	int64_t first_key; /* keys [first_key, first_key + count) */
	size_t count;
	size_t dim;
	float value;
} sp_stream_rows;

char *sp_stream_message(size_t *size, const sp_stream_rows *rows);
char *sp_stream_commit(size_t *size, int64_t full_step, uint64_t batch, uint32_t messages);

#endif
