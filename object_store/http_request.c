#include "object_store/http_request.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "object_store/digest.h"

void sp_http_request_fini(sp_http_request *request)
{
	sp_digest_free_secret(&request->url);
	for (size_t i = 0; i < request->header_count; i++)
		sp_digest_free_secret(&request->headers[i].value);
	sp_free(request->ca_file);
	*request = (sp_http_request){0};
}

void sp_http_request_add(sp_http_request *request, const char *name, const char *fmt, ...)
{
	char *value = NULL;
	va_list arguments;
	int size;

	va_start(arguments, fmt);
	size = vsnprintf(NULL, 0, fmt, arguments);
	va_end(arguments);
	if (size >= 0 && request->header_count < SP_HTTP_HEADERS)
		value = sp_alloc((size_t)size + 1);
	if (value == NULL) {
		request->failed = true;
		return;
	}
	va_start(arguments, fmt);
	vsnprintf(value, (size_t)size + 1, fmt, arguments);
	va_end(arguments);
	request->headers[request->header_count++] = (sp_http_header){name, value};
}
