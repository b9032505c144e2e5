#include "tests/support/cmocka.h"

#include <string.h>

#include "row_stream/row_message.h"
#include "tests/unit/row_stream/message_cases.inc"

#define BYTES(text) ((sp_bytes){text, sizeof(text) - 1})

static void assert_entry(const sp_row_message *m, size_t i, int64_t key, float first)
{
	const char *entry = m->rows + i * (m->key_size + m->row_size);
	int64_t wide = 0;
	int32_t narrow;
	float element;

	if (m->key_size == 8) {
		memcpy(&wide, entry, 8);
	} else {
		memcpy(&narrow, entry, 4);
		wide = narrow;
	}
	memcpy(&element, entry + m->key_size, sizeof(element));
	assert_true(wide == key && element == first);
}

static void messages_of_hps_are_read(void **state)
{
	sp_row_message m;
	sp_error err;

	(void)state;
	assert_ok(sp_row_message_parse_hps(&m, BYTES(hps_two_rows), 8, &err), &err);
	assert_true(m.kind == SP_ROW_MESSAGE_ROWS && m.count == 2 && m.row_size == 8);
	assert_true(m.table.size == 0 && m.batch == 0);
	assert_entry(&m, 0, 7, 1.5f);
	assert_entry(&m, 1, -9, 0.25f);
	assert_ok(sp_row_message_parse_hps(&m, BYTES(hps_narrow_keys), 4, &err), &err);
	assert_int_equal(m.count, 2);
	assert_entry(&m, 0, -7, 1);
	assert_entry(&m, 1, INT32_MAX, 2);
	assert_ok(sp_row_message_parse_hps(&m, BYTES(hps_beacon), 8, &err), &err);
	assert_int_equal(m.count, 0);
}

static void versioned_messages_are_read(void **state)
{
	sp_row_message m;
	sp_error err;

	(void)state;
	assert_ok(sp_row_message_parse(&m, BYTES(rows), &err), &err);
	assert_true(m.kind == SP_ROW_MESSAGE_ROWS && sp_bytes_equal_text(m.table, "item"));
	assert_true(m.full_step == 1000 && m.step == 1010 && m.batch == 3);
	assert_true(m.count == 2 && m.row_size == 8 && m.key_size == 8);
	assert_entry(&m, 1, 6, 3);
	assert_ok(sp_row_message_parse(&m, BYTES(narrow_rows), &err), &err);
	assert_int_equal(m.count, 1);
	assert_entry(&m, 0, -5, 1);
	assert_ok(sp_row_message_parse(&m, BYTES(commit), &err), &err);
	assert_true(m.kind == SP_ROW_MESSAGE_COMMIT && m.batch == 3 && m.messages == 17);
}

/* Refuses the message with byte `at` set. */
static void refuse(sp_bytes message, size_t at, char byte, const char *text)
{
	char changed[256];
	sp_row_message m;
	sp_error err;

	memcpy(changed, message.data, message.size);
	changed[at] = byte;
	assert_int_equal(sp_row_message_parse(&m, (sp_bytes){changed, message.size}, &err),
			 SP_CORRUPT);
	if (strstr(err.text, text) == NULL)
		fail_msg("'%s' lacks '%s'", err.text, text);
}

static void wrong_messages_are_refused(void **state)
{
	sp_row_message m;

	(void)state;
	refuse(BYTES(rows), 0, 'X', "do not begin with SPR1");
	refuse(BYTES(rows), 4, 3, "a message of kind 3");
	refuse(BYTES(rows), 5, 5, "keys of 5 bytes");
	refuse(BYTES(rows), 6, 0, "a table's name of 0 bytes");
	refuse(BYTES(rows), 7, 1, "a table's name of 260 bytes in 36");
	refuse(BYTES(rows), 15, (char)0x80, "full step -");
	refuse(BYTES(rows), 23, (char)0x80, "step -");
	refuse(BYTES(rows), 24, 0, "batch 0");
	refuse(BYTES(rows), 32, 6, "rows of 6 bytes are no float32");
	refuse(BYTES(rows), 32, 0, "rows of 0 bytes");
	refuse(BYTES(rows), 32, 4, "no multiple of the 12");
	refuse(BYTES(rows), 36, 1, "reserved bytes 00000001");
	refuse(BYTES(commit), 5, 8, "keys of 8 bytes");
	refuse(BYTES(commit), 6, 1, "a table's name of 1 bytes");
	for (size_t size = 0; size < SP_ROW_MESSAGE_HEADER + 4 + 16; size++)
		assert_int_equal(sp_row_message_parse(&m, (sp_bytes){rows, size}, NULL),
				 SP_CORRUPT);
	for (size_t size = 0; size < sizeof(hps_two_rows) - 1; size++)
		if (size != 8 && size != 24)
			assert_int_equal(sp_row_message_parse_hps(
						 &m, (sp_bytes){hps_two_rows, size}, 8, NULL),
					 SP_CORRUPT);
	assert_int_equal(sp_row_message_parse_hps(&m, BYTES(rows), 8, NULL), SP_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_of_hps_are_read),
		cmocka_unit_test(versioned_messages_are_read),
		cmocka_unit_test(wrong_messages_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
