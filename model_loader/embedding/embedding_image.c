#include "model_loader/embedding/embedding_image.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "model_loader/checkpoint/checkpoint_name.h"

/* How long another process may take to make the image before we stop waiting for it. */
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

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * The names in a folder that belong to the checkpoint `base` (NULL: those of an SSD tier's rows),
 * for free(), one by one.
 */
static size_t list_files(DIR *folder, const char *base, char ***names)
{
	const struct dirent *entry;
	size_t count = 0;

	while ((entry = readdir(folder)) != NULL) {
		char **more;

		if (base != NULL ? !sp_checkpoint_owns(base, entry->d_name)
				 : !sp_checkpoint_is_row_file(entry->d_name))
			continue;
		more = sp_alloc_resize(*names, count + 1, sizeof(*more));
		if (more == NULL)
			break;
		*names = more;
		more[count] = sp_alloc_text(entry->d_name);
		if (more[count] == NULL)
			break;
		count++;
	}
	qsort(*names, count, sizeof(**names), by_name);
	return count;
}

static DIR *open_folder(int parent, const char *name)
{
	int file = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = file >= 0 ? fdopendir(file) : NULL;

	if (folder == NULL && file >= 0)
		close(file);
	return folder;
}

static void add_folder(sp_buffer *text, DIR *folder, const char *base);

/* Of a folder beside the checkpoint (an SSD tier's) its files of rows, too. */
static void add_file(sp_buffer *text, int folder, const char *name, bool look_inside)
{
	struct stat info;
	DIR *inside;

	if (fstatat(folder, name, &info, 0) != 0)
		return;
	if (!S_ISDIR(info.st_mode)) {
		sp_buffer_printf(text, "file %s %llu %lld.%09ld\n", name,
				 (unsigned long long)info.st_size, (long long)info.st_mtim.tv_sec,
				 info.st_mtim.tv_nsec);
		return;
	}
	sp_buffer_printf(text, "folder %s\n", name);
	if (!look_inside)
		return;
	inside = open_folder(folder, name);
	if (inside == NULL)
		return;
	add_folder(text, inside, NULL);
	closedir(inside);
}

static void add_folder(sp_buffer *text, DIR *folder, const char *base)
{
	char **names = NULL;
	size_t count = list_files(folder, base, &names);

	for (size_t i = 0; i < count; i++) {
		add_file(text, dirfd(folder), names[i], base != NULL);
		sp_free(names[i]);
	}
	sp_free(names);
}

static sp_status add_files(sp_buffer *text, const char *prefix, sp_error *err)
{
	const char *base = base_name(prefix);
	size_t size = (size_t)(base - prefix);
	char folder[4096];
	DIR *listing;

	if (size >= sizeof(folder))
		return sp_error_set(err, SP_IO, "the path of the checkpoint is too long");
	memcpy(folder, size != 0 ? prefix : "./", size != 0 ? size : 2);
	folder[size != 0 ? size : 2] = '\0';
	listing = opendir(folder);
	if (listing == NULL)
		return sp_error_set(err, SP_IO, "cannot list %s", folder);
	add_folder(text, listing, base);
	closedir(listing);
	return SP_OK;
}

static sp_status add_index(sp_buffer *text, const char *prefix, sp_error *err)
{
	sp_buffer path;
	sp_status status;
	char *bytes;
	size_t size;

	sp_buffer_init(&path, MAX_IDENTITY);
	sp_buffer_printf(&path, "%s.index", prefix);
	status = path.failed ? sp_error_set(err, SP_NO_MEMORY, "no memory for a path")
			     : sp_file_read(&bytes, &size, path.data, (size_t)1 << 30, err);
	sp_buffer_fini(&path);
	SP_TRY(status);
	sp_buffer_printf(text, "checkpoint %s\nindex %zu %08x\n", base_name(prefix), size,
			 sp_crc32c(0, bytes, size));
	sp_free(bytes);
	return SP_OK;
}

static sp_status make_identity(sp_buffer *text, const sp_bundle *full, sp_bytes settings,
			       sp_error *err)
{
	sp_buffer_printf(text, "serving-processor embeddings 2\n");
	SP_TRY(add_index(text, sp_bundle_prefix(full), err));
	SP_TRY(add_files(text, sp_bundle_prefix(full), err));
	sp_buffer_append(text, settings.data, settings.size);
	return text->failed ? sp_error_set(err, SP_NO_MEMORY, "no memory to name an image") : SP_OK;
}

/*
 * Versions of one model share what images may stay: numbered folders are
 * versions of what their parent is.
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
		return sp_error_set(err, SP_NO_MEMORY, "no memory to name an image");
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

bool sp_embedding_image_wants(const sp_embedding_image *image)
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

	if (!sp_embedding_image_wants(image))
		return;
	more = sp_alloc_resize(image->tables, image->count + 1, sizeof(*more));
	name = more != NULL ? sp_alloc_text(table) : NULL;
	if (more != NULL)
		image->tables = more;
	if (name == NULL) { /* an image that lacks a table would be read in vain */
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

	if (sp_embedding_image_wants(image) && image->count != 0) {
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
