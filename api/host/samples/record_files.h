#ifndef SP_API_HOST_SAMPLES_RECORD_FILES_H
#define SP_API_HOST_SAMPLES_RECORD_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * A series of TFRecord files, one after the other: PREFIX-TIME-PROCESS-NUMBER.tfrecord, with the
 * UTC time at which the file began.  While it grows, its name ends in ".part" and the process has a
 * lock on it (flock).  A closed file is renamed; it consists of whole records.
 *
 * Each record is one system call, so that a process that is killed leaves whole records, but
 * perhaps for the last one.  What it leaves is cut after the last whole record and renamed by the
 * next process that begins a series of this prefix.
 *
 * A record that cannot be written, because the disk is full or the folder is not there, is dropped;
 * a log line says so when it begins and when it is over.
 *
 * Source of the format: record_writer.h of TensorFlow.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_record_files sp_record_files;

/* What closes a file; each at least 1.  One record may be larger than `bytes`. */
typedef struct sp_record_limits {
	uint64_t records, bytes;
	int64_t ns; /* from the first record on */
} sp_record_limits;

/* Opens nothing yet; NULL when out of memory.  The prefix must outlive the series. */
sp_record_files *sp_record_files_create(const char *prefix, const sp_record_limits *limits);

/* Closes the file.  NULL is fine. */
void sp_record_files_destroy(sp_record_files *files);

/* False: the record was dropped. */
bool sp_record_files_add(sp_record_files *files, sp_bytes record);

/* Closes a file whose time is over at `now_ns`, by sp_clock_now_ns(). */
void sp_record_files_tick(sp_record_files *files, int64_t now_ns);

/* Finishes the files that processes which are no more left under the prefix; returns how many. */
unsigned sp_record_files_recover(const char *prefix);

#endif
