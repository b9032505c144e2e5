#include "tests/support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "engine/kernels/trees.h"

/* A message under construction; what goes into a message is made before it. */
typedef struct message {
	char data[512];
	size_t size;
} message;

static void put(message *m, unsigned number, const message *inner)
{
	unsigned tag = number << 3 | 2;

	if (tag >= 0x80)
		m->data[m->size++] = (char)(tag | 0x80);
	m->data[m->size++] = (char)(tag >= 0x80 ? tag >> 7 : tag);
	assert_true(inner->size < 0x80);
	m->data[m->size++] = (char)inner->size;
	memcpy(m->data + m->size, inner->data, inner->size);
	m->size += inner->size;
}

static void put_float(message *m, unsigned number, float value)
{
	m->data[m->size++] = (char)(number << 3 | 5);
	memcpy(m->data + m->size, &value, sizeof(value));
	m->size += sizeof(value);
}

/* Two's complement of 64 bits, as protobuf writes a negative int32. */
static void put_int(message *m, unsigned number, int64_t value)
{
	uint64_t rest = (uint64_t)value;

	m->data[m->size++] = (char)(number << 3);
	for (; rest >= 0x80; rest >>= 7)
		m->data[m->size++] = (char)(rest | 0x80);
	m->data[m->size++] = (char)rest;
}

static message leaf_node(float value)
{
	message leaf = {.size = 0}, node = {.size = 0};

	put_float(&leaf, 3, value);
	put(&node, 1, &leaf);
	return node;
}

static message split_node(unsigned kind, int feature, int number, int left, int right)
{
	message split = {.size = 0}, node = {.size = 0};

	put_int(&split, 1, feature);
	put_int(&split, 2, number);
	put_int(&split, 3, left);
	put_int(&split, 4, right);
	put(&node, kind, &split);
	return node;
}

static message ensemble_of(const message *nodes, size_t count, bool weighed)
{
	message tree = {.size = 0}, out = {.size = 0};

	for (size_t i = 0; i < count; i++)
		put(&tree, 1, &nodes[i]);
	put(&out, 1, &tree);
	if (weighed)
		put_float(&out, 2, 0.5f);
	return out;
}

static sp_arena *arena;

static int setup(void **state)
{
	(void)state;
	arena = sp_arena_create(4096);
	return arena == NULL;
}

static int teardown(void **state)
{
	(void)state;
	sp_arena_destroy(arena);
	return 0;
}

/* From a block of exactly that size, so that a memory checker sees what reads beyond. */
static sp_status read_bytes(const char *data, size_t size, const sp_trees **out)
{
	char *copy = malloc(size != 0 ? size : 1);
	sp_error err;
	sp_status status;

	assert_non_null(copy);
	memcpy(copy, data, size);
	status = sp_trees_read(out, arena, (sp_bytes){copy, size}, &err);
	free(copy);
	return status;
}

static sp_status read_nodes(const message *nodes, size_t count, const sp_trees **out)
{
	message m = ensemble_of(nodes, count, true);

	return read_bytes(m.data, m.size, out);
}

static void a_tree_has_its_nodes_and_weight(void **state)
{
	const message nodes[] = {split_node(2, 1, -3, 1, 2), leaf_node(1.5f), leaf_node(-2)};
	const sp_trees *trees;

	(void)state;
	assert_int_equal(read_nodes(nodes, 3, &trees), SP_OK);
	assert_int_equal(trees->count, 1);
	assert_true(trees->trees[0].weight == 0.5f);
	assert_int_equal(trees->trees[0].node_count, 3);
	assert_int_equal(trees->trees[0].nodes[0].kind, SP_TREE_THRESHOLD);
	assert_int_equal(trees->trees[0].nodes[0].number, -3);
	assert_int_equal(trees->trees[0].nodes[2].value_count, 1);
	assert_true(trees->trees[0].nodes[2].values[0] == -2);
	assert_int_equal(trees->feature_count, 2);
	assert_int_equal(trees->columns[0], 0);
	assert_int_equal(trees->columns[1], 1);
}

static void an_empty_message_has_no_trees(void **state)
{
	const sp_trees *trees;

	(void)state;
	assert_int_equal(read_bytes("", 0, &trees), SP_OK);
	assert_int_equal(trees->count, 0);
}

static void what_is_cut_short_is_never_read_beyond(void **state)
{
	const message nodes[] = {split_node(3, 0, 7, 1, 2), leaf_node(1), leaf_node(2)};
	message m = ensemble_of(nodes, 3, true);
	const sp_trees *trees;

	(void)state;
	for (size_t size = 1; size < m.size; size++)
		assert_int_equal(read_bytes(m.data, size, &trees), SP_CORRUPT);
	for (size_t i = 0; i < m.size; i++)
		for (int bit = 0; bit < 8; bit++) {
			message changed = m;

			changed.data[i] ^= (char)(1 << bit);
			(void)!read_bytes(changed.data, changed.size, &trees);
		}
}

static void a_way_down_must_end(void **state)
{
	const message to_itself[] = {split_node(2, 0, 0, 0, 1), leaf_node(1)};
	const message to_one[] = {split_node(2, 0, 0, 1, 1), leaf_node(1)};
	const message back[] = {split_node(2, 0, 0, 1, 2), split_node(2, 0, 0, 0, 2), leaf_node(1)};
	const message outside[] = {split_node(2, 0, 0, 1, 2), leaf_node(1)};
	const message before[] = {split_node(2, 0, 0, -1, 1), leaf_node(1)};
	const sp_trees *trees;

	(void)state;
	assert_int_equal(read_nodes(to_itself, 2, &trees), SP_CORRUPT);
	assert_int_equal(read_nodes(to_one, 2, &trees), SP_CORRUPT);
	assert_int_equal(read_nodes(back, 3, &trees), SP_CORRUPT);
	assert_int_equal(read_nodes(outside, 2, &trees), SP_CORRUPT);
	assert_int_equal(read_nodes(before, 2, &trees), SP_CORRUPT);
}

static void a_tree_must_be_whole(void **state)
{
	const message negative[] = {split_node(2, -1, 0, 1, 2), leaf_node(1), leaf_node(2)};
	const message huge[] = {split_node(2, INT32_MAX, 0, 1, 2), leaf_node(1), leaf_node(2)};
	const message nothing[] = {split_node(2, 0, 0, 1, 2), leaf_node(1), {.size = 0}};
	const message leaf = leaf_node(1);
	message weightless = ensemble_of(&leaf, 1, false);
	const sp_trees *trees;

	(void)state;
	assert_int_equal(read_nodes(negative, 3, &trees), SP_CORRUPT);
	assert_int_equal(read_nodes(huge, 3, &trees), SP_CORRUPT);
	assert_int_equal(read_nodes(nothing, 3, &trees), SP_CORRUPT);
	assert_int_equal(read_nodes(NULL, 0, &trees), SP_CORRUPT);
	assert_int_equal(read_bytes(weightless.data, weightless.size, &trees), SP_CORRUPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_tree_has_its_nodes_and_weight, setup, teardown),
		cmocka_unit_test_setup_teardown(an_empty_message_has_no_trees, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_cut_short_is_never_read_beyond, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_way_down_must_end, setup, teardown),
		cmocka_unit_test_setup_teardown(a_tree_must_be_whole, setup, teardown),
	};

	return cmocka_run_group_tests_name("trees", tests, NULL, NULL);
}
