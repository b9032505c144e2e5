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
 *   MODEL-IDENTITY.image       an image; the name consists of two hexadecimal hashes
 *   MODEL-IDENTITY.image.tmp   an unfinished image, being written or left by a killed process
 *   MODEL.lock                 flock()ed while an image is looked for and made
 *
 * Many models may use one folder, and many processes may serve one model: the first makes the
 * image, the others wait for it and map it.  Only the holder of the lock writes or removes files;
 * it also removes unfinished images of killed processes.
 *
 * Threads: one thread at a time per sp_image_place.
 */
typedef struct sp_image_place {
	const char *folder; /* created if missing; its parent must exist */
	sp_bytes model;     /* identifies the model: any bytes */
	sp_bytes identity;  /* identifies the image: any bytes */
	size_t keep;        /* images of the model to keep, at least 1 */

	/*
	 * Called repeatedly while waiting for the lock; true: SP_BUSY.  NULL: wait without limit.
	 */
	bool (*give_up)(void *context);
	void *context;

	int lock; /* descriptor; 0 when not held */
} sp_image_place;

/*
 * Opens the image of place->identity.  SP_NOT_FOUND when it is missing or bad, which is logged: the
 * lock is then held until sp_image_place_close(), for sp_image_place_store().  SP_IO when the
 * folder cannot be used; SP_BUSY when give_up() returned true.
 */
SP_MUST_CHECK sp_status sp_image_place_open(sp_image_place *place, sp_image **out, sp_error *err);

/*
 * After sp_image_place_open() returned SP_NOT_FOUND: makes the image, opens it, and removes the
 * oldest images of the model beyond place->keep.
 */
SP_MUST_CHECK sp_status sp_image_place_store(sp_image_place *place, const sp_image_table *tables,
					     size_t count, sp_image **out, sp_error *err);

/* Releases the lock, if it is held. */
void sp_image_place_close(sp_image_place *place);

#endif
