#include "engine/kernels/dense_layer.h"

#include <string.h>

#include "base/alloc.h"
#include "base/size.h"
#include "engine/kernels/float_product.h"

enum { CHUNK = 132 /* rows in the cache at once; a multiple of the kernels' 6 and 12 */ };

struct sp_dense_layer {
	size_t k, n;
	sp_activation activation;
	size_t panel; /* columns per panel */
	float *bias;  /* padded to whole panels; NULL: no bias */
	/* Panels [k, panel], the last one padded with zeros.  With one output: [k]. */
	float weights[];
};

static float weight_at(const sp_dense_spec *spec, size_t row, size_t column)
{
	return spec->weights[spec->transposed ? column * spec->k + row : row * spec->n + column];
}

static void pack(sp_dense_layer *layer, const sp_dense_spec *spec)
{
	float *to = layer->weights;

	if (spec->k == 0)
		return;
	if (spec->n == 1) {
		memcpy(to, spec->weights, spec->k * sizeof(float));
		return;
	}
	for (size_t first = 0; first < spec->n; first += layer->panel)
		for (size_t i = 0; i < spec->k; i++)
			for (size_t j = first; j < first + layer->panel; j++)
				*to++ = j < spec->n ? weight_at(spec, i, j) : 0;
}

sp_status sp_dense_layer_create(sp_dense_layer **out, const sp_dense_spec *spec, sp_error *err)
{
	size_t panel = sp_product_panel(), columns, count;
	sp_dense_layer *layer = NULL;

	*out = NULL;
	if (!sp_size_add(&columns, spec->n, panel))
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a layer");
	columns -= columns % panel;
	if (sp_size_mul(&count, columns, spec->k) && sp_size_mul(&count, count, sizeof(float)) &&
	    sp_size_add(&count, count, sizeof(*layer)))
		layer = sp_alloc_aligned(64, count);
	SP_NEED_MEMORY(layer, err, "a layer of [%zu,%zu]", spec->k, spec->n);
	*layer = (sp_dense_layer){
		.k = spec->k, .n = spec->n, .activation = spec->activation, .panel = panel};
	pack(layer, spec);
	if (spec->bias != NULL) {
		layer->bias = sp_alloc_zero(columns, sizeof(float));
		if (layer->bias == NULL) {
			sp_dense_layer_destroy(layer);
			return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu biases", spec->n);
		}
		memcpy(layer->bias, spec->bias, spec->n * sizeof(float));
	}
	*out = layer;
	return SP_OK;
}

void sp_dense_layer_destroy(sp_dense_layer *layer)
{
	if (layer == NULL)
		return;
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

static void run_column(const sp_dense_layer *layer, const float *x, size_t m, float *y)
{
	float bias = layer->bias != NULL ? layer->bias[0] : 0;

	for (size_t i = 0; i < m; i++) {
		y[i] = sp_product_dot(x + i * layer->k, layer->weights, layer->k) + bias;
		if (layer->activation == SP_ACTIVATION_RELU && y[i] < 0)
			y[i] = 0;
	}
}

/* At most CHUNK rows.  With k = 0 the loop runs once, with depth 0. */
static void run_chunk(const sp_dense_layer *layer, const float *x, size_t m, float *y)
{
	size_t from = 0, depth;

	do {
		bool is_last = layer->k - from <= SP_PRODUCT_SPAN;

		depth = is_last ? layer->k - from : SP_PRODUCT_SPAN;
		for (size_t j = 0; j < layer->n; j += layer->panel) {
			size_t left = layer->n - j;

			sp_product_run(&(sp_product){
				.rows = m,
				.depth = depth,
				.width = left < layer->panel ? left : layer->panel,
				.a = x + from,
				.a_row = layer->k,
				.a_column = 1,
				.b = layer->weights + j * layer->k + from * layer->panel,
				.b_row = layer->panel,
				.c = y + j,
				.c_row = layer->n,
				.add = from != 0,
				.bias = is_last && layer->bias != NULL ? layer->bias + j : NULL,
				.relu = is_last && layer->activation == SP_ACTIVATION_RELU});
		}
		from += depth;
	} while (from < layer->k);
}

void sp_dense_layer_run(const sp_dense_layer *layer, const float *x, size_t m, float *y)
{
	if (layer->n == 1) {
		run_column(layer, x, m, y);
		return;
	}
	for (size_t at = 0, rows; at < m; at += rows) {
		rows = m - at < CHUNK ? m - at : CHUNK;
		run_chunk(layer, x + at * layer->k, rows, y + at * layer->n);
	}
}
