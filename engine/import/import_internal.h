#ifndef SP_ENGINE_IMPORT_INTERNAL_H
#define SP_ENGINE_IMPORT_INTERNAL_H

#include <stdbool.h>

#include "engine/import/import.h"
#include "engine/graph/op.h"

/*
 * The inside of import: import.c walks the graph, import_scope.c knows names,
 * calls and references, import_constants.c writes out large constants, import_branches.c leaves out
 * sides of conditions that are never taken, import_loops.c recognises loops made of Enter, Merge,
 * Switch, NextIteration and Exit.
 */

typedef enum sp_visit { SP_VISIT_NEW = 0, SP_VISIT_OPEN, SP_VISIT_DONE } sp_visit;

typedef struct sp_scope sp_scope;
typedef struct sp_owner sp_owner;

typedef struct sp_place {
	uint32_t flat; /* index in the flat list once SP_VISIT_DONE */
	sp_visit state;
	sp_owner *owner;     /* of a call or loop that was entered */
	const char *refused; /* why a module or a call cannot be followed; NULL when it can */
} sp_place;

/* The graph, or one call of a function. */
struct sp_scope {
	sp_scope *caller;   /* NULL for the graph itself */
	sp_owner *owner;    /* what calls it; NULL for the graph itself */
	uint32_t region;    /* of its nodes, but for those in `loops` */
	const char *prefix; /* "" or "call/" */
	int depth;
	const sp_function_def *function;
	const sp_graph_def *library; /* where attributes of its nodes find functions */
	const sp_node_def *nodes;
	size_t node_count;
	const sp_map *names; /* nodes; arguments too, as SP_ARGUMENT + number */
	sp_place *places;
	struct sp_loops *loops;  /* import_loops.c; NULL when there are none */
	const char *loops_error; /* why they could not be understood; NULL when they could */
};

static const uint64_t SP_ARGUMENT = (uint64_t)1 << 32;

typedef enum sp_owner_kind {
	SP_OWNER_CALL, /* its one body is inlined */
	SP_OWNER_IF,
	SP_OWNER_CASE,
	SP_OWNER_WHILE,
	SP_OWNER_FOR,
	SP_OWNER_LOOP, /* a loop of `loops`; `node` is its LoopCond, and it has no bodies */
} sp_owner_kind;

/* A variable of a loop. */
typedef struct sp_variable {
	const char *first; /* reference where the loop's node stands: what it holds at first */
	const char *next;  /* reference in the body; NULL for the counter of a For */
	const char *merge; /* the Merge that it is in a graph from before functions, or NULL */
	bool is_constant;  /* the body hands it on as it is: another name of `first` */
	uint32_t number;   /* among those that are not constant: the loop's output */
	uint32_t flat;     /* its _Argument, once is_written */
	bool is_written;
} sp_variable;

/* A node that calls functions, or a loop. */
struct sp_owner {
	sp_owner_kind kind;
	sp_scope *in;
	uint32_t node;
	sp_scope **bodies;
	size_t body_count;
	uint32_t first_argument; /* the input that is the bodies' first argument */
	uint32_t first_region;
	uint32_t region_count;
	sp_variable *variables;
	size_t variable_count;
	bool is_begun;               /* its variables are written */
	const char *const *controls; /* further references it needs */
	size_t control_count;
};

/* A reference followed to what gives it: an output of a node, or a variable. */
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
	size_t next; /* which of its needs comes next */
} sp_frame;

/* A function of the graph, or one that a module was translated to. */
typedef struct sp_known_function {
	const sp_function_def *def;
	const sp_graph_def *library; /* it stands in */
	sp_map *names;               /* of its nodes; NULL before it is called */
} sp_known_function;

/* What became of a module. */
typedef struct sp_module {
	const char *function; /* its first one; NULL when it was refused */
	const char *refused;
} sp_module;

typedef struct sp_importer {
	const sp_graph_def *def;
	sp_arena *arena;
	sp_arena *scratch;
	sp_graph *graph;
	size_t capacity;        /* of graph->nodes */
	size_t region_capacity; /* of graph->around */
	size_t planned;         /* nodes of all scopes */
	sp_map ops;
	sp_map functions; /* name -> index in `known` */
	sp_map for_cpu;   /* what functions implement -> index of the one for CPUs */
	struct sp_known_function *known;
	size_t known_count;
	size_t known_capacity;
	sp_map repeated;      /* sp_repeated_values (its address) -> address of its tensor */
	size_t repeated_left; /* see SP_IMPORT_MAX_REPEATED */
	sp_map modules;       /* node (its address) -> address of an sp_module */
	sp_frame *stack;
	size_t stack_size;
	size_t stack_capacity;
	sp_error *err;
} sp_importer;

sp_status sp_import__no_memory(sp_importer *im);

/* ------------------------------------------------------ import_branches.c */

/* The reference that output 0 of a Merge is another name of; NULL when requests decide. */
const char *sp_import__decided_side(const sp_scope *in, uint32_t node);

/* ----------------------------------------------------- import_constants.c */

/* Attributes of the node that the file gives few values of become tensors. */
SP_MUST_CHECK sp_status sp_import__write_constants(sp_importer *im, sp_node *flat);

/* --------------------------------------------------------- import_scope.c */

/* Makes the maps of operators and functions. */
SP_MUST_CHECK sp_status sp_import__index(sp_importer *im);

/* Adds a name; SP_CORRUPT when it is taken. */
SP_MUST_CHECK sp_status sp_import__add_name(sp_importer *im, sp_map *names, const char *name,
					    uint64_t value);

/* NULL for an unknown operator and for one of our own ('_'). */
const sp_op *sp_import__find_op(const sp_importer *im, const char *name);

/* Places for the nodes of a scope; counts them. */
SP_MUST_CHECK sp_status sp_import__make_scope(sp_importer *im, sp_scope *scope);

/* `count` regions in a row, inside region `around`. */
SP_MUST_CHECK sp_status sp_import__add_regions(sp_importer *im, uint32_t around, uint32_t count,
					       uint32_t *first);

/* The region of a node. */
uint32_t sp_import__region_of(const sp_scope *scope, uint32_t node);

/* Makes the owner of a node that calls functions, unless it has one; others are left alone. */
SP_MUST_CHECK sp_status sp_import__open(sp_importer *im, sp_scope *in, uint32_t node);

/* "node", "node:1"; in a body "node:output:1": cut into name, argument and number. */
bool sp_import__split_reference(const char *ref, bool in_body, sp_bytes *name, sp_bytes *argument,
				uint32_t *number);

/* The i-th data input of a node; they stand before the control inputs.  NULL when it has none. */
const char *sp_import__data_input(const sp_node_def *node, uint64_t i);

/* Follows `ref`, which stands in scope `in`. */
SP_MUST_CHECK sp_status sp_import__locate(sp_importer *im, sp_scope *in, const char *ref,
					  sp_target *out);

/* Numbers the variables that are not constant. */
void sp_import__number_variables(sp_owner *owner);

/* --------------------------------------------------------- import_loops.c */

/*
 * Finds the loops of a scope among the nodes that `wanted` needs.  What cannot
 * be understood is left in scope->loops_error; a failure is one of memory or of
 * a reference that leads nowhere.
 */
SP_MUST_CHECK sp_status sp_import__find_loops(sp_importer *im, sp_scope *scope,
					      const char *const *wanted, size_t wanted_count);

/* Whether a node is in a loop: then nothing outside can name it. */
bool sp_import__in_loop(const sp_scope *scope, uint32_t node);

/* The region of a node of a scope that has loops. */
uint32_t sp_import__loop_region(const sp_scope *scope, uint32_t node);

/* Whether the operator is one of those that loops are made of, which end with them. */
bool sp_import__is_loop_op(const char *op);

/* What a reference to output `port` of a node of a loop stands for. */
typedef struct sp_loop_meaning {
	const sp_variable *variable; /* a variable in the loop */
	const char *ref;             /* another reference of the same scope */
	uint32_t loop;               /* an output of the loop: its LoopCond */
	uint32_t port;
	bool is_output;
} sp_loop_meaning;

/* False when the node is an ordinary one. */
bool sp_import__loop_meaning(const sp_scope *scope, uint32_t node, bool control,
			     sp_loop_meaning *out);

/* The loop's owner, its regions made; it stands in the place of its LoopCond. */
SP_MUST_CHECK sp_status sp_import__open_loop(sp_importer *im, sp_scope *scope, uint32_t cond);

#endif
