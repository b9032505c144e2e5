#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "row_stream/row_applier.h"
#include "row_stream/row_message.h"
#include "row_stream/stream_mark.h"
#include "tests/support/fuzz.h"

enum { FULL = 1000 };

static void drop_line(void *context, int level, const char *line)
{
	(void)context;
	(void)level;
	(void)line;
}

/* What a message that is read promises. */
static void check(const sp_row_message *m, sp_bytes message)
{
	const char *end = message.data + message.size;

	if (m->kind == SP_ROW_MESSAGE_COMMIT)
		return;
	if ((m->key_size != 4 && m->key_size != 8) || m->row_size % 4 != 0 || m->row_size == 0 ||
	    m->rows + m->count * (m->key_size + m->row_size) != end ||
	    (m->table.size != 0 && m->table.data + m->table.size != m->rows))
		abort();
}

/* Applied to two tables, of which one has rows of the width of the corpus. */
static void apply(sp_bytes bytes, bool is_hps)
{
	static const size_t dims[] = {2, 1};
	static const char *const names[] = {"item", "u"};
	const sp_fresh_options fresh = {
		.dims = dims, .table_count = 2, .reader_count = 1, .memory_limit = 1 << 20};
	sp_row_applier_options options = {.names = names,
					  .dims = dims,
					  .table_count = 2,
					  .is_hps = is_hps,
					  .key_size = 8,
					  .full_step = FULL,
					  .only_finite = bytes.size % 2 == 0};
	const sp_received_message message = {.bytes = bytes, .topic_name = "t"};
	sp_fresh_done done = {0};
	sp_row_applier *applier;
	sp_status status;

	if (sp_fresh_create(&options.fresh, &fresh, NULL) != SP_OK ||
	    sp_row_applier_create(&applier, &options, NULL) != SP_OK ||
	    sp_row_applier_set_partitions(applier, 1, NULL) != SP_OK)
		abort();
	status = sp_row_applier_apply(applier, &message, &done);
	if (status != SP_OK && status != SP_BUSY)
		abort();
	(void)sp_row_applier_tick(applier, INT64_MAX);
	sp_row_applier_destroy(applier);
	sp_fresh_destroy(options.fresh);
}

/* Any bytes as a message of either format, and as a mark. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const sp_bytes bytes = {(const char *)data, size};
	sp_stream_mark mark;
	sp_row_message m;

	sp_log_set_sink(drop_line, NULL);
	if (sp_row_message_parse(&m, bytes, NULL) == SP_OK)
		check(&m, bytes);
	for (size_t key_size = 4; key_size <= 8; key_size += 4)
		if (sp_row_message_parse_hps(&m, bytes, key_size, NULL) == SP_OK)
			check(&m, bytes);
	apply(bytes, false);
	apply(bytes, true);
	if (sp_stream_mark_parse(&mark, bytes, NULL) == SP_OK)
		sp_stream_mark_fini(&mark);
	return 0;
}
