#ifndef SP_ENGINE_PROGRAM_INTERNAL_H
#define SP_ENGINE_PROGRAM_INTERNAL_H

#include "engine/ops/control/control.h"
#include "engine/runtime/program.h"
#include "engine/tensor/object.h"

/*
 * Internals of the program: compile.c fills values and nodes, plan.c and plan_steps.c the plans;
 * session.c, execute.c and snapshot.c run them.
 */

/* One output of one node. */
typedef struct sp_value {
	sp_dtype dtype;
	sp_level level;
	bool may_die;              /* may be unset, because it depends on a Switch */
	uint32_t region;           /* of its node */
	uint32_t alias;            /* the value that it is an alias of, or itself */
	const sp_tensor *constant; /* at SP_LEVEL_CONSTANT */
} sp_value;

typedef struct sp_prepared {
	const sp_node *node;
	sp_status (*run)(const sp_call *call);
	const void *state;
	uint32_t first_value; /* of its outputs, which are consecutive */
	uint32_t out_count;
	bool is_alias; /* an identity without effect: no step */
	bool is_fed;   /* an entry feeds it: never folded */
	sp_level level;
	bool may_die;
	bool has_effect;       /* it, or a node in its regions, changes or checks something */
	bool broken;           /* it or one of its inputs cannot run */
	const sp_error *error; /* why the node itself cannot run, or NULL */
} sp_prepared;

/* Where a step reads a value. */
typedef enum sp_ref_kind {
	SP_REF_CONSTANT, /* value number */
	SP_REF_SNAPSHOT, /* number among the snapshot's values */
	SP_REF_FEED,     /* number of the feed */
	SP_REF_SLOT,     /* slot number */
} sp_ref_kind;

typedef struct sp_ref {
	sp_ref_kind kind;
	uint32_t index;
} sp_ref;

typedef struct sp_step {
	sp_status (*run)(const sp_call *call);
	const void *state;
	const sp_node *node;
	uint64_t wanted_by; /* bit i: fetch i of the entry needs it; bit 63: fetches 63 and up */
	uint64_t in_dies;   /* sp_call.in_dies */
	uint32_t first_in;  /* in refs: the inputs, then control inputs that may die and captures */
	uint32_t in_count;
	uint32_t control_count;
	uint32_t first_out; /* in out_slots */
	uint32_t out_count;
	uint32_t first_release; /* in releases */
	uint32_t release_count;
	bool may_die;
	bool takes_dead;
	bool token;                       /* one slot after the outputs says whether the step ran */
	const struct sp_control *control; /* of a step that runs regions; else NULL */
} sp_step;

/* The steps of a region, and the slots to release at its end. */
typedef struct sp_plan_region {
	uint32_t first_step;
	uint32_t step_count;
	uint32_t first_release;
	uint32_t release_count;
} sp_plan_region;

/*
 * The control part of a step that runs regions.  The inputs of the step are the selector of a
 * condition, or the initial values of a loop's variables.
 */
typedef struct sp_control {
	sp_control_kind kind;
	uint32_t first_region;
	uint32_t region_count;
	uint32_t first_argument; /* in out_slots: the variables */
	uint32_t argument_count;
	uint32_t first_return; /* in refs: the results of the regions */
	uint32_t return_count;
	bool scalar_only;
} sp_control;

/* The steps of an entry, region by region; region 0 is the whole graph. */
typedef struct sp_plan {
	sp_step *steps;
	size_t step_count;
	sp_plan_region *regions; /* [graph->region_count] */
	sp_ref *refs;
	size_t ref_count;
	uint32_t *out_slots;
	size_t out_count;
	uint32_t *releases;
	size_t slot_count;
	sp_ref *fetches;
	size_t fetch_count;
	sp_dtype *feed_dtypes;
	const char **feed_names;
	const sp_tensor *
		*feed_defaults; /* the value for requests without it; NULL: it is required */
	uint64_t *feed_wanted_by;
	size_t feed_count;
	uint32_t *resources;
	size_t resource_count;
	const sp_error *error; /* why it cannot run, or NULL */
} sp_plan;

struct sp_program {
	sp_arena *arena;
	const sp_graph *graph;
	bool loading;
	sp_prepared *prepared; /* [graph->node_count] */
	sp_value *values;
	size_t value_count;
	size_t resource_count; /* declared at compile time: handles are below it */
	size_t stream_count;   /* random streams that nodes start */
	size_t session_variable_count;
	uint32_t *snapshot_index; /* [value_count] among the snapshot's values, or UINT32_MAX */
	uint32_t snapshot_count;
	sp_plan snapshot_plan; /* its fetches are the snapshot's values */
	sp_plan *plans;        /* one per entry */
	size_t plan_count;
};

struct sp_snapshot {
	uint64_t number; /* unique in the process, unlike addresses */
	sp_arena *arena;
	sp_object_list objects;
	sp_resources *resources;
	sp_tensor *values;
};

/* The number of the value at a port, with aliases resolved. */
static inline uint32_t sp_program__value(const sp_program *program, sp_port port)
{
	return program->values[program->prepared[port.node].first_value + port.port].alias;
}

/* ------------------------------------------------------------------ plan.c */

/*
 * Makes the plan of an entry.  Nodes of `level` become steps: SP_LEVEL_REQUEST, or
 * SP_LEVEL_SNAPSHOT for the snapshot's plan.  If the entry cannot run, plan->error says why.
 */
SP_MUST_CHECK sp_status sp_plan__make(sp_plan *out, sp_program *program, const sp_entry_spec *entry,
				      sp_level level, sp_error *err);

#endif
