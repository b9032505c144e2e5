#include "api/host/messages/infer_message.h"

static const struct {
	int dtype;
	const char *datatype;
} types[] = {
	{SERVING_PROCESSOR_FLOAT, "FP32"},    {SERVING_PROCESSOR_DOUBLE, "FP64"},
	{SERVING_PROCESSOR_INT32, "INT32"},   {SERVING_PROCESSOR_UINT8, "UINT8"},
	{SERVING_PROCESSOR_INT16, "INT16"},   {SERVING_PROCESSOR_INT8, "INT8"},
	{SERVING_PROCESSOR_STRING, "BYTES"},  {SERVING_PROCESSOR_INT64, "INT64"},
	{SERVING_PROCESSOR_BOOL, "BOOL"},     {SERVING_PROCESSOR_BFLOAT16, "BF16"},
	{SERVING_PROCESSOR_UINT16, "UINT16"}, {SERVING_PROCESSOR_HALF, "FP16"},
	{SERVING_PROCESSOR_UINT32, "UINT32"}, {SERVING_PROCESSOR_UINT64, "UINT64"},
};

enum { TYPE_COUNT = sizeof(types) / sizeof(types[0]) };

const char *sp_infer_datatype(int dtype)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		if (types[i].dtype == dtype)
			return types[i].datatype;
	return NULL;
}

int sp_infer_dtype(sp_bytes datatype)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		if (sp_bytes_equal_text(datatype, types[i].datatype))
			return types[i].dtype;
	return 0;
}
