#ifndef SP_ENGINE_IMPORT_INTERNAL_H
#define SP_ENGINE_IMPORT_INTERNAL_H

#include <stdbool.h>

#include "engine/graph/op.h"
#include "engine/import/import.h"

/*
 * Internals of the import.  Each file calls only those above it:
 *
 *     import_reference.c  names, references, regions
 *     import_constants.c  writes out constants that repeat values
 *     import_branches.c   TensorFlow 1 conditionals with a constant predicate
 *     import_loops.c      recognises loops made of Enter, Merge, Switch, NextIteration and Exit
 *     import_calls.c      functions, and the scopes that calls open
 *     import_locate.c     follows a reference to its producer
 *     import.c            walks the graph and writes the nodes
 */

typedef enum sp_visit { SP_VISIT_NEW = 0, SP_VISIT_OPEN, SP_VISIT_DONE } sp_visit;

typedef struct sp_scope sp_scope;
typedef struct sp_owner sp_owner;

typedef struct sp_import_progress {
	uint32_t flat; /* index in the flat list once SP_VISIT_DONE */
	sp_visit state;
	sp_owner *owner;     /* of a call or loop, once it is opened */
	const char *refused; /* why the call is not supported; NULL when it is */
} sp_import_progress;

/* The graph, or one call of a function. */
struct sp_scope {
	sp_scope *caller;   /* NULL for the graph itself */
	sp_owner *owner;    /* the call; NULL for the graph itself */
	uint32_t region;    /* of its nodes that are in no loop of `loops` */
	const char *prefix; /* "" or "call/" */
	int depth;
	const sp_function_def *function;
	const sp_graph_def *library; /* has the functions that its nodes name */
	const sp_node_def *nodes;
	size_t node_count;
	const sp_map *names; /* nodes by index, arguments by SP_ARGUMENT + number */
	sp_import_progress *places;
	struct sp_loops *loops;  /* import_loops.c; NULL when there are none */
	const char *loops_error; /* why they were not recognised, or NULL */
};

static const uint64_t SP_ARGUMENT = (uint64_t)1 << 32;

typedef enum sp_owner_kind {
	SP_OWNER_CALL, /* its one body is inlined */
	SP_OWNER_IF,
	SP_OWNER_CASE,
	SP_OWNER_WHILE,
	SP_OWNER_LOOP, /* a loop of `loops`, without bodies; `node` is its LoopCond */
} sp_owner_kind;

/* A variable of a loop. */
typedef struct sp_variable {
	const char *first; /* the initial value: a reference in the scope of the loop */
	const char *next;  /* the next value: a reference in the body */
	const char *merge; /* of SP_OWNER_LOOP: its Merge */
	bool is_constant;  /* loop-invariant: reads of it read `first` */
	uint32_t number;   /* its output of the loop, counting variables that are not constant */
	uint32_t flat;     /* its LoopVariable, once is_written */
	bool is_written;
} sp_variable;

/* A call, condition or loop. */
struct sp_owner {
	sp_owner_kind kind;
	sp_scope *in;
	uint32_t node;
	sp_scope **bodies;
	size_t body_count;
	uint32_t first_argument; /* the input that is argument 0 of the bodies */
	uint32_t first_region;
	uint32_t region_count;
	sp_variable *variables;
	size_t variable_count;
	bool is_begun;         /* its variables are written */
	const char **controls; /* control inputs besides those of the node */
	size_t control_count;
};

/* The producer of a reference: an output of a node, or a variable. */
typedef struct sp_target {
	sp_scope *in;
	uint32_t node;
	uint32_t port;
	bool control;
	const sp_variable *variable;
} sp_target;

typedef struct sp_frame {
	sp_scope *in;
	uint32_t node;
	struct sp_need *needs;
	size_t need_count;
	size_t next; /* index of the next need to visit */
} sp_frame;

/* A function of the graph, or one that a module was translated to. */
typedef struct sp_known_function {
	const sp_function_def *def;
	const sp_graph_def *library; /* that defines it */
	sp_map *names;               /* of its nodes; NULL before the first call */
} sp_known_function;

/* A translated module. */
typedef struct sp_module {
	const char *function; /* the first one; NULL when it was refused */
	const char *refused;
} sp_module;

typedef struct sp_importer {
	const sp_graph_def *def;
	sp_arena *arena;
	sp_arena *scratch;
	sp_graph *graph;
	size_t capacity;        /* of graph->nodes */
	size_t region_capacity; /* of graph->around */
	size_t planned;         /* nodes of all scopes: at most SP_IMPORT_MAX_NODES */
	sp_map functions;       /* name -> index in `known` */
	sp_map for_cpu;         /* sp_function_def.implements -> index of the one for CPUs */
	struct sp_known_function *known;
	size_t known_count;
	size_t known_capacity;
	sp_map repeated;      /* sp_repeated_values (its address) -> address of its tensor */
	size_t repeated_left; /* of SP_IMPORT_MAX_REPEATED bytes */
	sp_map modules;       /* node (its address) -> address of an sp_module */
	sp_frame *stack;
	size_t stack_size;
	size_t stack_capacity;
	sp_error *err;
} sp_importer;

/* ---------------------------------------------------- import_reference.c */

sp_status sp_import__no_memory(sp_importer *im);

/* Adds a name; SP_CORRUPT when it is taken. */
SP_MUST_CHECK sp_status sp_import__add_name(sp_importer *im, sp_map *names, const char *name,
					    uint64_t value);

/* Splits "node", "node:1", or in a body "node:output:1" into name, argument and number. */
bool sp_import__split_reference(const char *ref, bool in_body, sp_bytes *name, sp_bytes *argument,
				uint32_t *number);

/* The i-th data input of a node, or NULL; data inputs come before control inputs. */
const char *sp_import__data_input(const sp_node_def *node, uint64_t i);

/* Adds `count` consecutive regions inside region `around`. */
SP_MUST_CHECK sp_status sp_import__add_regions(sp_importer *im, uint32_t around, uint32_t count,
					       uint32_t *first);

/* Numbers the variables that are not constant. */
void sp_import__number_variables(sp_owner *owner);

/* ---------------------------------------------------- import_constants.c */

/* Makes tensors of the node's attributes that repeat a value (SP_ATTR_REPEATED). */
SP_MUST_CHECK sp_status sp_import__write_constants(sp_importer *im, sp_node *flat);

/* ----------------------------------------------------- import_branches.c */

/* The input that output 0 of a Merge always is; NULL when it depends on the request. */
const char *sp_import__decided_side(const sp_scope *in, uint32_t node);

/* -------------------------------------------------------- import_loops.c */

/*
 * Finds the loops of a scope among the nodes that `wanted` needs.  scope->loops_error says why they
 * were not recognised.  Fails with SP_NO_MEMORY only.
 */
SP_MUST_CHECK sp_status sp_import__find_loops(sp_importer *im, sp_scope *scope,
					      const char *const *wanted, size_t wanted_count);

/* Whether a node is in a loop, so that nothing outside of it can read it. */
bool sp_import__in_loop(const sp_scope *scope, uint32_t node);

/* The region of a node. */
uint32_t sp_import__region_of(const sp_scope *scope, uint32_t node);

/* Whether the operator occurs in loops only. */
bool sp_import__is_loop_op(const char *op);

/* What a reference to output `port` of a part of a loop (Merge, Switch, ...) stands for. */
typedef struct sp_loop_meaning {
	const sp_variable *variable; /* a variable, inside the loop */
	const char *ref;             /* another reference of the same scope */
	uint32_t loop;               /* an output of the loop, by its LoopCond */
	uint32_t port;
	bool is_output;
} sp_loop_meaning;

/* False for nodes that are not parts of loops. */
bool sp_import__loop_meaning(const sp_scope *scope, uint32_t node, bool control,
			     sp_loop_meaning *out);

/* Makes the regions of the loop of a LoopCond, and its owner. */
SP_MUST_CHECK sp_status sp_import__open_loop(sp_importer *im, sp_scope *scope, uint32_t cond);

/* -------------------------------------------------------- import_calls.c */

/* Indexes the functions of the graph. */
SP_MUST_CHECK sp_status sp_import__index(sp_importer *im);

/* Makes the places of a scope's nodes, and counts the nodes against SP_IMPORT_MAX_NODES. */
SP_MUST_CHECK sp_status sp_import__make_scope(sp_importer *im, sp_scope *scope);

/* Makes the owner of a node that calls functions, unless it has one; ignores other nodes. */
SP_MUST_CHECK sp_status sp_import__open(sp_importer *im, sp_scope *in, uint32_t node);

/* ------------------------------------------------------- import_locate.c */

/* Follows `ref`, a reference in scope `in`. */
SP_MUST_CHECK sp_status sp_import__locate(sp_importer *im, sp_scope *in, const char *ref,
					  sp_target *out);

#endif
