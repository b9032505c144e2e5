#include "base/log_line.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { TIME_SIZE = 64 };

static void print_time(char out[TIME_SIZE], const struct timespec *time)
{
	struct tm parts = {0};

	gmtime_r(&time->tv_sec, &parts);
	snprintf(out, TIME_SIZE, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900,
		 parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
		 (int)(time->tv_nsec / 1000000));
}

const char *sp_log_level_name(sp_log_level level)
{
	static const char *const names[] = {"debug", "info", "warning", "error"};

	return level >= SP_LOG_DEBUG && level <= SP_LOG_ERROR ? names[level] : "unknown";
}

static const char *level_word(sp_log_level level)
{
	static const char *const words[] = {"DEBUG", "INFO", "WARNING", "ERROR"};

	return level >= SP_LOG_DEBUG && level <= SP_LOG_ERROR ? words[level] : "UNKNOWN";
}

/* Copies printable UTF-8 as the inside of a JSON string; returns the end. */
static char *escape(char *out, const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			*out++ = '\\';
		*out++ = *text;
	}
	*out = '\0';
	return out;
}

static size_t write_json(char *out, const char *time, const char *subject, const sp_log_line *line)
{
	char *at = out;

	at += sprintf(at, "{\"time\":\"%s\",\"level\":\"%s\",", time,
		      sp_log_level_name(line->level));
	if (*subject != '\0') {
		at = escape(stpcpy(at, "\"model\":\""), subject);
		at = stpcpy(at, "\",");
	}
	at = escape(stpcpy(at, "\"message\":\""), line->message);
	at = stpcpy(at, "\"}\n");
	return (size_t)(at - out);
}

size_t sp_log_line_write(char out[SP_LOG_LINE_SIZE], sp_log_format format, const sp_log_line *line)
{
	char time[TIME_SIZE], subject[SP_LOG_SUBJECT_SIZE];
	bool named = line->subject != NULL && *line->subject != '\0';

	print_time(time, &line->time);
	snprintf(subject, sizeof(subject), "%s", named ? line->subject : "");
	sp_utf8_make_printable(subject);
	if (format == SP_LOG_JSON)
		return write_json(out, time, subject, line);
	return (size_t)snprintf(out, SP_LOG_LINE_SIZE, "%s %s %s%s%s%s\n", time,
				level_word(line->level), named ? "[" : "", subject,
				named ? "] " : "", line->message);
}
