#ifndef SP_ENGINE_OPS_RANDOM_STREAM_H
#define SP_ENGINE_OPS_RANDOM_STREAM_H

#include "engine/graph/op.h"
#include "engine/ops/random/philox.h"

/*
 * The start of a random operator's stream.  It comes from the attributes "seed" and "seed2" (a
 * stateful operator), from an input of two seeds, or from inputs with a key and a counter.
 *
 * The streams of stateful operators continue with each run, in a session also from one request to
 * the next.
 */
typedef struct sp_random_node {
	sp_philox begin;
	size_t number; /* index among the streams of the program */
} sp_random_node;

/* The stream of a stateful operator; if both seeds are 0, the node's name is the seed. */
SP_MUST_CHECK sp_status sp_random__stream_of_node(const sp_prepare *prepare, sp_random_node *out,
						  sp_error *err);

/* Returns the current position and advances the stream by `steps`. */
sp_philox sp_random__advance(const sp_call *call, const sp_random_node *node, uint64_t steps);

/* TensorFlow advances a stream by this for each number, however many words are used. */
#define SP_RANDOM_STEPS 256

/* The values of "alg" that select Philox. */
enum { SP_RANDOM_PHILOX = 1, SP_RANDOM_ANY = 3 };

/* The stream of a seed, a vector of two int32 or int64. */
SP_MUST_CHECK sp_status sp_random__stream_of_seed(const sp_call *call, const sp_tensor *seed,
						  sp_philox *out);

/* The stream of inputs first (key, uint64), first + 1 (counter, uint64), first + 2 (int32). */
SP_MUST_CHECK sp_status sp_random__stream_of_key(const sp_call *call, size_t first, sp_philox *out);

/* SP_INVALID unless inputs first ... first + 2 have these types. */
SP_MUST_CHECK sp_status sp_random__prepare_key(const sp_prepare *prepare, size_t first,
					       sp_error *err);

#endif
