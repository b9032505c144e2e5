#ifndef SP_TOOLS_TOOL_H
#define SP_TOOLS_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "tools/location.h"
#include "tools/report.h"

/*
 * serving_tool shows and checks the files that the serving processor loads.
 *
 * A command is one function.  It writes its findings to tool->report and returns SP_OK, or the
 * failure that ended it.  Damage that does not end the command is reported and sets tool->broken.
 */
enum {
	SP_TOOL_FINE = 0,
	SP_TOOL_BROKEN = 1,
	SP_TOOL_USAGE = 2,
};

/* Flags of `publish`; NULL and 0: not given. */
typedef struct sp_publish_flags {
	const char *name;          /* --name=NAME, of the model in Redis */
	const char *layout;        /* --layout=LAYOUT */
	const char *user;          /* --user=USER */
	const char *password_file; /* --password_file=FILE */
	int64_t partitions, rows_per_second, keep_seconds, lock_seconds, patience_seconds;
	int64_t current; /* --current=FULL; -1: not given */
	bool is_rollback, is_cluster;
} sp_publish_flags;

typedef struct sp_tool {
	sp_report report;
	sp_arena *arena;      /* for as long as the command runs */
	sp_location location; /* of PATH; unset for a configuration file */
	const char *path;

	/* options */
	bool json;
	bool quick;             /* --quick: read no rows */
	size_t top;             /* --top=N */
	const char *model;      /* --model=DIR */
	const char *out;        /* --out=FOLDER */
	const char *row_format; /* --row_format=FORMAT */
	size_t sessions;        /* --sessions=N; 0: not given */
	sp_publish_flags publish;

	/* words after PATH */
	char *const *arguments;
	size_t argument_count;

	bool broken;      /* damage was found */
	bool wrong_usage; /* the failure is about the command line */
} sp_tool;

SP_MUST_CHECK sp_status sp_tool_inspect(sp_tool *tool, sp_error *err);

/* `inspect` of an image: identity, tables, and norms unless --quick. */
SP_MUST_CHECK sp_status sp_tool_inspect_image(sp_tool *tool, sp_error *err);

SP_MUST_CHECK sp_status sp_tool_get(sp_tool *tool, sp_error *err);
SP_MUST_CHECK sp_status sp_tool_verify(sp_tool *tool, sp_error *err);
SP_MUST_CHECK sp_status sp_tool_size(sp_tool *tool, sp_error *err);
SP_MUST_CHECK sp_status sp_tool_image(sp_tool *tool, sp_error *err);
SP_MUST_CHECK sp_status sp_tool_publish(sp_tool *tool, sp_error *err);

#endif
