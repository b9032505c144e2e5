#include "tests/support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "storage/shards/shard_address.h"
#include "storage/shards/shard_rule.h"

static void addresses_are_read(void **state)
{
	static const struct {
		const char *text, *host;
		int port;
	} good[] = {
		{"a.example:80", "a.example", 80},
		{" 10.0.0.1:65535 ", "10.0.0.1", 65535},
		{"[::1]:7", "::1", 7},
		{"unix:/run/a b", "/run/a b", -1},
		{"[fe80::1%eth0]:9", "fe80::1%eth0", 9},
	};
	char text[SP_SHARD_ADDRESS_TEXT];
	sp_shard_address address, again;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_ok(sp_shard_address_parse(&address, sp_bytes_of(good[i].text), false, &err),
			  &err);
		assert_string_equal(address.host, good[i].host);
		assert_int_equal(address.port, good[i].port);
		sp_shard_address_text(&address, text);
		assert_ok(sp_shard_address_parse(&again, sp_bytes_of(text), false, &err), &err);
		assert_string_equal(again.host, address.host);
		assert_int_equal(again.port, address.port);
	}
	assert_ok(sp_shard_address_parse(&address, sp_bytes_of("a:0"), true, &err), &err);
}

static void wrong_addresses_are_refused(void **state)
{
	static const char *const wrong[] = {"",      "a",     ":1",           "a:",    "a:0",
					    "a:x",   "a:-1",  "a:65536",      "::1:7", "a:1:2",
					    "unix:", "a:1 2", "a:99999999999"};
	char longest[400];
	sp_shard_address address;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_equal(
			sp_shard_address_parse(&address, sp_bytes_of(wrong[i]), false, &err),
			SP_INVALID);
	memset(longest, 'a', sizeof(longest));
	memcpy(longest + 390, ":1", 3);
	assert_int_equal(sp_shard_address_parse(&address, sp_bytes_of(longest), false, &err),
			 SP_INVALID);
	memcpy(longest, "unix:", 5);
	longest[5 + 108] = '\0'; /* one byte more than a path may have */
	assert_int_equal(sp_shard_address_parse(&address, sp_bytes_of(longest), false, &err),
			 SP_INVALID);
}

static void peers_are_slices_of_replicas(void **state)
{
	static const uint32_t slices[] = {0, 0, 1, 2, 2};
	static char many[SP_SHARD_MAX_PEERS * 8];
	static sp_shard_peers peers;
	sp_error err;

	(void)state;
	assert_ok(sp_shard_peers_parse(&peers, "a:1,b:2;unix:/c; d:4 , [::1]:5", &err), &err);
	assert_int_equal(peers.slices, 3);
	assert_int_equal(peers.count, 5);
	assert_memory_equal(peers.slice_of, slices, sizeof(slices));
	assert_string_equal(peers.items[2].host, "/c");
	assert_int_equal(peers.items[4].port, 5);
	assert_int_equal(sp_shard_peers_parse(&peers, "", &err), SP_INVALID);
	assert_int_equal(sp_shard_peers_parse(&peers, "a:1;;b:1", &err), SP_INVALID);
	assert_int_equal(sp_shard_peers_parse(&peers, "a:1;", &err), SP_INVALID);
	for (size_t i = 0; i <= SP_SHARD_MAX_REPLICAS; i++)
		memcpy(many + i * 4, "a:1,", 5);
	many[SP_SHARD_MAX_REPLICAS * 4 + 3] = '\0';
	assert_int_equal(sp_shard_peers_parse(&peers, many, &err), SP_INVALID);
	for (size_t i = 0; i <= SP_SHARD_MAX_PEERS; i++)
		memcpy(many + i * 4, "a:1;", 5);
	many[SP_SHARD_MAX_PEERS * 4 + 3] = '\0';
	assert_int_equal(sp_shard_peers_parse(&peers, many, &err), SP_INVALID);
}

/* FloorMod(FloorMod(key, 1000), slices). */
static void every_key_is_in_one_slice(void **state)
{
	(void)state;
	assert_int_equal(sp_shard_of_key(0, 3), 0);
	assert_int_equal(sp_shard_of_key(1001, 3), 1);
	assert_int_equal(sp_shard_of_key(999, 4), 3);
	assert_int_equal(sp_shard_of_key(-1, 2), 1);    /* bucket 999 */
	assert_int_equal(sp_shard_of_key(-1000, 7), 0); /* bucket 0 */
	assert_int_equal(sp_shard_of_key(INT64_MIN, 1000), 192);
	assert_int_equal(sp_shard_of_key(INT64_MAX, 1000), 807);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_read),
		cmocka_unit_test(wrong_addresses_are_refused),
		cmocka_unit_test(peers_are_slices_of_replicas),
		cmocka_unit_test(every_key_is_in_one_slice),
	};

	return cmocka_run_group_tests_name("shard_address", tests, NULL, NULL);
}
