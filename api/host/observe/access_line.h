#ifndef SP_API_HOST_OBSERVE_ACCESS_LINE_H
#define SP_API_HOST_OBSERVE_ACCESS_LINE_H

#include "api/host/observe/observed.h"
#include "base/buffer.h"

/*
 * One request as a line of JSON, with its newline (docs/observability.md has the members).  What is
 * not known is left out.  Texts of the client are cut at SP_ACCESS_TEXT bytes; bytes that are not
 * UTF-8 become U+FFFD.
 *
 * Threads: one thread at a time per buffer.
 */
enum { SP_ACCESS_TEXT = 512 };

void sp_access_line_write(sp_buffer *out, const sp_observed *observed, bool with_steps);

#endif
