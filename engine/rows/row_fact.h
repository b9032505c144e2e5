#ifndef SP_ENGINE_ROW_FACT_H
#define SP_ENGINE_ROW_FACT_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/graph/graph.h"
#include "engine/tensor/resource.h"
#include "engine/tensor/tensor.h"

/*
 * What a proof (row_proof.h) knows of a value: how its value for a request of R rows follows from
 * its values for parts of that request, whatever the parts are.  Requests and parts have two rows
 * or more, so a dimension that grows with the rows is never 1 and never broadcasts.
 */
typedef enum sp_row_kind {
	SP_ROW_UNKNOWN,  /* nothing is known */
	SP_ROW_FIXED,    /* the same as in every part */
	SP_ROW_NUMBERS,  /* a scalar or vector of integers that follow from R alone */
	SP_ROW_ROWS,     /* the parts' values one after the other; dims[0] is a multiple of R */
	SP_ROW_SEQUENCE, /* the same, but dims[0] may be no multiple of R */

	/* The parts' values one after the other; the data says how many entries a row has. */
	SP_ROW_ENTRIES,
	/* Entries [n, dims] whose column 0 counts along dimension 0 of the whole of another value.
	 */
	SP_ROW_INDICES,
	/* That column alone, [n]. */
	SP_ROW_POSITIONS,

	/* A function of each distinct element of a vector, in any order. */
	SP_ROW_DISTINCT,
	/* For each element of that vector, its number among the distinct ones. */
	SP_ROW_PLACES,

	SP_ROW_ALL, /* a bool: whether it is true in all parts */
} sp_row_kind;

/* An integer, which may be multiplied by R.  A factor that is not known is the same in all parts.
 */
#define SP_ROW_ANY INT64_MIN

typedef struct sp_row_number {
	int64_t factor; /* SP_ROW_ANY: not known */
	bool by_rows;
} sp_row_number;

/* Dimension 0 of a value: `set` 0 is a multiple of R, others are as many entries as the data has.
 */
typedef struct sp_row_lead {
	uint32_t set;
	bool full; /* of entries: each row has one or more */
	bool even; /* of entries: each row has the same number in every request */
} sp_row_lead;

typedef struct sp_row_fact {
	sp_row_kind kind;
	int rank;
	sp_row_number dims[SP_MAX_RANK];
	sp_row_lead lead;       /* of ENTRIES, INDICES, POSITIONS; of PLACES, that of the vector */
	const sp_tensor *value; /* of FIXED; NULL: not known */
	sp_row_number numbers[SP_MAX_RANK]; /* of NUMBERS: the elements */

	/*
	 * Of INDICES and POSITIONS: the set of entries that they count along; 0: a dimension of
	 * `group` times R.  Of DISTINCT and PLACES: a number of the Unique.
	 */
	uint32_t of;
	int64_t group;

	bool uniform; /* of ROWS: all rows are alike, in every request */

	uint32_t id;        /* of ALL: a number */
	uint32_t dead_by;   /* the number of the ALL that decides whether there is a value */
	const sp_node *why; /* of UNKNOWN: the node to blame */
} sp_row_fact;

/* A step of the plan to which a rule is applied. */
typedef struct sp_row_step {
	const sp_node *node;
	const sp_resources *resources;
	const sp_row_fact *const *in;
	size_t in_count;
	sp_row_fact *out; /* UNKNOWN at first */
	size_t out_count;
	uint32_t fresh; /* a number of this step */
	bool uniform;   /* set by a rule: all rows of the output are alike, whatever the inputs */
} sp_row_step;

/* Fills in what is known of the outputs. */
typedef void sp_row_rule(sp_row_step *step);

/* The rule of an operator with inputs, none UNKNOWN; NULL: nothing is known of its outputs. */
sp_row_rule *sp_row_rule_of(sp_opcode opcode);

/* -------------------------------------------------- for the files of this folder */

static inline sp_row_number sp_row_known(int64_t factor)
{
	return (sp_row_number){.factor = factor};
}

static inline sp_row_number sp_row_rows(int64_t factor)
{
	return (sp_row_number){.factor = factor, .by_rows = true};
}

static inline bool sp_row_is(sp_row_number number, int64_t factor, bool by_rows)
{
	return number.factor == factor && number.by_rows == by_rows;
}

/* Whether dimension 0 of the value is the parts' dimensions one after the other. */
static inline bool sp_row_has_lead(const sp_row_fact *fact)
{
	return fact->kind == SP_ROW_ROWS || fact->kind == SP_ROW_ENTRIES;
}

/* Whether the value is the same in all parts. */
bool sp_row_is_fixed(const sp_row_fact *fact);

/* Integer 0 of a fixed value with one element, or `fallback`. */
int64_t sp_row_scalar(const sp_row_fact *fact, int64_t fallback);

/* The elements of NUMBERS or of a FIXED vector or scalar of integers; false: not known. */
bool sp_row_numbers(const sp_row_fact *fact, sp_row_number numbers[SP_MAX_RANK], int *count);

/* NUMBERS of rank 0 or 1. */
sp_row_fact sp_row_make_numbers(const sp_row_number *numbers, int count, int rank);

/* The product; false: it is not of that form. */
bool sp_row_multiply(sp_row_number *out, sp_row_number by);

/* An attribute, or its default. */
int64_t sp_row_attr(const sp_node *node, const char *name, int64_t fallback);

/* `number` as an axis >= 1 of a value of `rank`; 0: it is axis 0, or none. */
int sp_row_axis(int64_t number, int rank);

/* Broadcasts two dimensions into *to; false when they cannot be, or it is not known. */
bool sp_row_join(sp_row_number *to, sp_row_number with);

/* Appends dimensions `first` and following of `from`; false: too many. */
bool sp_row_append(sp_row_fact *to, const sp_row_fact *from, int first);

sp_row_rule sp_row__reshape, sp_row__expand_dims, sp_row__squeeze, sp_row__transpose, sp_row__tile,
	sp_row__strided_slice, sp_row__slice, sp_row__shape, sp_row__size, sp_row__fill,
	sp_row__pack, sp_row__concat;
sp_row_rule sp_row__where, sp_row__gather, sp_row__gather_nd, sp_row__unique, sp_row__fill_empty,
	sp_row__sparse_reshape, sp_row__to_dense, sp_row__segment, sp_row__sparse_segment,
	sp_row__columns, sp_row__kv_gather;

#endif
