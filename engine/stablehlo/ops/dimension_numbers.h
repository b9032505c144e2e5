#ifndef SP_ENGINE_STABLEHLO_OPS_DIMENSION_NUMBERS_H
#define SP_ENGINE_STABLEHLO_OPS_DIMENSION_NUMBERS_H

#include <stdbool.h>

#include "engine/graph/op.h"

/*
 * Dimension numbers of XLA's operators: attributes with a serialized message, some of whose fields
 * are a dimension and others a list of dimensions.
 *
 * Source: GatherDimensionNumbers, ScatterDimensionNumbers, DotDimensionNumbers and
 * ConvolutionDimensionNumbers of xla_data.proto.
 */
typedef struct sp_dim_list {
	int count;
	int64_t dims[SP_MAX_RANK];
} sp_dim_list;

/* Field `number` is read into `list` or into `one`, which is 0 if the message lacks the field. */
typedef struct sp_dim_field {
	uint32_t number;
	sp_dim_list *list;
	int64_t *one;
} sp_dim_field;

/*
 * Reads attribute `dimension_numbers` of the node.  Other fields are skipped.  SP_INVALID when it
 * is not such a message, SP_UNSUPPORTED when a list is longer than SP_MAX_RANK.
 */
SP_MUST_CHECK sp_status sp_dimension_numbers__read(const sp_prepare *prepare,
						   const sp_dim_field *fields, size_t count,
						   sp_error *err);

bool sp_dim_list__has(const sp_dim_list *list, int64_t dim);

/* SP_INVALID, naming `what`, unless all are in [0, rank) and distinct. */
SP_MUST_CHECK sp_status sp_dim_list__check(const sp_dim_list *list, const sp_call *call, int rank,
					   const char *what);

/* The same, and they must be strictly ascending. */
SP_MUST_CHECK sp_status sp_dim_list__check_sorted(const sp_dim_list *list, const sp_call *call,
						  int rank, const char *what);

#endif
