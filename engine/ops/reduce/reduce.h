#ifndef SP_ENGINE_OPS_REDUCE_H
#define SP_ENGINE_OPS_REDUCE_H

#include "engine/graph/op.h"
#include "engine/ops/array/element_types.h"

/*
 * Reductions: input 0 is reduced along the axes in input 1 (int32 or int64, of any shape; negative
 * axes count from the end; no duplicates).  With keep_dims reduced dimensions stay as 1.
 *
 * Dimensions of size 1 are dropped, and neighbouring dimensions that are all kept or all reduced
 * are merged.  The merged dimensions are alternately kept and reduced; the last one is contiguous
 * in memory and is the kernel's inner loop.
 *
 * Numerics: along the last dimension there are SP_REDUCE_LANES partial results, combined at the end
 * (sums of float: engine/kernels/float_rows.h); along other dimensions elements are combined in
 * order.  The accumulator is float for half and bfloat16 (rounded once), the element type for float
 * and double, and 64 bits wide for integers.
 */
#define SP_REDUCE_LANES 16
#define SP_REDUCE_STRIP 64 /* neighbouring outputs that are computed together */

/* A nested loop over some dimensions of the input, and its current position. */
typedef struct sp_reduce_walk {
	int rank;
	size_t dims[SP_MAX_RANK];
	size_t strides[SP_MAX_RANK]; /* in elements of the input */
	size_t index[SP_MAX_RANK];
	size_t at;
} sp_reduce_walk;

typedef struct sp_reduce_plan {
	const void *in;
	void *out;
	size_t out_count;     /* > 0 */
	size_t reduced_count; /* > 0: input elements per output element */

	sp_reduce_walk kept, reduced; /* the merged dimensions but the last */
	size_t last;                  /* size of the last dimension */
	bool last_is_reduced;
} sp_reduce_plan;

/* Advances to the next index.  After the last one it returns to the first; false. */
static inline bool sp_reduce__step(sp_reduce_walk *walk)
{
	for (int i = walk->rank - 1; i >= 0; i--) {
		walk->at += walk->strides[i];
		if (++walk->index[i] < walk->dims[i])
			return true;
		walk->at -= walk->strides[i] * walk->dims[i];
		walk->index[i] = 0;
	}
	return false;
}

typedef void sp_reduce_fn(sp_reduce_plan *plan);

typedef struct sp_reduction {
	sp_reduce_fn *kernels[SP_DTYPE_COUNT];
	sp_reduce_fn *empty[SP_DTYPE_COUNT]; /* fills the output with the result of no elements */
} sp_reduction;

sp_status sp_reduce__prepare(sp_prepare *prepare, const sp_reduction *reduction, sp_error *err);

sp_status sp_reduce__run(const sp_call *call);

/*
 * The kernels name_TYPE and name_empty_TYPE.
 *
 * acc_type  the accumulator's type
 * identity  the accumulator's initial value
 * term      expression: the term of the input value x
 * joined    expression: the accumulators a and b combined
 * result    expression: the output for the accumulator a of n terms
 */
#define SP_REDUCE_KERNEL(type, name, acc_type, identity, term, joined, result) \
	SP_REDUCE_STEPS(type, name, acc_type, term, joined, result)            \
	SP_REDUCE_ROW(type, name, acc_type, identity)                          \
	SP_REDUCE_ROWS(type, name, acc_type, identity)                         \
	SP_REDUCE_COLUMNS(type, name, acc_type, identity)                      \
	SP_REDUCE_DISPATCH(type, name, identity)

#define SP_REDUCE_STEPS(type, name, acc_type, term, joined, result)                     \
	static inline acc_type name##_add_##type(acc_type a, sp_element_##type element) \
	{                                                                               \
		sp_value_##type x = SP_LOAD_##type(element);                            \
		acc_type b = (acc_type)(term);                                          \
                                                                                        \
		return (acc_type)(joined);                                              \
	}                                                                               \
	static inline acc_type name##_join_##type(acc_type a, acc_type b)               \
	{                                                                               \
		return (acc_type)(joined);                                              \
	}                                                                               \
	static inline sp_element_##type name##_end_##type(acc_type a, size_t n)         \
	{                                                                               \
		(void)n;                                                                \
		return SP_STORE_##type(result);                                         \
	}

/* The same for sums of float; row_sum(x, n) is the sum of the terms of x[0 ... n - 1]. */
#define SP_REDUCE_FLOAT_SUM(name, row_sum, term, result)                 \
	SP_REDUCE_STEPS(f32, name, float, term, a + b, result)           \
	static float name##_row_f32(float acc, const float *x, size_t n) \
	{                                                                \
		return acc + row_sum(x, n);                              \
	}                                                                \
	SP_REDUCE_ROWS(f32, name, float, 0)                              \
	SP_REDUCE_COLUMNS(f32, name, float, 0)                           \
	SP_REDUCE_DISPATCH(f32, name, 0)

/* The last dimension is reduced: outputs are computed one by one. */
#define SP_REDUCE_ROW(type, name, acc_type, identity)                                         \
	static acc_type name##_row_##type(acc_type acc, const sp_element_##type *x, size_t n) \
	{                                                                                     \
		acc_type lanes[SP_REDUCE_LANES];                                              \
		size_t i = 0;                                                                 \
                                                                                              \
		for (size_t l = 0; l < SP_REDUCE_LANES; l++)                                  \
			lanes[l] = identity;                                                  \
		for (; n - i >= SP_REDUCE_LANES; i += SP_REDUCE_LANES)                        \
			for (size_t l = 0; l < SP_REDUCE_LANES; l++)                          \
				lanes[l] = name##_add_##type(lanes[l], x[i + l]);             \
		for (size_t width = SP_REDUCE_LANES / 2; i > 0 && width > 0; width /= 2)      \
			for (size_t l = 0; l < width; l++)                                    \
				lanes[l] = name##_join_##type(lanes[l], lanes[l + width]);    \
		for (; i < n; i++)                                                            \
			lanes[0] = name##_add_##type(lanes[0], x[i]);                         \
		return name##_join_##type(acc, lanes[0]);                                     \
	}

#define SP_REDUCE_ROWS(type, name, acc_type, identity)                                           \
	static void name##_rows_##type(sp_reduce_plan *plan)                                     \
	{                                                                                        \
		const sp_element_##type *in = plan->in;                                          \
		sp_element_##type *out = plan->out;                                              \
                                                                                                 \
		do {                                                                             \
			acc_type acc = identity;                                                 \
                                                                                                 \
			do {                                                                     \
				acc = name##_row_##type(                                         \
					acc, in + plan->kept.at + plan->reduced.at, plan->last); \
			} while (sp_reduce__step(&plan->reduced));                               \
			*out++ = name##_end_##type(acc, plan->reduced_count);                    \
		} while (sp_reduce__step(&plan->kept));                                          \
	}

/* The last dimension is kept: a strip of neighbouring outputs is computed together. */
#define SP_REDUCE_COLUMNS(type, name, acc_type, identity)                                      \
	static void name##_strip_##type(sp_reduce_plan *plan, const sp_element_##type *in,     \
					sp_element_##type *out, size_t width)                  \
	{                                                                                      \
		acc_type acc[SP_REDUCE_STRIP];                                                 \
                                                                                               \
		for (size_t j = 0; j < width; j++)                                             \
			acc[j] = identity;                                                     \
		do {                                                                           \
			const sp_element_##type *x = in + plan->reduced.at;                    \
                                                                                               \
			for (size_t j = 0; j < width; j++)                                     \
				acc[j] = name##_add_##type(acc[j], x[j]);                      \
		} while (sp_reduce__step(&plan->reduced));                                     \
		for (size_t j = 0; j < width; j++)                                             \
			out[j] = name##_end_##type(acc[j], plan->reduced_count);               \
	}                                                                                      \
	static void name##_columns_##type(sp_reduce_plan *plan)                                \
	{                                                                                      \
		const sp_element_##type *in = plan->in;                                        \
		sp_element_##type *out = plan->out;                                            \
		size_t width;                                                                  \
                                                                                               \
		do {                                                                           \
			for (size_t j = 0; j < plan->last; j += width, out += width) {         \
				width = plan->last - j;                                        \
				width = width < SP_REDUCE_STRIP ? width : SP_REDUCE_STRIP;     \
				name##_strip_##type(plan, in + plan->kept.at + j, out, width); \
			}                                                                      \
		} while (sp_reduce__step(&plan->kept));                                        \
	}

#define SP_REDUCE_DISPATCH(type, name, identity)                 \
	static void name##_##type(sp_reduce_plan *plan)          \
	{                                                        \
		if (plan->last_is_reduced)                       \
			name##_rows_##type(plan);                \
		else                                             \
			name##_columns_##type(plan);             \
	}                                                        \
	static void name##_empty_##type(sp_reduce_plan *plan)    \
	{                                                        \
		sp_element_##type *out = plan->out;              \
                                                                 \
		for (size_t i = 0; i < plan->out_count; i++)     \
			out[i] = name##_end_##type(identity, 0); \
	}

/* The operator `op_name`; TABLE is the SP_TABLE_... for its kernels. */
#define SP_REDUCE_OP(op_name, kernel, TABLE)                                              \
	static sp_status prepare_##op_name(sp_prepare *prepare, sp_error *err)            \
	{                                                                                 \
		static const sp_reduction reduction = {.kernels = {TABLE(kernel)},        \
						       .empty = {TABLE(kernel##_empty)}}; \
                                                                                          \
		return sp_reduce__prepare(prepare, &reduction, err);                      \
	}                                                                                 \
	const sp_op sp_op_##op_name = {                                                   \
		.name = #op_name, .prepare = prepare_##op_name, .run = sp_reduce__run}

#endif
