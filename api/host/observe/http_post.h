#ifndef SP_API_HOST_OBSERVE_HTTP_POST_H
#define SP_API_HOST_OBSERVE_HTTP_POST_H

#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

/*
 * Posts JSON to one URL, over a connection that is kept.
 *
 * Threads: one at a time, but for sp_http_post_end_by().
 */
typedef struct sp_http_post sp_http_post;

SP_MUST_CHECK sp_status sp_http_post_open(sp_http_post **out, const char *url, sp_error *err);

/* NULL is fine. */
void sp_http_post_close(sp_http_post *post);

/* Returns the HTTP status of the answer; 0, with the reason in *err, if none comes in time. */
int sp_http_post_send(sp_http_post *post, sp_bytes body, int64_t timeout_ms, sp_error *err);

/* No call goes on after this time; from any thread.  NULL is fine. */
void sp_http_post_end_by(sp_http_post *post, int64_t end_ns);

#endif
