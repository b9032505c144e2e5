#include "api/host/messages/infer_message.h"

static const struct {
	int dtype;
	sp_bytes datatype;
} types[] = {
	{SERVING_PROCESSOR_FLOAT, {"FP32", sizeof("FP32") - 1}},
	{SERVING_PROCESSOR_DOUBLE, {"FP64", sizeof("FP64") - 1}},
	{SERVING_PROCESSOR_INT32, {"INT32", sizeof("INT32") - 1}},
	{SERVING_PROCESSOR_UINT8, {"UINT8", sizeof("UINT8") - 1}},
	{SERVING_PROCESSOR_INT16, {"INT16", sizeof("INT16") - 1}},
	{SERVING_PROCESSOR_INT8, {"INT8", sizeof("INT8") - 1}},
	{SERVING_PROCESSOR_STRING, {"BYTES", sizeof("BYTES") - 1}},
	{SERVING_PROCESSOR_INT64, {"INT64", sizeof("INT64") - 1}},
	{SERVING_PROCESSOR_BOOL, {"BOOL", sizeof("BOOL") - 1}},
	{SERVING_PROCESSOR_BFLOAT16, {"BF16", sizeof("BF16") - 1}},
	{SERVING_PROCESSOR_UINT16, {"UINT16", sizeof("UINT16") - 1}},
	{SERVING_PROCESSOR_HALF, {"FP16", sizeof("FP16") - 1}},
	{SERVING_PROCESSOR_UINT32, {"UINT32", sizeof("UINT32") - 1}},
	{SERVING_PROCESSOR_UINT64, {"UINT64", sizeof("UINT64") - 1}},
};

enum { TYPE_COUNT = sizeof(types) / sizeof(types[0]) };

const char *sp_infer_datatype(int dtype)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		if (types[i].dtype == dtype)
			return types[i].datatype.data;
	return NULL;
}

int sp_infer_dtype(sp_bytes datatype)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		if (sp_bytes_equal(datatype, types[i].datatype))
			return types[i].dtype;
	return 0;
}
