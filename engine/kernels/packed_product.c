#include "engine/kernels/packed_product.h"

#include <dnnl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cpu.h"

/*
 * A primitive of oneDNN is made for one number of rows.  The list below is
 * dense enough that padding to the next one wastes at most a fifth of the work.
 * The first primitive chooses how the weights are packed, the others take them
 * so.
 *
 * A primitive may run in many threads at once, but the memory objects that it
 * takes hold one pointer each: so a product keeps sets of them (lanes), and a run
 * claims a free one.
 */
static const size_t row_counts[] = {1,  2,  3,  4,  5,  6,  7,  8,  10,  12,  14,  16,  20,  24,
				    28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256};

enum {
	ROW_COUNTS = sizeof(row_counts) / sizeof(row_counts[0]),
	MAX_LANES = 64,
	/* A reader of panels takes 16 columns at a time, past the end of the last row, too. */
	PADDING = 16 * sizeof(float),
};

typedef struct lane {
	dnnl_memory_t x[ROW_COUNTS];
	dnnl_memory_t y[ROW_COUNTS];
	dnnl_memory_t scratch;
	void *scratch_bytes;
} lane;

struct sp_packed_product {
	size_t k;
	size_t n;
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

/* ------------------------------------------------------------- the product */

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

static sp_status describe(dnnl_matmul_desc_t *out, sp_packed_product *product, size_t r,
			  sp_error *err)
{
	dnnl_dims_t x = {(dnnl_dim_t)row_counts[r], (dnnl_dim_t)product->k};
	dnnl_dims_t w = {(dnnl_dim_t)product->k, (dnnl_dim_t)product->n};
	dnnl_dims_t y = {(dnnl_dim_t)row_counts[r], (dnnl_dim_t)product->n};
	dnnl_dims_t b = {1, (dnnl_dim_t)product->n};
	dnnl_memory_desc_t any, bias;

	DNNL_TRY("describe a product",
		 dnnl_memory_desc_init_by_tag(&product->x_desc[r], 2, x, dnnl_f32, dnnl_ab));
	DNNL_TRY("describe a product",
		 dnnl_memory_desc_init_by_tag(&product->y_desc[r], 2, y, dnnl_f32, dnnl_ab));
	DNNL_TRY("describe a product",
		 dnnl_memory_desc_init_by_tag(&bias, 2, b, dnnl_f32, dnnl_ab));
	DNNL_TRY("describe a product",
		 dnnl_memory_desc_init_by_tag(&any, 2, w, dnnl_f32, dnnl_format_tag_any));
	DNNL_TRY("describe a product",
		 dnnl_matmul_desc_init(out, &product->x_desc[r],
				       r == 0 ? &any : &product->packed_desc,
				       product->bias != NULL ? &bias : NULL, &product->y_desc[r]));
	return SP_OK;
}

static sp_status make_primitive(sp_packed_product *product, dnnl_primitive_attr_t attributes,
				size_t r, sp_error *err)
{
	dnnl_matmul_desc_t desc;
	dnnl_primitive_desc_t plan;
	dnnl_status_t status;
	size_t scratch;

	SP_TRY(describe(&desc, product, r, err));
	DNNL_TRY("plan a product",
		 dnnl_primitive_desc_create(&plan, &desc, attributes, product->engine, NULL));
	if (r == 0)
		product->packed_desc = *dnnl_primitive_desc_query_md(plan, dnnl_query_weights_md,
								     0);
	scratch = dnnl_memory_desc_get_size(
		dnnl_primitive_desc_query_md(plan, dnnl_query_scratchpad_md, 0));
	if (scratch > product->scratch_size)
		product->scratch_size = scratch;
	status = dnnl_primitive_create(&product->primitives[r], plan);
	dnnl_primitive_desc_destroy(plan);
	return status == dnnl_success ? SP_OK : failed(err, status, "make a product");
}

static sp_status make_primitives(sp_packed_product *product, sp_error *err)
{
	dnnl_primitive_attr_t attributes;
	sp_status status = SP_OK;

	SP_TRY(make_attributes(&attributes, err));
	for (size_t r = 0; r < ROW_COUNTS && status == SP_OK; r++)
		status = make_primitive(product, attributes, r, err);
	dnnl_primitive_attr_destroy(attributes);
	return status;
}

/* Copies the weights into the order that the primitives want. */
static sp_status reorder(sp_packed_product *product, const dnnl_memory_desc_t *desc,
			 dnnl_memory_t from, sp_error *err)
{
	dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, product->packed_memory}};
	dnnl_primitive_desc_t plan;
	dnnl_primitive_t primitive;
	dnnl_status_t status;

	DNNL_TRY("plan the packing",
		 dnnl_reorder_primitive_desc_create(&plan, desc, product->engine,
						    &product->packed_desc, product->engine, NULL));
	status = dnnl_primitive_create(&primitive, plan);
	dnnl_primitive_desc_destroy(plan);
	DNNL_TRY("prepare the packing", status);
	status = dnnl_primitive_execute(primitive, product->stream, 2, args);
	dnnl_primitive_destroy(primitive);
	return status == dnnl_success ? SP_OK : failed(err, status, "pack the weights");
}

static sp_status pack(sp_packed_product *product, const sp_packed_spec *spec, sp_error *err)
{
	dnnl_dims_t dims = {(dnnl_dim_t)spec->k, (dnnl_dim_t)spec->n};
	dnnl_dims_t strides = {(dnnl_dim_t)spec->row, (dnnl_dim_t)spec->column};
	size_t size = dnnl_memory_desc_get_size(&product->packed_desc);
	dnnl_memory_desc_t desc;
	dnnl_memory_t plain;
	sp_status status;

	product->packed = sp_alloc_aligned(64, size + PADDING);
	if (product->packed == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu bytes of weights", size);
	memset((char *)product->packed + size, 0, PADDING);
	DNNL_TRY("hold the weights",
		 dnnl_memory_create(&product->packed_memory, &product->packed_desc, product->engine,
				    product->packed));
	DNNL_TRY("describe the weights",
		 dnnl_memory_desc_init_by_strides(&desc, 2, dims, dnnl_f32, strides));
	DNNL_TRY("hold the weights",
		 dnnl_memory_create(&plain, &desc, product->engine, (void *)spec->weights));
	status = reorder(product, &desc, plain, err);
	dnnl_memory_destroy(plain);
	return status;
}

static sp_status take_bias(sp_packed_product *product, const float *bias, sp_error *err)
{
	dnnl_dims_t dims = {1, (dnnl_dim_t)product->n};
	dnnl_memory_desc_t desc;

	if (bias == NULL)
		return SP_OK;
	product->bias = sp_alloc_aligned(64, product->n * sizeof(float));
	if (product->bias == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu biases", product->n);
	memcpy(product->bias, bias, product->n * sizeof(float));
	DNNL_TRY("describe the bias",
		 dnnl_memory_desc_init_by_tag(&desc, 2, dims, dnnl_f32, dnnl_ab));
	DNNL_TRY("hold the bias",
		 dnnl_memory_create(&product->bias_memory, &desc, product->engine, product->bias));
	return SP_OK;
}

static sp_status build(sp_packed_product *product, const sp_packed_spec *spec, sp_error *err)
{
	DNNL_TRY("start", dnnl_engine_create(&product->engine, dnnl_cpu, 0));
	DNNL_TRY("start",
		 dnnl_stream_create(&product->stream, product->engine, dnnl_stream_default_flags));
	SP_TRY(take_bias(product, spec->bias, err));
	SP_TRY(make_primitives(product, err));
	return pack(product, spec, err);
}

sp_status sp_packed_product_create(sp_packed_product **out, const sp_packed_spec *spec,
				   sp_error *err)
{
	sp_packed_product *product = sp_alloc_zero(1, sizeof(*product));
	sp_status status;
	int threads;

	*out = NULL;
	if (product == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for a product");
	pthread_once(&cap_once, cap_instruction_set);
	product->k = spec->k;
	product->n = spec->n;
	threads = use_one_thread();
	status = build(product, spec, err);
	restore_threads(threads);
	if (status != SP_OK) {
		sp_packed_product_destroy(product);
		return status;
	}
	*out = product;
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

static dnnl_status_t lane_fill(lane *l, const sp_packed_product *product)
{
	dnnl_dims_t size = {(dnnl_dim_t)product->scratch_size};
	dnnl_memory_desc_t scratch;
	dnnl_status_t status = dnnl_memory_desc_init_by_tag(&scratch, 1, size, dnnl_u8, dnnl_a);

	if (status == dnnl_success)
		status = dnnl_memory_create(&l->scratch, &scratch, product->engine,
					    l->scratch_bytes);
	for (size_t r = 0; r < ROW_COUNTS && status == dnnl_success; r++) {
		status = dnnl_memory_create(&l->x[r], &product->x_desc[r], product->engine,
					    DNNL_MEMORY_NONE);
		if (status == dnnl_success)
			status = dnnl_memory_create(&l->y[r], &product->y_desc[r], product->engine,
						    DNNL_MEMORY_NONE);
	}
	return status;
}

static lane *lane_create(const sp_packed_product *product)
{
	lane *l = sp_alloc_zero(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->scratch_bytes = sp_alloc_aligned(64, product->scratch_size);
	if (l->scratch_bytes == NULL || lane_fill(l, product) != dnnl_success) {
		lane_destroy(l);
		return NULL;
	}
	return l;
}

/* A lane for this run alone; a new one when all that exist are in use. */
static lane *claim_lane(const sp_packed_product *product)
{
	sp_packed_product *shared = (sp_packed_product *)product;

	for (size_t i = 0; i < MAX_LANES; i++) {
		lane *l = atomic_load_explicit(&shared->lanes[i], memory_order_relaxed);

		if (l != NULL && (l = atomic_exchange(&shared->lanes[i], NULL)) != NULL)
			return l;
	}
	return lane_create(product);
}

static void give_back_lane(const sp_packed_product *product, lane *l)
{
	sp_packed_product *shared = (sp_packed_product *)product;

	for (size_t i = 0; i < MAX_LANES; i++) {
		lane *none = NULL;

		if (atomic_compare_exchange_strong(&shared->lanes[i], &none, l))
			return;
	}
	lane_destroy(l);
}

void sp_packed_product_destroy(sp_packed_product *product)
{
	if (product == NULL)
		return;
	for (size_t i = 0; i < MAX_LANES; i++)
		lane_destroy(product->lanes[i]);
	for (size_t r = 0; r < ROW_COUNTS; r++)
		dnnl_primitive_destroy(product->primitives[r]);
	dnnl_memory_destroy(product->packed_memory);
	dnnl_memory_destroy(product->bias_memory);
	dnnl_stream_destroy(product->stream);
	dnnl_engine_destroy(product->engine);
	sp_free(product->packed);
	sp_free(product->bias);
	sp_free(product);
}

/* ------------------------------------------------------------------- run */

/*
 * oneDNN packs either not at all or in blocks of some rows by a number of columns, each block's
 * rows one after another, and the blocks of the same columns one after another.
 */
bool sp_packed_product_panel(const sp_packed_product *product, size_t column, sp_packed_panel *out)
{
	const dnnl_memory_desc_t *desc = &product->packed_desc;
	const dnnl_blocking_desc_t *blocks = &desc->format_desc.blocking;
	size_t width, left = product->n - column;

	if (desc->format_kind != dnnl_blocked)
		return false;
	if (blocks->inner_nblks == 0 && blocks->strides[1] == 1) {
		*out = (sp_packed_panel){.weights = (const float *)product->packed + column,
					 .stride = (size_t)blocks->strides[0],
					 .width = left < SP_PACKED_COLUMNS ? left
									   : SP_PACKED_COLUMNS};
		return true;
	}
	if (blocks->inner_nblks != 2 || blocks->inner_idxs[0] != 0 || blocks->inner_idxs[1] != 1 ||
	    blocks->strides[0] != blocks->inner_blks[0] * blocks->inner_blks[1])
		return false;
	width = (size_t)blocks->inner_blks[1];
	*out = (sp_packed_panel){.weights = (const float *)product->packed +
					    column / width * (size_t)blocks->strides[1] +
					    column % width,
				 .stride = width,
				 .width = SP_PACKED_COLUMNS};
	return width % SP_PACKED_COLUMNS == 0;
}

/* Exactly row_counts[r] rows. */
static sp_status run_rows(const sp_packed_product *product, lane *l, size_t r, const float *x,
			  float *y, sp_error *err)
{
	dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, l->x[r]},
				  {DNNL_ARG_DST, l->y[r]},
				  {DNNL_ARG_WEIGHTS, product->packed_memory},
				  {DNNL_ARG_SCRATCHPAD, l->scratch},
				  {DNNL_ARG_BIAS, product->bias_memory}};
	int count = product->bias != NULL ? 5 : 4;

	DNNL_TRY("point at rows", dnnl_memory_set_data_handle(l->x[r], (void *)x));
	DNNL_TRY("point at rows", dnnl_memory_set_data_handle(l->y[r], y));
	DNNL_TRY("multiply",
		 dnnl_primitive_execute(product->primitives[r], product->stream, count, args));
	return SP_OK;
}

/* Fewer rows than row_counts[r]: through scratch, the missing ones being zeros. */
static sp_status run_padded(const sp_packed_product *product, lane *l, size_t r, const float *x,
			    size_t m, float *y, sp_workspace *workspace, sp_error *err)
{
	sp_shape x_shape = sp_shape_matrix((int64_t)row_counts[r], (int64_t)product->k);
	sp_shape y_shape = sp_shape_matrix((int64_t)row_counts[r], (int64_t)product->n);
	size_t used = m * product->k;
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
	status = run_rows(product, l, r, wide_x.data, wide_y.data, err);
	if (status == SP_OK)
		memcpy(y, wide_y.data, m * product->n * sizeof(float));
	sp_workspace_release(workspace, &wide_x);
	sp_workspace_release(workspace, &wide_y);
	return status;
}

static sp_status run_all(const sp_packed_product *product, lane *l, const float *x, size_t m,
			 float *y, sp_workspace *workspace, sp_error *err)
{
	const size_t most = row_counts[ROW_COUNTS - 1];
	size_t r = 0;

	for (; m >= most; m -= most, x += most * product->k, y += most * product->n)
		SP_TRY(run_rows(product, l, ROW_COUNTS - 1, x, y, err));
	if (m == 0)
		return SP_OK;
	while (row_counts[r] < m)
		r++;
	if (row_counts[r] == m)
		return run_rows(product, l, r, x, y, err);
	return run_padded(product, l, r, x, m, y, workspace, err);
}

sp_status sp_packed_product_run(const sp_packed_product *product, const float *x, size_t m,
				float *y, sp_workspace *workspace, sp_error *err)
{
	lane *l = claim_lane(product);
	sp_status status;
	int threads;

	if (l == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory to run a product");
	threads = use_one_thread();
	status = run_all(product, l, x, m, y, workspace, err);
	restore_threads(threads);
	give_back_lane(product, l);
	return status;
}
