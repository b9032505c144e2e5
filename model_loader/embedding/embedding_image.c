#include "model_loader/embedding/embedding_image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/hash.h"
#include "base/log.h"
#include "model_loader/checkpoint/checkpoint_name.h"

/* How long to wait for another process to make the image. */
#define WAIT_NS (INT64_C(600) * 1000000000)

enum {
	MAX_IDENTITY = 64 << 20,
	NOTE_ROUTED = 1,
};

/* ------------------------------------------------------------------- identity */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/*
 * Appends name, size and time of change of the files of the checkpoint `base`; in its folders of
 * row files, for which `base` is NULL, those of all files.
 */
static sp_status add_folder(sp_buffer *text, const char *path, const char *base, sp_arena *arena,
			    sp_error *err)
{
	sp_folder entries;

	SP_TRY(sp_folder_list(&entries, path, arena, err));
	for (size_t i = 0; i < entries.count; i++) {
		const char *name = entries.names[i];
		const char *file = sp_arena_printf(arena, "%s/%s", path, name);
		struct stat info;
		bool found;

		SP_NEED_MEMORY(file, err, "a path");
		if (!(base != NULL ? sp_checkpoint_owns(base, name)
				   : sp_checkpoint_is_row_file(name)))
			continue;
		SP_TRY(sp_folder_find(&found, &info, file, S_IFREG, err));
		if (!found && !sp_file_is_directory(file))
			continue;
		if (found) {
			sp_buffer_printf(text, "file %s %llu %lld.%09ld\n", name,
					 (unsigned long long)info.st_size,
					 (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
			continue;
		}
		sp_buffer_printf(text, "folder %s\n", name);
		if (base != NULL && add_folder(text, file, NULL, arena, err) == SP_NO_MEMORY)
			return SP_NO_MEMORY;
	}
	return SP_OK;
}

static sp_status add_checkpoint(sp_buffer *text, const char *prefix, sp_arena *arena, sp_error *err)
{
	const char *base = base_name(prefix);
	const char *path = sp_arena_printf(arena, "%s.index", prefix);
	const char *folder = base == prefix
				     ? "."
				     : sp_arena_text(arena,
						     (sp_bytes){prefix, (size_t)(base - prefix)});
	char *bytes;
	size_t size;

	SP_NEED_MEMORY(path != NULL && folder != NULL, err, "a path");
	SP_TRY(sp_file_read(&bytes, &size, path, (size_t)1 << 30, err));
	sp_buffer_printf(text, "checkpoint %s\nindex %zu %08x\n", base, size,
			 sp_crc32c(0, bytes, size));
	sp_free(bytes);
	return add_folder(text, folder, base, arena, err);
}

static sp_status make_identity(sp_buffer *text, const sp_bundle *full, sp_bytes settings,
			       sp_error *err)
{
	sp_arena *arena = sp_arena_create(4096);
	sp_status status;

	sp_buffer_printf(text, "serving-processor embeddings 2\n");
	status = arena != NULL ? add_checkpoint(text, sp_bundle_prefix(full), arena, err)
			       : sp_no_memory(err, "the name of an image");
	sp_arena_destroy(arena);
	sp_buffer_append(text, settings.data, settings.size);
	return status == SP_OK && text->failed ? sp_no_memory(err, "the name of an image") : status;
}

/*
 * Names the model so that its versions share the limit on images: numbered folders are versions of
 * their parent.
 */
static void name_model(sp_buffer *text, const char *savedmodel_dir)
{
	char *path = realpath(savedmodel_dir, NULL);
	const char *whole = path != NULL ? path : savedmodel_dir;
	const char *last = base_name(whole);
	size_t size = strlen(whole);

	if (*last != '\0' && last[strspn(last, "0123456789")] == '\0')
		size = (size_t)(last - whole);
	sp_buffer_append(text, whole, size);
	free(path);
}

/* ------------------------------------------------------------------- one load */

static bool give_up(void *context)
{
	const sp_embedding_image *image = context;
	const atomic_bool *closing = image->policy->closing;

	if (closing != NULL && atomic_load(closing))
		return true;
	return sp_clock_now_ns() >= image->deadline_ns;
}

static sp_status open_image(sp_embedding_image *image, const sp_bundle *full, sp_bytes settings,
			    sp_error *err)
{
	sp_status status;

	SP_TRY(make_identity(&image->identity, full, settings, err));
	if (image->model.failed)
		return sp_no_memory(err, "naming an image");
	image->place.model = (sp_bytes){image->model.data, image->model.size};
	image->place.identity = (sp_bytes){image->identity.data, image->identity.size};
	status = sp_image_place_open(&image->place, &image->image, err);
	if (status == SP_OK)
		sp_log(SP_LOG_INFO, "embeddings come from image %s", sp_image_path(image->image));
	return status == SP_NOT_FOUND ? SP_OK : status;
}

void sp_embedding_image_open(sp_embedding_image *image, const sp_load_policy *policy,
			     const char *savedmodel_dir, const sp_bundle *full, sp_bytes settings)
{
	sp_error why;

	*image = (sp_embedding_image){.policy = policy,
				      .place = {.folder = policy->image_folder,
						.keep = policy->image_keep,
						.give_up = give_up,
						.context = image},
				      .deadline_ns = sp_clock_now_ns() + WAIT_NS};
	pthread_mutex_init(&image->lock, NULL);
	sp_buffer_init(&image->model, MAX_IDENTITY);
	sp_buffer_init(&image->identity, MAX_IDENTITY);
	name_model(&image->model, savedmodel_dir);
	if (open_image(image, full, settings, &why) != SP_OK)
		sp_log(SP_LOG_WARNING, "embeddings without an image: %s", why.text);
}

static void forget_notes(sp_embedding_image *image)
{
	for (size_t i = 0; i < image->count; i++) {
		sp_free((void *)image->tables[i].name);
		sp_rows_release((sp_rows *)image->tables[i].rows);
	}
	sp_free(image->tables);
	image->tables = NULL;
	image->count = 0;
}

void sp_embedding_image_close(sp_embedding_image *image)
{
	forget_notes(image);
	sp_image_release(image->image);
	sp_image_place_close(&image->place);
	sp_buffer_fini(&image->model);
	sp_buffer_fini(&image->identity);
	if (image->policy != NULL)
		pthread_mutex_destroy(&image->lock);
	*image = (sp_embedding_image){0};
}

/* Whether rows are noted for a new image. */
static bool is_wanted(const sp_embedding_image *image)
{
	return image->place.lock > 0;
}

bool sp_embedding_image_knows(const sp_embedding_image *image, const char *table, bool *routed)
{
	uint64_t note;
	size_t at;

	if (image->image == NULL || !sp_image_find(image->image, table, &at, &note))
		return false;
	*routed = (note & NOTE_ROUTED) != 0;
	return true;
}

sp_rows *sp_embedding_image_take(sp_embedding_image *image, const char *table)
{
	sp_rows *rows = NULL;
	sp_error why;
	size_t at;

	if (image->image != NULL && sp_image_find(image->image, table, &at, NULL) &&
	    sp_image_take_rows(&rows, image->image, at, &why) != SP_OK)
		sp_log(SP_LOG_WARNING, "embedding '%s' is read anew: %s", table, why.text);
	return rows;
}

static void note_rows(sp_embedding_image *image, const char *table, bool routed, sp_rows *rows)
{
	sp_image_table *more;
	char *name;

	if (!is_wanted(image))
		return;
	more = sp_alloc_resize(image->tables, image->count + 1, sizeof(*more));
	name = more != NULL ? sp_alloc_text(table) : NULL;
	if (more != NULL)
		image->tables = more;
	if (name == NULL) { /* an image that lacks a table would be useless */
		sp_log(SP_LOG_WARNING, "no memory to make an image");
		forget_notes(image);
		sp_image_place_close(&image->place);
		return;
	}
	more[image->count++] = (sp_image_table){name, sp_rows_retain(rows),
						routed ? NOTE_ROUTED : 0};
}

void sp_embedding_image_note(sp_embedding_image *image, const char *table, bool routed,
			     sp_rows *rows)
{
	pthread_mutex_lock(&image->lock);
	note_rows(image, table, routed, rows);
	pthread_mutex_unlock(&image->lock);
}

bool sp_embedding_image_is_broken(const sp_embedding_image *image)
{
	return image->image != NULL && sp_image_is_broken(image->image);
}

static int by_table(const void *a, const void *b)
{
	return strcmp(((const sp_image_table *)a)->name, ((const sp_image_table *)b)->name);
}

bool sp_embedding_image_write(sp_embedding_image *image)
{
	sp_status status = SP_NOT_FOUND;
	sp_error why;

	if (is_wanted(image) && image->count != 0) {
		qsort(image->tables, image->count, sizeof(*image->tables), by_table);
		status = sp_image_place_store(&image->place, image->tables, image->count,
					      &image->image, &why);
		if (status != SP_OK)
			sp_log(SP_LOG_WARNING, "embeddings without an image: %s", why.text);
		else
			sp_log(SP_LOG_INFO, "made image %s of %zu tables, %llu bytes",
			       sp_image_path(image->image), image->count,
			       (unsigned long long)sp_image_size(image->image));
	}
	sp_image_place_close(&image->place);
	forget_notes(image);
	return status == SP_OK;
}
