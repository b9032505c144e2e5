#ifndef SP_TOOLS_REPORT_H
#define SP_TOOLS_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"

/*
 * Writes the findings of a command as they come: for people as indented lines, or for programs
 * as one JSON value.
 *
 *     sp_report_open(&r, NULL);                   size: 17         {"size":17,
 *     sp_report_u64(&r, "size", 17);              tables:          "tables":[
 *     sp_report_open_list(&r, "tables");            - name: a      {"name":"a"}]}
 *     sp_report_open(&r, NULL);
 *     sp_report_text(&r, "name", sp_bytes_of("a"));
 *     ... three times sp_report_close(&r);
 *
 * Members of an object have a key; for items of a list the key is NULL.
 *
 * JSON: invalid UTF-8 becomes U+FFFD; NaN and infinities are the strings "NaN", "Infinity" and
 * "-Infinity".
 *
 * Threads: one thread at a time.
 */
typedef struct sp_report {
	FILE *out;
	bool json;
	int depth;
	bool is_list[16]; /* of each open object or list */
	bool is_empty[16];
	int in_line; /* text form: this level and deeper ones are on one line; 0: none */
} sp_report;

void sp_report_init(sp_report *report, FILE *out, bool json);

void sp_report_open(sp_report *report, const char *key);
void sp_report_open_list(sp_report *report, const char *key);

/* A list or an object that is one line in text form: [1, 2, 3], {key: 1, row: 2} */
void sp_report_open_row(sp_report *report, const char *key);
void sp_report_open_brief(sp_report *report, const char *key);
void sp_report_close(sp_report *report);

void sp_report_text(sp_report *report, const char *key, sp_bytes text);
void sp_report_i64(sp_report *report, const char *key, int64_t value);
void sp_report_u64(sp_report *report, const char *key, uint64_t value);
void sp_report_bool(sp_report *report, const char *key, bool value);

/* With the fewest digits that read back as the same float. */
void sp_report_f32(sp_report *report, const char *key, float value);

/* A number of bytes; in text form also in larger units. */
void sp_report_size(sp_report *report, const char *key, uint64_t bytes);

/* Closes what is open and ends a JSON document with a member "error". */
void sp_report_fail(sp_report *report, const char *error);

/* False if a write has failed. */
bool sp_report_finish(sp_report *report);

#endif
