#include "api/host/infer/batch_join.h"

#include <string.h>

#include "api/host/infer/tensors.h"

enum { FIRST_ARENA = 2 << 10 };

/* ------------------------------------------------------------------- requests */

/* Whether the signature leaves the first dimension open. */
static bool is_open(const serving_processor_tensor_info *info)
{
	return info->rank < 0 || (info->rank > 0 && info->dims[0] < 0);
}

static bool is_output_open(const serving_processor_signature *signature, const char *name)
{
	for (size_t i = 0; i < signature->output_count; i++) {
		const serving_processor_tensor_info *info = signature->outputs[i];

		if (strcmp(info->alias, name) == 0 || strcmp(info->tensor_name, name) == 0)
			return is_open(info);
	}
	return false;
}

static bool is_signature_open(const sp_infer_request *request)
{
	const serving_processor_signature *signature = request->signature;

	for (size_t i = 0; i < signature->input_count; i++)
		if (!is_open(signature->inputs[i]))
			return false;
	for (size_t i = 0; request->output_count == 0 && i < signature->output_count; i++)
		if (!is_open(signature->outputs[i]))
			return false;
	for (size_t i = 0; i < request->output_count; i++)
		if (!is_output_open(signature, request->outputs[i]))
			return false;
	return true;
}

size_t sp_batch_rows(const sp_infer_request *request)
{
	const serving_processor_tensor *inputs = request->inputs;
	int64_t rows;

	if (request->input_count == 0 || inputs[0].rank < 1 || !is_signature_open(request))
		return 0;
	rows = inputs[0].dims[0];
	if (rows <= 0)
		return 0;
	for (size_t i = 0; i < request->input_count; i++)
		if (inputs[i].rank < 1 || inputs[i].dims[0] != rows ||
		    inputs[i].count % (size_t)rows != 0 ||
		    sp_tensor_element_size(inputs[i].dtype) == 0)
			return 0;
	return (size_t)rows;
}

static bool is_same_name(const char *a, const char *b)
{
	return a == b || strcmp(a, b) == 0;
}

static bool is_same_input(const serving_processor_tensor *a, const serving_processor_tensor *b)
{
	if (a->dtype != b->dtype || a->rank != b->rank)
		return false;
	for (int d = 1; d < a->rank; d++)
		if (a->dims[d] != b->dims[d])
			return false;
	return is_same_name(a->name, b->name);
}

bool sp_batch_are_alike(const sp_infer_request *a, const sp_infer_request *b)
{
	if (a->signature != b->signature || a->input_count != b->input_count ||
	    a->output_count != b->output_count)
		return false;
	for (size_t i = 0; i < a->input_count; i++)
		if (!is_same_input(&a->inputs[i], &b->inputs[i]))
			return false;
	for (size_t i = 0; i < a->output_count; i++)
		if (!is_same_name(a->outputs[i], b->outputs[i]))
			return false;
	return true;
}

static size_t row_count(const serving_processor_tensor *tensor)
{
	return tensor->count / (size_t)tensor->dims[0];
}

/* A tensor like `like`, but with so many rows, and its shape in the arena; false: no memory. */
static bool set_rows(serving_processor_tensor *out, const serving_processor_tensor *like,
		     size_t rows, size_t row_elements, sp_arena *arena)
{
	int64_t *dims = sp_arena_array(arena, (size_t)like->rank, sizeof(*dims));

	if (dims == NULL)
		return false;
	memcpy(dims, like->dims, (size_t)like->rank * sizeof(*dims));
	dims[0] = (int64_t)rows;
	*out = *like;
	out->dims = dims;
	out->count = rows * row_elements;
	return true;
}

static bool join_input(serving_processor_tensor *out, const sp_infer_request *const *requests,
		       size_t count, size_t input, size_t rows, sp_arena *arena)
{
	const serving_processor_tensor *first = &requests[0]->inputs[input];
	size_t elements = row_count(first), done = 0;
	size_t row_bytes = elements * sp_tensor_element_size(first->dtype);
	char *data = sp_arena_array(arena, rows, row_bytes);

	if (data == NULL || !set_rows(out, first, rows, elements, arena))
		return false;
	out->data = data;
	if (row_bytes == 0)
		return true;
	for (size_t i = 0; i < count; i++) {
		const serving_processor_tensor *tensor = &requests[i]->inputs[input];
		size_t own = (size_t)tensor->dims[0];

		memcpy(data + done * row_bytes, tensor->data, own * row_bytes);
		done += own;
	}
	for (; done < rows; done++)
		memcpy(data + done * row_bytes, first->data, row_bytes);
	return true;
}

bool sp_batch_join(sp_infer_request *out, const sp_infer_request *const *requests, size_t count,
		   size_t rows, sp_arena *arena)
{
	const sp_infer_request *first = requests[0];
	serving_processor_tensor *inputs = sp_arena_array(arena, first->input_count,
							  sizeof(*inputs));

	if (inputs == NULL)
		return false;
	for (size_t i = 0; i < first->input_count; i++)
		if (!join_input(&inputs[i], requests, count, i, rows, arena))
			return false;
	*out = *first;
	out->inputs = inputs;
	return true;
}

/* Views of `rows` rows from `first` on; NULL when out of memory. */
static serving_processor_tensor *view_rows(const serving_processor_tensor *tensors, size_t count,
					   size_t first, size_t rows, sp_arena *arena)
{
	serving_processor_tensor *views = sp_arena_array(arena, count, sizeof(*views));

	for (size_t i = 0; views != NULL && i < count; i++) {
		const serving_processor_tensor *tensor = &tensors[i];
		size_t elements = row_count(tensor);
		size_t row_bytes = elements * sp_tensor_element_size(tensor->dtype);

		if (!set_rows(&views[i], tensor, rows, elements, arena))
			return NULL;
		if (row_bytes != 0)
			views[i].data = (const char *)tensor->data + first * row_bytes;
	}
	return views;
}

bool sp_batch_slice(sp_infer_request *out, const sp_infer_request *request, size_t first,
		    size_t rows, sp_arena *arena)
{
	*out = *request;
	out->inputs = view_rows(request->inputs, request->input_count, first, rows, arena);
	return out->inputs != NULL;
}

/* -------------------------------------------------------------------- results */

struct sp_made_outputs {
	sp_arena *arena; /* of this struct and all tensors */
	atomic_size_t users;
	sp_infer_result *kept; /* [kept_count] that the tensors are views of */
	size_t kept_count;
};

static sp_made_outputs *make_outputs(size_t kept_count, size_t users, sp_budget *budget)
{
	sp_arena *arena = sp_arena_create(FIRST_ARENA);
	sp_made_outputs *made;

	if (arena == NULL)
		return NULL;
	sp_arena_set_budget(arena, budget);
	made = sp_arena_zeros(arena, 1, sizeof(*made));
	if (made != NULL)
		made->kept = sp_arena_zeros(arena, kept_count, sizeof(*made->kept));
	if (made == NULL || made->kept == NULL) {
		sp_arena_destroy(arena);
		return NULL;
	}
	made->arena = arena;
	atomic_init(&made->users, users);
	return made;
}

void sp_made_outputs_release(sp_made_outputs *made)
{
	if (made == NULL || atomic_fetch_sub(&made->users, 1) != 1)
		return;
	for (size_t i = 0; i < made->kept_count; i++)
		sp_infer_result_fini(&made->kept[i]);
	sp_arena_destroy(made->arena);
}

bool sp_batch_has_rows(const sp_infer_result *result, size_t rows)
{
	for (size_t i = 0; i < result->count; i++)
		if (result->tensors[i].rank < 1 || result->tensors[i].dims[0] != (int64_t)rows)
			return false;
	return true;
}

bool sp_batch_split(sp_infer_result *const *parts, const size_t *rows, size_t count,
		    sp_infer_result *whole)
{
	sp_made_outputs *made = make_outputs(1, count, NULL);
	size_t first = 0;

	if (made == NULL)
		return false;
	for (size_t i = 0; i < count; first += rows[i++]) {
		const serving_processor_tensor *views = view_rows(whole->tensors, whole->count,
								  first, rows[i], made->arena);

		if (views == NULL) {
			sp_arena_destroy(made->arena);
			return false;
		}
		*parts[i] = (sp_infer_result){views, whole->count, whole->run_ns, NULL, made};
	}
	made->kept[0] = *whole;
	made->kept_count = 1;
	*whole = (sp_infer_result){0};
	return true;
}

static bool do_outputs_fit(const sp_infer_result *parts, size_t count, size_t output)
{
	const serving_processor_tensor *first = &parts[0].tensors[output];

	for (size_t i = 0; i < count; i++) {
		if (output >= parts[i].count || parts[i].tensors[output].rank < 1)
			return false;
		if (!is_same_input(first, &parts[i].tensors[output]))
			return false;
	}
	return sp_tensor_element_size(first->dtype) != 0;
}

static bool gather_output(serving_processor_tensor *out, const sp_infer_result *parts, size_t count,
			  size_t output, sp_arena *arena)
{
	const serving_processor_tensor *first = &parts[0].tensors[output];
	size_t element = sp_tensor_element_size(first->dtype), elements = 0, rows = 0;
	char *data;

	for (size_t i = 0; i < count; i++) {
		rows += (size_t)parts[i].tensors[output].dims[0];
		elements += parts[i].tensors[output].count;
	}
	data = sp_arena_array(arena, elements, element);
	if (data == NULL || !set_rows(out, first, rows, 0, arena))
		return false;
	out->count = elements;
	out->data = data;
	for (size_t i = 0; i < count; i++) {
		size_t size = parts[i].tensors[output].count * element;

		if (size != 0)
			memcpy(data, parts[i].tensors[output].data, size);
		data += size;
	}
	return true;
}

bool sp_batch_gather(sp_infer_result *out, sp_infer_result *parts, size_t count, sp_budget *budget)
{
	sp_made_outputs *made = make_outputs(count, 1, budget);
	serving_processor_tensor *tensors = made != NULL
						    ? sp_arena_array(made->arena, parts[0].count,
								     sizeof(*tensors))
						    : NULL;
	bool fits = tensors != NULL;

	for (size_t i = 0; fits && i < parts[0].count; i++)
		fits = do_outputs_fit(parts, count, i) &&
		       gather_output(&tensors[i], parts, count, i, made->arena);
	if (!fits) {
		if (made != NULL)
			sp_arena_destroy(made->arena);
		return false;
	}
	*out = (sp_infer_result){tensors, parts[0].count, 0, NULL, made};
	for (size_t i = 0; i < count; i++) {
		out->run_ns += parts[i].run_ns;
		made->kept[i] = parts[i];
		parts[i] = (sp_infer_result){0};
	}
	made->kept_count = count;
	return true;
}
