#ifndef SP_ENGINE_ROW_PROOF_H
#define SP_ENGINE_ROW_PROOF_H

#include "engine/runtime/program.h"
#include "engine/tensor/partial_shape.h"

/*
 * Proves that a request to an entry may be answered in parts.
 *
 * A request of R rows has R as dimension 0 of every input.  Proved is: for any parts of two rows or
 * more, every output of the request is the outputs of its parts, one after the other, with one row
 * for each; or it is the same tensor in all parts, because no input reaches it.
 *
 * The proof follows the steps of the entry's plan, with the shapes of one version's weights, by
 * what engine/rows/row_rules.c knows of operators.  It is a proof, not a test: what it does not
 * know is refused.  Float results may differ as those of requests of other sizes do.
 *
 * `inputs`: [feed_count] the shapes that hold for every request.  SP_UNSUPPORTED, naming a node or
 * an input, when there is no proof.
 */
SP_MUST_CHECK sp_status sp_program_prove_rows(const sp_program *program, size_t entry,
					      const sp_snapshot *snapshot,
					      const sp_partial_shape *inputs, sp_error *err);

#endif
