#include "engine/tensor/dtype.h"

#include "base/bytes.h"

static const struct {
	const char *name;
	size_t size;
} dtypes[SP_DTYPE_COUNT] = {
	[SP_INVALID_DTYPE] = {"DT_INVALID", 0},
	[SP_FLOAT] = {"DT_FLOAT", 4},
	[SP_DOUBLE] = {"DT_DOUBLE", 8},
	[SP_INT32] = {"DT_INT32", 4},
	[SP_UINT8] = {"DT_UINT8", 1},
	[SP_INT16] = {"DT_INT16", 2},
	[SP_INT8] = {"DT_INT8", 1},
	[SP_STRING] = {"DT_STRING", sizeof(sp_bytes)},
	[SP_COMPLEX64] = {"DT_COMPLEX64", 8},
	[SP_INT64] = {"DT_INT64", 8},
	[SP_BOOL] = {"DT_BOOL", 1},
	[SP_QINT8] = {"DT_QINT8", 1},
	[SP_QUINT8] = {"DT_QUINT8", 1},
	[SP_QINT32] = {"DT_QINT32", 4},
	[SP_BFLOAT16] = {"DT_BFLOAT16", 2},
	[SP_QINT16] = {"DT_QINT16", 2},
	[SP_QUINT16] = {"DT_QUINT16", 2},
	[SP_UINT16] = {"DT_UINT16", 2},
	[SP_COMPLEX128] = {"DT_COMPLEX128", 16},
	[SP_HALF] = {"DT_HALF", 2},
	[SP_RESOURCE] = {"DT_RESOURCE", 8},
	[SP_VARIANT] = {"DT_VARIANT", 0},
	[SP_UINT32] = {"DT_UINT32", 4},
	[SP_UINT64] = {"DT_UINT64", 8},
	[SP_OBJECT] = {"an object of the model version", 0},
};

static bool is_known(sp_dtype dtype)
{
	return (unsigned)dtype < SP_DTYPE_COUNT;
}

size_t sp_dtype_size(sp_dtype dtype)
{
	return is_known(dtype) ? dtypes[dtype].size : 0;
}

const char *sp_dtype_name(sp_dtype dtype)
{
	return is_known(dtype) ? dtypes[dtype].name : "DT_INVALID";
}

bool sp_dtype_is_floating(sp_dtype dtype)
{
	return dtype == SP_FLOAT || dtype == SP_DOUBLE || dtype == SP_HALF || dtype == SP_BFLOAT16;
}

bool sp_dtype_is_integer(sp_dtype dtype)
{
	switch (dtype) {
	case SP_INT8:
	case SP_INT16:
	case SP_INT32:
	case SP_INT64:
	case SP_UINT8:
	case SP_UINT16:
	case SP_UINT32:
	case SP_UINT64:
		return true;
	default:
		return false;
	}
}
