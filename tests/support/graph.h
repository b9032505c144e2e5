#ifndef SP_TESTS_SUPPORT_GRAPH_H
#define SP_TESTS_SUPPORT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/graph/graph_def.h"
#include "engine/runtime/program.h"

/*
 * Small graphs for tests: nodes as literals, and what is needed to run them.
 *
 *     const sp_node_def nodes[] = {
 *             {NODE("x", "Placeholder"), ATTRS(TYPE("dtype", SP_FLOAT))},
 *             {NODE("y", "AddV2"), INPUTS("x", "x", "^before")},
 *     };
 */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define NODE(node_name, op_name) .name = (node_name), .op = (op_name)
#define INPUTS(...)                                   \
	.inputs = (const char *const[]){__VA_ARGS__}, \
	.input_count = COUNT(((const char *const[]){__VA_ARGS__}))
#define ATTRS(...)                               \
	.attrs = (const sp_attr[]){__VA_ARGS__}, \
	.attr_count = COUNT(((const sp_attr[]){__VA_ARGS__}))

/* Attributes. */
#define TYPE(key, value)                                             \
	{                                                            \
		.name = (key), .kind = SP_ATTR_TYPE, .type = (value) \
	}
#define TENSOR(key, value)                                               \
	{                                                                \
		.name = (key), .kind = SP_ATTR_TENSOR, .tensor = (value) \
	}

#define FUNCTION(key, function)                                         \
	{                                                               \
		.name = (key), .kind = SP_ATTR_FUNC, .text = (function) \
	}

/*
 * A function of the first `count` of the caller's `arguments`, which name what it returns, too:
 *
 *     static const sp_arg_def arguments[] = {{"a", SP_INT32}, {"b", SP_INT32}};
 *     BODY("next", 2, nodes, {"a", "sum:z:0"})
 */
#define BODY(function, count, node_list, ...) \
	BODY_OF(function, count, node_list, COUNT(node_list), __VA_ARGS__)
#define BODY_OF(function, count, node_list, number, ...)                                        \
	{                                                                                       \
		.name = (function), .inputs = arguments, .input_count = (count),                \
		.outputs = arguments,                                                           \
		.output_count = COUNT(((const sp_named_ref[]){__VA_ARGS__})),                   \
		.nodes = (node_list), .node_count = (number), .returns = (const sp_named_ref[]) \
		{                                                                               \
			__VA_ARGS__                                                             \
		}                                                                               \
	}

/* One version of a model around a graph: what a graph's runs share. */
typedef struct sp_small_graph {
	sp_arena *arena;
	sp_resources resources;
	sp_environment environment; /* what a load program is given */

	/* For the next compile and the next runs: set them after init. */
	bool fused; /* by engine/passes/optimize.h, as a model is */
	const sp_function_def *functions;
	size_t function_count;
	size_t workspace_limit;
	int64_t deadline_ns;
	int64_t loop_ns; /* of a load program */
	const atomic_bool *stop;
	sp_run_trace *trace;

	/* Of the last compile. */
	sp_graph_def def;
	sp_graph graph;
	bool loading;
	sp_program *program;
	sp_snapshot *snapshot;
	sp_session *session;

	sp_error err; /* of the last call that failed */
} sp_small_graph;

/* What to feed and to fetch, by name, up to the first NULL, and a node to run. */
typedef struct sp_ends {
	const char *feeds[8];
	const char *fetches[8];
	const char *target;
	bool loading;
	bool looks_at_counts; /* fetches are no answers: what counts hold may be among them */
} sp_ends;

void sp_small_graph_init(sp_small_graph *g);
void sp_small_graph_fini(sp_small_graph *g);

/* A graph of that name for the tests of a file, with set_up() and tear_down() for each of them. */
#define SMALL_GRAPH(g)                     \
	static sp_small_graph g;           \
                                           \
	static int set_up(void **state)    \
	{                                  \
		(void)state;               \
		sp_small_graph_init(&(g)); \
		return 0;                  \
	}                                  \
                                           \
	static int tear_down(void **state) \
	{                                  \
		(void)state;               \
		sp_small_graph_fini(&(g)); \
		return 0;                  \
	}                                  \
	_Static_assert(true, "a semicolon follows")

/*
 * Compiles a program of one entry in place of the last one.  Why an entry cannot be run is a
 * failure, too; then the program is there to be asked.
 */
SP_MUST_CHECK sp_status sp_small_graph_compile(sp_small_graph *g, const sp_node_def *nodes,
					       size_t node_count, const sp_ends *ends);

/* Runs what was compiled; snapshot and session come with the first run and stay. */
SP_MUST_CHECK sp_status sp_small_graph_run(sp_small_graph *g, const sp_tensor *feeds,
					   const bool *wanted, const sp_tensor **fetches);

#endif
