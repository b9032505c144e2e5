#include "model_loader/proto/unpack.h"
#include "model_loader/proto/sorted_names.h"
#include "model_loader/saved_model/signature_def.h"

/* -------------------------------------------------------------------- tensors */

/* The list being filled.  An entry of the file is one tensor or a composite of several. */
typedef struct tensor_list {
	sp_tensor_info *items;
	size_t count;
	sp_arena *arena;
	sp_error *err;
} tensor_list;

static sp_status add_tensor(tensor_list *list, const char *alias, const ProtobufCBinaryData *name,
			    int32_t dtype, const SpPb__TensorShapeProto *shape)
{
	sp_tensor_info *info = &list->items[list->count++];

	*info = (sp_tensor_info){.alias = alias, .tensor_name = "", .shape.rank = -1};
	SP_NEED_MEMORY(alias, list->err, "the signatures");
	SP_TRY(sp_message_text(&info->tensor_name, name, "a tensor's name", list->arena,
			       list->err));
	info->dtype = sp_proto__dtype(dtype);
	if (shape != NULL && shape->n_dim <= SP_MAX_RANK)
		return sp_proto__partial_shape(&info->shape, shape, list->err);
	return SP_OK;
}

/* Adds the three tensors of a sparse one, with the names of TensorFlow's placeholders. */
static sp_status add_sparse(tensor_list *list, const char *alias, const SpPb__TensorInfo *info)
{
	const SpPb__TensorInfo__CooSparse *sparse = info->coo_sparse;
	const struct {
		const char *part;
		const ProtobufCBinaryData *name;
		int32_t dtype;
		int rank;
	} parts[] = {{"indices", &sparse->indices_tensor_name, SP_INT64, 2},
		     {"values", &sparse->values_tensor_name, info->dtype, 1},
		     {"shape", &sparse->dense_shape_tensor_name, SP_INT64, 1}};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		SP_TRY(add_tensor(list, sp_arena_printf(list->arena, "%s/%s", alias, parts[i].part),
				  parts[i].name, parts[i].dtype, NULL));
		list->items[list->count - 1].shape = (sp_partial_shape){.rank = parts[i].rank,
									.dims = {-1, -1}};
	}
	return SP_OK;
}

static sp_status add_composite(tensor_list *list, const char *alias,
			       const SpPb__TensorInfo__CompositeTensor *composite)
{
	for (size_t i = 0; i < composite->n_components; i++) {
		const SpPb__TensorInfo__Component *part = composite->components[i];

		SP_TRY(add_tensor(list, sp_arena_printf(list->arena, "%s/%zu", alias, i),
				  &part->name, part->dtype, part->tensor_shape));
	}
	return SP_OK;
}

static sp_status add_entry(tensor_list *list, const SpPb__TensorInfoEntry *entry)
{
	static const ProtobufCBinaryData nameless = {0, NULL};
	const SpPb__TensorInfo *info = entry->value;
	const char *alias;

	SP_TRY(sp_message_text(&alias, &entry->key, "a tensor's alias", list->arena, list->err));
	if (info == NULL)
		return sp_error_set(list->err, SP_CORRUPT, "tensor %s says nothing", alias);
	switch (info->encoding_case) {
	case SP_PB__TENSOR_INFO__ENCODING_NAME:
		return add_tensor(list, alias, &info->name, info->dtype, info->tensor_shape);
	case SP_PB__TENSOR_INFO__ENCODING_COO_SPARSE:
		return add_sparse(list, alias, info);
	case SP_PB__TENSOR_INFO__ENCODING_COMPOSITE_TENSOR:
		return add_composite(list, alias, info->composite_tensor);
	default:
		return add_tensor(list, alias, &nameless, info->dtype, info->tensor_shape);
	}
}

/* The number of tensors in all entries. */
static size_t count_tensors(SpPb__TensorInfoEntry *const *entries, size_t count)
{
	size_t total = 0;

	for (size_t i = 0; i < count; i++) {
		const SpPb__TensorInfo *info = entries[i]->value;

		if (info != NULL && info->encoding_case == SP_PB__TENSOR_INFO__ENCODING_COO_SPARSE)
			total += 3;
		else if (info != NULL &&
			 info->encoding_case == SP_PB__TENSOR_INFO__ENCODING_COMPOSITE_TENSOR)
			total += info->composite_tensor->n_components;
		else
			total++;
	}
	return total;
}

static sp_status read_tensors(sp_tensor_info **out, size_t *out_count,
			      SpPb__TensorInfoEntry *const *entries, size_t count, sp_arena *arena,
			      sp_error *err)
{
	tensor_list list = {.arena = arena, .err = err};
	const char *twice;

	list.items = sp_arena_array(arena, count_tensors(entries, count), sizeof(*list.items));
	SP_NEED_MEMORY(list.items, err, "the signatures");
	for (size_t i = 0; i < count; i++)
		SP_TRY(add_entry(&list, entries[i]));
	twice = sp_sorted_names_make(list.items, list.count, sizeof(*list.items));
	if (twice != NULL)
		return sp_error_set(err, SP_CORRUPT, "tensor %s is given twice", twice);
	*out = list.items;
	*out_count = list.count;
	return SP_OK;
}

/* ------------------------------------------------------------------- defaults */

static sp_status read_default(sp_tensor_info *inputs, size_t count, const SpPb__DefaultEntry *entry,
			      sp_proto_target *target, sp_error *err)
{
	sp_tensor_info *info;
	sp_tensor *value;
	const char *alias;

	SP_TRY(sp_message_text(&alias, &entry->key, "a default's alias", target->arena, err));
	info = sp_sorted_names_find(inputs, count, sizeof(*inputs), alias);
	if (info == NULL || entry->value == NULL)
		return sp_error_set(err, SP_CORRUPT, "the default of %s has no %s", alias,
				    info == NULL ? "input" : "value");
	value = sp_arena_alloc(target->arena, sizeof(*value));
	SP_NEED_MEMORY(value, err, "the signatures");
	SP_TRY(sp_proto__tensor(value, entry->value, target, err));
	if (value->dtype != info->dtype)
		return sp_error_set(err, SP_CORRUPT, "the default of %s is %s, not %s", alias,
				    sp_dtype_name(value->dtype), sp_dtype_name(info->dtype));
	info->default_value = value;
	return SP_OK;
}

/* ----------------------------------------------------------------- signatures */

static sp_status read_parts(sp_signature *out, const SpPb__SignatureDef *signature,
			    sp_proto_target *target, sp_error *err)
{
	sp_tensor_info *inputs, *outputs;

	SP_TRY(sp_message_text(&out->method, &signature->method_name, "a method's name",
			       target->arena, err));
	SP_TRY(read_tensors(&inputs, &out->input_count, signature->inputs, signature->n_inputs,
			    target->arena, err));
	SP_TRY(read_tensors(&outputs, &out->output_count, signature->outputs, signature->n_outputs,
			    target->arena, err));
	for (size_t i = 0; i < signature->n_defaults; i++)
		SP_TRY(read_default(inputs, out->input_count, signature->defaults[i], target, err));
	out->inputs = inputs;
	out->outputs = outputs;
	return SP_OK;
}

static sp_status read_signature(sp_signature *out, const SpPb__SignatureEntry *entry,
				sp_proto_target *target, sp_error *err)
{
	sp_status status;

	*out = (sp_signature){.method = ""};
	SP_TRY(sp_message_text(&out->name, &entry->key, "a signature's name", target->arena, err));
	if (entry->value == NULL)
		return sp_error_set(err, SP_CORRUPT, "signature %s says nothing", out->name);
	status = read_parts(out, entry->value, target, err);
	return sp_error_prefix(err, status, "signature %s", out->name);
}

sp_status sp_saved_model__read_signatures(sp_saved_model *out, const SpPb__MetaGraphDef *meta,
					  sp_proto_target *target, sp_error *err)
{
	sp_signature *items = sp_arena_array(target->arena, meta->n_signature_def, sizeof(*items));
	const char *twice;
	size_t count = 0;

	SP_NEED_MEMORY(items, err, "the signatures");
	for (size_t i = 0; i < meta->n_signature_def; i++)
		if (!sp_bytes_equal_text(sp_message_bytes(&meta->signature_def[i]->key),
					 SP_INIT_OP_SIGNATURE))
			SP_TRY(read_signature(&items[count++], meta->signature_def[i], target,
					      err));
	twice = sp_sorted_names_make(items, count, sizeof(*items));
	if (twice != NULL)
		return sp_error_set(err, SP_CORRUPT, "signature %s is given twice", twice);
	out->signatures = items;
	out->signature_count = count;
	return SP_OK;
}

const sp_signature *sp_saved_model_signature(const sp_saved_model *model, const char *name)
{
	return sp_sorted_names_find(model->signatures, model->signature_count,
				    sizeof(*model->signatures), name);
}
