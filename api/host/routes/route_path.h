#ifndef SP_API_HOST_ROUTES_ROUTE_PATH_H
#define SP_API_HOST_ROUTES_ROUTE_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "api/host/http/http_head.h"
#include "base/status.h"

/*
 * The URLs about models.  TensorFlow Serving's REST API:
 *
 *	GET   /v1/models/NAME[/versions/N|/labels/L][/metadata]
 *	POST  /v1/models/NAME[/versions/N|/labels/L]:predict|:classify|:regress
 *
 * and, not in TensorFlow Serving:
 *
 *	GET   /v1/models/NAME/versions
 *	GET   /v1/models/NAME:profile
 *	POST  /v1/models/NAME:reload|:rollback|:unpin
 *	POST  /v1/models/NAME/versions/N[/deltas/M]:pin
 *	POST  /v1/models/NAME[/versions/N]:load|:unload
 *	POST  /v1/models/NAME[/versions/N]/labels/L:assign
 *	POST  /v1/models/NAME/labels/L:remove
 *
 * The Open Inference Protocol, version 2, and Triton's extensions:
 *
 *	GET   /v2, /v2/health/live, /v2/health/ready
 *	GET   /v2/models/NAME[/versions/N][/ready|/config|/stats]
 *	GET   /v2/models/stats
 *	POST  /v2/models/NAME[/versions/N]/infer
 *	POST  /v2/repository/index
 *	POST  /v2/repository/models/NAME/load|unload
 *
 * Alibaba's EAS:
 *
 *	GET, POST  /api/predict/NAME[/]
 *
 * Fixed words below /v1 match without case.  NAME and L are percent-decoded and may contain
 * anything; an unencoded "/" ends them, and below /v1 also a ":".
 *
 * Threads: pure.
 */
typedef enum sp_route_verb {
	SP_MODEL_STATUS,
	SP_MODEL_METADATA,
	SP_MODEL_PREDICT,
	SP_MODEL_CLASSIFY,
	SP_MODEL_REGRESS,
	SP_MODEL_VERSIONS, /* this and those to PROFILE need --admin_routes */
	SP_MODEL_RELOAD,
	SP_MODEL_ROLLBACK,
	SP_MODEL_PIN,
	SP_MODEL_UNPIN,
	SP_MODEL_PROFILE,
	SP_MODEL_LOAD, /* this and those to REMOVE are for the admin listener only */
	SP_MODEL_UNLOAD,
	SP_MODEL_ASSIGN,
	SP_MODEL_REMOVE,

	SP_V2_SERVER,
	SP_V2_LIVE,
	SP_V2_READY,
	SP_V2_MODEL,
	SP_V2_MODEL_READY,
	SP_V2_MODEL_CONFIG,
	SP_V2_MODEL_STATS,
	SP_V2_ALL_STATS,
	SP_V2_INFER, /* this and those to UNLOAD: POST */
	SP_V2_INDEX,
	SP_V2_LOAD,
	SP_V2_UNLOAD,

	SP_EAS_PREDICT,
} sp_route_verb;

typedef struct sp_route_path {
	sp_route_verb verb;
	char name[512]; /* decoded; a NUL becomes '?' */
	bool has_version;
	int64_t version;
	bool has_delta;
	int64_t delta;
	bool has_label;
	char label[512];
} sp_route_path;

#define SP_ROUTE_EAS "/api/predict/"

/*
 * Errors: SP_NOT_FOUND for a path that is none of the above; SP_INVALID for a version that is not a
 *         number of 64 bits, and for any path below /v1/ that matches none of the above, with
 *         TensorFlow Serving's and Triton's texts.
 */
SP_MUST_CHECK sp_status sp_route_path_parse(sp_route_path *out, const sp_http_head *head,
					    sp_error *err);

#endif
