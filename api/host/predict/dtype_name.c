#include "api/host/predict/dtype_name.h"

#include <stddef.h>

const char *sp_host_dtype_name(int dtype)
{
	static const char *const names[] = {
		"unknown",    "float",  "double",    "int32",   "uint8",   "int16",
		"int8",       "string", "complex64", "int64",   "bool",    "qint8",
		"quint8",     "qint32", "bfloat16",  "qint16",  "quint16", "uint16",
		"complex128", "half",   "resource",  "variant", "uint32",  "uint64",
	};

	return dtype > 0 && (size_t)dtype < sizeof(names) / sizeof(names[0]) ? names[dtype]
									     : "unknown";
}
