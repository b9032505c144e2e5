#ifndef SP_STORAGE_IMAGE_IMAGE_FOLDER_H
#define SP_STORAGE_IMAGE_IMAGE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/image/image.h"

/*
 * A folder of images (storage/image/image.h).
 *
 *   MODEL-IDENTITY.image       an image; two hexadecimal hashes
 *   MODEL-IDENTITY.image.tmp   an unfinished one: in the making, or left by a killed process
 *   MODEL.lock                 flock()ed while an image is looked for and made
 *
 * Many models may use one folder, and many processes may serve one model: the first makes
 * the image, the others wait for it and map it.  Only the holder of the lock writes or
 * removes; the next process that makes an image removes what killed ones have left.
 *
 * Threads: one thread at a time per sp_image_place.
 */
typedef struct sp_image_place {
	const char *folder; /* made when it is not there; its parent must be */
	sp_bytes model;     /* identifies the model: any bytes */
	sp_bytes identity;  /* identifies the image: any bytes */
	size_t keep;        /* number of images of a model that are kept; at least 1 */

	/* Called repeatedly while waiting for the lock; true: SP_BUSY.  NULL: wait for any time. */
	bool (*give_up)(void *context);
	void *context;

	int lock; /* descriptor; 0 when not held */
} sp_image_place;

/*
 * Opens the image of place->identity.  SP_NOT_FOUND when there is none or it is bad, which is
 * logged: then the lock is held until sp_image_place_close(), for sp_image_place_store().
 * SP_IO when the folder cannot be used; SP_BUSY when give_up() said so.
 */
SP_MUST_CHECK sp_status sp_image_place_open(sp_image_place *place, sp_image **out, sp_error *err);

/*
 * Makes the image, opens it, and removes the oldest of the model's beyond
 * place->keep.  Only after sp_image_place_open() said SP_NOT_FOUND.
 */
SP_MUST_CHECK sp_status sp_image_place_store(sp_image_place *place, const sp_image_table *tables,
					     size_t count, sp_image **out, sp_error *err);

/* Releases the lock, if it is held. */
void sp_image_place_close(sp_image_place *place);

#endif
