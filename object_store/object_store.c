#include "object_store/object_store.h"

#include <pthread.h>

#include "base/store.h"
#include "object_store/account.h"
#include "object_store/names.h"
#include "object_store/object_read.h"
#include "object_store/object_url.h"
#include "object_store/transfer.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects `users` */
static size_t users;

static sp_status locate(sp_object_url *url, sp_account **account, const char *path, sp_error *err)
{
	SP_TRY(sp_object_url_parse(url, path, err));
	*account = sp_account_of(url);
	return *account != NULL ? SP_OK : sp_no_memory(err, "an object store");
}

static sp_status open_path(sp_store_object **out, uint64_t *size, const char *path, sp_error *err)
{
	sp_object_attributes attributes;
	sp_account *account;
	sp_object_url url;

	SP_TRY(locate(&url, &account, path, err));
	SP_TRY(sp_names_find(&attributes, &url, account, S_IFREG, err));
	if (attributes.is_folder)
		return sp_error_set(err, SP_IO, "cannot open %s: not an object", path);
	SP_TRY(sp_object_open(out, &url, account, &attributes, err));
	*size = attributes.size;
	return SP_OK;
}

static sp_status find_path(struct stat *out, const char *path, mode_t type, sp_error *err)
{
	sp_object_attributes attributes;
	sp_account *account;
	sp_object_url url;

	SP_TRY(locate(&url, &account, path, err));
	SP_TRY(sp_names_find(&attributes, &url, account, type, err));
	*out = (struct stat){.st_mode = attributes.is_folder ? S_IFDIR : S_IFREG,
			     .st_size = (off_t)attributes.size,
			     .st_ino = (ino_t)attributes.identity,
			     .st_mtim = {.tv_sec = attributes.modified_s},
			     .st_ctim = {.tv_sec = attributes.modified_s}};
	return SP_OK;
}

static sp_status list_path(sp_folder *out, const char *path, sp_arena *arena, sp_error *err)
{
	sp_account *account;
	sp_object_url url;

	SP_TRY(locate(&url, &account, path, err));
	return sp_names_list(out, &url, account, arena, err);
}

static void refresh_path(const char *path)
{
	sp_object_url url;

	if (sp_object_url_parse(&url, path, NULL) == SP_OK)
		sp_names_refresh(&url);
}

static const sp_store store = {
	.open = open_path,
	.close = sp_object_close,
	.read = sp_object_read,
	.ahead = SP_OBJECT_AHEAD,
	.fetch = sp_object_fetch,
	.find = find_path,
	.list = list_path,
	.refresh = refresh_path,
};

void sp_object_store_open(void)
{
	pthread_mutex_lock(&lock);
	if (users++ == 0) {
		sp_transfers_set_source(sp_object_next_block);
		sp_store_register(&store);
	}
	pthread_mutex_unlock(&lock);
}

void sp_object_store_close(void)
{
	pthread_mutex_lock(&lock);
	if (--users == 0) {
		sp_store_register(NULL);
		sp_transfers_close();
		sp_names_drop();
		sp_accounts_drop();
	}
	pthread_mutex_unlock(&lock);
}

sp_status sp_object_store_check(const char *path, sp_error *err)
{
	sp_object_url url;

	return sp_store_is_remote(path) ? sp_object_url_parse(&url, path, err) : SP_OK;
}

const char *sp_object_store_type(const char *path)
{
	static const char *const types[] = {[SP_OBJECT_S3] = "s3",
					    [SP_OBJECT_OSS] = "oss",
					    [SP_OBJECT_HDFS] = "hdfs",
					    [SP_OBJECT_HTTP] = "http"};
	sp_object_url url;

	if (!sp_store_is_remote(path) || sp_object_url_parse(&url, path, NULL) != SP_OK)
		return "local";
	return url.kind == SP_OBJECT_HTTP && url.is_secure ? "https" : types[url.kind];
}

sp_status sp_object_store_set(const char *path, const sp_object_settings *settings, sp_error *err)
{
	sp_account *account;
	sp_object_url url;

	if (!sp_store_is_remote(path))
		return SP_OK;
	SP_TRY(locate(&url, &account, path, err));
	if (settings->connections != 0)
		sp_transfers_set_connections((size_t)settings->connections);
	return sp_account_set(account, settings, err);
}
