#include "engine/ops/reduce/reduce_float.h"

#include <math.h>
#include <string.h>

/*
 * How many numbers a register of TensorFlow's holds, from where on sums along a column go side by
 * side, and how long a row may be that is not halved.
 */
enum { LANES = 8, HALF = LANES / 2, UNROLL = 4, LONG_COLUMN = 16, LEAF = 1024 * LANES };

/* Half of the lanes, which is what every processor has: wider types would be kept in memory. */
typedef float half_lanes __attribute__((vector_size(HALF * sizeof(float)), aligned(4)));

#define LANES_AT(x) (*(const half_lanes *)(x))
#define ITSELF(x)   (x)
#define SQUARE(x)   ((x) * (x))

/* acc[l] OP= TERM(x[l]) from left to right, and at the end across the lanes. */
#define LEAF_OF(name, start, OP, TERM)                                                    \
	static half_lanes name##_half(const float *x, size_t n)                           \
	{                                                                                 \
		size_t unrolled = n - n % (UNROLL * LANES), whole = n - n % LANES, i = 0; \
		half_lanes a = (half_lanes){0} + start, b = a, c = a, d = a;              \
                                                                                          \
		for (; i < unrolled; i += UNROLL * LANES) {                               \
			a = a OP TERM(LANES_AT(x + i));                                   \
			b = b OP TERM(LANES_AT(x + i + LANES));                           \
			c = c OP TERM(LANES_AT(x + i + 2 * LANES));                       \
			d = d OP TERM(LANES_AT(x + i + 3 * LANES));                       \
		}                                                                         \
		a = a OP b OP c OP d;                                                     \
		for (; i < whole; i += LANES)                                             \
			a = a OP TERM(LANES_AT(x + i));                                   \
		return a;                                                                 \
	}                                                                                 \
	static float name##_leaf(const float *x, size_t n)                                \
	{                                                                                 \
		half_lanes a = name##_half(x, n) OP name##_half(x + HALF, n);             \
		float rest = start;                                                       \
                                                                                          \
		for (size_t i = n - n % LANES; i < n; i++)                                \
			rest = rest OP TERM(x[i]);                                        \
		return rest OP((a[0] OP a[2])OP(a[1] OP a[3]));                           \
	}

/* Where a row that is too long is cut: at a register's boundary, counted from the tensor's start.
 */
static size_t left_half(size_t n, size_t first)
{
	return (first + (n + 1) / 2 + LANES - 1) / LANES * LANES - first;
}

/* Sums of long rows are sums of halves, as deep as the logarithm of n. */
#define HALVED_ROW(name)                                                                          \
	static float name##_row(const float *x, size_t n, size_t first)                           \
	{                                                                                         \
		size_t left = left_half(n, first);                                                \
                                                                                                  \
		if (n <= LEAF)                                                                    \
			return name##_leaf(x, n);                                                 \
		return name##_row(x, left, first) + name##_row(x + left, n - left, first + left); \
	}

#define WHOLE_ROW(name)                                                 \
	static float name##_row(const float *x, size_t n, size_t first) \
	{                                                               \
		(void)first;                                            \
		return name##_leaf(x, n);                               \
	}

/* Steps of `stride`: a column, and LANES of them. */
#define COLUMN(name, start, OP, TERM)                                                        \
	static float name##_column(const float *x, size_t n, size_t stride)                  \
	{                                                                                    \
		float a = start;                                                             \
                                                                                             \
		for (size_t i = 0; i < n; i++)                                               \
			a = a OP TERM(x[i * stride]);                                        \
		return a;                                                                    \
	}                                                                                    \
	static void name##_half_columns(float *out, const float *x, size_t n, size_t stride) \
	{                                                                                    \
		size_t unrolled = n < LONG_COLUMN ? 0 : n - n % UNROLL, i = 0;               \
		half_lanes a = (half_lanes){0} + start, b = a, c = a, d = a;                 \
                                                                                             \
		for (; i < unrolled; i += UNROLL) {                                          \
			a = a OP TERM(LANES_AT(x + i * stride));                             \
			b = b OP TERM(LANES_AT(x + (i + 1) * stride));                       \
			c = c OP TERM(LANES_AT(x + (i + 2) * stride));                       \
			d = d OP TERM(LANES_AT(x + (i + 3) * stride));                       \
		}                                                                            \
		a = a OP b OP c OP d;                                                        \
		for (; i < n; i++)                                                           \
			a = a OP TERM(LANES_AT(x + i * stride));                             \
		memcpy(out, &a, sizeof(a));                                                  \
	}                                                                                    \
	static void name##_columns(float *out, const float *x, size_t n, size_t stride)      \
	{                                                                                    \
		name##_half_columns(out, x, n, stride);                                      \
		name##_half_columns(out + HALF, x + HALF, n, stride);                        \
	}

/* The elements of one output, wherever they are, in their order. */
typedef struct gathered {
	sp_reduce_plan *plan;
	const float *in; /* of this output */
	size_t run, at;  /* elements side by side, and how many of them are read */
} gathered;

static void gather(gathered *g, float *row, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		row[i] = g->in[g->plan->reduced.at + g->at];
		if (++g->at < g->run)
			continue;
		g->at = 0;
		(void)sp_reduce__step(&g->plan->reduced);
	}
}

#define GATHERED_ROW(name, OP)                                                             \
	__attribute__((noinline)) static float name##_gathered_leaf(gathered *g, size_t n) \
	{                                                                                  \
		float row[LEAF];                                                           \
                                                                                           \
		gather(g, row, n);                                                         \
		return name##_leaf(row, n);                                                \
	}                                                                                  \
	static float name##_gathered(gathered *g, size_t n, size_t first)                  \
	{                                                                                  \
		size_t half = left_half(n, first);                                         \
		float left;                                                                \
                                                                                           \
		if (n <= LEAF)                                                             \
			return name##_gathered_leaf(g, n);                                 \
		left = name##_gathered(g, half, first);                                    \
		return left OP name##_gathered(g, n - half, first + half);                 \
	}

#define FUNCTIONS(name, start, OP, TERM) \
	LEAF_OF(name, start, OP, TERM)   \
	COLUMN(name, start, OP, TERM)    \
	GATHERED_ROW(name, OP)

FUNCTIONS(sum, 0, +, ITSELF)
FUNCTIONS(squares, 0, +, SQUARE)
FUNCTIONS(factors, 1, *, ITSELF)
HALVED_ROW(sum)
HALVED_ROW(squares)
WHOLE_ROW(factors)

float sp_float__sum(const float *x, size_t n, size_t first)
{
	return sum_row(x, n, first);
}

#define ALL_COLUMNS(name, fn)                                         \
	void name(const float *x, size_t n, size_t width, float *out) \
	{                                                             \
		size_t j = 0;                                         \
                                                                      \
		for (; j + LANES <= width; j += LANES)                \
			fn##_columns(out + j, x + j, n, width);       \
		for (; j < width; j++)                                \
			out[j] = fn##_column(x + j, n, width);        \
	}

ALL_COLUMNS(sp_float__sum_rows, sum)
ALL_COLUMNS(sp_float__product_rows, factors)

/* Whether the outputs from i on, a multiple of LANES, are computed in one register. */
static bool fill_register(const sp_reduce_plan *plan, size_t i)
{
	return i + LANES <= plan->out_count && i % plan->last + LANES <= plan->last;
}

/* Rows of [kept, reduced]. */
#define ROWS(name, fn, result)                                                         \
	static void name##_rows(sp_reduce_plan *plan)                                  \
	{                                                                              \
		size_t n = plan->reduced_count;                                        \
		float *out = plan->out;                                                \
                                                                                       \
		for (size_t i = 0; i < plan->out_count; i++) {                         \
			float a = fn##_row((const float *)plan->in + i * n, n, i * n); \
                                                                                       \
			out[i] = result;                                               \
		}                                                                      \
	}

/* Columns of [kept, reduced, last]. */
#define COLUMNS(name, fn, result)                                                                  \
	static void name##_columns(sp_reduce_plan *plan)                                           \
	{                                                                                          \
		size_t n = plan->reduced_count, last = plan->last, width;                          \
		float *out = plan->out;                                                            \
                                                                                                   \
		for (size_t i = 0; i < plan->out_count; i += width) {                              \
			const float *x = (const float *)plan->in + i / last * last * n + i % last; \
                                                                                                   \
			width = i % LANES == 0 && fill_register(plan, i) ? LANES : 1;              \
			if (width == LANES)                                                        \
				fn##_columns(out + i, x, n, last);                                 \
			else                                                                       \
				out[i] = fn##_column(x, n, last);                                  \
			for (size_t j = i; j < i + width; j++) {                                   \
				float a = out[j];                                                  \
                                                                                                   \
				out[j] = result;                                                   \
			}                                                                          \
		}                                                                                  \
	}

/* The middle of [reduced, kept, last]. */
#define SLICES(name, start, OP, TERM, result)                                      \
	static void name##_slices(sp_reduce_plan *plan)                            \
	{                                                                          \
		size_t n = plan->reduced_count, outer = n / plan->last;            \
		size_t stride = plan->out_count * plan->last;                      \
		float *out = plan->out;                                            \
                                                                                   \
		for (size_t i = 0; i < plan->out_count; i++) {                     \
			const float *x = (const float *)plan->in + i * plan->last; \
			float a = start;                                           \
                                                                                   \
			for (size_t j = 0; j < plan->last; j++)                    \
				for (size_t k = 0; k < outer; k++)                 \
					a = a OP TERM(x[k * stride + j]);          \
			out[i] = result;                                           \
		}                                                                  \
	}

#define OTHERS(name, fn, result)                                                                 \
	static void name##_others(sp_reduce_plan *plan)                                          \
	{                                                                                        \
		size_t n = plan->reduced_count, at = 0;                                          \
		size_t columns = plan->last_is_reduced ? 1 : plan->last;                         \
		float *out = plan->out;                                                          \
                                                                                                 \
		do {                                                                             \
			for (size_t j = 0; j < columns; j++, at++) {                             \
				gathered g = {.plan = plan,                                      \
					      .in = (const float *)plan->in + plan->kept.at + j, \
					      .run = plan->last_is_reduced ? plan->last : 1};    \
				float a = fn##_gathered(&g, n, at * n);                          \
                                                                                                 \
				out[at] = result;                                                \
			}                                                                        \
		} while (sp_reduce__step(&plan->kept));                                          \
	}

#define KERNEL(name, fn, start, OP, TERM, result)                                   \
	ROWS(name, fn, result)                                                      \
	COLUMNS(name, fn, result)                                                   \
	SLICES(name, start, OP, TERM, result)                                       \
	OTHERS(name, fn, result)                                                    \
	void sp_float__##name(sp_reduce_plan *plan)                                 \
	{                                                                           \
		int kept = plan->kept.rank, reduced = plan->reduced.rank;           \
                                                                                    \
		if (plan->last_is_reduced && reduced == 0)                          \
			name##_rows(plan);                                          \
		else if (!plan->last_is_reduced && reduced <= 1 && kept <= reduced) \
			name##_columns(plan);                                       \
		else if (plan->last_is_reduced && reduced == 1 && kept == 1)        \
			name##_slices(plan);                                        \
		else                                                                \
			name##_others(plan);                                        \
	}

KERNEL(total, sum, 0, +, ITSELF, a)
KERNEL(mean, sum, 0, +, ITSELF, a / (float)n)
KERNEL(product, factors, 1, *, ITSELF, a)
KERNEL(norm, squares, 0, +, SQUARE, sqrtf(a))

void sp_float__half_square(sp_reduce_plan *plan)
{
	*(float *)plan->out = squares_row(plan->in, plan->reduced_count, 0) / 2;
}
