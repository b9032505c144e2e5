#include "engine/kernels/dense_layer.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/alloc.h"
#include "base/cpu.h"
#include "engine/kernels/float_product.h"
#include "engine/kernels/packed_product.h"

/*
 * One output is a dot product per row, and one row reads every weight once: both are ours.  The
 * rest is oneDNN's, a product for each span of k.
 */
enum { CHUNK = 256 /* rows that pass through all spans together */ };

typedef struct span {
	size_t first;
	size_t k;
	sp_packed_product *product;
} span;

struct sp_dense_layer {
	size_t k;
	size_t n;
	sp_activation activation;
	bool transposed;
	float *column; /* the weights of a single output; no spans then */
	float *last;   /* those of the last of several, where products may leave it over */
	float *rows;   /* transposed weights without a bias, where a row is multiplied one by one */
	float *bias;
	size_t span_count;
	size_t widest;
	span spans[];
};

static size_t count_spans(const sp_dense_spec *spec)
{
	size_t count = 0;

	if (spec->n <= 1)
		return 0;
	for (size_t at = 0; at < spec->k; at = sp_product_span_end(spec->k, at))
		count++;
	return count;
}

static sp_status copy(float **out, const float *from, size_t count, sp_error *err)
{
	*out = sp_alloc_aligned(64, count * sizeof(float));
	if (*out == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu weights", count);
	memcpy(*out, from, count * sizeof(float));
	return SP_OK;
}

/* The bias is oneDNN's to add if nothing comes after. */
static sp_status make_spans(sp_dense_layer *layer, const sp_dense_spec *spec, sp_error *err)
{
	for (size_t i = 0, at = 0; i < layer->span_count; i++) {
		size_t end = sp_product_span_end(spec->k, at);
		size_t row = spec->transposed ? 1 : spec->n;
		sp_packed_spec part = {
			.k = end - at,
			.n = spec->n,
			.weights = spec->weights + at * row,
			.row = row,
			.column = spec->transposed ? spec->k : 1,
			.bias = layer->span_count == 1 ? spec->bias : NULL,
		};

		layer->spans[i] = (span){.first = at, .k = part.k};
		if (part.k > layer->widest)
			layer->widest = part.k;
		SP_TRY(sp_packed_product_create(&layer->spans[i].product, &part, err));
		at = end;
	}
	return SP_OK;
}

static sp_status copy_last(sp_dense_layer *layer, const sp_dense_spec *spec, sp_error *err)
{
	size_t step = spec->transposed ? 1 : spec->n, k = spec->k;
	const float *from = spec->weights + (spec->n - 1) * (spec->transposed ? k : 1);

	if (!sp_product_may_leave_column(spec->n, k))
		return SP_OK;
	layer->last = sp_alloc_aligned(64, k * sizeof(float));
	if (layer->last == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu weights", k);
	for (size_t i = 0; i < k; i++)
		layer->last[i] = from[i * step];
	return SP_OK;
}

static sp_status fill(sp_dense_layer *layer, const sp_dense_spec *spec, sp_error *err)
{
	if (spec->bias != NULL && spec->n > 0)
		SP_TRY(copy(&layer->bias, spec->bias, spec->n, err));
	if (spec->n == 1 && spec->k > 0)
		return copy(&layer->column, spec->weights, spec->k, err);
	SP_TRY(copy_last(layer, spec, err));
	if (spec->transposed && spec->bias == NULL && 1 + spec->k + spec->n < SP_PRODUCT_TINY)
		SP_TRY(copy(&layer->rows, spec->weights, spec->k * spec->n, err));
	return make_spans(layer, spec, err);
}

sp_status sp_dense_layer_create(sp_dense_layer **out, const sp_dense_spec *spec, sp_error *err)
{
	size_t spans = count_spans(spec);
	sp_dense_layer *layer = sp_alloc_zero(1, sizeof(*layer) + spans * sizeof(span));
	sp_status status;

	*out = NULL;
	if (layer == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a layer");
	layer->k = spec->k;
	layer->n = spec->n;
	layer->activation = spec->activation;
	layer->transposed = spec->transposed;
	layer->span_count = spans;
	status = fill(layer, spec, err);
	if (status != SP_OK) {
		sp_dense_layer_destroy(layer);
		return status;
	}
	*out = layer;
	return SP_OK;
}

void sp_dense_layer_destroy(sp_dense_layer *layer)
{
	if (layer == NULL)
		return;
	for (size_t i = 0; i < layer->span_count; i++)
		sp_packed_product_destroy(layer->spans[i].product);
	sp_free(layer->column);
	sp_free(layer->last);
	sp_free(layer->rows);
	sp_free(layer->bias);
	sp_free(layer);
}

size_t sp_dense_layer_inputs(const sp_dense_layer *layer)
{
	return layer->k;
}

size_t sp_dense_layer_outputs(const sp_dense_layer *layer)
{
	return layer->n;
}

/* ----------------------------------------------------------- passes over y */

/*
 * Not oneDNN's own: that makes 0 of what is not a number, and an answer which looks like one.
 * The rows are in the cache still.
 */
static void rectify_scalar(float *y, size_t count)
{
	for (size_t i = 0; i < count; i++)
		y[i] = y[i] < 0 ? 0 : y[i];
}

#if defined(__x86_64__)

/* Of two of which one is no number, the instructions answer the second. */
__attribute__((target("avx2"))) static void rectify_avx2(float *y, size_t count)
{
	const __m256 zeros = _mm256_setzero_ps();
	size_t i = 0;

	for (; i + 8 <= count; i += 8)
		_mm256_storeu_ps(y + i, _mm256_max_ps(zeros, _mm256_loadu_ps(y + i)));
	rectify_scalar(y + i, count - i);
}

__attribute__((target("avx512f"))) static void rectify_avx512(float *y, size_t count)
{
	const __m512 zeros = _mm512_setzero_ps();
	size_t i = 0;

	for (; i + 16 <= count; i += 16)
		_mm512_storeu_ps(y + i, _mm512_max_ps(zeros, _mm512_loadu_ps(y + i)));
	rectify_scalar(y + i, count - i);
}

static void rectify(float *y, size_t count)
{
	if (sp_cpu_has(SP_ISA_AVX512))
		rectify_avx512(y, count);
	else if (sp_cpu_has(SP_ISA_AVX2))
		rectify_avx2(y, count);
	else
		rectify_scalar(y, count);
}

#else

static void rectify(float *y, size_t count)
{
	rectify_scalar(y, count);
}

#endif

/* y += x, with the bias when there is one. */
static inline __attribute__((always_inline)) void add_rows(float *y, const float *x, size_t rows,
							   size_t n, const float *bias)
{
	if (bias == NULL)
		for (size_t i = 0; i < rows * n; i++)
			y[i] += x[i];
	else
		for (size_t i = 0; i < rows * n; i += n)
			for (size_t j = 0; j < n; j++)
				y[i + j] = y[i + j] + x[i + j] + bias[j];
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) static void add_avx2(float *y, const float *x, size_t rows,
						     size_t n, const float *bias)
{
	add_rows(y, x, rows, n, bias);
}

static void add(float *y, const float *x, size_t rows, size_t n, const float *bias)
{
	if (sp_cpu_has(SP_ISA_AVX2))
		add_avx2(y, x, rows, n, bias);
	else
		add_rows(y, x, rows, n, bias);
}

#else

static void add(float *y, const float *x, size_t rows, size_t n, const float *bias)
{
	add_rows(y, x, rows, n, bias);
}

#endif

/* ------------------------------------------------------------------- run */

static void add_bias(const sp_dense_layer *layer, float *y)
{
	for (size_t j = 0; layer->bias != NULL && j < layer->n; j++)
		y[j] += layer->bias[j];
}

/* Sums of nothing. */
static void run_without_weights(const sp_dense_layer *layer, size_t m, float *y)
{
	for (size_t i = 0; i < m * layer->n; i += layer->n) {
		memset(y + i, 0, layer->n * sizeof(float));
		add_bias(layer, y + i);
	}
}

/* The product of a row and the only column, in a layer with a bias: several rows, and one. */
static float biased_dot(const sp_dense_layer *layer, const float *x, bool alone)
{
	sp_product_row row;
	float y;

	if (!alone)
		return sp_product_head(x, layer->column, layer->k);
	sp_product_row_start(&row, layer->k);
	sp_product_row_add(&row, x, 1, layer->k, layer->column, 1, 1);
	sp_product_row_finish(&row, &y, 1);
	return y;
}

static void run_column(const sp_dense_layer *layer, const float *x, size_t m, float *y)
{
	size_t k = layer->k;

	for (size_t i = 0; i < m; i++, x += k)
		if (layer->bias != NULL)
			y[i] = biased_dot(layer, x, m == 1) + layer->bias[0];
		else if (m > 1 && m + 1 + k >= SP_PRODUCT_TINY)
			y[i] = sp_product_dot(x, layer->column, k, i % 2 == 0 && i + 1 == m);
		else if (layer->transposed)
			y[i] = sp_product_inner(x, layer->column, k);
		else
			y[i] = sp_product_in_order(x, 1, layer->column, 1, k);
}

static size_t columns_from(const sp_dense_layer *layer, size_t column)
{
	size_t left = layer->n - column;

	return left < SP_PACKED_COLUMNS ? left : SP_PACKED_COLUMNS;
}

static void run_few(const sp_dense_layer *layer, const float *x, float *y)
{
	for (size_t j = 0; j < layer->n; j++)
		y[j] = sp_product_inner(x, layer->rows + j * layer->k, layer->k);
}

/* One row by transposed weights without a bias.  False as below. */
static bool run_dots(const sp_dense_layer *layer, const float *x, float *y)
{
	sp_product_dots dots;
	sp_packed_panel panel;

	for (size_t j = 0; j < layer->n; j += SP_PACKED_COLUMNS) {
		size_t count = columns_from(layer, j);

		sp_product_dots_start(&dots, layer->k);
		for (size_t i = 0; i < layer->span_count; i++) {
			const span *s = &layer->spans[i];

			if (!sp_packed_product_panel(s->product, j, &panel))
				return false;
			sp_product_dots_add(&dots, x + s->first, s->k, panel.weights, panel.stride,
					    panel.width);
		}
		sp_product_dots_finish(&dots, y + j, count,
				       j + count == layer->n && layer->n % 2 != 0);
	}
	return true;
}

/* False when the weights lie in another way than we know. */
static bool run_row(const sp_dense_layer *layer, const float *x, float *y)
{
	sp_product_row row;
	sp_packed_panel panel;

	if (layer->transposed && layer->bias == NULL)
		return run_dots(layer, x, y);
	for (size_t j = 0; j < layer->n; j += SP_PACKED_COLUMNS) {
		sp_product_row_start(&row, layer->k);
		for (size_t i = 0; i < layer->span_count; i++) {
			const span *s = &layer->spans[i];

			if (!sp_packed_product_panel(s->product, j, &panel))
				return false;
			sp_product_row_add(&row, x + s->first, 1, s->k, panel.weights, panel.stride,
					   panel.width);
		}
		sp_product_row_finish(&row, y + j, columns_from(layer, j));
	}
	add_bias(layer, y);
	return true;
}

/* Up to CHUNK rows through several spans; `part` holds a span's inputs, `sums` its outputs. */
static sp_status run_spans(const sp_dense_layer *layer, const float *x, size_t m, float *y,
			   float *part, float *sums, sp_workspace *workspace, sp_error *err)
{
	for (size_t i = 0; i < layer->span_count; i++) {
		const span *s = &layer->spans[i];
		bool last = i + 1 == layer->span_count;

		for (size_t j = 0; j < m; j++)
			memcpy(part + j * s->k, x + j * layer->k + s->first, s->k * sizeof(float));
		SP_TRY(sp_packed_product_run(s->product, part, m, i == 0 ? y : sums, workspace,
					     err));
		if (i > 0)
			add(y, sums, m, layer->n, last ? layer->bias : NULL);
	}
	return SP_OK;
}

static sp_status run_chunk(const sp_dense_layer *layer, const float *x, size_t m, float *y,
			   sp_workspace *workspace, sp_error *err)
{
	sp_shape shape = sp_shape_vector((int64_t)(m * (layer->widest + layer->n)));
	sp_tensor scratch;
	sp_status status;

	if (layer->span_count == 1)
		return sp_packed_product_run(layer->spans[0].product, x, m, y, workspace, err);
	SP_TRY(sp_workspace_tensor(workspace, &scratch, SP_FLOAT, &shape, err));
	status = run_spans(layer, x, m, y, sp_tensor_f32(&scratch),
			   sp_tensor_f32(&scratch) + m * layer->widest, workspace, err);
	sp_workspace_release(workspace, &scratch);
	return status;
}

static void run_last_column(const sp_dense_layer *layer, const float *x, size_t m, float *y)
{
	float bias = layer->bias != NULL ? layer->bias[layer->n - 1] : 0;

	for (size_t i = 0; i < m; i++)
		y[(i + 1) * layer->n - 1] = sp_product_of_rest(x + i * layer->k, 1, layer->last, 1,
							       layer->k, !layer->transposed) +
					    bias;
}

/* A row whose sums go on through all spans. */
static void run_last_row(const sp_dense_layer *layer, const float *x, float *y)
{
	float sums[1][SP_PRODUCT_COLUMNS];
	sp_packed_panel panel;

	for (size_t j = 0; j < layer->n; j += SP_PACKED_COLUMNS) {
		memset(sums, 0, sizeof(sums));
		for (size_t i = 0; i < layer->span_count; i++) {
			const span *s = &layer->spans[i];

			if (!sp_packed_product_panel(s->product, j, &panel))
				return;
			sp_product_tile_add(&(sp_product_tile){.a = x + s->first,
							       .a_column = 1,
							       .b = panel.weights,
							       .b_row = panel.stride,
							       .rows = 1,
							       .width = panel.width,
							       .depth = s->k,
							       .sums = sums});
		}
		memcpy(y + j, sums[0], columns_from(layer, j) * sizeof(float));
	}
	add_bias(layer, y);
}

static void run_left_over(const sp_dense_layer *layer, const float *x, size_t m, float *y)
{
	sp_product_rest rest = sp_product_left_over(m, layer->n, layer->k);

	if (rest.row)
		run_last_row(layer, x + (m - 1) * layer->k, y + (m - 1) * layer->n);
	if (rest.column)
		run_last_column(layer, x, m, y);
}

static sp_status run(const sp_dense_layer *layer, const float *x, size_t m, float *y,
		     sp_workspace *workspace, sp_error *err)
{
	if (layer->k == 0 || layer->n == 0) {
		run_without_weights(layer, m, y);
		return SP_OK;
	}
	if (layer->column != NULL) {
		run_column(layer, x, m, y);
		return SP_OK;
	}
	if (m == 1 && layer->rows != NULL) {
		run_few(layer, x, y);
		return SP_OK;
	}
	if (m == 1 && run_row(layer, x, y))
		return SP_OK;
	for (size_t at = 0, rows; at < m; at += rows) {
		rows = m - at < CHUNK ? m - at : CHUNK;
		SP_TRY(run_chunk(layer, x + at * layer->k, rows, y + at * layer->n, workspace,
				 err));
	}
	run_left_over(layer, x, m, y);
	return SP_OK;
}

sp_status sp_dense_layer_run(const sp_dense_layer *layer, const float *x, size_t m, float *y,
			     sp_workspace *workspace, sp_error *err)
{
	SP_TRY(run(layer, x, m, y, workspace, err));
	if (layer->activation == SP_ACTIVATION_RELU)
		rectify(y, m * layer->n);
	return SP_OK;
}
