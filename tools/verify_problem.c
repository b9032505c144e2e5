#include <stdarg.h>
#include <stdio.h>

#include "tools/verify_internal.h"

void sp_verify_problem(sp_verification *v, const char *where, const char *fmt, ...)
{
	char text[SP_ERROR_TEXT_SIZE];
	sp_report *report = &v->tool->report;
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	sp_progress_end(&v->progress);
	sp_report_open(report, NULL);
	sp_report_text(report, "where", sp_bytes_of(where));
	sp_report_text(report, "what", sp_bytes_of(text));
	sp_report_close(report);
	v->problems++;
	v->tool->broken = true;
}
