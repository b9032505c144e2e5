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
 *   MODEL-IDENTITY.image.tmp   one that is being written, or that a killed process left
 *   MODEL.lock                 held, by flock(), while one is looked for and made
 *
 * Many models may use one folder, and many processes may serve one model: the
 * first makes the image, the others wait for it and map it.  Only who holds the
 * lock writes or removes, so what a killed process left is cleared by the next
 * one that makes an image.
 *
 * Threads: one thread at a time per sp_image_place.
 */
typedef struct sp_image_place {
	const char *folder; /* made when it is not there; its parent must be */
	sp_bytes model;     /* whose images they are: any bytes */
	sp_bytes identity;  /* of the image that is wanted: any bytes */
	size_t keep;        /* how many images of a model stay; at least 1 */

	/* Asked again and again while waiting for the lock; NULL: wait as long as it takes. */
	bool (*give_up)(void *context);
	void *context;

	int lock; /* descriptor; 0 when not held */
} sp_image_place;

/*
 * The image of place->identity when it is there and good.  Else SP_NOT_FOUND,
 * and the lock is held until sp_image_place_close(), for sp_image_place_store();
 * what was wrong with a file that is there is logged.  SP_IO when the folder
 * cannot be used; SP_BUSY when give_up() said so.
 */
SP_MUST_CHECK sp_status sp_image_place_open(sp_image_place *place, sp_image **out, sp_error *err);

/*
 * Makes the image, opens it, and removes the oldest of the model's beyond
 * place->keep.  Only after sp_image_place_open() said SP_NOT_FOUND.
 */
SP_MUST_CHECK sp_status sp_image_place_store(sp_image_place *place, const sp_image_table *tables,
					     size_t count, sp_image **out, sp_error *err);

/* Lets the next one in.  Fine without a lock. */
void sp_image_place_close(sp_image_place *place);

#endif
