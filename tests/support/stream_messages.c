#include "tests/support/stream_messages.h"

#include <stdlib.h>
#include <string.h>

/* Tests run on little-endian machines alone. */
typedef struct header {
	char magic[4];
	uint8_t kind, key_size;
	uint16_t name_size;
	int64_t full_step, step;
	uint64_t batch;
	uint32_t number, reserved;
} header;

_Static_assert(sizeof(header) == 40, "as docs/row-stream.md has it");

static char *start(size_t *size, const sp_stream_rows *rows)
{
	uint32_t row_size = (uint32_t)(rows->dim * sizeof(float));
	size_t name_size = rows->table != NULL ? strlen(rows->table) : 0, front;
	header h = {.magic = {'S', 'P', 'R', '1'},
		    .kind = 1,
		    .key_size = 8,
		    .name_size = (uint16_t)name_size,
		    .full_step = rows->full_step,
		    .step = rows->step,
		    .batch = rows->batch,
		    .number = row_size};
	char *message;

	front = rows->table != NULL ? sizeof(h) + name_size : 8;
	*size = front;
	message = malloc(front + rows->count * (sizeof(int64_t) + row_size));
	if (rows->table == NULL) {
		memcpy(message, "HCTR", 4);
		memcpy(message + 4, &row_size, sizeof(row_size));
		return message;
	}
	memcpy(message, &h, sizeof(h));
	memcpy(message + sizeof(h), rows->table, name_size);
	return message;
}

char *sp_stream_message(size_t *size, const sp_stream_rows *rows)
{
	char *message = start(size, rows);

	for (size_t i = 0; i < rows->count; i++) {
		int64_t key = rows->first_key + (int64_t)i;

		memcpy(message + *size, &key, sizeof(key));
		*size += sizeof(key);
		for (size_t d = 0; d < rows->dim; d++, *size += sizeof(rows->value))
			memcpy(message + *size, &rows->value, sizeof(rows->value));
	}
	return message;
}

char *sp_stream_commit(size_t *size, int64_t full_step, uint64_t batch, uint32_t messages)
{
	header h = {.magic = {'S', 'P', 'R', '1'},
		    .kind = 2,
		    .full_step = full_step,
		    .batch = batch,
		    .number = messages};
	char *message = malloc(sizeof(h));

	*size = sizeof(h);
	memcpy(message, &h, sizeof(h));
	return message;
}
