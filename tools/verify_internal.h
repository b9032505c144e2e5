#ifndef SP_TOOLS_VERIFY_INTERNAL_H
#define SP_TOOLS_VERIFY_INTERNAL_H

#include "tools/catalogue.h"
#include "tools/graph_tables.h"
#include "tools/progress.h"
#include "tools/tool.h"

/* A verification under way; a list is open in the report. */
typedef struct sp_verification {
	sp_tool *tool;
	const sp_bundle *bundle;
	const sp_catalogue *catalogue;
	sp_progress progress;
	size_t problems;
} sp_verification;

/* Reports a problem. */
void sp_verify_problem(sp_verification *v, const char *where, const char *fmt, ...) SP_PRINTF(3, 4);

/* All failures are reported as problems, except SP_NO_MEMORY, which is returned. */
SP_MUST_CHECK sp_status sp_verify_table(sp_verification *v, const sp_catalogue_table *table,
					sp_error *err);

/* Checks that no table of v->bundle lacks its keys, its values, or a part. */
void sp_verify_parts(sp_verification *v);

/* Checks that tables of a delta have the dimensions and key types of the full checkpoint's. */
void sp_verify_against_full(sp_verification *v, const sp_catalogue *full);

/*
 * Checks that all tables and variables of the graph exist with the right types and shapes,
 * and that a load would find the tables.  With `full`, v->bundle is a delta on it, which
 * must have at least one variable of the graph.
 */
SP_MUST_CHECK sp_status sp_verify_against_graph(sp_verification *v, const sp_bundle *full,
						const char *model_dir, sp_error *err);

SP_MUST_CHECK sp_status sp_verify_image(sp_verification *v, sp_error *err);

#endif
