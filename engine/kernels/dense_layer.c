#include "engine/kernels/dense_layer.h"

#include <dnnl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/alloc.h"
#include "base/cpu.h"

/*
 * A primitive of oneDNN is made for one number of rows.  The list below is
 * dense enough that padding to the next one wastes at most a fifth of the work.
 * The first primitive chooses how the weights are packed, the others take them
 * so.
 *
 * A primitive may run in many threads at once, but the memory objects that it
 * takes hold one pointer each: so a layer keeps sets of them (lanes), and a run
 * claims a free one.
 */
static const size_t row_counts[] = {1,  2,  3,  4,  5,  6,  7,  8,  10,  12,  14,  16,  20,  24,
				    28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256};

enum {
	ROW_COUNTS = sizeof(row_counts) / sizeof(row_counts[0]),
	MAX_LANES = 64,
};

typedef struct lane {
	dnnl_memory_t x[ROW_COUNTS];
	dnnl_memory_t y[ROW_COUNTS];
	dnnl_memory_t scratch;
	void *scratch_bytes;
} lane;

struct sp_dense_layer {
	size_t k;
	size_t n;
	sp_activation activation;
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	dnnl_primitive_t primitives[ROW_COUNTS];
	dnnl_memory_desc_t x_desc[ROW_COUNTS];
	dnnl_memory_desc_t y_desc[ROW_COUNTS];
	dnnl_memory_desc_t packed_desc;
	size_t scratch_size;
	void *packed; /* the weights as the primitives want them */
	float *bias;
	dnnl_memory_t packed_memory;
	dnnl_memory_t bias_memory;
	_Atomic(lane *) lanes[MAX_LANES]; /* NULL: not made yet, or in use */
};

/* Of OpenMP's run time, which oneDNN brings along; omp.h comes with one compiler only. */
extern int omp_get_max_threads(void);
extern void omp_set_num_threads(int count);

/* oneDNN would spread over threads of its own; we compute on the caller's. */
static int use_one_thread(void)
{
	int before = omp_get_max_threads();

	if (before != 1)
		omp_set_num_threads(1);
	return before;
}

static void restore_threads(int before)
{
	if (before != 1)
		omp_set_num_threads(before);
}

static pthread_once_t cap_once = PTHREAD_ONCE_INIT;

/*
 * oneDNN chooses its code by the processor; a cap on ours (SP_CPU) is one on
 * it.  It refuses when the host has used it before: then its choice stands.
 */
static void cap_instruction_set(void)
{
	if (!sp_cpu_has(SP_ISA_AVX512))
		dnnl_set_max_cpu_isa(sp_cpu_has(SP_ISA_AVX2) ? dnnl_cpu_isa_avx2
							     : dnnl_cpu_isa_sse41);
}

static sp_status failed(sp_error *err, dnnl_status_t status, const char *what)
{
	return sp_error_set(err, status == dnnl_out_of_memory ? SP_NO_MEMORY : SP_INTERNAL,
			    "oneDNN cannot %s (status %d)", what, (int)status);
}

#define DNNL_TRY(what, expr)                                 \
	do {                                                 \
		dnnl_status_t dnnl_try_ = (expr);            \
		if (dnnl_try_ != dnnl_success)               \
			return failed(err, dnnl_try_, what); \
	} while (0)

/* ------------------------------------------------------------- the layer */

static sp_status make_attributes(dnnl_primitive_attr_t *out, sp_error *err)
{
	dnnl_status_t status;

	DNNL_TRY("make attributes", dnnl_primitive_attr_create(out));
	status = dnnl_primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user);
	if (status == dnnl_success)
		return SP_OK;
	dnnl_primitive_attr_destroy(*out);
	return failed(err, status, "set attributes");
}

static sp_status describe(dnnl_matmul_desc_t *out, sp_dense_layer *layer, size_t r, sp_error *err)
{
	dnnl_dims_t x = {(dnnl_dim_t)row_counts[r], (dnnl_dim_t)layer->k};
	dnnl_dims_t w = {(dnnl_dim_t)layer->k, (dnnl_dim_t)layer->n};
	dnnl_dims_t y = {(dnnl_dim_t)row_counts[r], (dnnl_dim_t)layer->n};
	dnnl_dims_t b = {1, (dnnl_dim_t)layer->n};
	dnnl_memory_desc_t any, bias;

	DNNL_TRY("describe a product",
		 dnnl_memory_desc_init_by_tag(&layer->x_desc[r], 2, x, dnnl_f32, dnnl_ab));
	DNNL_TRY("describe a product",
		 dnnl_memory_desc_init_by_tag(&layer->y_desc[r], 2, y, dnnl_f32, dnnl_ab));
	DNNL_TRY("describe a product",
		 dnnl_memory_desc_init_by_tag(&bias, 2, b, dnnl_f32, dnnl_ab));
	DNNL_TRY("describe a product",
		 dnnl_memory_desc_init_by_tag(&any, 2, w, dnnl_f32, dnnl_format_tag_any));
	DNNL_TRY("describe a product",
		 dnnl_matmul_desc_init(out, &layer->x_desc[r], r == 0 ? &any : &layer->packed_desc,
				       layer->bias != NULL ? &bias : NULL, &layer->y_desc[r]));
	return SP_OK;
}

static sp_status make_primitive(sp_dense_layer *layer, dnnl_primitive_attr_t attributes, size_t r,
				sp_error *err)
{
	dnnl_matmul_desc_t desc;
	dnnl_primitive_desc_t plan;
	dnnl_status_t status;
	size_t scratch;

	SP_TRY(describe(&desc, layer, r, err));
	DNNL_TRY("plan a product",
		 dnnl_primitive_desc_create(&plan, &desc, attributes, layer->engine, NULL));
	if (r == 0)
		layer->packed_desc = *dnnl_primitive_desc_query_md(plan, dnnl_query_weights_md, 0);
	scratch = dnnl_memory_desc_get_size(
		dnnl_primitive_desc_query_md(plan, dnnl_query_scratchpad_md, 0));
	if (scratch > layer->scratch_size)
		layer->scratch_size = scratch;
	status = dnnl_primitive_create(&layer->primitives[r], plan);
	dnnl_primitive_desc_destroy(plan);
	return status == dnnl_success ? SP_OK : failed(err, status, "make a product");
}

static sp_status make_primitives(sp_dense_layer *layer, sp_error *err)
{
	dnnl_primitive_attr_t attributes;
	sp_status status = SP_OK;

	SP_TRY(make_attributes(&attributes, err));
	for (size_t r = 0; r < ROW_COUNTS && status == SP_OK; r++)
		status = make_primitive(layer, attributes, r, err);
	dnnl_primitive_attr_destroy(attributes);
	return status;
}

/* Copies the weights into the order that the primitives want. */
static sp_status reorder(sp_dense_layer *layer, const dnnl_memory_desc_t *desc, dnnl_memory_t from,
			 sp_error *err)
{
	dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, layer->packed_memory}};
	dnnl_primitive_desc_t plan;
	dnnl_primitive_t primitive;
	dnnl_status_t status;

	DNNL_TRY("plan the packing",
		 dnnl_reorder_primitive_desc_create(&plan, desc, layer->engine, &layer->packed_desc,
						    layer->engine, NULL));
	status = dnnl_primitive_create(&primitive, plan);
	dnnl_primitive_desc_destroy(plan);
	DNNL_TRY("prepare the packing", status);
	status = dnnl_primitive_execute(primitive, layer->stream, 2, args);
	dnnl_primitive_destroy(primitive);
	return status == dnnl_success ? SP_OK : failed(err, status, "pack the weights");
}

static sp_status pack(sp_dense_layer *layer, const sp_dense_spec *spec, sp_error *err)
{
	dnnl_dims_t dims = {(dnnl_dim_t)spec->k, (dnnl_dim_t)spec->n};
	size_t size = dnnl_memory_desc_get_size(&layer->packed_desc);
	dnnl_memory_desc_t desc;
	dnnl_memory_t plain;
	sp_status status;

	layer->packed = sp_alloc_aligned(64, size);
	if (layer->packed == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu bytes of weights", size);
	DNNL_TRY("hold the weights", dnnl_memory_create(&layer->packed_memory, &layer->packed_desc,
							layer->engine, layer->packed));
	DNNL_TRY("describe the weights",
		 dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_f32,
					      spec->transposed ? dnnl_ba : dnnl_ab));
	DNNL_TRY("hold the weights",
		 dnnl_memory_create(&plain, &desc, layer->engine, (void *)spec->weights));
	status = reorder(layer, &desc, plain, err);
	dnnl_memory_destroy(plain);
	return status;
}

static sp_status copy_bias(sp_dense_layer *layer, const float *bias, sp_error *err)
{
	if (bias == NULL || layer->n == 0)
		return SP_OK;
	layer->bias = sp_alloc_aligned(64, layer->n * sizeof(float));
	if (layer->bias == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu biases", layer->n);
	memcpy(layer->bias, bias, layer->n * sizeof(float));
	return SP_OK;
}

static sp_status describe_bias(sp_dense_layer *layer, sp_error *err)
{
	dnnl_dims_t dims = {1, (dnnl_dim_t)layer->n};
	dnnl_memory_desc_t desc;

	if (layer->bias == NULL)
		return SP_OK;
	DNNL_TRY("describe the bias",
		 dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_f32, dnnl_ab));
	DNNL_TRY("hold the bias",
		 dnnl_memory_create(&layer->bias_memory, &desc, layer->engine, layer->bias));
	return SP_OK;
}

static sp_status build(sp_dense_layer *layer, const sp_dense_spec *spec, sp_error *err)
{
	SP_TRY(copy_bias(layer, spec->bias, err));
	if (layer->k == 0 || layer->n == 0)
		return SP_OK;
	DNNL_TRY("start", dnnl_engine_create(&layer->engine, dnnl_cpu, 0));
	DNNL_TRY("start",
		 dnnl_stream_create(&layer->stream, layer->engine, dnnl_stream_default_flags));
	SP_TRY(describe_bias(layer, err));
	SP_TRY(make_primitives(layer, err));
	return pack(layer, spec, err);
}

sp_status sp_dense_layer_create(sp_dense_layer **out, const sp_dense_spec *spec, sp_error *err)
{
	sp_dense_layer *layer = sp_alloc_zero(1, sizeof(*layer));
	sp_status status;
	int threads;

	*out = NULL;
	if (layer == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a layer");
	pthread_once(&cap_once, cap_instruction_set);
	layer->k = spec->k;
	layer->n = spec->n;
	layer->activation = spec->activation;
	threads = use_one_thread();
	status = build(layer, spec, err);
	restore_threads(threads);
	if (status != SP_OK) {
		sp_dense_layer_destroy(layer);
		return status;
	}
	*out = layer;
	return SP_OK;
}

/* ----------------------------------------------------------------- lanes */

static void lane_destroy(lane *l)
{
	if (l == NULL)
		return;
	for (size_t r = 0; r < ROW_COUNTS; r++) {
		dnnl_memory_destroy(l->x[r]);
		dnnl_memory_destroy(l->y[r]);
	}
	dnnl_memory_destroy(l->scratch);
	sp_free(l->scratch_bytes);
	sp_free(l);
}

static dnnl_status_t lane_fill(lane *l, const sp_dense_layer *layer)
{
	dnnl_dims_t size = {(dnnl_dim_t)layer->scratch_size};
	dnnl_memory_desc_t scratch;
	dnnl_status_t status = dnnl_memory_desc_init_by_tag(&scratch, 1, size, dnnl_u8, dnnl_a);

	if (status == dnnl_success)
		status = dnnl_memory_create(&l->scratch, &scratch, layer->engine, l->scratch_bytes);
	for (size_t r = 0; r < ROW_COUNTS && status == dnnl_success; r++) {
		status = dnnl_memory_create(&l->x[r], &layer->x_desc[r], layer->engine,
					    DNNL_MEMORY_NONE);
		if (status == dnnl_success)
			status = dnnl_memory_create(&l->y[r], &layer->y_desc[r], layer->engine,
						    DNNL_MEMORY_NONE);
	}
	return status;
}

static lane *lane_create(const sp_dense_layer *layer)
{
	lane *l = sp_alloc_zero(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->scratch_bytes = sp_alloc_aligned(64, layer->scratch_size);
	if (l->scratch_bytes == NULL || lane_fill(l, layer) != dnnl_success) {
		lane_destroy(l);
		return NULL;
	}
	return l;
}

/* A lane for this run alone; a new one when all that exist are in use. */
static lane *claim_lane(const sp_dense_layer *layer)
{
	sp_dense_layer *shared = (sp_dense_layer *)layer;

	for (size_t i = 0; i < MAX_LANES; i++) {
		lane *l = atomic_load_explicit(&shared->lanes[i], memory_order_relaxed);

		if (l != NULL && (l = atomic_exchange(&shared->lanes[i], NULL)) != NULL)
			return l;
	}
	return lane_create(layer);
}

static void give_back_lane(const sp_dense_layer *layer, lane *l)
{
	sp_dense_layer *shared = (sp_dense_layer *)layer;

	for (size_t i = 0; i < MAX_LANES; i++) {
		lane *none = NULL;

		if (atomic_compare_exchange_strong(&shared->lanes[i], &none, l))
			return;
	}
	lane_destroy(l);
}

void sp_dense_layer_destroy(sp_dense_layer *layer)
{
	if (layer == NULL)
		return;
	for (size_t i = 0; i < MAX_LANES; i++)
		lane_destroy(layer->lanes[i]);
	for (size_t r = 0; r < ROW_COUNTS; r++)
		dnnl_primitive_destroy(layer->primitives[r]);
	dnnl_memory_destroy(layer->packed_memory);
	dnnl_memory_destroy(layer->bias_memory);
	dnnl_stream_destroy(layer->stream);
	dnnl_engine_destroy(layer->engine);
	sp_free(layer->packed);
	sp_free(layer->bias);
	sp_free(layer);
}

/* ------------------------------------------------------------------- run */

size_t sp_dense_layer_inputs(const sp_dense_layer *layer)
{
	return layer->k;
}

size_t sp_dense_layer_outputs(const sp_dense_layer *layer)
{
	return layer->n;
}

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

/* Exactly row_counts[r] rows. */
static sp_status run_rows(const sp_dense_layer *layer, lane *l, size_t r, const float *x, float *y,
			  sp_error *err)
{
	dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, l->x[r]},
				  {DNNL_ARG_DST, l->y[r]},
				  {DNNL_ARG_WEIGHTS, layer->packed_memory},
				  {DNNL_ARG_SCRATCHPAD, l->scratch},
				  {DNNL_ARG_BIAS, layer->bias_memory}};
	int count = layer->bias != NULL ? 5 : 4;

	DNNL_TRY("point at rows", dnnl_memory_set_data_handle(l->x[r], (void *)x));
	DNNL_TRY("point at rows", dnnl_memory_set_data_handle(l->y[r], y));
	DNNL_TRY("multiply",
		 dnnl_primitive_execute(layer->primitives[r], layer->stream, count, args));
	if (layer->activation == SP_ACTIVATION_RELU)
		rectify(y, row_counts[r] * layer->n);
	return SP_OK;
}

/* Fewer rows than row_counts[r]: through scratch, the missing ones being zeros. */
static sp_status run_padded(const sp_dense_layer *layer, lane *l, size_t r, const float *x,
			    size_t m, float *y, sp_workspace *workspace, sp_error *err)
{
	sp_shape x_shape = sp_shape_matrix((int64_t)row_counts[r], (int64_t)layer->k);
	sp_shape y_shape = sp_shape_matrix((int64_t)row_counts[r], (int64_t)layer->n);
	size_t used = m * layer->k;
	sp_tensor wide_x, wide_y;
	sp_status status;

	SP_TRY(sp_workspace_tensor(workspace, &wide_x, SP_FLOAT, &x_shape, err));
	status = sp_workspace_tensor(workspace, &wide_y, SP_FLOAT, &y_shape, err);
	if (status != SP_OK) {
		sp_workspace_release(workspace, &wide_x);
		return status;
	}
	memcpy(wide_x.data, x, used * sizeof(float));
	memset((float *)wide_x.data + used, 0, (wide_x.count - used) * sizeof(float));
	status = run_rows(layer, l, r, wide_x.data, wide_y.data, err);
	if (status == SP_OK)
		memcpy(y, wide_y.data, m * layer->n * sizeof(float));
	sp_workspace_release(workspace, &wide_x);
	sp_workspace_release(workspace, &wide_y);
	return status;
}

static sp_status run_all(const sp_dense_layer *layer, lane *l, const float *x, size_t m, float *y,
			 sp_workspace *workspace, sp_error *err)
{
	const size_t most = row_counts[ROW_COUNTS - 1];
	size_t r = 0;

	for (; m >= most; m -= most, x += most * layer->k, y += most * layer->n)
		SP_TRY(run_rows(layer, l, ROW_COUNTS - 1, x, y, err));
	if (m == 0)
		return SP_OK;
	while (row_counts[r] < m)
		r++;
	if (row_counts[r] == m)
		return run_rows(layer, l, r, x, y, err);
	return run_padded(layer, l, r, x, m, y, workspace, err);
}

/* Sums of nothing. */
static void run_without_weights(const sp_dense_layer *layer, size_t m, float *y)
{
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < layer->n; j++)
			y[i * layer->n + j] = layer->bias != NULL ? layer->bias[j] : 0;
	if (layer->activation == SP_ACTIVATION_RELU)
		rectify(y, m * layer->n);
}

sp_status sp_dense_layer_run(const sp_dense_layer *layer, const float *x, size_t m, float *y,
			     sp_workspace *workspace, sp_error *err)
{
	sp_status status;
	int threads;
	lane *l;

	if (layer->k == 0 || layer->n == 0) {
		run_without_weights(layer, m, y);
		return SP_OK;
	}
	l = claim_lane(layer);
	if (l == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to run a layer");
	threads = use_one_thread();
	status = run_all(layer, l, x, m, y, workspace, err);
	restore_threads(threads);
	give_back_lane(layer, l);
	return status;
}
