#ifndef SP_ENGINE_OPS_UNIGRAMS_H
#define SP_ENGINE_OPS_UNIGRAMS_H

#include "engine/op.h"
#include "engine/ops/random_stream.h"

/*
 * Classes with weights of their own: what FixedUnigramCandidateSampler draws from.
 *
 *   unigrams          the weights
 *   vocab_file        "bytes://" and a file (model_loader/descriptor_files.h) with a class a line,
 *                     of which the last field behind a ',' is the weight; empty lines do not count
 *   distortion        the power that each is raised to
 *   num_reserved_ids  so many classes come first, of weight 0
 *   num_shards, shard every num_shards-th class is taken, from `shard` on; TensorFlow counts those
 *                     after the reserved ones from the number of these in the shard
 *
 * A class is drawn by two numbers: one picks a place, the other whether it is the class of that
 * place or the one that fills it up.
 *
 * Errors:   SP_INVALID unless there are as many as `range`, from one of the two places.
 * Numerics: weights and their sum are float, places are filled in double: TensorFlow's, but for the
 *           C library's power.
 * Threads:  immutable once prepared.
 * Source:   A. J. Walker, "An efficient method for generating discrete random variables with
 *           general distributions", ACM TOMS 3 (1977); range_sampler.cc of TensorFlow 2.15.
 */
typedef struct sp_unigrams {
	size_t count;
	float *weights;
	float total;
	float *parts;    /* of a place, what belongs to its own class */
	int32_t *others; /* the class that has the rest */
} sp_unigrams;

SP_MUST_CHECK sp_status sp_unigrams__prepare(sp_prepare *prepare, int64_t range, sp_unigrams *out,
					     sp_error *err);

int64_t sp_unigrams__draw(const sp_unigrams *unigrams, sp_random_words *words);

/* 0 for what is no class. */
float sp_unigrams__probability(const sp_unigrams *unigrams, int64_t value);

#endif
