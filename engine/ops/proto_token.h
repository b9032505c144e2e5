#ifndef SP_ENGINE_OPS_PROTO_TOKEN_H
#define SP_ENGINE_OPS_PROTO_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * Protobuf's text format, token by token.
 *
 *   identifier   a letter or '_', then those and digits
 *   integer      decimal, octal behind '0', hexadecimal behind "0x"; no sign
 *   real         digits with a point, an exponent or an 'f' at the end
 *   text         between two " or two ', on one line; with C's escapes, \u and \U
 *   symbol       any other printable character of ASCII, alone
 *
 * White space and what follows a '#' on a line separate tokens.  No letter may follow a number
 * at once.  A NUL, another control character, or a byte above 0x7f is wrong everywhere but in a
 * text, and a NUL also there.
 *
 * Threads: pure.
 * Source: io/tokenizer.cc of protobuf 3.21, which TensorFlow 2.15 has, as its text parser sets it.
 */
typedef enum sp_proto_token_kind {
	SP_PROTO_TOKEN_END,
	SP_PROTO_TOKEN_WRONG, /* and nothing behind it is looked at */
	SP_PROTO_TOKEN_SYMBOL,
	SP_PROTO_TOKEN_IDENTIFIER,
	SP_PROTO_TOKEN_INTEGER,
	SP_PROTO_TOKEN_REAL,
	SP_PROTO_TOKEN_TEXT,
} sp_proto_token_kind;

typedef struct sp_proto_token {
	sp_proto_token_kind kind;
	sp_bytes text; /* as written, with the quotes */
} sp_proto_token;

/* Cuts the next token off the front of `from`. */
sp_proto_token sp_proto_token_next(sp_bytes *from);

/* False where the integer is more than `most`. */
bool sp_proto_token_integer(sp_bytes text, uint64_t most, uint64_t *out);

/* Whether a number that was read as an integer is written in decimal. */
bool sp_proto_token_is_decimal(sp_bytes text);

/*
 * The value of a real, or of a decimal integer; infinite when it is too large.
 * scratch   [text.size + SP_PROTO_TOKEN_ROOM]
 */
#define SP_PROTO_TOKEN_ROOM 32
double sp_proto_token_real(sp_bytes text, char *scratch);

/* What a text says; to [text.size].  Returns how many bytes. */
size_t sp_proto_token_unquote(sp_bytes text, char *to);

#endif
