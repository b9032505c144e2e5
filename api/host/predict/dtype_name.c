#include "api/host/predict/dtype_name.h"

#include "api/serving_processor.h"

static const struct {
	int dtype;
	const char *name;
	size_t size;
} dtypes[] = {
	{SERVING_PROCESSOR_FLOAT, "float", 4},
	{SERVING_PROCESSOR_DOUBLE, "double", 8},
	{SERVING_PROCESSOR_INT32, "int32", 4},
	{SERVING_PROCESSOR_UINT8, "uint8", 1},
	{SERVING_PROCESSOR_INT16, "int16", 2},
	{SERVING_PROCESSOR_INT8, "int8", 1},
	{SERVING_PROCESSOR_STRING, "string", sizeof(serving_processor_bytes)},
	{SERVING_PROCESSOR_COMPLEX64, "complex64", 8},
	{SERVING_PROCESSOR_INT64, "int64", 8},
	{SERVING_PROCESSOR_BOOL, "bool", 1},
	{SERVING_PROCESSOR_BFLOAT16, "bfloat16", 2},
	{SERVING_PROCESSOR_UINT16, "uint16", 2},
	{SERVING_PROCESSOR_COMPLEX128, "complex128", 16},
	{SERVING_PROCESSOR_HALF, "half", 2},
	{SERVING_PROCESSOR_UINT32, "uint32", 4},
	{SERVING_PROCESSOR_UINT64, "uint64", 8},

	/* No element of these comes here: serving_processor.h does not name them. */
	{11, "qint8", 0},
	{12, "quint8", 0},
	{13, "qint32", 0},
	{15, "qint16", 0},
	{16, "quint16", 0},
	{20, "resource", 0},
	{21, "variant", 0},
};

const char *sp_host_dtype_name(int dtype)
{
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
		if (dtypes[i].dtype == dtype)
			return dtypes[i].name;
	return "unknown";
}

size_t sp_host_dtype_size(int dtype)
{
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++)
		if (dtypes[i].dtype == dtype)
			return dtypes[i].size;
	return 0;
}
