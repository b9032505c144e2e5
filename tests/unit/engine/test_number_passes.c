/*
 * Random graphs answer the same with the passes that take over TensorFlow's order of numbers, and
 * the fused operators, as without them.  They are full of what the passes look for: sums and
 * products of constants, of rows and matrices, roots and quotients, dense layers, and the same
 * thing twice.
 */
#include "tests/support/cmocka.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/graph.h"

enum {
	ROWS = 3,
	WIDTH = 4,
	GRAPHS = 3000,
	MOST_STEPS = 24,
	MOST_NODES = 20 + 4 * MOST_STEPS,
	FETCHES = 7,
};

static sp_small_graph g;
static uint64_t seed;

static size_t below(size_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (size_t)(seed >> 33) % n;
}

/* ---------------------------------------------------------------- the graph */

static char names[MOST_NODES][16];
static const char *inputs[MOST_NODES][3];
static sp_attr attrs[MOST_NODES][3];
static sp_node_def nodes[MOST_NODES];
static bool has_rows[MOST_NODES], is_wide[MOST_NODES]; /* [ROWS, ...], [..., WIDTH] */
static size_t node_count, first_value;
static sp_dtype dtype;

static float floats[] = {0.5F, 1, 2, 3, -1};
static double doubles[] = {0.5, 1, 2, 3, -1};
static sp_tensor constants[COUNT(floats)];
static float float_matrix[WIDTH * WIDTH];
static double double_matrix[WIDTH * WIDTH];
static sp_tensor matrix = {.shape = {.rank = 2, .dims = {WIDTH, WIDTH}}, .count = WIDTH * WIDTH};
static sp_tensor bias = {.shape = {.rank = 1, .dims = {WIDTH}}, .count = WIDTH};
static int32_t shapes[] = {-1, WIDTH, WIDTH, 1};
static const sp_tensor matrix_shape = {
	.dtype = SP_INT32, .shape = {.rank = 1, .dims = {2}}, .count = 2, .data = shapes};
static const sp_tensor row_shape = {
	.dtype = SP_INT32, .shape = {.rank = 1, .dims = {1}}, .count = 1, .data = &shapes[2]};
static const sp_tensor last_axis = {
	.dtype = SP_INT32, .shape = {.rank = 1, .dims = {1}}, .count = 1, .data = &shapes[3]};

/* Nodes that stand behind the constants. */
enum { AXIS = COUNT(floats), MATRIX_SHAPE, ROW_SHAPE, MATRIX, BIAS, GIVEN };

/* Inputs are by number; NONE ends them. */
static const size_t NONE = SIZE_MAX;

#define INT(key, value)                                          \
	{                                                        \
		.name = (key), .kind = SP_ATTR_INT, .i = (value) \
	}

static size_t add(const char *op, size_t a, size_t b)
{
	size_t i = node_count++;

	snprintf(names[i], sizeof(names[i]), "%c%zu", (char)('a' + below(26)), i);
	attrs[i][0] = (sp_attr)TYPE("T", dtype);
	nodes[i] = (sp_node_def){.name = names[i],
				 .op = op,
				 .inputs = inputs[i],
				 .input_count = (a != NONE) + (b != NONE),
				 .attrs = attrs[i],
				 .attr_count = 1};
	inputs[i][0] = a != NONE ? names[a] : NULL;
	inputs[i][1] = b != NONE ? names[b] : NULL;
	has_rows[i] = (a != NONE && has_rows[a]) || (b != NONE && has_rows[b]);
	is_wide[i] = (a != NONE && is_wide[a]) || (b != NONE && is_wide[b]);
	return i;
}

static size_t add_constant(const sp_tensor *value)
{
	size_t i = add("Const", NONE, NONE);

	attrs[i][0] = (sp_attr)TYPE("dtype", value->dtype);
	attrs[i][1] = (sp_attr)TENSOR("value", value);
	nodes[i].attr_count = 2;
	return i;
}

static size_t constant(void)
{
	return below(COUNT(constants));
}

static size_t value(void)
{
	size_t count = node_count - first_value;
	size_t back = below(3) != 0 && count > 4 ? below(4) : below(count);

	return node_count - 1 - back;
}

/* A node like one that is there, maybe with its inputs the other way round. */
static void repeat(void)
{
	size_t of = value(), i = node_count;

	if (nodes[of].input_count != 2)
		return;
	add(nodes[of].op, NONE, NONE);
	memcpy(attrs[i], attrs[of], sizeof(attrs[i]));
	nodes[i].attr_count = nodes[of].attr_count;
	nodes[i].input_count = 2;
	has_rows[i] = has_rows[of];
	is_wide[i] = is_wide[of];
	memcpy(inputs[i], inputs[of], sizeof(inputs[i]));
	if (below(2) != 0 &&
	    (strcmp(nodes[i].op, "AddV2") == 0 || strcmp(nodes[i].op, "Mul") == 0)) {
		inputs[i][0] = inputs[of][1];
		inputs[i][1] = inputs[of][0];
	}
}

static size_t positive(void)
{
	size_t square = add("Square", value(), NONE);

	return add("AddV2", square, 1); /* and 1 */
}

static void add_mean(void)
{
	size_t of = value(), i;

	if (!has_rows[of])
		return;
	i = add("Mean", of, AXIS);
	is_wide[i] = false;
	attrs[i][1] = (sp_attr){.name = "keep_dims", .kind = SP_ATTR_BOOL, .b = true};
	attrs[i][2] = (sp_attr)TYPE("Tidx", SP_INT32);
	nodes[i].attr_count = 3;
	add("Sub", of, i);
}

/* A dense layer of any parts. */
static void add_layer(void)
{
	size_t of = value(), i;

	if (!has_rows[of] || !is_wide[of])
		return;
	i = add("MatMul", of, MATRIX);
	if (below(2) != 0)
		i = add("BiasAdd", i, BIAS);
	if (below(2) != 0)
		add(below(2) != 0 ? "Relu" : "Elu", i, NONE);
}

/* What is computed at less cost, or more closely, by another operator. */
static void add_reducible(void)
{
	size_t of = value();

	switch (below(5)) {
	case 0:
		add("Pow", add("AddV2", add("Square", of, NONE), 1), constant());
		return;
	case 1:
		add("Sub", add("Exp", add("Tanh", of, NONE), NONE), 1);
		return;
	case 2:
		if (has_rows[of]) /* it takes two dimensions or more */
			add("Log", add("Softmax", of, NONE), NONE);
		return;
	case 3:
		add("Mul", add("Mul", of, of), of);
		return;
	default:
		add("RealDiv", 1, positive());
	}
}

static void add_all(void)
{
	size_t a = value(), b = value(), c = value(), i;

	if (has_rows[a] != has_rows[b] || has_rows[b] != has_rows[c] || is_wide[a] != is_wide[b] ||
	    is_wide[b] != is_wide[c])
		return;
	i = add("AddN", a, b);
	inputs[i][2] = names[c];
	nodes[i].input_count = 3;
	attrs[i][1] = (sp_attr)INT("N", 3);
	nodes[i].attr_count = 2;
}

static void grow(void)
{
	static const char *const pairs[] = {"AddV2", "Sub", "Mul"};

	switch (below(15)) {
	case 0:
	case 1:
	case 2:
		add(pairs[below(3)], value(), value());
		return;
	case 3:
	case 4:
		add(pairs[below(3)], value(), constant());
		return;
	case 5:
		add(pairs[below(3)], constant(), value());
		return;
	case 6:
		add("RealDiv", value(), constant());
		return;
	case 7:
		add("RealDiv", value(), add("Sqrt", positive(), NONE));
		return;
	case 8:
		add(below(2) != 0 ? "Log" : "Sqrt", positive(), NONE);
		return;
	case 9:
		add(below(2) != 0 ? "Tanh" : "Neg", value(), NONE);
		return;
	case 10:
		add_mean();
		return;
	case 11:
		add_layer();
		return;
	case 12:
		add_reducible();
		return;
	case 13:
		add_all();
		return;
	default:
		repeat();
	}
}

static void make_graph(void)
{
	node_count = 0;
	dtype = below(2) != 0 ? SP_FLOAT : SP_DOUBLE;
	for (size_t i = 0; i < COUNT(constants); i++) {
		constants[i] = (sp_tensor){.dtype = dtype,
					   .count = 1,
					   .data = dtype == SP_FLOAT ? (void *)&floats[i]
								     : (void *)&doubles[i]};
		add_constant(&constants[i]);
	}
	add_constant(&last_axis);
	add_constant(&matrix_shape);
	add_constant(&row_shape);
	matrix.dtype = bias.dtype = dtype;
	matrix.data = bias.data = dtype == SP_FLOAT ? (void *)float_matrix : (void *)double_matrix;
	add_constant(&matrix);
	add_constant(&bias);
	for (size_t i = 0; i < 3; i++) {
		size_t x = add("Placeholder", NONE, NONE);

		snprintf(names[x], sizeof(names[x]), "given %zu", i);
		attrs[x][0] = (sp_attr)TYPE("dtype", dtype);
	}
	first_value = node_count;
	for (size_t i = 0; i < 3; i++) {
		size_t x = add("Reshape", GIVEN + i, i < 2 ? MATRIX_SHAPE : ROW_SHAPE);

		has_rows[x] = i < 2;
		is_wide[x] = true;
	}
	for (size_t steps = 4 + below(MOST_STEPS - 4); steps > 0; steps--)
		grow();
}

/* ------------------------------------------------------------------ its answers */

static void *given[3];
static float given_floats[3][ROWS * WIDTH];
static double given_doubles[3][ROWS * WIDTH];
static char fetched[FETCHES][16];

/* Answers [FETCHES, ROWS * WIDTH] as numbers; counts of them. */
static void answer(bool fused, double answers[FETCHES][ROWS * WIDTH], size_t counts[FETCHES])
{
	sp_ends ends = {.feeds = {"given 0", "given 1", "given 2"}};
	const sp_tensor *out[FETCHES];
	sp_tensor feeds[3];

	for (size_t i = 0; i < FETCHES; i++)
		ends.fetches[i] = fetched[i];
	for (size_t i = 0; i < 3; i++)
		feeds[i] = (sp_tensor){.dtype = dtype,
				       .shape = {.rank = 1, .dims = {i < 2 ? ROWS * WIDTH : WIDTH}},
				       .count = i < 2 ? ROWS * WIDTH : WIDTH,
				       .data = given[i]};
	g.fused = fused;
	assert_ok(sp_small_graph_compile(&g, nodes, node_count, &ends), &g.err);
	assert_ok(sp_small_graph_run(&g, feeds, NULL, out), &g.err);
	for (size_t i = 0; i < FETCHES; i++) {
		counts[i] = out[i]->count;
		assert_in_range(counts[i], 1, ROWS * WIDTH);
		for (size_t k = 0; k < counts[i]; k++)
			answers[i][k] = dtype == SP_FLOAT ? (double)((const float *)out[i]->data)[k]
							  : ((const double *)out[i]->data)[k];
	}
}

static void give(void)
{
	for (size_t i = 0; i < 3; i++) {
		given[i] = dtype == SP_FLOAT ? (void *)given_floats[i] : (void *)given_doubles[i];
		for (size_t k = 0; k < ROWS * WIDTH; k++) {
			given_doubles[i][k] = (double)below(4000) / 2000 - 1;
			given_floats[i][k] = (float)given_doubles[i][k];
		}
	}
	for (size_t i = 0; i < FETCHES; i++)
		memcpy(fetched[i], names[value()], sizeof(fetched[i]));
}

/* What is large may be the difference of larger numbers. */
static bool agree(double a, double b)
{
	double share = dtype == SP_FLOAT ? 1e-3 : 1e-9, size = fmax(fabs(a), fabs(b));

	return fabs(a - b) <= share * (1 + size) || !isfinite(a) || size > 1e3;
}

static void random_graphs_answer_the_same(void **state)
{
	static double plain[FETCHES][ROWS * WIDTH], fused[FETCHES][ROWS * WIDTH];
	size_t counts[FETCHES], fused_counts[FETCHES];

	(void)state;
	for (size_t graph = 0; graph < GRAPHS; graph++) {
		seed = graph;
		make_graph();
		give();
		answer(false, plain, counts);
		answer(true, fused, fused_counts);
		for (size_t i = 0; i < FETCHES; i++) {
			assert_int_equal(counts[i], fused_counts[i]);
			for (size_t k = 0; k < counts[i]; k++)
				if (!agree(plain[i][k], fused[i][k]))
					fail_msg("graph %zu: '%s' is %g, and %g when fused", graph,
						 fetched[i], plain[i][k], fused[i][k]);
		}
	}
}

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < WIDTH * WIDTH; i++) {
		double_matrix[i] = (double)(i % 7) / 8 - 0.25;
		float_matrix[i] = (float)double_matrix[i];
	}
	sp_small_graph_init(&g);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_small_graph_fini(&g);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(random_graphs_answer_the_same, set_up, tear_down),
	};
	return cmocka_run_group_tests_name("number_passes", tests, NULL, NULL);
}
