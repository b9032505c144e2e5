#ifndef SP_API_HOST_MODEL_VERSION_STATUS_H
#define SP_API_HOST_MODEL_VERSION_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "api/host/model/versions_report.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The states of a model's versions in TensorFlow Serving's terms.
 *
 * Threads: pure.
 */

/* The numbers of TensorFlow Serving's ModelVersionStatus.State. */
typedef enum sp_version_state {
	SP_VERSION_UNKNOWN = 0,
	SP_VERSION_START = 10,
	SP_VERSION_LOADING = 20,
	SP_VERSION_AVAILABLE = 30,
	SP_VERSION_UNLOADING = 40,
	SP_VERSION_END = 50,
} sp_version_state;

/* "AVAILABLE" ... */
const char *sp_version_state_word(sp_version_state state);

/* The word of the V2 protocol's repository index: "READY" ... */
const char *sp_version_state_in_index(sp_version_state state);

/* TensorFlow's (and gRPC's) code for a status of ours, and its name, "NOT_FOUND" ... */
int sp_tensorflow_code(sp_status status);
const char *sp_tensorflow_code_name(int code);

typedef struct sp_version_status {
	int64_t version;
	sp_version_state state;
	int code; /* 0: no error */
	sp_bytes message;
} sp_version_status;

typedef struct sp_version_label {
	sp_bytes label;
	int64_t version; /* -1: whichever is served */
} sp_version_label;

enum { SP_MAX_STATUSES = 128 };

/* Newest first; the oldest are forgotten. */
typedef struct sp_version_statuses {
	sp_version_status items[SP_MAX_STATUSES];
	size_t count;
} sp_version_statuses;

/*
 * Adds a version in its place.  If the list has one with this number, the one that is nearer to
 * serving stays: available before loading, unloading, ended, and just started.
 */
void sp_version_statuses_put(sp_version_statuses *list, const sp_version_status *status);

/* Adds what the library reports.  Deltas on one full checkpoint share its number. */
void sp_version_statuses_put_report(sp_version_statuses *list, const sp_versions_report *report);

#endif
