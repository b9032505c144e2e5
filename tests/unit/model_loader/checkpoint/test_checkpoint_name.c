#include "tests/support/cmocka.h"

#include <string.h>

#include "model_loader/checkpoint/checkpoint_name.h"

static void assert_name(const char *name, sp_checkpoint_part part, const char *prefix, int64_t step)
{
	sp_checkpoint_name is = sp_checkpoint_name_of(name);

	assert_int_equal(is.part, part);
	if (part == SP_CHECKPOINT_NONE)
		return;
	assert_true(sp_bytes_equal_text(is.prefix, prefix));
	assert_int_equal(is.step, step);
}

static void names_of_files(void **state)
{
	(void)state;
	assert_name("m-7.index", SP_CHECKPOINT_INDEX, "m-7", 7);
	assert_name("model.ckpt-100.index", SP_CHECKPOINT_INDEX, "model.ckpt-100", 100);
	assert_name("a-b-12.index", SP_CHECKPOINT_INDEX, "a-b-12", 12);
	assert_name("model.index", SP_CHECKPOINT_INDEX, "model", 0);
	assert_name("m-7x.index", SP_CHECKPOINT_INDEX, "m-7x", 0);
	assert_name("m-.index", SP_CHECKPOINT_INDEX, "m-", 0);
	assert_name("m-0.index", SP_CHECKPOINT_INDEX, "m-0", 0);
	assert_name("m-9223372036854775807.index", SP_CHECKPOINT_INDEX, "m-9223372036854775807",
		    INT64_MAX);
	assert_name("m-9223372036854775808.index", SP_CHECKPOINT_INDEX, "m-9223372036854775808", 0);
	assert_name("m-7.data-00000-of-00001", SP_CHECKPOINT_DATA, "m-7", 7);
	assert_name("m-7.data-00009-of-00010", SP_CHECKPOINT_DATA, "m-7", 7);
	assert_name("m-7.data-123456-of-200000", SP_CHECKPOINT_DATA, "m-7", 7);
	assert_name("m.data-1-7.data-00000-of-00001", SP_CHECKPOINT_DATA, "m.data-1-7", 7);
}

static void names_of_nothing(void **state)
{
	static const char *const names[] = {
		"",
		".",
		"..",
		".index",
		".m-7.index",
		"#m-7.index",
		"~m-7.index",
		"m-7.index~",
		"m-7.index.tempstate123",
		"m-7.meta",
		"m-7",
		"index",
		"checkpoint",
		".data-00000-of-00001",
		".m-7.data-00000-of-00001",
		".m-7.data-00000-of-00001.crc",
		"m-7.data-00000-of-00001.tempstate2092",
		"m-7.data-00000-of-00001 ",
		"m-7.data-00001-of-00001",
		"m-7.data-00000-of-00000",
		"m-7.data-0-of-1",
		"m-7.data-0000-of-00001",
		"m-7.data-00000-of-",
		"m-7.data--of-00001",
		"m-7.data-",
		"m-7.data-00000",
		"m-7.data-+0000-of-00001",
		"m-7.data-00000-of-99999999999999999999",
		"m-7-e-ssd_record.index",
		"m-7-e-ssd_record.data-00000-of-00001",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (sp_checkpoint_name_of(names[i]).part != SP_CHECKPOINT_NONE)
			fail_msg("'%s' is taken for a checkpoint's", names[i]);
}

static void what_a_checkpoint_owns(void **state)
{
	static const char *const owned[] = {
		"m-7.index", "m-7.data-00000-of-00002", "m-7-e-ssd_record.index",
		"m-7-e-ssd_record.data-00000-of-00001", "m-7-e_part_0-emb_files"};
	static const char *const others[] = {
		"m-7.meta",  "m-7.index.crc",     "m-70.index", "m-7-e.index", "m-7-e-ssd_record",
		"m-7-e-ssd", "m-7-emb_files.tmp", "m-7",        ".m-7.index",  "n-7-e-emb_files"};

	(void)state;
	for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
		assert_true(sp_checkpoint_owns("m-7", owned[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (sp_checkpoint_owns("m-7", others[i]))
			fail_msg("m-7 owns '%s'", others[i]);
	assert_true(sp_checkpoint_is_file_of("m-7", "m-7.index"));
	assert_false(sp_checkpoint_is_file_of("m-7", "m-7-e-ssd_record.index"));
	assert_true(sp_checkpoint_is_row_file("0.emb"));
	assert_true(sp_checkpoint_is_row_file("12.emb"));
	assert_false(sp_checkpoint_is_row_file(".emb"));
	assert_false(sp_checkpoint_is_row_file("1.emb.tmp"));
	assert_false(sp_checkpoint_is_row_file("x.emb"));
}

static void numbers(void **state)
{
	static const char *const wrong[] = {"",
					    "-1",
					    "+1",
					    " 1",
					    "1 ",
					    "1x",
					    "0x1",
					    "9223372036854775808",
					    "18446744073709551617"};
	int64_t number;

	(void)state;
	assert_true(sp_checkpoint_number(&number, sp_bytes_of("0")));
	assert_int_equal(number, 0);
	assert_true(sp_checkpoint_number(&number, sp_bytes_of("0009223372036854775807")));
	assert_true(number == INT64_MAX);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(sp_checkpoint_number(&number, sp_bytes_of(wrong[i])));
}

static void folders_of_versions(void **state)
{
	static const char *const right[] = {"v1", "20240101", "1", "model.v2", "_v", "tmpl"};
	static const char *const wrong[] = {"",       ".v1",     "v1.tmp",      "v1~",
					    "#v1#",   "v1.part", "lost+found",  "_temporary",
					    "v1.bak", "tmp",     "v1._COPYING_"};

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		assert_true(sp_checkpoint_is_version(right[i]));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_false(sp_checkpoint_is_version(wrong[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_files),         cmocka_unit_test(names_of_nothing),
		cmocka_unit_test(what_a_checkpoint_owns), cmocka_unit_test(numbers),
		cmocka_unit_test(folders_of_versions),
	};

	return cmocka_run_group_tests_name("checkpoint_name", tests, NULL, NULL);
}
