#ifndef SP_TOOLS_VERIFY_INTERNAL_H
#define SP_TOOLS_VERIFY_INTERNAL_H

#include "tools/catalogue.h"
#include "tools/graph_tables.h"
#include "tools/progress.h"
#include "tools/tool.h"

/* A verification under way; problems go to the list that is open in the report. */
typedef struct sp_verification {
	sp_tool *tool;
	const sp_bundle *bundle;
	const sp_catalogue *catalogue;
	sp_progress progress;
	size_t problems;
} sp_verification;

void sp_verify_problem(sp_verification *v, const char *where, const char *fmt, ...) SP_PRINTF(3, 4);

/*
 * Failures that end the verification of something go to the report, too; only
 * what ends everything (memory) is returned.
 */
SP_MUST_CHECK sp_status sp_verify_table(sp_verification *v, const sp_catalogue_table *table,
					sp_error *err);

/* Of v->bundle: that no table has lost its keys, its rows, or a part. */
void sp_verify_parts(sp_verification *v);

/* Of a delta: that its tables are of the kind that those of the full checkpoint are. */
void sp_verify_against_full(sp_verification *v, const sp_catalogue *full);

/*
 * That all the graph reads and restores is there, of its type and shape, and that a load finds
 * its tables.  `full` NULL: v->bundle is a full checkpoint; else a delta on it, which must have
 * something of the graph.
 */
SP_MUST_CHECK sp_status sp_verify_against_graph(sp_verification *v, const sp_bundle *full,
						const char *model_dir, sp_error *err);

SP_MUST_CHECK sp_status sp_verify_image(sp_verification *v, sp_error *err);

#endif
