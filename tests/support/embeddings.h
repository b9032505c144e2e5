#ifndef SP_TESTS_SUPPORT_EMBEDDINGS_H
#define SP_TESTS_SUPPORT_EMBEDDINGS_H

#include <stddef.h>
#include <stdint.h>

#include "model_loader/checkpoint/bundle.h"

/*
 * tests/golden/embeddings/: tables whose content follows from their keys, by the
 * formulas of scripts/make_embedding_fixtures.py.
 */

/* One of the bundles there; fails the test when it cannot be opened. */
sp_bundle *sp_embeddings_open(const char *name);

/* Element `d` of the row of a key, and how often the key was seen. */
float sp_embeddings_element(int64_t key, size_t d);
int64_t sp_embeddings_seen(int64_t key);

#endif
