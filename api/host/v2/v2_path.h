#ifndef SP_API_HOST_V2_V2_PATH_H
#define SP_API_HOST_V2_V2_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * The URLs of the Open Inference Protocol, version 2, and of Triton's extensions:
 *
 *	GET   /v2, /v2/health/live, /v2/health/ready
 *	GET   /v2/models/NAME[/versions/N][/ready|/config|/stats]
 *	GET   /v2/models/stats
 *	POST  /v2/models/NAME[/versions/N]/infer
 *	POST  /v2/repository/index
 *	POST  /v2/repository/models/NAME/load|unload
 *
 * NAME is percent-decoded.
 *
 * Threads: pure.
 */
typedef enum sp_v2_verb {
	SP_V2_NONE, /* no such path */
	SP_V2_SERVER,
	SP_V2_LIVE,
	SP_V2_READY,
	SP_V2_MODEL,
	SP_V2_MODEL_READY,
	SP_V2_MODEL_CONFIG,
	SP_V2_MODEL_STATS,
	SP_V2_ALL_STATS,
	SP_V2_INFER, /* from here on: POST */
	SP_V2_INDEX,
	SP_V2_LOAD,
	SP_V2_UNLOAD,
} sp_v2_verb;

typedef struct sp_v2_path {
	sp_v2_verb verb;
	char name[512]; /* a NUL becomes '?' */
	bool has_version;
	int64_t version;
} sp_v2_path;

/* Whether the path is /v2 or below it. */
bool sp_v2_path_is(sp_bytes path);

void sp_v2_path_parse(sp_v2_path *out, sp_bytes path);

#endif
