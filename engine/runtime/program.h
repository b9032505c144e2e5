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
 * A compiled graph.
 *
 * Compiling prepares the operator of every node.  Values that depend on the graph alone are
 * computed (constant folding); values that depend on the variables alone are computed once per
 * model version (the snapshot); the rest becomes, for each entry (a signature), a list of steps
 * with slots for the values between them.  Values whose lives do not overlap share slots.
 *
 * Threads: a program is immutable once compiled.  A snapshot is immutable once
 * built.  A session is for one thread at a time.
 */
typedef struct sp_program sp_program;

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
 * An entry that reaches something unsupported stays in the program but cannot run:
 * sp_program_entry_error() says why.
 */
SP_MUST_CHECK sp_status sp_program_compile(sp_program **out, const sp_graph *graph,
					   const sp_entry_spec *entries, size_t entry_count,
					   sp_resources *resources,
					   const sp_program_options *options, sp_error *err);

/* NULL is fine.  Sessions and snapshots of it must be gone. */
void sp_program_destroy(sp_program *program);

/* Bytes of memory, without those of the graph. */
size_t sp_program_footprint(const sp_program *program);

/* Why an entry cannot run, naming all its unsupported operators; NULL when it can. */
const sp_error *sp_program_entry_error(const sp_program *program, size_t entry);

/* The number of steps of a request to that entry. */
size_t sp_program_step_count(const sp_program *program, size_t entry);

/*
 * Indices of the resources that an entry can reach.  A version in which one of them has no value
 * must not be published.
 */
size_t sp_program_entry_resources(const sp_program *program, size_t entry,
				  const uint32_t **indices);

/* The values of one model version that depend on `resources` alone, which must outlive it. */
typedef struct sp_snapshot sp_snapshot;

SP_MUST_CHECK sp_status sp_snapshot_build(sp_snapshot **out, const sp_program *program,
					  sp_resources *resources, sp_error *err);

/*
 * A snapshot with the values of `snapshot`, which outlives it, and other resources: the same
 * variables and hash tables, but perhaps other tables of embeddings.
 */
SP_MUST_CHECK sp_status sp_snapshot_share(sp_snapshot **out, const sp_snapshot *snapshot,
					  sp_resources *resources, sp_error *err);

/* Bytes of memory, without those of the resources; 0 for NULL. */
size_t sp_snapshot_footprint(const sp_snapshot *snapshot);

/* NULL is fine. */
void sp_snapshot_destroy(sp_snapshot *snapshot);

/* ---------------------------------------------------------------- sessions */

/*
 * The memory for one request at a time, and the state that is kept between successful requests:
 * random streams, and session variables (engine/passes/session_variables.h).
 */
typedef struct sp_session sp_session;

/* `workspace_limit` bounds the bytes a request may use. */
SP_MUST_CHECK sp_status sp_session_create(sp_session **out, const sp_program *program,
					  size_t workspace_limit, sp_error *err);

/* NULL is fine. */
void sp_session_destroy(sp_session *session);

/* The session's memory: what a decoder allocates here lives until the next reset. */
sp_workspace *sp_session_workspace(sp_session *session);

/*
 * Bytes of memory: the session itself, and what its requests have used of the workspace that it
 * keeps.
 *
 * Threads: any thread, at any time.
 */
size_t sp_session_footprint(const sp_session *session);

/* When each step of a run began and ended; steps within loops and conditions, too. */
typedef struct sp_step_time {
	const char *node, *op; /* the program's */
	int64_t start_ns, end_ns;
} sp_step_time;

typedef struct sp_run_trace {
	sp_step_time *steps; /* [capacity], in the order of their starts */
	size_t capacity;
	size_t count;
	size_t left_out; /* steps after the first `capacity` ones */
} sp_run_trace;

typedef struct sp_run {
	const sp_snapshot *snapshot; /* NULL for a load program */
	size_t entry;

	/*
	 * [feed_count], in the entry's order; an unset tensor (dtype 0): not given.  Their bytes
	 * must live until sp_session_reset().
	 */
	const sp_tensor *feeds;

	/*
	 * [fetch_count]: which outputs are wanted; NULL means all.  Steps that
	 * only the others need are skipped, and so are feeds.
	 */
	const bool *wanted;

	/*
	 * The request's deadline, on the clock of base/clock.h; 0: none.  Checked after every
	 * iteration of a loop and once in a while between steps.  A step that waits, for an SSD
	 * say, stops waiting at that time.
	 */
	int64_t deadline_ns;

	/* Which of the rows that came after the checkpoint it reads (storage/fresh); NULL: none. */
	const struct sp_fresh_view *fresh;

	/* Stops the run once it is true; read where the deadline is checked.  NULL: never. */
	const atomic_bool *stop;

	/* For load programs, which have no deadline: the most time for each loop; 0: no limit. */
	int64_t loop_ns;

	sp_run_trace *trace; /* NULL: none */

	/* Leaves the session's state (random streams, session variables) unchanged. */
	bool rehearsal;

	/* For load programs; NULL while serving. */
	sp_resources *resources;
	const sp_environment *environment;
} sp_run;

/*
 * Runs an entry.  On success fetches[i] points at output i (NULL where it was
 * not wanted), valid until sp_session_reset().  Errors name the node.
 * SP_DEADLINE when the deadline has passed, SP_CANCELLED when it was stopped.
 */
SP_MUST_CHECK sp_status sp_session_run(sp_session *session, const sp_run *run,
				       const sp_tensor **fetches, sp_error *err);

/* Ends the request: all its memory is released. */
void sp_session_reset(sp_session *session);

#endif
