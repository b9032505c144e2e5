#include "engine/kernels/float_product.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/cpu.h"

enum { HEIGHT = 6, BLOCK = 16, SLICE = 608, STEP = 8, APART_SLICE = 512 };

/*
 * Eigen cuts k into slices of nearly equal length, as many as keep a panel of each operand in a
 * first-level cache of 48 KiB; oneDNN, which Eigen has multiply them, halves those that it finds
 * too long.
 */
static size_t slice_length(size_t k)
{
	size_t slices = (k + SLICE - 1) / SLICE;

	return (k / slices + STEP - 1) / STEP * STEP;
}

size_t sp_product_span_end(size_t k, size_t at)
{
	size_t slice = slice_length(k);
	size_t start = at / slice * slice;
	size_t length = k - start < slice ? k - start : slice;
	size_t parts = (length + SP_PRODUCT_SPAN - 1) / SP_PRODUCT_SPAN;
	size_t part = (length + parts - 1) / parts;
	size_t end = ((at - start) / part + 1) * part;

	return start + (end < length ? end : length);
}

/* ------------------------------------------------------------------ blocks */

/*
 * In floats, but for the caches, which Eigen counts in bytes.  It reserves a panel of each operand
 * in the first, and believes in a second of 1.5 MiB where it does not ask.
 */
enum {
	FIRST_CACHE = 48 << 10,
	SECOND_CACHE = 1 << 20,
	SECOND_CACHE_BELIEVED = 3 << 19,
	PANEL_ROWS = 4,
	PANEL_COLUMNS = 16,
	PANELS = PANEL_ROWS * PANEL_COLUMNS * sizeof(float),
	LEAST_CUT = 48,      /* products that are smaller in all directions are not cut */
	MOST_COLUMNS = 576,  /* of a block that has its rows in the second cache */
	FEW_BYTES = 1 << 10, /* of all rows, which then leave the first cache to the columns */
	SOME_BYTES = 32 << 10,
	ROUND_ROWS = 24, /* oneDNN likes multiples of these */
	ROUND_COLUMNS = 48,
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t round_up(size_t n, size_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Pieces of `whole`, as few as if `most` were cut off each time, but more alike. */
static size_t even_pieces(size_t whole, size_t most, size_t unit, size_t less)
{
	size_t rest = whole % most;

	return rest == 0 ? most
			 : most - unit * ((most - less - rest) / (unit * (whole / most + 1)));
}

/* The most rows that a block may have, of `k` terms. */
static size_t most_rows(size_t columns, size_t k)
{
	size_t row = k * sizeof(float), used = PANELS + columns * row;
	size_t most = 3 * SECOND_CACHE_BELIEVED / (4 * SLICE * sizeof(float));

	if (used + PANEL_ROWS * row <= FIRST_CACHE)
		most = (FIRST_CACHE - used) / row;
	return least(SECOND_CACHE_BELIEVED / (2 * row), most) / PANEL_ROWS * PANEL_ROWS;
}

static size_t columns_of_block(size_t rows, size_t columns, size_t k)
{
	size_t column = k * sizeof(float), bytes = rows * column;
	size_t cache = bytes <= FEW_BYTES    ? FIRST_CACHE
		       : bytes <= SOME_BYTES ? SECOND_CACHE
					     : SECOND_CACHE_BELIEVED;
	bool second = bytes > FEW_BYTES && bytes <= SOME_BYTES;
	size_t most = least(cache / (3 * column), second ? least(MOST_COLUMNS, columns) : columns);

	if (most > PANEL_COLUMNS)
		most -= most % PANEL_COLUMNS;
	if (most == 0)
		return columns;
	most = even_pieces(columns, most, PANEL_COLUMNS, 0);
	return round_up(most * 3 / 2, ROUND_COLUMNS);
}

bool sp_product_may_leave_column(size_t columns, size_t k)
{
	return columns > 1 && columns % ROUND_COLUMNS == 1 && k > 0 && k <= SLICE;
}

/* Rows are cut where they are too many, columns only where neither they nor the terms are. */
sp_product_rest sp_product_left_over(size_t rows, size_t columns, size_t k)
{
	size_t terms = k <= SLICE ? k : even_pieces(k, SLICE, STEP, 1), most;
	bool row = rows % ROUND_ROWS == 1 && k > SP_PRODUCT_SPAN;
	bool column = sp_product_may_leave_column(columns, k);

	if (k == 0 || rows < 2 || columns < 2 || !(row || column) ||
	    (k < LEAST_CUT && rows < LEAST_CUT && columns < LEAST_CUT))
		return (sp_product_rest){false, false};
	most = most_rows(columns, terms);
	if (rows > most) {
		most = round_up(even_pieces(rows, most, PANEL_ROWS, 0), ROUND_ROWS);
		return (sp_product_rest){.row = row && most < rows && rows % most == 1};
	}
	most = column ? columns_of_block(rows, columns, k) : columns;
	return (sp_product_rest){.column = most < columns && columns % most == 1};
}

/* A piece of w on its way to one row. */
typedef struct row_piece {
	sp_product_row *row;
	const float *x;
	size_t x_step;
	const float *w;
	size_t w_row;
	size_t k;
	size_t width;
} row_piece;

/* The columns from `column` on, without registers for their sums. */
static void row_columns(const row_piece *p, size_t column)
{
	sp_product_row *r = p->row;
	size_t left = r->left;

	if (column == p->width)
		return;
	for (size_t k = 0; k < p->k; k++) {
		float x = p->x[k * p->x_step];

		for (size_t j = column; j < p->width; j++)
			r->sums[j] += x * p->w[k * p->w_row + j];
		if (--left > 0)
			continue;
		left = r->block;
		for (size_t j = column; j < p->width; j++) {
			r->totals[j] += r->sums[j];
			r->sums[j] = 0;
		}
	}
}

/* A piece of w on its way to running sums. */
typedef struct dots_piece {
	sp_product_dots *dots;
	const float *x;
	const float *w;
	size_t w_row;
	size_t k;
	size_t width;
} dots_piece;

/* Whole rounds of terms of the columns from `column` on. */
static void dots_columns(const dots_piece *p, size_t column)
{
	for (size_t k = 0; k < p->k && column < p->width; k++) {
		float *sums = p->dots->sums[k % SP_PRODUCT_RUNNING];

		for (size_t j = column; j < p->width; j++)
			sums[j] += p->x[k] * p->w[k * p->w_row + j];
	}
}

static void tile_scalar(const sp_product_tile *t)
{
	for (size_t i = 0; i < t->rows; i++)
		for (size_t k = 0; k < t->depth; k++) {
			float x = t->a[i * t->a_row + k * t->a_column];

			for (size_t j = 0; j < t->width; j++)
				t->sums[i][j] += x * t->b[k * t->b_row + j];
		}
}

#if defined(__x86_64__)

#define NAME(x)        x##_avx512
#define TARGET         __attribute__((target("avx512f")))
#define LANES          16
#define VECTORS        4
#define FUSED(a, b, c) ((vector_avx512)_mm512_fmadd_ps((__m512)(a), _mm512_set1_ps(b), (__m512)(c)))
#include "engine/kernels/float_product.inc"

#define NAME(x)        x##_avx2
#define TARGET         __attribute__((target("avx2,fma")))
#define LANES          8
#define VECTORS        2
#define FUSED(a, b, c) ((vector_avx2)_mm256_fmadd_ps((__m256)(a), _mm256_set1_ps(b), (__m256)(c)))
#include "engine/kernels/float_product.inc"

void sp_product_tile_add(const sp_product_tile *tile)
{
	if (sp_cpu_has(SP_ISA_AVX512))
		tile_avx512(tile);
	else if (sp_cpu_has(SP_ISA_AVX2))
		tile_avx2(tile);
	else
		tile_scalar(tile);
}

static void add_piece(const row_piece *p)
{
	size_t done = 0;

	if (sp_cpu_has(SP_ISA_AVX512))
		done = row_avx512(p);
	else if (sp_cpu_has(SP_ISA_AVX2))
		done = row_avx2(p);
	row_columns(p, done);
}

static void add_rounds(const dots_piece *p)
{
	size_t done = 0;

	if (sp_cpu_has(SP_ISA_AVX512))
		done = dots_avx512(p);
	else if (sp_cpu_has(SP_ISA_AVX2))
		done = dots_avx2(p);
	dots_columns(p, done);
}

#else

void sp_product_tile_add(const sp_product_tile *tile)
{
	tile_scalar(tile);
}

static void add_piece(const row_piece *p)
{
	row_columns(p, 0);
}

static void add_rounds(const dots_piece *p)
{
	dots_columns(p, 0);
}

#endif

void sp_product_row_start(sp_product_row *row, size_t k)
{
	*row = (sp_product_row){.block = k < SP_PRODUCT_SHORT ? k : BLOCK};
	row->left = row->block;
}

void sp_product_row_add(sp_product_row *row, const float *x, size_t x_step, size_t k,
			const float *w, size_t w_row, size_t width)
{
	add_piece(&(row_piece){row, x, x_step, w, w_row, k, width});
	row->left = row->block - (row->block - row->left + k) % row->block;
}

void sp_product_row_finish(const sp_product_row *row, float *y, size_t count)
{
	for (size_t j = 0; j < count; j++)
		y[j] = row->totals[j] + row->sums[j];
}

/* Eight running sums, as two registers: a type of eight the compiler would keep in memory. */
typedef float four __attribute__((vector_size(4 * sizeof(float)), aligned(4)));

#define FOUR_AT(x) (*(const four *)(x))

static float sum_of(four low, four high)
{
	four sums = low + high;

	return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

float sp_product_dot(const float *a, const float *b, size_t k, bool alone)
{
	four low = {0}, high = {0};
	size_t i = 0;
	float sum;

	for (; i + 8 <= k; i += 8) {
		low += FOUR_AT(a + i) * FOUR_AT(b + i);
		high += FOUR_AT(a + i + 4) * FOUR_AT(b + i + 4);
	}
	sum = sum_of(low, high);
	if (alone && i + 4 <= k) {
		sum += sum_of(FOUR_AT(a + i) * FOUR_AT(b + i), (four){0});
		i += 4;
	}
	for (; i < k; i++)
		sum += a[i] * b[i];
	return sum;
}

void sp_product_dots_start(sp_product_dots *dots, size_t k)
{
	*dots = (sp_product_dots){.whole = k - k % SP_PRODUCT_RUNNING};
}

/* A term by itself. */
static void add_term(sp_product_dots *dots, float x, const float *w, size_t width)
{
	bool whole = dots->at < dots->whole;
	size_t number = dots->at++ % SP_PRODUCT_RUNNING;
	float *sums = whole ? dots->sums[number] : dots->left_over[number];

	for (size_t j = 0; j < width; j++)
		sums[j] += x * w[j];
}

void sp_product_dots_add(sp_product_dots *dots, const float *x, size_t k, const float *w,
			 size_t w_row, size_t width)
{
	size_t i = 0, rounds;

	for (; i < k && dots->at % SP_PRODUCT_RUNNING != 0; i++)
		add_term(dots, x[i], w + i * w_row, width);
	rounds = dots->at < dots->whole ? (dots->whole - dots->at) : 0;
	rounds = (rounds < k - i ? rounds : k - i) / SP_PRODUCT_RUNNING * SP_PRODUCT_RUNNING;
	add_rounds(&(dots_piece){dots, x + i, w + i * w_row, w_row, rounds, width});
	dots->at += rounds;
	for (i += rounds; i < k; i++)
		add_term(dots, x[i], w + i * w_row, width);
}

/* All columns side by side, as sum_of() has it, and then what is left over from term `i` on. */
static void finish_columns(const sp_product_dots *dots, float totals[SP_PRODUCT_COLUMNS])
{
	const float(*s)[SP_PRODUCT_COLUMNS] = dots->sums;
	size_t left = dots->at - dots->whole;

	for (size_t j = 0; j < SP_PRODUCT_COLUMNS; j++)
		totals[j] = ((s[0][j] + s[4][j]) + (s[2][j] + s[6][j])) +
			    ((s[1][j] + s[5][j]) + (s[3][j] + s[7][j]));
	for (size_t i = 0; i < left; i++)
		for (size_t j = 0; j < SP_PRODUCT_COLUMNS; j++)
			totals[j] += dots->left_over[i][j];
}

/* A column with no other beside it. */
static float finish_alone(const sp_product_dots *dots, size_t j)
{
	size_t left = dots->at - dots->whole, i = 0;
	four low, high, first;
	float sum;

	for (size_t lane = 0; lane < 4; lane++) {
		low[lane] = dots->sums[lane][j];
		high[lane] = dots->sums[lane + 4][j];
		first[lane] = dots->left_over[lane][j];
	}
	sum = sum_of(low, high);
	if (left >= 4) {
		sum += sum_of(first, (four){0});
		i = 4;
	}
	for (; i < left; i++)
		sum += dots->left_over[i][j];
	return sum;
}

void sp_product_dots_finish(const sp_product_dots *dots, float *y, size_t count, bool alone)
{
	float totals[SP_PRODUCT_COLUMNS];

	finish_columns(dots, totals);
	if (alone)
		totals[count - 1] = finish_alone(dots, count - 1);
	memcpy(y, totals, count * sizeof(*y));
}

float sp_product_inner(const float *a, const float *b, size_t k)
{
	four even[2] = {{0}}, odd[2] = {{0}};
	size_t i = 0;
	float sum;

	for (; i + 16 <= k; i += 16) {
		even[0] += FOUR_AT(a + i) * FOUR_AT(b + i);
		even[1] += FOUR_AT(a + i + 4) * FOUR_AT(b + i + 4);
		odd[0] += FOUR_AT(a + i + 8) * FOUR_AT(b + i + 8);
		odd[1] += FOUR_AT(a + i + 12) * FOUR_AT(b + i + 12);
	}
	even[0] += odd[0];
	even[1] += odd[1];
	if (i + 8 <= k) {
		even[0] += FOUR_AT(a + i) * FOUR_AT(b + i);
		even[1] += FOUR_AT(a + i + 4) * FOUR_AT(b + i + 4);
		i += 8;
	}
	sum = sum_of(even[0], even[1]);
	for (; i < k; i++)
		sum += a[i] * b[i];
	return sum;
}

float sp_product_in_order(const float *a, size_t a_step, const float *b, size_t b_step, size_t k)
{
	float sum = 0;

	for (size_t i = 0; i < k; i++)
		sum += a[i * a_step] * b[i * b_step];
	return sum;
}

/* sums[l] += a[i] * b[i] for every i of the lane, k being a multiple of 8. */
static void add_products(float sums[8], const float *a, const float *b, size_t k)
{
	for (size_t i = 0; i < k; i += 8)
		for (size_t l = 0; l < 8; l++)
			sums[l] += a[i + l] * b[i + l];
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void add_products_fused(float sums[8], const float *a,
								   const float *b, size_t k)
{
	__m256 total = _mm256_loadu_ps(sums);

	for (size_t i = 0; i < k; i += 8)
		total = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), total);
	_mm256_storeu_ps(sums, total);
}
#endif

static float eight_sums(const float *a, const float *b, size_t k)
{
	float sums[8] = {0};

#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX2))
		add_products_fused(sums, a, b, k);
	else
#endif
		add_products(sums, a, b, k);
	return ((sums[0] + sums[1]) + (sums[4] + sums[5])) +
	       ((sums[2] + sums[3]) + (sums[6] + sums[7]));
}

/* Fewer than eight products. */
static float few_sums(const float *a, const float *b, size_t k)
{
	float x[8] = {0}, y[8] = {0};

	memcpy(x, a, k * sizeof(*a));
	memcpy(y, b, k * sizeof(*b));
	return eight_sums(x, y, 8);
}

static float add_slice(float sum, const float *a, const float *b, size_t k)
{
	size_t i = k / 16 * 16;

	if (i > 0)
		sum += eight_sums(a, b, i);
	for (size_t part = 8; part > 0; part /= 2)
		if (k & part) {
			sum += few_sums(a + i, b + i, part);
			i += part;
		}
	return sum;
}

float sp_product_head(const float *a, const float *b, size_t k)
{
	size_t slice = slice_length(k);
	float sum = 0;

	for (size_t i = 0; i < k; i += slice)
		sum = add_slice(sum, a + i, b + i, least(slice, k - i));
	return sum;
}

/* `k` of them side by side: where they are, or in `copy`. */
static const float *side_by_side(const float *from, size_t step, size_t k, float copy[SLICE])
{
	if (step == 1)
		return from;
	for (size_t i = 0; i < k; i++)
		copy[i] = from[i * step];
	return copy;
}

float sp_product_of_rest(const float *a, size_t a_step, const float *b, size_t b_step, size_t k,
			 bool apart)
{
	size_t slice = apart ? APART_SLICE : SLICE;
	float x[SLICE], y[SLICE], sum = 0;

	for (size_t i = 0; i < k; i += slice) {
		size_t length = least(slice, k - i);

		sum = add_slice(sum, side_by_side(a + i * a_step, a_step, length, x),
				side_by_side(b + i * b_step, b_step, length, y), length);
	}
	return sum;
}
