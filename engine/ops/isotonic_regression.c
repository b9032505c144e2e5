#include "engine/ops/cells.h"
#include "engine/op.h"

/*
 * IsotonicRegression: of each innermost row the nearest one, by the sum of squares, that never
 * rises, and which elements of it became one number.  Floating types stay what they are, int8 and
 * int16 become float, int32 and int64 double.
 *
 * Numerics: sums and means in the answer's type.
 * Source: M. J. Best and N. Chakravarti, "Active set algorithms for isotonic regression; a
 * unifying framework", 1990.
 */
typedef struct isotonic_state {
	sp_dtype dtype; /* of the answer */
	double (*load)(const void *cells, size_t i);
} isotonic_state;

#define LOAD(type, name)                                         \
	static double name##_##type(const void *cells, size_t i) \
	{                                                        \
		const sp_cell_##type *x = cells;                 \
                                                                 \
		return (double)SP_LOAD_##type(x[i]);             \
	}

SP_FOR_FLOATING(LOAD, load)
SP_FOR_SIGNED(LOAD, load)

static double (*const loads[SP_DTYPE_COUNT])(const void *cells, size_t i) = {
	SP_TABLE_FLOATING(load), SP_TABLE_SIGNED(load)};

static sp_dtype answer_of(sp_dtype dtype)
{
	if (dtype == SP_INT32 || dtype == SP_INT64)
		return SP_DOUBLE;
	return sp_dtype_is_floating(dtype) ? dtype : SP_FLOAT;
}

static sp_status prepare_isotonic(sp_prepare *prepare, sp_error *err)
{
	isotonic_state *state = sp_prepare_state(prepare, sizeof(*state));
	sp_dtype dtype, answer;

	if (state == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for an operator");
	SP_TRY(sp_prepare_inputs(prepare, 1, err));
	dtype = prepare->in_dtypes[0];
	state->load = loads[dtype];
	if (state->load == NULL)
		return sp_prepare_unsupported(prepare, dtype, err);
	state->dtype = answer_of(dtype);
	SP_TRY(sp_node_attr_type(prepare->node, "output_dtype", SP_FLOAT, &answer, err));
	if (answer != state->dtype)
		return sp_prepare_unsupported(prepare, answer, err);
	SP_TRY(sp_prepare_outputs(prepare, 2, answer, err));
	prepare->out_dtypes[1] = SP_INT32;
	return SP_OK;
}

static double round_to(sp_dtype dtype, double x)
{
	switch (dtype) {
	case SP_FLOAT:
		return (double)(float)x;
	case SP_HALF:
		return (double)sp_half_to_float(sp_half_from_float((float)x));
	case SP_BFLOAT16:
		return (double)sp_bfloat16_to_float(sp_bfloat16_from_float((float)x));
	default:
		return x;
	}
}

static void put(const sp_tensor *t, size_t i, double x)
{
	switch (t->dtype) {
	case SP_FLOAT:
		sp_tensor_f32(t)[i] = (float)x;
		break;
	case SP_HALF:
		((uint16_t *)t->data)[i] = sp_half_from_float((float)x);
		break;
	case SP_BFLOAT16:
		((uint16_t *)t->data)[i] = sp_bfloat16_from_float((float)x);
		break;
	default:
		sp_tensor_f64(t)[i] = x;
	}
}

/* Elements in a row that became one number. */
typedef struct pool {
	size_t count;
	double sum, mean;
} pool;

static void regress(const sp_call *call, size_t first, size_t n, pool *pools)
{
	const isotonic_state *state = call->state;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		double x = round_to(state->dtype, state->load(call->in[0]->data, first + i));

		pools[count++] = (pool){.count = 1, .sum = x, .mean = x};
		for (; count > 1 && pools[count - 1].mean > pools[count - 2].mean; count--) {
			pool *to = &pools[count - 2];

			to->count += to[1].count;
			to->sum = round_to(state->dtype, to->sum + to[1].sum);
			to->mean = round_to(state->dtype,
					    to->sum / round_to(state->dtype, (double)to->count));
		}
	}
	for (size_t p = 0; p < count; p++)
		for (size_t i = 0; i < pools[p].count; i++, first++) {
			put(call->out[0], first, pools[p].mean);
			sp_tensor_i32(call->out[1])[first] = (int32_t)p;
		}
}

static sp_status run_isotonic(const sp_call *call)
{
	const isotonic_state *state = call->state;
	const sp_shape *shape = &call->in[0]->shape;
	size_t n = shape->rank == 0 ? 1 : (size_t)shape->dims[shape->rank - 1];
	pool *pools;

	SP_TRY(sp_call_output(call, 0, state->dtype, shape));
	SP_TRY(sp_call_output(call, 1, SP_INT32, shape));
	pools = sp_call_bytes(call, n, sizeof(*pools));
	if (pools == NULL)
		return sp_call_no_memory(call);
	for (size_t first = 0; first < call->in[0]->count; first += n)
		regress(call, first, n, pools);
	return SP_OK;
}

const sp_op sp_op_IsotonicRegression = {
	.name = "IsotonicRegression",
	.outputs = "output segments",
	.prepare = prepare_isotonic,
	.run = run_isotonic,
};
