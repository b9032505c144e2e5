#ifndef SP_API_HOST_FLAGS_H
#define SP_API_HOST_FLAGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/status.h"

/*
 * The command line of serving_host: a member for each flag (flags.inc).  Texts are views of argv;
 * NULL if the flag was not given and has no default.
 *
 * Every flag of tensorflow_model_server is accepted.  TensorFlow Serving's defaults apply if the
 * program is called tensorflow_model_server, or with --compat=tfs.
 */
typedef struct sp_flags {
#define SP_FLAG_TEXT(name, ...)   const char *name;
#define SP_FLAG_CHOICE(name, ...) const char *name;
#define SP_FLAG_NUMBER(name, ...) int64_t name; /* ports: -1 if not given and without default */
#define SP_FLAG_SWITCH(name, ...) bool name;
#include "api/host/flags.inc"
#undef SP_FLAG_TEXT
#undef SP_FLAG_CHOICE
#undef SP_FLAG_NUMBER
#undef SP_FLAG_SWITCH

	bool tfs;           /* TensorFlow Serving's defaults */
	bool orders_by_rpc; /* RPCs may change models: HandleReloadConfigRequest and its like */
	uint64_t ignored;   /* a bit for each given flag that has no effect here (flags.c) */
} sp_flags;

/*
 * Reads "--flag=value" and "--flag value"; a switch may stand alone.
 *
 * Errors: SP_INVALID, with the flag's name, for an unknown flag, a missing or
 *         malformed value, or flags that contradict each other.
 */
SP_MUST_CHECK sp_status sp_flags_parse(sp_flags *out, int argc, char **argv, sp_error *err);

/* The text of --help. */
void sp_flags_print_help(FILE *out);

/* The flags that were given and have no effect, each with the reason; empty if there are none. */
void sp_flags_print_ignored(const sp_flags *flags, sp_buffer *out);

#endif
