#ifndef SP_ENGINE_STABLEHLO_VHLO_H
#define SP_ENGINE_STABLEHLO_VHLO_H

#include "engine/stablehlo/bytecode.h"
#include "engine/tensor/tensor.h"

/*
 * VHLO, the versioned dialect of StableHLO ("StableHLO bytecode" and "VHLO" in StableHLO's
 * documentation): decodes the types and attributes of a module.
 *
 * All functions return SP_CORRUPT when the bytes break the encoding or an attribute is missing, and
 * SP_UNSUPPORTED for anything without a counterpart in the engine.
 */

/* A dense tensor type; a dimension of -1 is known only when the module runs. */
typedef struct sp_vhlo_type {
	bool is_token; /* a token, not a tensor */
	sp_dtype dtype;
	int32_t rank;
	int64_t dims[SP_MAX_RANK];
} sp_vhlo_type;

/* Whether all dimensions are known; if so, *shape (unless NULL) is filled. */
bool sp_vhlo_is_static(const sp_vhlo_type *type, sp_shape *shape);

SP_MUST_CHECK sp_status sp_vhlo_read_type(const sp_mlir_module *module, uint32_t type,
					  sp_vhlo_type *out, sp_error *err);

/*
 * The index of an operation's attribute `name`, or SP_MLIR_NONE.  The newer encoding stores
 * attributes in an order that depends on the operation; SP_UNSUPPORTED for an unknown operation.
 */
SP_MUST_CHECK sp_status sp_vhlo_find(const sp_mlir_module *module, const sp_mlir_op *op,
				     const char *name, uint32_t *out, sp_error *err);

/* Required attributes of an operation. */
SP_MUST_CHECK sp_status sp_vhlo_int(const sp_mlir_module *module, const sp_mlir_op *op,
				    const char *name, int64_t *out, sp_error *err);
SP_MUST_CHECK sp_status sp_vhlo_text(const sp_mlir_module *module, const sp_mlir_op *op,
				     const char *name, sp_bytes *out, sp_error *err);

/* The number of an enumerator. */
SP_MUST_CHECK sp_status sp_vhlo_enum(const sp_mlir_module *module, const sp_mlir_op *op,
				     const char *name, uint64_t *out, sp_error *err);

/* Integers or booleans of rank 1 or 2, flattened; SP_UNSUPPORTED for more than `limit`. */
SP_MUST_CHECK sp_status sp_vhlo_ints(const sp_mlir_module *module, const sp_mlir_op *op,
				     const char *name, int64_t *out, size_t limit, size_t *count,
				     sp_error *err);

/* A constant: one element stands for all of *type when *is_splat. */
SP_MUST_CHECK sp_status sp_vhlo_tensor(const sp_mlir_module *module, uint32_t attribute,
				       sp_vhlo_type *type, sp_tensor *out, bool *is_splat,
				       sp_arena *arena, sp_error *err);

/* The text of a string attribute; false for other attributes. */
bool sp_vhlo_string(const sp_mlir_module *module, uint32_t attribute, sp_bytes *out);

/* The value of an integer or boolean attribute; false for other attributes. */
bool sp_vhlo_number(const sp_mlir_module *module, uint32_t attribute, int64_t *out);

/* Element `i` of an array attribute, or SP_MLIR_NONE. */
uint32_t sp_vhlo_element(const sp_mlir_module *module, uint32_t attribute, size_t i);

/* A dictionary's value under `key`, or SP_MLIR_NONE. */
uint32_t sp_vhlo_dictionary(const sp_mlir_module *module, uint32_t attribute, const char *key);

#endif
