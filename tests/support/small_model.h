#ifndef SP_TESTS_SUPPORT_SMALL_MODEL_H
#define SP_TESTS_SUPPORT_SMALL_MODEL_H

#include <stddef.h>

#include "engine/runtime/program.h"
#include "processor/request/endpoint.h"

/*
 * A program without any file:
 *
 *   sum = a + b       float32 placeholders a [-1] and b [-1]
 *   same_a = a
 *   same_t = t        string placeholder t [-1]
 *
 * and two signatures: entry 0 "numbers" (a, b -> sum, same_a) and entry 1
 * "texts" (t -> same_t).  Tensors are named "ph/a:0", ..., "out/sum:0", ...
 */
typedef struct sp_small_model {
	sp_arena *arena;
	sp_graph graph;
	sp_resources resources;
	sp_program *program;
	sp_snapshot *snapshot;
	sp_endpoint endpoints[2];
} sp_small_model;

/* Fails the test when it cannot be made. */
void sp_small_model_init(sp_small_model *model);
void sp_small_model_fini(sp_small_model *model);

#endif
