#ifndef SP_ENGINE_PROGRAM_H
#define SP_ENGINE_PROGRAM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "engine/graph/environment.h"
#include "engine/graph/graph.h"
#include "engine/graph/op.h"
#include "engine/tensor/resource.h"
#include "engine/tensor/workspace.h"

/*
 * A graph made ready to run.
 *
 * Compiling looks at every node once: operators prepare, what follows from the
 * graph alone is computed (constant folding), what follows from the variables
 * alone is set apart to be computed once per model version, and the rest
 * becomes, for each entry (a signature), a list of steps with slots for the
 * values between them.  Slots are shared by values that do not live at the
 * same time.
 *
 * Threads: a program is immutable once compiled.  A snapshot is immutable once
 * built.  A session is for one thread at a time.
 */
typedef struct sp_program sp_program;

/* One way into the graph: what is fed, what is wanted. */
typedef struct sp_entry_spec {
	const char *name;
	const sp_port *feeds;
	size_t feed_count;
	const sp_port *fetches;
	size_t fetch_count;
	const uint32_t *targets; /* nodes to run for their effect */
	size_t target_count;
} sp_entry_spec;

typedef struct sp_program_options {
	/*
	 * A load program runs restore and init operations: everything but
	 * constants happens at run time, in order, and may change resources.
	 */
	bool loading;
} sp_program_options;

/*
 * Compiles `graph` with its entries.  `graph` must outlive the program.
 * Resources that the graph names are declared in `resources`; those of a
 * snapshot must have the same numbers.
 *
 * An entry that reaches something we cannot do stays in the program but cannot
 * be run: sp_program_entry_error() says why.
 */
SP_MUST_CHECK sp_status sp_program_compile(sp_program **out, const sp_graph *graph,
					   const sp_entry_spec *entries, size_t entry_count,
					   sp_resources *resources,
					   const sp_program_options *options, sp_error *err);

/* NULL is fine.  Sessions and snapshots of it must be gone. */
void sp_program_destroy(sp_program *program);

/* Why entry `entry` cannot be run (all its unsupported operators by name); NULL when it can. */
const sp_error *sp_program_entry_error(const sp_program *program, size_t entry);

/* Steps a request of that entry runs, and all nodes it was compiled from. */
size_t sp_program_step_count(const sp_program *program, size_t entry);

/*
 * Indices of the resources that an entry can reach; what of them has no value
 * in a version must stop that version from going live.
 */
size_t sp_program_entry_resources(const sp_program *program, size_t entry,
				  const uint32_t **indices);

/*
 * One model version's values: what the program computes from `resources`
 * alone.  `resources` must outlive the snapshot.
 */
typedef struct sp_snapshot sp_snapshot;

SP_MUST_CHECK sp_status sp_snapshot_build(sp_snapshot **out, const sp_program *program,
					  sp_resources *resources, sp_error *err);

/*
 * The values of `snapshot`, which outlives it, with other resources: they have
 * the same variables and hash tables, and tables of embeddings that may be others.
 */
SP_MUST_CHECK sp_status sp_snapshot_share(sp_snapshot **out, const sp_snapshot *snapshot,
					  sp_resources *resources, sp_error *err);

/* Bytes of memory, without those of the resources; 0 for NULL. */
size_t sp_snapshot_footprint(const sp_snapshot *snapshot);

/* NULL is fine. */
void sp_snapshot_destroy(sp_snapshot *snapshot);

/* ---------------------------------------------------------------- sessions */

/*
 * The scratch of one request at a time, and what goes on from one that was answered to the
 * next: random streams that nodes or variables begin, and counts (engine/passes/count_writes.h).
 */
typedef struct sp_session sp_session;

/* `workspace_limit` bounds the bytes a request may use. */
SP_MUST_CHECK sp_status sp_session_create(sp_session **out, const sp_program *program,
					  size_t workspace_limit, sp_error *err);

/* NULL is fine. */
void sp_session_destroy(sp_session *session);

/* The session's memory: what a decoder allocates here lives until the next reset. */
sp_workspace *sp_session_workspace(sp_session *session);

typedef struct sp_run {
	const sp_snapshot *snapshot; /* NULL for a load program */
	size_t entry;

	/* [feed_count], in the entry's order; an unset tensor (dtype 0) was not given.
	 * Their bytes must live until sp_session_reset(). */
	const sp_tensor *feeds;

	/*
	 * [fetch_count]: which outputs are wanted; NULL means all.  Steps that
	 * only the others need are skipped, and so are feeds.
	 */
	const bool *wanted;

	/*
	 * When it must be done, on the clock of base/clock.h; 0 is never.  Looked at
	 * after every round of a loop and now and then between steps; a step that
	 * waits, as for an SSD, ends its waiting then.
	 */
	int64_t deadline_ns;

	/*
	 * For load programs, which have no such time: how long each loop may take, 0 is any time,
	 * and what stops all of it as soon as it comes true, NULL is nothing.
	 */
	int64_t loop_ns;
	const atomic_bool *stop;

	/* Streams and counts go on from where they are, and are there again after the run. */
	bool rehearsal;

	/* For load programs; NULL while serving. */
	sp_resources *resources;
	const sp_environment *environment;
} sp_run;

/*
 * Runs an entry.  On success fetches[i] points at output i (NULL where it was
 * not wanted), valid until sp_session_reset().  Errors name the node.
 * SP_DEADLINE when its time was over, SP_BUSY when it was stopped.
 */
SP_MUST_CHECK sp_status sp_session_run(sp_session *session, const sp_run *run,
				       const sp_tensor **fetches, sp_error *err);

/* Ends the request: everything it made is given back. */
void sp_session_reset(sp_session *session);

#endif
