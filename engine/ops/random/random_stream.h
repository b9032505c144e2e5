#ifndef SP_ENGINE_OPS_RANDOM_STREAM_H
#define SP_ENGINE_OPS_RANDOM_STREAM_H

#include "engine/graph/op.h"
#include "engine/ops/random/philox.h"

/*
 * Where a random operator's stream begins: at what its attributes "seed" and "seed2"
 * say, at two numbers that are an input, at a key and a counter that are inputs, or at
 * the value of a variable.
 *
 * The first and the last go on each time the operator runs, in a session from one request to
 * the next; a request changes no variables, so that reading one shows where its stream began.
 */
typedef struct sp_random_node {
	sp_philox begin;
	size_t number; /* among the streams of the program */
} sp_random_node;

/* Of a stateful operator; where both seeds are 0, by the node's name. */
SP_MUST_CHECK sp_status sp_random__stream_of_node(const sp_prepare *prepare, sp_random_node *out,
						  sp_error *err);

/* Where it is now; it moves on by `steps`. */
sp_philox sp_random__go_on(const sp_call *call, const sp_random_node *node, uint64_t steps);

/* What TensorFlow moves a stream on by for each number, however many words it takes. */
#define SP_RANDOM_STEPS 256

/* How a generator's state is to be read: the numbers that models say. */
enum { SP_RANDOM_PHILOX = 1, SP_RANDOM_ANY = 3 };

/*
 * A stream that begins at variable `i`: int64, a counter of two numbers and a key.  `algorithm` is
 * one of those below that stands for Philox, or the variable is refused, as one is that is no
 * state.
 */
SP_MUST_CHECK sp_status sp_random__stream_of_variable(const sp_call *call, size_t i,
						      int64_t algorithm, uint64_t steps,
						      sp_philox *out);

/* Input i is the handle of such a variable: sessions keep account of where their streams are. */
SP_MUST_CHECK sp_status sp_random__prepare_variable(const sp_prepare *prepare, size_t i,
						    sp_error *err);

/* Of a seed, a vector of two int32 or int64. */
SP_MUST_CHECK sp_status sp_random__stream_of_seed(const sp_call *call, const sp_tensor *seed,
						  sp_philox *out);

/* Of inputs `first` (the key, uint64), first + 1 (the counter, uint64), first + 2 (int32). */
SP_MUST_CHECK sp_status sp_random__stream_of_key(const sp_call *call, size_t first, sp_philox *out);

/* SP_INVALID unless inputs first ... first + 2 are of these types. */
SP_MUST_CHECK sp_status sp_random__prepare_key(const sp_prepare *prepare, size_t first,
					       sp_error *err);

/* The 32-bit numbers of a stream, one after the other. */
typedef struct sp_random_words {
	sp_philox stream;
	uint32_t words[4];
	unsigned used;
} sp_random_words;

void sp_random__words_init(sp_random_words *words, sp_philox stream);
uint32_t sp_random__word(sp_random_words *words);

#endif
