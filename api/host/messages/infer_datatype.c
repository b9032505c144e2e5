#include "api/host/messages/infer_message.h"

#define TYPE(dtype, text) [SERVING_PROCESSOR_##dtype] = {text, sizeof(text) - 1}

static const sp_bytes datatypes[] = {
	TYPE(FLOAT, "FP32"),    TYPE(DOUBLE, "FP64"),   TYPE(INT32, "INT32"),
	TYPE(UINT8, "UINT8"),   TYPE(INT16, "INT16"),   TYPE(INT8, "INT8"),
	TYPE(STRING, "BYTES"),  TYPE(INT64, "INT64"),   TYPE(BOOL, "BOOL"),
	TYPE(BFLOAT16, "BF16"), TYPE(UINT16, "UINT16"), TYPE(HALF, "FP16"),
	TYPE(UINT32, "UINT32"), TYPE(UINT64, "UINT64"),
};

enum { COUNT = sizeof(datatypes) / sizeof(datatypes[0]) };

const char *sp_infer_datatype(int dtype)
{
	return dtype >= 0 && dtype < COUNT ? datatypes[dtype].data : NULL;
}

int sp_infer_dtype(sp_bytes datatype)
{
	for (int i = 0; i < COUNT; i++)
		if (datatypes[i].size != 0 && sp_bytes_equal(datatype, datatypes[i]))
			return i;
	return 0;
}
