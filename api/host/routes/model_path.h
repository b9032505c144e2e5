#ifndef SP_API_HOST_ROUTES_MODEL_PATH_H
#define SP_API_HOST_ROUTES_MODEL_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "api/host/http/http_head.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The URLs of TensorFlow Serving's REST API:
 *
 *	GET   /v1/models/NAME[/versions/N|/labels/L][/metadata]
 *	POST  /v1/models/NAME[/versions/N|/labels/L]:predict|:classify|:regress
 *
 * and, not in TensorFlow Serving:
 *
 *	GET   /v1/models/NAME/versions
 *	POST  /v1/models/NAME:reload|:rollback|:unpin
 *	POST  /v1/models/NAME/versions/N[/deltas/M]:pin
 *
 * Fixed words match without case.  NAME and L are percent-decoded and may contain anything;
 * an unencoded "/" or ":" ends them.
 */
typedef enum sp_model_verb {
	SP_MODEL_STATUS,
	SP_MODEL_METADATA,
	SP_MODEL_PREDICT,
	SP_MODEL_CLASSIFY,
	SP_MODEL_REGRESS,
	SP_MODEL_VERSIONS, /* this and those below need --admin_routes */
	SP_MODEL_RELOAD,
	SP_MODEL_ROLLBACK,
	SP_MODEL_PIN,
	SP_MODEL_UNPIN,
} sp_model_verb;

typedef struct sp_model_path {
	sp_model_verb verb;
	char name[512]; /* decoded; a NUL becomes '?' */
	bool has_version;
	int64_t version;
	bool has_delta;
	int64_t delta;
	bool has_label;
	char label[512];
} sp_model_path;

/*
 * Errors: SP_NOT_FOUND for a path that is not below /v1/; SP_INVALID for any other that
 *         matches none of the above, with TensorFlow Serving's texts.
 */
SP_MUST_CHECK sp_status sp_model_path_parse(sp_model_path *out, const sp_http_head *head,
					    sp_error *err);

#endif
