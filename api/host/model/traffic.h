#ifndef SP_API_HOST_MODEL_TRAFFIC_H
#define SP_API_HOST_MODEL_TRAFFIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * How the requests that ask for no particular version are spread over the versions of a model.
 *
 * Threads: pure but for sp_traffic_random(), which is thread-safe.
 */

enum { SP_MAX_SHARES = 8, SP_MAX_FIELD = 255 };

/* Requests whose point is below `below`, and not below that of the share before. */
typedef struct sp_traffic_share {
	int64_t version;
	uint32_t below;
} sp_traffic_share;

typedef struct sp_traffic {
	sp_traffic_share shares[SP_MAX_SHARES]; /* [share_count]; the rest has no share */
	size_t share_count;
	const char *field;      /* the input whose value makes the point; NULL: none */
	const char *header;     /* whose value makes it without the input; NULL: chance does */
	int64_t shadow_version; /* also computed by this version */
	uint32_t shadow_below;  /* 0: never */
	double tolerance;       /* of the comparison of both answers, relative */
} sp_traffic;

/* Appends a share; those beyond SP_MAX_SHARES are left out. */
void sp_traffic_add(sp_traffic *traffic, int64_t version, double percent);

uint32_t sp_traffic_threshold(double percent);

/* The version whose share has the point; -1: none. */
int64_t sp_traffic_choose(const sp_traffic *traffic, uint32_t point);

/* Whether a version has a share of its own. */
bool sp_traffic_has(const sp_traffic *traffic, int64_t version);

/* The point of a key: the same in every process. */
uint32_t sp_traffic_point(const char *model, sp_bytes key);

uint32_t sp_traffic_random(void);

#endif
