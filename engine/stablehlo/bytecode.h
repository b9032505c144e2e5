#ifndef SP_ENGINE_STABLEHLO_BYTECODE_H
#define SP_ENGINE_STABLEHLO_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * A module in MLIR's bytecode, versions 0 to 6 ("MLIR Bytecode Format" in MLIR's documentation):
 * its operations as a tree, its attributes and types as bytes that the reader of their dialect
 * decodes (engine/stablehlo/vhlo.h).
 *
 * The bytes are untrusted: every count, offset and number is checked; regions are nested at most
 * SP_MLIR_MAX_DEPTH deep, and an operation has at most SP_MLIR_MAX_REGIONS of them.
 */
enum { SP_MLIR_MAX_DEPTH = 64, SP_MLIR_MAX_REGIONS = 4096 };

static const uint32_t SP_MLIR_NONE = UINT32_MAX;

/* A read position with the end of the data; every read past the end fails. */
typedef struct sp_mlir_cursor {
	const uint8_t *at;
	const uint8_t *end;
} sp_mlir_cursor;

/* An attribute or a type, in the encoding of its dialect. */
typedef struct sp_mlir_entry {
	const char *dialect; /* "vhlo", "builtin" */
	sp_mlir_cursor bytes;
	bool is_text; /* printed as text, not encoded */
} sp_mlir_entry;

typedef struct sp_mlir_region {
	const struct sp_mlir_op *ops;
	size_t op_count;
	uint32_t first_argument; /* a value number; the arguments are numbered consecutively */
	uint32_t argument_count;
} sp_mlir_region;

typedef struct sp_mlir_op {
	const char *name;          /* "vhlo.add_v1" */
	uint32_t attributes;       /* its dictionary, or SP_MLIR_NONE */
	sp_mlir_cursor properties; /* attributes in the dialect's own encoding */
	uint32_t first_result;
	uint32_t result_count;
	const uint32_t *operands;
	size_t operand_count;
	const sp_mlir_region *regions;
	size_t region_count;
	uint32_t first_inner; /* values below this number are defined outside its regions */
} sp_mlir_op;

typedef struct sp_mlir_module {
	sp_bytes producer; /* "StableHLO_v1.0.0" */
	const sp_bytes *strings;
	size_t string_count;
	const sp_mlir_entry *attributes;
	size_t attribute_count;
	const sp_mlir_entry *types;
	size_t type_count;
	const uint32_t *value_types; /* [value_count] index of a type */
	size_t value_count;
	sp_mlir_region body; /* contains one builtin.module */
} sp_mlir_module;

/* SP_CORRUPT, SP_UNSUPPORTED.  `out` points into `bytes` and into `arena`. */
SP_MUST_CHECK sp_status sp_mlir_read(sp_mlir_module *out, sp_bytes bytes, sp_arena *arena,
				     sp_error *err);

/* Reads a number of the format; false when the bytes end. */
bool sp_mlir_read_number(sp_mlir_cursor *cursor, uint64_t *out);
bool sp_mlir_read_signed(sp_mlir_cursor *cursor, int64_t *out);

/*
 * Reads a count of items of at least one byte each; false when it exceeds the bytes that are left.
 */
bool sp_mlir_read_count(sp_mlir_cursor *cursor, size_t *out);

/* Reads a number below `limit`; false when it is not. */
bool sp_mlir_read_index(sp_mlir_cursor *cursor, size_t limit, uint32_t *out);

#endif
