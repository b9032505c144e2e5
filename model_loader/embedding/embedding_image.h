#ifndef SP_MODEL_LOADER_EMBEDDING_EMBEDDING_IMAGE_H
#define SP_MODEL_LOADER_EMBEDDING_EMBEDDING_IMAGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/status.h"
#include "model_loader/checkpoint/bundle.h"
#include "model_loader/embedding/load_policy.h"
#include "storage/image/image_folder.h"
#include "storage/rows/rows.h"

/*
 * The image (storage/image/image.h) of a full checkpoint's embeddings, as one load
 * uses it: rows are taken from it, or noted while they are read from the
 * checkpoint and written at the end.
 *
 * An image is of the checkpoint's files and those of an SSD tier beside it (their
 * names, sizes, times of change, and the checksum of the index) and of everything
 * that has a say in which rows a table holds and how.  Rows of a delta are never in it.
 *
 * Whatever is wrong with images or their folder costs only the time they would
 * save: it is logged, and the checkpoint is read.
 *
 * Threads: rows are taken and noted by any number of threads at once; everything else is called
 * by one thread at a time.
 */
typedef struct sp_embedding_image {
	sp_image_place place;
	sp_buffer model;    /* what place.model points at */
	sp_buffer identity; /* what place.identity points at */
	int64_t deadline_ns;
	const sp_load_policy *policy;
	sp_image *image;        /* NULL: none, or none yet */
	pthread_mutex_t lock;   /* protects what follows, and `place`, while rows are noted */
	sp_image_table *tables; /* noted; names and rows are ours */
	size_t count;
} sp_embedding_image;

/*
 * The image of `full` in policy->image_folder.  `policy` outlives it.
 *
 * settings  what has a say beside the checkpoint: any text
 *
 * Afterwards either it has an image, or it notes rows for one,
 * or neither, when there can be none.  While another process makes the image
 * this waits, ten minutes at most.
 */
void sp_embedding_image_open(sp_embedding_image *image, const sp_load_policy *policy,
			     const char *savedmodel_dir, const sp_bundle *full, sp_bytes settings);

/* {0} is fine.  Rows taken from the image keep it alive. */
void sp_embedding_image_close(sp_embedding_image *image);

/*
 * The rows of a table, for sp_rows_release(), and whether the variable's parts
 * are routed (model_loader/embedding/embedding_variable.h); NULL when they are not in the image.
 */
sp_rows *sp_embedding_image_take(sp_embedding_image *image, const char *table);
bool sp_embedding_image_knows(const sp_embedding_image *image, const char *table, bool *routed);

/* Rows to be written, of which it takes a reference. */
void sp_embedding_image_note(sp_embedding_image *image, const char *table, bool routed,
			     sp_rows *rows);

/* Rows taken from it fail to be read, because its file is not what was written. */
bool sp_embedding_image_is_broken(const sp_embedding_image *image);

/*
 * Writes what was noted and opens it; true when tables can now be taken from it
 * in place of those that were noted.
 */
bool sp_embedding_image_write(sp_embedding_image *image);

#endif
