#include "engine/stablehlo/vhlo.h"

#include <string.h>

#include "base/size.h"

/*
 * An attribute or type begins with a code of StableHLO's bytecode that says what it is.  Nested
 * attributes and types are indices of other entries; each reader follows a fixed number of levels.
 */

typedef enum attribute_code {
	ARRAY = 1,
	BOOLEAN = 2,
	COMPARISON_DIRECTION = 3,
	COMPARISON_TYPE = 4,
	API_VERSION = 5,
	DICTIONARY = 6,
	FFT_TYPE = 7,
	FLOAT = 8,
	INTEGER = 9,
	PRECISION = 11,
	RNG_ALGORITHM = 12,
	RNG_DISTRIBUTION = 13,
	STRING = 14,
	TENSOR = 15,
	TRANSPOSE = 16,
} attribute_code;

typedef enum type_number {
	COMPLEX_TYPE = 1,
	TENSOR_TYPE = 20,
	TENSOR_TYPE_WITH_ENCODING = 21,
	TOKEN_TYPE = 22,
} type_number;

/* For one operation. */
enum { MAX_ATTRIBUTES = 256 };

/* Builtin dialect: the dictionary of an operation's attributes, and their names. */
enum { BUILTIN_DICTIONARY = 1, BUILTIN_STRING = 2 };

/* Attributes in the order in which the newer encoding writes them. */
static const struct {
	const char *op;
	const char *names;
} orders[] = {
	{"batch_norm_inference_v1", "epsilon feature_index"},
	{"broadcast_in_dim_v1", "broadcast_dimensions"},
	{"call_v1", "callee"},
	{"cbrt_v2", "result_accuracy"},
	{"cholesky_v1", "lower"},
	{"compare_v1", "compare_type comparison_direction"},
	{"composite_v1", "composite_attributes decomposition name version"},
	{"composite_v2", "composite_attributes decomposition name version"},
	{"concatenate_v1", "dimension"},
	{"constant_v1", "value"},
	{"convolution_v1",
	 "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
	 "input_spatial_dimensions kernel_input_feature_dimension kernel_output_feature_dimension "
	 "kernel_spatial_dimensions lhs_dilation output_batch_dimension output_feature_dimension "
	 "output_spatial_dimensions padding precision_config rhs_dilation window_reversal "
	 "window_strides"},
	{"cosine_v2", "result_accuracy"},
	{"custom_call_v1", "api_version backend_config call_target_name called_computations "
			   "has_side_effect operand_layouts output_operand_aliases result_layouts"},
	{"custom_call_v2",
	 "api_version backend_config call_target_name called_computations has_side_effect "
	 "operand_layouts output_operand_aliases result_layouts result_tilings"},
	{"dot_general_v1", "lhs_batching_dimensions lhs_contracting_dimensions precision_config "
			   "rhs_batching_dimensions rhs_contracting_dimensions"},
	{"dot_general_v2",
	 "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions "
	 "lhs_component_count lhs_contracting_dimensions lhs_precision_type "
	 "num_primitive_operations precision_config rhs_batching_dimensions rhs_component_count "
	 "rhs_contracting_dimensions rhs_precision_type"},
	{"dynamic_broadcast_in_dim_v1",
	 "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"},
	{"dynamic_gather_v1",
	 "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map"},
	{"dynamic_gather_v2",
	 "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims "
	 "operand_batching_dims start_index_map start_indices_batching_dims"},
	{"dynamic_iota_v1", "iota_dimension"},
	{"dynamic_slice_v1", "slice_sizes"},
	{"exponential_minus_one_v2", "result_accuracy"},
	{"exponential_v2", "result_accuracy"},
	{"fft_v1", "fft_length fft_type"},
	{"func_v1", "arg_attrs function_type res_attrs sym_name sym_visibility"},
	{"gather_v1", "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims "
		      "slice_sizes start_index_map"},
	{"gather_v2", "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims "
		      "operand_batching_dims slice_sizes start_index_map "
		      "start_indices_batching_dims"},
	{"get_dimension_size_v1", "dimension"},
	{"get_tuple_element_v1", "index"},
	{"iota_v1", "iota_dimension"},
	{"log_plus_one_v2", "result_accuracy"},
	{"log_v2", "result_accuracy"},
	{"logistic_v2", "result_accuracy"},
	{"map_v1", "dimensions"},
	{"pad_v1", "edge_padding_high edge_padding_low interior_padding"},
	{"reduce_precision_v1", "exponent_bits mantissa_bits"},
	{"reduce_v1", "dimensions"},
	{"reduce_window_v1",
	 "base_dilations padding window_dilations window_dimensions window_strides"},
	{"reverse_v1", "dimensions"},
	{"rng_bit_generator_v1", "rng_algorithm"},
	{"rsqrt_v2", "result_accuracy"},
	{"scatter_v1", "index_vector_dim indices_are_sorted inserted_window_dims "
		       "scatter_dims_to_operand_dims unique_indices update_window_dims"},
	{"scatter_v2", "index_vector_dim indices_are_sorted input_batching_dims "
		       "inserted_window_dims scatter_dims_to_operand_dims "
		       "scatter_indices_batching_dims unique_indices update_window_dims"},
	{"set_dimension_size_v1", "dimension"},
	{"sine_v2", "result_accuracy"},
	{"slice_v1", "limit_indices start_indices strides"},
	{"sort_v1", "dimension is_stable"},
	{"sqrt_v2", "result_accuracy"},
	{"tan_v2", "result_accuracy"},
	{"tanh_v2", "result_accuracy"},
	{"transpose_v1", "permutation"},
	{"triangular_solve_v1", "left_side lower transpose_a unit_diagonal"},
};

static sp_status corrupt(sp_error *err, const char *what)
{
	return sp_error_set(err, SP_CORRUPT, "the module is broken: %s", what);
}

/* Opens an entry of the expected dialect and reads its code. */
static bool open_entry(const sp_mlir_entry *entry, const char *dialect, uint64_t *code,
		       sp_mlir_cursor *out)
{
	*out = entry->bytes;
	return !entry->is_text && strcmp(entry->dialect, dialect) == 0 &&
	       sp_mlir_read_number(out, code);
}

/* ------------------------------------------------------------------ types */

static bool read_element(const sp_mlir_module *module, uint32_t type, uint64_t *code,
			 sp_mlir_cursor *cursor)
{
	return open_entry(&module->types[type], "vhlo", code, cursor);
}

static sp_status element_type(const sp_mlir_module *module, uint32_t type, sp_dtype *out,
			      sp_error *err)
{
	static const sp_dtype dtypes[] = {
		[0] = SP_BOOL,    [2] = SP_BFLOAT16, [3] = SP_HALF,    [4] = SP_FLOAT,
		[5] = SP_DOUBLE,  [11] = SP_INT8,    [12] = SP_INT16,  [13] = SP_INT32,
		[14] = SP_INT64,  [16] = SP_UINT8,   [17] = SP_UINT16, [18] = SP_UINT32,
		[19] = SP_UINT64,
	};
	sp_mlir_cursor cursor;
	uint64_t code, part;
	uint32_t inner;

	if (!read_element(module, type, &code, &cursor))
		return corrupt(err, "the element type of a tensor");
	*out = code < sizeof(dtypes) / sizeof(dtypes[0]) ? dtypes[code] : SP_INVALID_DTYPE;
	if (code == COMPLEX_TYPE) {
		if (!sp_mlir_read_index(&cursor, module->type_count, &inner) ||
		    !read_element(module, inner, &part, &cursor))
			return corrupt(err, "a complex type");
		*out = part == 4 ? SP_COMPLEX64 : part == 5 ? SP_COMPLEX128 : SP_INVALID_DTYPE;
	}
	if (*out == SP_INVALID_DTYPE)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the module has tensors of VHLO's element type %llu",
				    (unsigned long long)code);
	return SP_OK;
}

sp_status sp_vhlo_read_type(const sp_mlir_module *module, uint32_t type, sp_vhlo_type *out,
			    sp_error *err)
{
	sp_mlir_cursor cursor;
	uint64_t code;
	uint32_t encoding, element;
	size_t rank;

	*out = (sp_vhlo_type){.rank = 0};
	if (!open_entry(&module->types[type], "vhlo", &code, &cursor))
		return corrupt(err, "a type");
	out->is_token = code == TOKEN_TYPE;
	if (out->is_token)
		return SP_OK;
	if (code != TENSOR_TYPE && code != TENSOR_TYPE_WITH_ENCODING)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the module has values of VHLO's type %llu",
				    (unsigned long long)code);
	/* The encoding states upper bounds of dimensions only. */
	if (code == TENSOR_TYPE_WITH_ENCODING &&
	    !sp_mlir_read_index(&cursor, module->attribute_count, &encoding))
		return corrupt(err, "the encoding of a type");
	if (!sp_mlir_read_count(&cursor, &rank))
		return corrupt(err, "the rank of a type");
	if (rank > SP_MAX_RANK)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the module has a tensor of rank %zu; the highest is %d", rank,
				    SP_MAX_RANK);
	out->rank = (int32_t)rank;
	for (size_t i = 0; i < rank; i++) {
		if (!sp_mlir_read_signed(&cursor, &out->dims[i]) ||
		    (out->dims[i] < 0 && out->dims[i] != INT64_MIN))
			return corrupt(err, "a dimension");
		if (out->dims[i] < 0)
			out->dims[i] = -1;
	}
	if (!sp_mlir_read_index(&cursor, module->type_count, &element))
		return corrupt(err, "the element type of a tensor");
	return element_type(module, element, &out->dtype, err);
}

bool sp_vhlo_is_static(const sp_vhlo_type *type, sp_shape *shape)
{
	for (int32_t i = 0; i < type->rank; i++)
		if (type->dims[i] < 0)
			return false;
	if (shape != NULL) {
		*shape = (sp_shape){.rank = type->rank};
		memcpy(shape->dims, type->dims, sizeof(shape->dims));
	}
	return true;
}

/* ------------------------------------------------------------- attributes */

static bool is_name(const sp_mlir_module *module, uint32_t attribute, const char *name)
{
	sp_mlir_cursor cursor;
	uint64_t code;
	uint32_t string;

	return open_entry(&module->attributes[attribute], "builtin", &code, &cursor) &&
	       code == BUILTIN_STRING &&
	       sp_mlir_read_index(&cursor, module->string_count, &string) &&
	       sp_bytes_equal_text(module->strings[string], name);
}

static sp_status find_in_dictionary(const sp_mlir_module *module, uint32_t dictionary,
				    const char *name, uint32_t *out, sp_error *err)
{
	sp_mlir_cursor cursor;
	uint64_t code;
	size_t count;

	if (!open_entry(&module->attributes[dictionary], "builtin", &code, &cursor) ||
	    code != BUILTIN_DICTIONARY || !sp_mlir_read_count(&cursor, &count) ||
	    count > MAX_ATTRIBUTES)
		return corrupt(err, "the attributes of an operation");
	for (size_t i = 0; i < count; i++) {
		uint32_t key, value;

		if (!sp_mlir_read_index(&cursor, module->attribute_count, &key) ||
		    !sp_mlir_read_index(&cursor, module->attribute_count, &value))
			return corrupt(err, "an attribute of an operation");
		if (is_name(module, key, name)) {
			*out = value;
			return SP_OK;
		}
	}
	return SP_OK;
}

/* The index of `name` among the attribute names of an operation; -1: not there; -2: unknown op. */
static int place_of(const char *op, const char *name)
{
	const char *at = NULL;

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]) && at == NULL; i++)
		if (strcmp(orders[i].op, op) == 0)
			at = orders[i].names;
	if (at == NULL)
		return -2;
	for (int place = 0; *at != '\0'; place++) {
		size_t size = strcspn(at, " ");

		if (strlen(name) == size && strncmp(at, name, size) == 0)
			return place;
		at += size;
		at += strspn(at, " ");
	}
	return -1;
}

static sp_status find_in_properties(const sp_mlir_module *module, const sp_mlir_op *op,
				    const char *name, uint32_t *out, sp_error *err)
{
	sp_mlir_cursor cursor = op->properties;
	const char *dot = strchr(op->name, '.');
	int place = place_of(dot != NULL ? dot + 1 : op->name, name);

	if (place == -2)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "the attributes of operation %s are not known", op->name);
	for (int i = 0; i <= place; i++)
		if (!sp_mlir_read_index(&cursor, module->attribute_count, out))
			return corrupt(err, "the properties of an operation");
	return SP_OK;
}

sp_status sp_vhlo_find(const sp_mlir_module *module, const sp_mlir_op *op, const char *name,
		       uint32_t *out, sp_error *err)
{
	*out = SP_MLIR_NONE;
	if (op->properties.at != op->properties.end)
		SP_TRY(find_in_properties(module, op, name, out, err));
	if (*out == SP_MLIR_NONE && op->attributes != SP_MLIR_NONE)
		return find_in_dictionary(module, op->attributes, name, out, err);
	return SP_OK;
}

/* Opens a required attribute. */
static sp_status open_attribute(const sp_mlir_module *module, const sp_mlir_op *op,
				const char *name, uint32_t *attribute, uint64_t *code,
				sp_mlir_cursor *out, sp_error *err)
{
	SP_TRY(sp_vhlo_find(module, op, name, attribute, err));
	if (*attribute == SP_MLIR_NONE)
		return sp_error_set(err, SP_CORRUPT, "operation %s has no attribute %s", op->name,
				    name);
	if (!open_entry(&module->attributes[*attribute], "vhlo", code, out))
		return sp_error_set(err, SP_CORRUPT, "attribute %s of operation %s is broken", name,
				    op->name);
	return SP_OK;
}

static sp_status wrong_kind(const sp_mlir_op *op, const char *name, sp_error *err)
{
	return sp_error_set(err, SP_CORRUPT, "attribute %s of operation %s is of another kind",
			    name, op->name);
}

bool sp_vhlo_number(const sp_mlir_module *module, uint32_t attribute, int64_t *out)
{
	enum { INT4 = 10, INT8 = 11, UINT4 = 15, UINT8 = 16 };
	sp_mlir_cursor cursor, element;
	uint64_t code, element_code, value;
	uint32_t type;

	if (!open_entry(&module->attributes[attribute], "vhlo", &code, &cursor))
		return false;
	if (code == BOOLEAN) {
		if (!sp_mlir_read_number(&cursor, &value) || value > 1)
			return false;
		*out = (int64_t)value;
		return true;
	}
	if (code != INTEGER || !sp_mlir_read_index(&cursor, module->type_count, &type) ||
	    !read_element(module, type, &element_code, &element))
		return false;
	/* Elements of up to eight bits are encoded in one byte. */
	if (element_code == INT4 || element_code == INT8 || element_code == UINT4 ||
	    element_code == UINT8) {
		if (cursor.at == cursor.end)
			return false;
		*out = (int8_t)*cursor.at;
		return true;
	}
	return sp_mlir_read_signed(&cursor, out);
}

sp_status sp_vhlo_int(const sp_mlir_module *module, const sp_mlir_op *op, const char *name,
		      int64_t *out, sp_error *err)
{
	uint64_t code;
	uint32_t attribute;
	sp_mlir_cursor cursor;

	SP_TRY(open_attribute(module, op, name, &attribute, &code, &cursor, err));
	return code == INTEGER && sp_vhlo_number(module, attribute, out)
		       ? SP_OK
		       : wrong_kind(op, name, err);
}

sp_status sp_vhlo_text(const sp_mlir_module *module, const sp_mlir_op *op, const char *name,
		       sp_bytes *out, sp_error *err)
{
	uint32_t attribute;

	SP_TRY(sp_vhlo_find(module, op, name, &attribute, err));
	if (attribute == SP_MLIR_NONE)
		return sp_error_set(err, SP_CORRUPT, "operation %s has no attribute %s", op->name,
				    name);
	return sp_vhlo_string(module, attribute, out) ? SP_OK : wrong_kind(op, name, err);
}

sp_status sp_vhlo_enum(const sp_mlir_module *module, const sp_mlir_op *op, const char *name,
		       uint64_t *out, sp_error *err)
{
	uint64_t code;
	uint32_t attribute;
	sp_mlir_cursor cursor;

	SP_TRY(open_attribute(module, op, name, &attribute, &code, &cursor, err));
	switch (code) {
	case COMPARISON_DIRECTION:
	case COMPARISON_TYPE:
	case API_VERSION:
	case FFT_TYPE:
	case PRECISION:
	case RNG_ALGORITHM:
	case RNG_DISTRIBUTION:
	case TRANSPOSE:
		return sp_mlir_read_number(&cursor, out) ? SP_OK : wrong_kind(op, name, err);
	default:
		return wrong_kind(op, name, err);
	}
}

bool sp_vhlo_string(const sp_mlir_module *module, uint32_t attribute, sp_bytes *out)
{
	sp_mlir_cursor cursor;
	uint64_t code;
	uint32_t string;

	if (!open_entry(&module->attributes[attribute], "vhlo", &code, &cursor) || code != STRING ||
	    !sp_mlir_read_index(&cursor, module->string_count, &string))
		return false;
	*out = module->strings[string];
	return true;
}

uint32_t sp_vhlo_element(const sp_mlir_module *module, uint32_t attribute, size_t i)
{
	sp_mlir_cursor cursor;
	uint64_t code;
	uint32_t element = SP_MLIR_NONE;
	size_t count;

	if (!open_entry(&module->attributes[attribute], "vhlo", &code, &cursor) || code != ARRAY ||
	    !sp_mlir_read_count(&cursor, &count) || i >= count)
		return SP_MLIR_NONE;
	for (size_t k = 0; k <= i; k++)
		if (!sp_mlir_read_index(&cursor, module->attribute_count, &element))
			return SP_MLIR_NONE;
	return element;
}

uint32_t sp_vhlo_dictionary(const sp_mlir_module *module, uint32_t attribute, const char *key)
{
	sp_mlir_cursor cursor;
	uint64_t code;
	size_t count;

	if (!open_entry(&module->attributes[attribute], "vhlo", &code, &cursor) ||
	    code != DICTIONARY || !sp_mlir_read_count(&cursor, &count) || count > MAX_ATTRIBUTES)
		return SP_MLIR_NONE;
	for (size_t i = 0; i < count; i++) {
		uint32_t name, value;
		sp_bytes text;

		if (!sp_mlir_read_index(&cursor, module->attribute_count, &name) ||
		    !sp_mlir_read_index(&cursor, module->attribute_count, &value))
			return SP_MLIR_NONE;
		if (sp_vhlo_string(module, name, &text) && sp_bytes_equal_text(text, key))
			return value;
	}
	return SP_MLIR_NONE;
}

/* ---------------------------------------------------------------- tensors */

/* Booleans are packed eight to a byte; a single byte 0xff is a splat of true. */
static bool unpack_bits(const uint8_t *from, size_t size, bool *to, size_t count, bool *is_splat)
{
	*is_splat = size == 1 && (count > 8 || *from == 0xff);
	if (*is_splat) {
		to[0] = *from != 0;
		return *from == 0 || *from == 0xff || *from == 1;
	}
	if (size == count && size != (count + 7) / 8) { /* versions that wrote a byte per element */
		for (size_t i = 0; i < count; i++)
			to[i] = from[i] != 0;
		return true;
	}
	for (size_t i = 0; size == (count + 7) / 8 && i < count; i++)
		to[i] = (from[i / 8] >> (i % 8) & 1) != 0;
	return size == (count + 7) / 8;
}

static bool take_bytes(const uint8_t *from, size_t size, sp_tensor *to, bool *is_splat)
{
	size_t element = sp_dtype_size(to->dtype);

	if (to->dtype == SP_BOOL)
		return to->count == 0 || (size != 0 && unpack_bits(from, size, sp_tensor_bool(to),
								   to->count, is_splat));
	*is_splat = size == element && to->count > 1;
	if (!*is_splat && size != element * to->count)
		return false;
	if (size != 0)
		memcpy(to->data, from, size);
	return true;
}

/* Reads the elements of an entry; only one element of a splat is stored. */
sp_status sp_vhlo_tensor(const sp_mlir_module *module, uint32_t attribute, sp_vhlo_type *type,
			 sp_tensor *out, bool *is_splat, sp_arena *arena, sp_error *err)
{
	sp_mlir_cursor cursor;
	sp_shape shape;
	uint64_t code;
	uint32_t number;
	size_t size, count;
	sp_tensor whole;

	*is_splat = false;
	if (!open_entry(&module->attributes[attribute], "vhlo", &code, &cursor) || code != TENSOR ||
	    !sp_mlir_read_index(&cursor, module->type_count, &number))
		return corrupt(err, "a constant");
	SP_TRY(sp_vhlo_read_type(module, number, type, err));
	if (type->is_token || !sp_vhlo_is_static(type, &shape) || !sp_shape_count(&shape, &count) ||
	    !sp_mlir_read_count(&cursor, &size))
		return corrupt(err, "the size of a constant");
	/* Memory is bounded by the bytes that are present: a splat is one element. */
	if (type->dtype == SP_BOOL ? count > 8 * size : count * sp_dtype_size(type->dtype) != size)
		shape = sp_shape_scalar();
	SP_TRY(sp_tensor_create(out, arena, type->dtype, &shape, err));
	whole = *out;
	whole.count = count;
	if (!take_bytes(cursor.at, size, &whole, is_splat) ||
	    (shape.rank == 0 && count > 1 && !*is_splat))
		return corrupt(err, "the elements of a constant");
	if (*is_splat) {
		out->shape = sp_shape_scalar();
		out->count = 1;
	}
	return SP_OK;
}

static int64_t element_at(const sp_tensor *tensor, size_t i)
{
	return tensor->dtype == SP_BOOL ? sp_tensor_bool(tensor)[i] : sp_tensor_i64(tensor)[i];
}

sp_status sp_vhlo_ints(const sp_mlir_module *module, const sp_mlir_op *op, const char *name,
		       int64_t *out, size_t limit, size_t *count, sp_error *err)
{
	enum { ROOM = 4 * SP_MAX_RANK * sizeof(int64_t) };
	uint64_t code;
	uint32_t attribute, number;
	sp_mlir_cursor cursor;
	sp_arena *arena;
	sp_vhlo_type type;
	sp_tensor tensor;
	sp_status status;
	bool is_splat;
	size_t elements = 1;

	SP_TRY(open_attribute(module, op, name, &attribute, &code, &cursor, err));
	if (code != TENSOR || !sp_mlir_read_index(&cursor, module->type_count, &number))
		return wrong_kind(op, name, err);
	SP_TRY(sp_vhlo_read_type(module, number, &type, err));
	if (type.dtype != SP_INT64 && type.dtype != SP_BOOL)
		return wrong_kind(op, name, err);
	for (int32_t i = 0; i < type.rank; i++)
		if (!sp_size_mul(&elements, elements, (size_t)type.dims[i]))
			return wrong_kind(op, name, err);
	if (elements > limit)
		return sp_error_set(err, SP_UNSUPPORTED,
				    "attribute %s of operation %s has %zu elements", name, op->name,
				    elements);
	arena = sp_arena_create(ROOM);
	SP_NEED_MEMORY(arena, err, "a list");
	status = sp_vhlo_tensor(module, attribute, &type, &tensor, &is_splat, arena, err);
	for (size_t i = 0; status == SP_OK && i < elements; i++)
		out[i] = element_at(&tensor, is_splat ? 0 : i);
	*count = elements;
	sp_arena_destroy(arena);
	return status;
}
