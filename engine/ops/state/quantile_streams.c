#include "engine/ops/state/resource_handle.h"

/*
 * The quantile boundaries of boosted trees' features. Training collects them; a checkpoint holds
 * the boundaries of each feature's buckets, and prediction reads them.
 *
 * BoostedTreesQuantileStreamResourceGetBucketBoundaries: the boundaries, one vector per feature.
 *
 * BoostedTreesBucketize: for each feature, a vector of numbers or a matrix [rows, 1] becomes int32
 * [rows]: the index of the first boundary that is not below the number, or of the last boundary.
 * Without boundaries it is 0.
 */
enum { MAX_STREAMS = 1 << 20 };

static sp_status prepare_handle(sp_prepare *prepare, sp_error *err)
{
	return sp_resource_handle__prepare(prepare, SP_RESOURCE_QUANTILES, SP_INVALID_DTYPE,
					   SP_INVALID_DTYPE, NULL, err);
}

static sp_status find(const sp_call *call, sp_resource **out)
{
	return sp_resources_get(call->resources, call->in[0], SP_RESOURCE_QUANTILES, out,
				call->err);
}

static sp_status find_boundaries(const sp_call *call, size_t count, sp_resource **out)
{
	SP_TRY(find(call, out));
	if ((*out)->boundaries == NULL)
		return sp_call_invalid(call, "the quantiles '%s' are not initialized",
				       (*out)->name);
	if ((*out)->boundary_count != count)
		return sp_call_invalid(call, "the quantiles '%s' are of %zu features, not %zu",
				       (*out)->name, (*out)->boundary_count, count);
	return SP_OK;
}

/* Creates `num_streams` features without boundaries; an existing resource is left as it is. */
static sp_status run_create(const sp_call *call)
{
	sp_resource *resource;
	sp_tensor *streams;
	int64_t count;

	SP_TRY(find(call, &resource));
	if (resource->boundaries != NULL)
		return SP_OK;
	SP_TRY(sp_call_scalar(call, 2, &count));
	if (count < 0 || count > MAX_STREAMS)
		return sp_call_invalid(call, "there cannot be quantiles of %lld features",
				       (long long)count);
	streams = sp_arena_zeros(call->resources->arena, (size_t)count, sizeof(*streams));
	if (streams == NULL)
		return sp_call_no_memory(call);
	for (int64_t i = 0; i < count; i++)
		streams[i] = (sp_tensor){.dtype = SP_FLOAT, .shape = sp_shape_vector(0)};
	resource->boundaries = streams;
	resource->boundary_count = (size_t)count;
	return SP_OK;
}

/* quantile_stream_resource_handle, bucket_boundaries: num_streams vectors */
static sp_status run_deserialize(const sp_call *call)
{
	sp_resource *resource;
	sp_tensor *streams;
	size_t count = call->in_count - 1;

	SP_TRY(find_boundaries(call, count, &resource));
	streams = sp_arena_zeros(call->resources->arena, count, sizeof(*streams));
	if (streams == NULL)
		return sp_call_no_memory(call);
	for (size_t i = 0; i < count; i++) {
		SP_TRY(sp_call_need_rank(call, i + 1, 1));
		SP_TRY(sp_tensor_copy(&streams[i], call->resources->arena, call->in[i + 1],
				      call->err));
	}
	resource->boundaries = streams;
	return SP_OK;
}

static sp_status run_is_initialized(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find(call, &resource));
	return sp_resource_handle__answer(call, resource->boundaries != NULL);
}

/* Reads `num_features`, the number of outputs. */
static sp_status prepare_features(sp_prepare *prepare, sp_dtype dtype, int64_t *count,
				  sp_error *err)
{
	SP_TRY(sp_node_attr_int(prepare->node, "num_features", 0, count, err));
	if (*count < 0 || *count > MAX_STREAMS)
		return sp_error_set(err, SP_INVALID, "num_features is %lld", (long long)*count);
	return sp_prepare_outputs(prepare, (size_t)*count, dtype, err);
}

static sp_status prepare_get(sp_prepare *prepare, sp_error *err)
{
	int64_t count;

	SP_TRY(sp_prepare_types(prepare, "resource", err));
	return prepare_features(prepare, SP_FLOAT, &count, err);
}

static sp_status run_get(const sp_call *call)
{
	sp_resource *resource;

	SP_TRY(find_boundaries(call, call->out_count, &resource));
	for (size_t i = 0; i < call->out_count; i++)
		*call->out[i] = resource->boundaries[i];
	return SP_OK;
}

/* float_values: num_features, bucket_boundaries: num_features */
static sp_status prepare_bucketize(sp_prepare *prepare, sp_error *err)
{
	int64_t count;

	SP_TRY(prepare_features(prepare, SP_INT32, &count, err));
	SP_TRY(sp_prepare_inputs(prepare, 2 * (size_t)count, err));
	return sp_prepare_types(prepare, "float*", err);
}

/* The first boundary that is not below x, or the last; a NaN is not above any. */
static int32_t bucket_of(const float *boundaries, size_t count, float x)
{
	size_t first = 0, last = count;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (boundaries[middle] < x)
			first = middle + 1;
		else
			last = middle;
	}
	return (int32_t)(first < count || count == 0 ? first : count - 1);
}

static sp_status check_feature(const sp_call *call, size_t i)
{
	const sp_tensor *values = call->in[i], *boundaries = call->in[call->out_count + i];

	if (boundaries->shape.rank != 1)
		return sp_call_invalid(call, "Buckets should be flat vectors.");
	if (values->shape.rank < 1 || values->count != (size_t)values->shape.dims[0])
		return sp_call_invalid(call, "feature %zu is not one number a row", i);
	if (boundaries->count > INT32_MAX)
		return sp_call_invalid(call, "feature %zu has too many boundaries", i);
	return SP_OK;
}

static sp_status run_bucketize(const sp_call *call)
{
	for (size_t i = 0; i < call->out_count; i++) {
		const sp_tensor *values = call->in[i], *boundaries = call->in[call->out_count + i];
		int32_t *out;

		SP_TRY(check_feature(call, i));
		SP_TRY(sp_call_output_vector(call, i, SP_INT32, (int64_t)values->count));
		out = sp_tensor_i32(call->out[i]);
		for (size_t j = 0; j < values->count; j++)
			out[j] = bucket_of(sp_tensor_f32(boundaries), boundaries->count,
					   sp_tensor_f32(values)[j]);
	}
	return SP_OK;
}

SP_DEFINE_OP(BoostedTreesQuantileStreamResourceHandleOp, "resource", 0, prepare_handle,
	     sp_resource_handle__run);
/* quantile_stream_resource_handle, epsilon, num_streams */
SP_DEFINE_TYPED_OP(BoostedTreesCreateQuantileStreamResource, "", SP_OP_STATEFUL | SP_OP_LOAD_ONLY,
		   "resource float int64 ->", run_create);
SP_DEFINE_TYPED_OP(BoostedTreesQuantileStreamResourceDeserialize, "",
		   SP_OP_STATEFUL | SP_OP_LOAD_ONLY, "resource float* ->", run_deserialize);
SP_DEFINE_TYPED_OP(IsBoostedTreesQuantileStreamResourceInitialized, "is_initialized",
		   SP_OP_READS_VARIABLE, "resource -> bool", run_is_initialized);
SP_DEFINE_OP(BoostedTreesQuantileStreamResourceGetBucketBoundaries,
	     "bucket_boundaries:num_features", SP_OP_READS_VARIABLE, prepare_get, run_get);
SP_DEFINE_OP(BoostedTreesBucketize, "buckets:num_features", 0, prepare_bucketize, run_bucketize);
