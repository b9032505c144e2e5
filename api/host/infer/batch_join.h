#ifndef SP_API_HOST_INFER_BATCH_JOIN_H
#define SP_API_HOST_INFER_BATCH_JOIN_H

#include <stdbool.h>
#include <stddef.h>

#include "api/host/infer/infer_call.h"
#include "base/arena.h"
#include "base/budget.h"

/*
 * The rows of several requests as one request, and the rows of its outputs as an answer to each.
 * A row is what one index of the first dimension selects.
 *
 * Threads: pure, but for the counted results.
 */

/*
 * How many rows a request has: the first dimension of all its inputs.  0: it cannot be joined, for
 * inputs differ in it or have none, or the signature fixes it for an input or a requested output.
 */
size_t sp_batch_rows(const sp_infer_request *request);

/*
 * Whether the rows of two requests to the same version can be one request: they have the same
 * signature, outputs, and inputs, with the same types and shapes but for the first dimension.
 */
bool sp_batch_are_alike(const sp_infer_request *a, const sp_infer_request *b);

/*
 * All rows of `requests`, [count] of which any two are alike, followed by copies of the first row
 * until there are `rows`.  The arena holds it; texts and names remain those of the requests.  False
 * when out of memory.
 */
bool sp_batch_join(sp_infer_request *out, const sp_infer_request *const *requests, size_t count,
		   size_t rows, sp_arena *arena);

/* A view of `rows` rows from `first` on; its arrays are in the arena.  False when out of memory. */
bool sp_batch_slice(sp_infer_request *out, const sp_infer_request *request, size_t first,
		    size_t rows, sp_arena *arena);

/* Whether every output has so many rows. */
bool sp_batch_has_rows(const sp_infer_result *result, size_t rows);

/*
 * Splits a result: rows[i] of its rows are parts[i], from the first one on.  All parts share the
 * memory of `whole`, which is then theirs.  False when out of memory: nothing has changed.
 */
bool sp_batch_split(sp_infer_result *const *parts, const size_t *rows, size_t count,
		    sp_infer_result *whole);

/*
 * The reverse: outputs with the rows of all parts, [count] results of one signature's runs, which
 * then belong to *out.  False when out of memory, or if shapes do not fit together: nothing has
 * changed.
 */
bool sp_batch_gather(sp_infer_result *out, sp_infer_result *parts, size_t count, sp_budget *budget);

/* Outputs that are made of those of other results; counted.  NULL is fine. */
typedef struct sp_made_outputs sp_made_outputs;
void sp_made_outputs_release(sp_made_outputs *made);

#endif
