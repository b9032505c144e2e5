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
 * The image (storage/image/image.h) of a full checkpoint's embeddings during one load: rows are
 * taken from it, or noted while they are read from the checkpoint and written at the end.
 *
 * An image is identified by the files of the checkpoint and of an SSD tier beside it (their names,
 * sizes, times of change, and the checksum of the index) and by all settings that decide which rows
 * a table holds, and how.  It never contains rows of a delta.
 *
 * Failures of images or their folder are logged and not returned: the checkpoint is read instead.
 *
 * Threads: rows are taken and noted by any number of threads at once; everything else is called by
 * one thread at a time.
 */
typedef struct sp_embedding_image {
	sp_image_place place;
	sp_buffer model;    /* the bytes of place.model */
	sp_buffer identity; /* the bytes of place.identity */
	int64_t deadline_ns;
	const sp_load_policy *policy;
	sp_image *image;        /* NULL: none, or none yet */
	pthread_mutex_t lock;   /* while rows are noted: protects `place` and the fields below */
	sp_image_table *tables; /* noted; owns names and rows */
	size_t count;
} sp_embedding_image;

/*
 * Opens the image of `full` in policy->image_folder.  `policy` must outlive it.
 *
 * settings  any text that identifies the settings of the load beside the checkpoint
 *
 * Afterwards it has an image, or it notes rows for one, or neither, when there can be none.  Waits
 * up to ten minutes while another process makes the image.
 */
void sp_embedding_image_open(sp_embedding_image *image, const sp_load_policy *policy,
			     const char *savedmodel_dir, const sp_bundle *full, sp_bytes settings);

/* {0} is fine.  Rows taken from the image keep the mapping alive. */
void sp_embedding_image_close(sp_embedding_image *image);

/*
 * The rows of a table, for sp_rows_release(), and whether the variable's parts are routed
 * (model_loader/embedding/embedding_variable.h).  NULL when the image lacks them.
 */
sp_rows *sp_embedding_image_take(sp_embedding_image *image, const char *table);
bool sp_embedding_image_knows(const sp_embedding_image *image, const char *table, bool *routed);

/* Notes rows to be written; takes a reference to them. */
void sp_embedding_image_note(sp_embedding_image *image, const char *table, bool routed,
			     sp_rows *rows);

/* The file is damaged: lookups of rows taken from it fail. */
bool sp_embedding_image_is_broken(const sp_embedding_image *image);

/*
 * Writes the noted rows and opens the new image; true when tables can now be taken from it instead.
 */
bool sp_embedding_image_write(sp_embedding_image *image);

#endif
