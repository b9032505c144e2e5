#ifndef SP_API_HOST_MESSAGES_MESSAGE_H
#define SP_API_HOST_MESSAGES_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/serving_processor.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "base/wire.h"

/*
 * What the codecs of requests share: steps of reading, memory, and the tensors that a request gives
 * for a signature.
 *
 * Threads: one thread at a time; each worker has its own.
 */

/* Returns SP_INVALID with the text "the message cannot be parsed". */
sp_status sp_message_malformed(sp_error *err);

/* What a reader returns that sp_wire_next() has given all fields: the same if one was malformed. */
static inline sp_status sp_message_end(const sp_wire *wire, sp_error *err)
{
	return !wire->malformed ? SP_OK : sp_message_malformed(err);
}

/* As sp_wire_read(), but returns a status. */
SP_MUST_CHECK sp_status sp_message_read(sp_bytes message, const sp_wire_place *places, size_t count,
					sp_error *err);

/* SP_INVALID if a byte of the bools is neither 0 nor 1. */
SP_MUST_CHECK sp_status sp_message_check_bools(sp_bytes bools, sp_error *err);

/* Sets a text; the message is malformed if it is not UTF-8. */
SP_MUST_CHECK sp_status sp_message_get_text(sp_bytes *out, sp_bytes text, sp_error *err);

/* Puts `part` behind what *out has, in the arena unless *out is empty. */
SP_MUST_CHECK sp_status sp_message_join(sp_bytes *out, sp_bytes part, sp_arena *arena,
					sp_error *err);

/* An error shows at most so many bytes of a text of the client. */
static inline int sp_message_shown(sp_bytes text)
{
	return sp_bytes_shown(text, 256);
}

enum { SP_MESSAGE_ORDER = 256 };

typedef struct sp_message_memory {
	sp_arena *arena; /* of the request */
	/*
	 * Index in the signature of the first inputs of the last request, since clients give them
	 * in the same order again; stays from request to request.
	 */
	uint16_t *order; /* [SP_MESSAGE_ORDER] */
} sp_message_memory;

/* The tensors of a request. */
typedef struct sp_message_inputs {
	const serving_processor_signature *signature;
	serving_processor_tensor *tensors; /* [signature->input_count]; dtype 0: not given */
	size_t given;                      /* of these */
	const char **outputs;              /* [output_count] to compute; 0: all */
	size_t output_count;
} sp_message_inputs;

/* No input is given yet.  Errors: SP_NO_MEMORY. */
SP_MUST_CHECK sp_status sp_message_inputs_init(sp_message_inputs *inputs,
					       const serving_processor_signature *signature,
					       sp_message_memory *memory, sp_error *err);

/* Searches all inputs, and notes the order. */
int sp_message__search_input(const sp_message_inputs *inputs, sp_message_memory *memory, size_t nth,
			     sp_bytes alias);

/* Whether the terminated `alias` is the name, which may contain any byte. */
static inline bool sp_message__is_alias(const char *alias, sp_bytes name)
{
	for (size_t i = 0; i < name.size; i++)
		if (alias[i] != name.data[i] || alias[i] == '\0')
			return false;
	return alias[name.size] == '\0';
}

/* The index of the input with this alias; `nth` counts the inputs of the request.  -1: none. */
static inline int sp_message_input_index(const sp_message_inputs *inputs, sp_message_memory *memory,
					 size_t nth, sp_bytes alias)
{
	const serving_processor_signature *signature = inputs->signature;

	if (nth < SP_MESSAGE_ORDER && memory->order[nth] < signature->input_count &&
	    sp_message__is_alias(signature->inputs[memory->order[nth]]->alias, alias))
		return memory->order[nth];
	return sp_message__search_input(inputs, memory, nth, alias);
}

/* SP_INVALID, with its name, if an input of the signature is not given. */
SP_MUST_CHECK sp_status sp_message_inputs_check(const sp_message_inputs *inputs, sp_error *err);

/* The alias of an output, as in the signature; NULL: none. */
const char *sp_message_output_alias(const serving_processor_signature *signature, sp_bytes alias);

#endif
