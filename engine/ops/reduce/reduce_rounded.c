#include "engine/ops/reduce/reduce_rounded.h"

/* How many numbers a register holds, and from where on sums go side by side. */
enum { LANES = 8, UNROLL = 4, LONG_COLUMN = 16 };

/* A row longer than LANES times this is halved. */
enum { LEAF_f16 = 200, LEAF_bf16 = 128 };

#define ROUND(type, x) SP_ROUND_##type(x)

/* lanes[l] = lanes[l] OP x[l] */
#define LANE_STEP(type, name, OP)                                                      \
	static void name##_lanes_##type(float lanes[LANES], const uint16_t *x)         \
	{                                                                              \
		for (size_t l = 0; l < LANES; l++)                                     \
			lanes[l] = ROUND(type, lanes[l] OP SP_LOAD_##type(x[l]));      \
	}                                                                              \
	static void name##_merge_##type(float lanes[UNROLL][LANES])                    \
	{                                                                              \
		for (size_t u = 1; u < UNROLL; u++)                                    \
			for (size_t l = 0; l < LANES; l++)                             \
				lanes[0][l] = ROUND(type, lanes[0][l] OP lanes[u][l]); \
	}                                                                              \
	/* The only step in float. */                                                  \
	static float name##_across_##type(const float v[LANES])                        \
	{                                                                              \
		float even = (v[0] OP v[4])OP(v[2] OP v[6]);                           \
		float odd = (v[1] OP v[5])OP(v[3] OP v[7]);                            \
                                                                                       \
		return ROUND(type, even OP odd);                                       \
	}

#define ROW(type, name, start, OP)                                                        \
	static float name##_leaf_##type(const uint16_t *x, size_t n)                      \
	{                                                                                 \
		size_t unrolled = n - n % (UNROLL * LANES), whole = n - n % LANES, i = 0; \
		float lanes[UNROLL][LANES], rest = start;                                 \
                                                                                          \
		for (size_t l = 0; l < UNROLL * LANES; l++)                               \
			lanes[l / LANES][l % LANES] = start;                              \
		for (; i < unrolled; i += LANES)                                          \
			name##_lanes_##type(lanes[i / LANES % UNROLL], x + i);            \
		name##_merge_##type(lanes);                                               \
		for (; i < whole; i += LANES)                                             \
			name##_lanes_##type(lanes[0], x + i);                             \
		for (; i < n; i++)                                                        \
			rest = ROUND(type, rest OP SP_LOAD_##type(x[i]));                 \
		return ROUND(type, rest OP name##_across_##type(lanes[0]));               \
	}

/* Sums of long rows are sums of halves, as deep as the logarithm of n; products are not. */
#define HALVED_ROW(type, name, start, OP)                                         \
	static float name##_row_##type(const uint16_t *x, size_t n, size_t first) \
	{                                                                         \
		size_t left;                                                      \
		float a, b;                                                       \
                                                                                  \
		if (n <= (size_t)LANES * LEAF_##type)                             \
			return name##_leaf_##type(x, n);                          \
		left = (first + (n + 1) / 2 + LANES - 1) / LANES * LANES - first; \
		a = name##_row_##type(x, left, first);                            \
		b = name##_row_##type(x + left, n - left, first + left);          \
		return ROUND(type, ROUND(type, start OP a) OP b);                 \
	}

#define WHOLE_ROW(type, name)                                                     \
	static float name##_row_##type(const uint16_t *x, size_t n, size_t first) \
	{                                                                         \
		(void)first;                                                      \
		return name##_leaf_##type(x, n);                                  \
	}

#define COLUMN(type, name, start, OP)                                                          \
	static float name##_in_turn_##type(const uint16_t *x, size_t n, size_t stride)         \
	{                                                                                      \
		float a = start;                                                               \
                                                                                               \
		for (size_t i = 0; i < n; i++)                                                 \
			a = ROUND(type, a OP SP_LOAD_##type(x[i * stride]));                   \
		return a;                                                                      \
	}                                                                                      \
	static float name##_side_by_side_##type(const uint16_t *x, size_t n, size_t stride)    \
	{                                                                                      \
		size_t unrolled = n < LONG_COLUMN ? 0 : n - n % UNROLL, i = 0;                 \
		float a[UNROLL] = {start, start, start, start};                                \
                                                                                               \
		for (; i < unrolled; i++)                                                      \
			a[i % UNROLL] = ROUND(type,                                            \
					      a[i % UNROLL] OP SP_LOAD_##type(x[i * stride])); \
		for (size_t u = 1; u < UNROLL; u++)                                            \
			a[0] = ROUND(type, a[0] OP a[u]);                                      \
		for (; i < n; i++)                                                             \
			a[0] = ROUND(type, a[0] OP SP_LOAD_##type(x[i * stride]));             \
		return a[0];                                                                   \
	}

#define FUNCTIONS(type, name, start, OP) \
	LANE_STEP(type, name, OP)        \
	ROW(type, name, start, OP)       \
	COLUMN(type, name, start, OP)

FUNCTIONS(f16, sum, 0, +)
FUNCTIONS(bf16, sum, 0, +)
FUNCTIONS(f16, product, 1, *)
FUNCTIONS(bf16, product, 1, *)
HALVED_ROW(f16, sum, 0, +)
HALVED_ROW(bf16, sum, 0, +)
WHOLE_ROW(f16, product)
WHOLE_ROW(bf16, product)

float sp_rounded__sum_f16(const uint16_t *x, size_t n, size_t first)
{
	return sum_row_f16(x, n, first);
}

float sp_rounded__sum_bf16(const uint16_t *x, size_t n, size_t first)
{
	return sum_row_bf16(x, n, first);
}

/* Whether output i is computed with its neighbours in one register. */
static bool fills_register(const sp_reduce_plan *plan, size_t i)
{
	size_t start = i - i % LANES;

	return start + LANES <= plan->out_count && start % plan->last + LANES <= plan->last;
}

/* Rows of [kept, reduced]. */
#define ROWS(type, name, fn, result)                                                             \
	static void name##_rows_##type(sp_reduce_plan *plan)                                     \
	{                                                                                        \
		size_t n = plan->reduced_count;                                                  \
		uint16_t *out = plan->out;                                                       \
                                                                                                 \
		for (size_t i = 0; i < plan->out_count; i++) {                                   \
			float a = fn##_row_##type((const uint16_t *)plan->in + i * n, n, i * n); \
                                                                                                 \
			out[i] = SP_STORE_##type(result);                                        \
		}                                                                                \
	}

/* Columns of [kept, reduced, last]. */
#define COLUMNS(type, name, fn, result)                                                          \
	static void name##_columns_##type(sp_reduce_plan *plan)                                  \
	{                                                                                        \
		size_t n = plan->reduced_count, last = plan->last;                               \
		uint16_t *out = plan->out;                                                       \
                                                                                                 \
		for (size_t i = 0; i < plan->out_count; i++) {                                   \
			const uint16_t *x = (const uint16_t *)plan->in + i / last * last * n +   \
					    i % last;                                            \
			float a = fills_register(plan, i) ? fn##_side_by_side_##type(x, n, last) \
							  : fn##_in_turn_##type(x, n, last);     \
                                                                                                 \
			out[i] = SP_STORE_##type(result);                                        \
		}                                                                                \
	}

/* Any other arrangement, one after the other, outer dimensions faster. */
#define WALK(type, name, fn, start, OP, result)                                               \
	static void name##_walk_##type(sp_reduce_plan *plan)                                  \
	{                                                                                     \
		size_t n = plan->reduced_count, last = plan->last;                            \
		size_t columns = plan->last_is_reduced ? 1 : last;                            \
		size_t run = plan->last_is_reduced ? last : 1;                                \
		uint16_t *out = plan->out;                                                    \
                                                                                              \
		do {                                                                          \
			const uint16_t *in = (const uint16_t *)plan->in + plan->kept.at;      \
                                                                                              \
			for (size_t j = 0; j < columns; j++) {                                \
				float a = start;                                              \
                                                                                              \
				for (size_t k = j; k < j + run; k++)                          \
					do                                                    \
						a = ROUND(type,                               \
							  a OP SP_LOAD_##type(                \
								  in[plan->reduced.at + k])); \
					while (sp_reduce__step(&plan->reduced));              \
				*out++ = SP_STORE_##type(result);                             \
			}                                                                     \
		} while (sp_reduce__step(&plan->kept));                                       \
		(void)n;                                                                      \
	}

#define KERNEL(type, name, fn, start, OP, result)                             \
	ROWS(type, name, fn, result)                                          \
	COLUMNS(type, name, fn, result)                                       \
	WALK(type, name, fn, start, OP, result)                               \
	void sp_rounded__##name##_##type(sp_reduce_plan *plan)                \
	{                                                                     \
		if (plan->last_is_reduced && plan->reduced.rank == 0)         \
			name##_rows_##type(plan);                             \
		else if (!plan->last_is_reduced && plan->reduced.rank == 1 && \
			 plan->kept.rank <= 1)                                \
			name##_columns_##type(plan);                          \
		else                                                          \
			name##_walk_##type(plan);                             \
	}

KERNEL(f16, total, sum, 0, +, a)
KERNEL(f16, mean, sum, 0, +, a / ROUND(f16, (float)n))
KERNEL(bf16, mean, sum, 0, +, a / ROUND(bf16, (float)n))
KERNEL(f16, product, product, 1, *, a)
KERNEL(bf16, product, product, 1, *, a)
