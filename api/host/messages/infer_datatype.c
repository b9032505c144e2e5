#include "api/host/messages/infer_message.h"

/* By the library's number. */
static const char *const datatypes[] = {
	[SERVING_PROCESSOR_FLOAT] = "FP32",    [SERVING_PROCESSOR_DOUBLE] = "FP64",
	[SERVING_PROCESSOR_INT32] = "INT32",   [SERVING_PROCESSOR_UINT8] = "UINT8",
	[SERVING_PROCESSOR_INT16] = "INT16",   [SERVING_PROCESSOR_INT8] = "INT8",
	[SERVING_PROCESSOR_STRING] = "BYTES",  [SERVING_PROCESSOR_INT64] = "INT64",
	[SERVING_PROCESSOR_BOOL] = "BOOL",     [SERVING_PROCESSOR_BFLOAT16] = "BF16",
	[SERVING_PROCESSOR_UINT16] = "UINT16", [SERVING_PROCESSOR_HALF] = "FP16",
	[SERVING_PROCESSOR_UINT32] = "UINT32", [SERVING_PROCESSOR_UINT64] = "UINT64",
};

enum { COUNT = sizeof(datatypes) / sizeof(datatypes[0]) };

const char *sp_infer_datatype(int dtype)
{
	return dtype >= 0 && dtype < COUNT ? datatypes[dtype] : NULL;
}

int sp_infer_dtype(sp_bytes datatype)
{
	for (int i = 0; i < COUNT; i++)
		if (datatypes[i] != NULL && sp_bytes_equal_text(datatype, datatypes[i]))
			return i;
	return 0;
}
