#ifndef SP_MODEL_LOADER_CHECKPOINT_PART_NAME_H
#define SP_MODEL_LOADER_CHECKPOINT_PART_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "model_loader/checkpoint/bundle.h"

/*
 * Names of partitioned variables: "user_emb/part_3", or "user_emb/part_3/Adagrad" for a slot of a
 * part.  "part_3" must be a whole component of the name; the last one counts.
 *
 * Threads: pure.
 */
typedef struct sp_part_name {
	sp_bytes head; /* before "/part_"; the whole name when it has no number */
	sp_bytes tail; /* after the number */
	bool numbered;
	uint64_t number;
} sp_part_name;

/* The result points into `name`. */
sp_part_name sp_part_name_split(const char *name);

/* The name without its part; NULL when out of memory. */
const char *sp_part_name_base(const sp_part_name *name, sp_arena *arena);

/* The name of part `number`; NULL when out of memory. */
const char *sp_part_name_join(const sp_part_name *name, size_t number, sp_arena *arena);

/*
 * Counts the tensors <head>/part_<i><tail><suffix> of the bundle.  SP_CORRUPT unless they are
 * numbered 0, 1, 2 ... without a gap.
 */
SP_MUST_CHECK sp_status sp_part_name_count(size_t *out, const sp_part_name *name,
					   const sp_bundle *bundle, const char *suffix,
					   sp_error *err);

/* The numbers of these tensors, ascending, in `arena`; there may be gaps. */
SP_MUST_CHECK sp_status sp_part_name_numbers(size_t **out, size_t *count, const sp_part_name *name,
					     const sp_bundle *bundle, const char *suffix,
					     sp_arena *arena, sp_error *err);

#endif
