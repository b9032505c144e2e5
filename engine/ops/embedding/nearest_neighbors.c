#include <string.h>

#include "engine/ops/array/array.h"

/*
 * NearestNeighbors: of each point [points, dims] the k nearest of the centers
 * [centers, dims], nearest first, and the squares of their distances; all centers when
 * there are fewer than k.  Of equally far ones the earlier comes first.
 *
 * Numerics: |x - c|^2 = 2 (|x|^2 / 2 + |c|^2 / 2 - x c) in float, as TensorFlow has it; the
 * sums' order differs, so that what is nearly equally far may change places.
 */
typedef struct neighbor {
	float distance; /* half of it, without the point's own part */
	int64_t center;
} neighbor;

static float dot(const float *a, const float *b, size_t n)
{
	float sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Puts the neighbor where it belongs among the best `k`, of which `have` are there. */
static void keep(neighbor *best, size_t k, size_t have, neighbor next)
{
	size_t at = have < k ? have : k - 1;

	if (have == k && !(next.distance < best[at].distance))
		return;
	for (; at > 0 && next.distance < best[at - 1].distance; at--)
		best[at] = best[at - 1];
	best[at] = next;
}

static sp_status check(const sp_call *call)
{
	SP_TRY(sp_array__need_rank(call, 0, 2));
	SP_TRY(sp_array__need_rank(call, 1, 2));
	SP_TRY(sp_array__need_rank(call, 2, 0));
	if (call->in[0]->shape.dims[0] == 0)
		return sp_call_invalid(call, "Expected points.rows() > 0.");
	if (call->in[0]->shape.dims[1] != call->in[1]->shape.dims[1])
		return sp_call_invalid(
			call, "Expected point_dimensions == center_dimensions: %lld vs %lld.",
			(long long)call->in[0]->shape.dims[1],
			(long long)call->in[1]->shape.dims[1]);
	if (*sp_tensor_i64(call->in[2]) < 0)
		return sp_call_invalid(call, "Expected k >= 0.");
	return SP_OK;
}

/* The neighbors of a point; `norms` are half the squares of the centers' lengths. */
static void find(const sp_call *call, const float *point, const float *norms, neighbor *best,
		 size_t k)
{
	const sp_tensor *centers = call->in[1];
	size_t dims = (size_t)centers->shape.dims[1];
	size_t count = (size_t)centers->shape.dims[0];

	for (size_t c = 0; c < count; c++)
		keep(best, k, c < k ? c : k,
		     (neighbor){norms[c] - dot(point, sp_tensor_f32(centers) + c * dims, dims),
				(int64_t)c});
}

static sp_status run_neighbors(const sp_call *call)
{
	const sp_tensor *points = call->in[0], *centers = call->in[1];
	size_t count, dims, k;
	sp_shape shape;
	neighbor *best;
	float *norms;

	SP_TRY(check(call));
	count = (size_t)centers->shape.dims[0];
	dims = (size_t)centers->shape.dims[1];
	k = (uint64_t)*sp_tensor_i64(call->in[2]) < count ? (size_t)*sp_tensor_i64(call->in[2])
							  : count;
	shape = sp_shape_matrix(points->shape.dims[0], (int64_t)k);
	SP_TRY(sp_call_output(call, 0, SP_INT64, &shape));
	SP_TRY(sp_call_output(call, 1, SP_FLOAT, &shape));
	best = sp_call_bytes(call, k, sizeof(*best));
	norms = sp_call_bytes(call, count, sizeof(*norms));
	if (best == NULL || norms == NULL)
		return sp_call_no_memory(call);
	for (size_t c = 0; c < count; c++)
		norms[c] = 0.5F * dot(sp_tensor_f32(centers) + c * dims,
				      sp_tensor_f32(centers) + c * dims, dims);
	for (size_t i = 0; k != 0 && i < (size_t)points->shape.dims[0]; i++) {
		const float *point = sp_tensor_f32(points) + i * dims;
		float own = 0.5F * dot(point, point, dims);

		find(call, point, norms, best, k);
		for (size_t j = 0; j < k; j++) {
			sp_tensor_i64(call->out[0])[i * k + j] = best[j].center;
			sp_tensor_f32(call->out[1])[i * k + j] = 2 * (own + best[j].distance);
		}
	}
	return SP_OK;
}

static sp_status prepare_neighbors(sp_prepare *prepare, sp_error *err)
{
	SP_TRY(sp_prepare_inputs(prepare, 3, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 0, SP_FLOAT, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 1, SP_FLOAT, err));
	SP_TRY(sp_prepare_input_dtype(prepare, 2, SP_INT64, err));
	SP_TRY(sp_prepare_outputs(prepare, 2, SP_INT64, err));
	prepare->out_dtypes[1] = SP_FLOAT;
	return SP_OK;
}

const sp_op sp_op_NearestNeighbors = {
	.name = "NearestNeighbors",
	.outputs = "nearest_center_indices nearest_center_distances",
	.prepare = prepare_neighbors,
	.run = run_neighbors,
};
