#include "object_store/names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hash.h"
#include "object_store/protocol.h"
#include "object_store/transfer.h"

enum {
	MAX_PAGE = 32 << 20, /* bytes of a page of a listing */
	TREE_PAGES = 10,     /* a tree with more pages is listed folder by folder */
	REQUEST_MS = 10000,  /* of one request with all its attempts */
	MAX_ATTEMPTS = 6,    /* which take about two seconds */
	MAX_LISTS = 64,
};

#define MAX_AGE_NS (INT64_C(30) * 1000000000)

/* The names in a folder, or in all folders below it. */
typedef struct names_list {
	struct names_list *next;
	sp_object_url folder;
	bool is_tree;
	bool is_stale; /* only its folder is still used, as the root of the next listing */
	int64_t read_ns;
	char etag[128], last_modified[48]; /* validators of the next request; "": none */
	sp_arena *arena;
	sp_listing names; /* sorted, each once */
} names_list;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the lists */
static names_list *lists;

static void free_list(names_list *list)
{
	if (list != NULL)
		sp_arena_destroy(list->arena);
	sp_free(list);
}

static bool is_same_place(const sp_object_url *a, const sp_object_url *b)
{
	return a->kind == b->kind && a->is_secure == b->is_secure && a->is_rpc == b->is_rpc &&
	       strcmp(a->authority, b->authority) == 0;
}

/* The rest of `path` below `folder`, "" for the folder itself; NULL: it is not in there. */
static const char *path_below(const char *folder, const char *path)
{
	size_t size = strlen(folder);

	if (size == 0)
		return path;
	if (strncmp(folder, path, size) != 0 || (path[size] != '/' && path[size] != '\0'))
		return NULL;
	return path + size + (path[size] == '/');
}

/* -------------------------------------------------------------------- requests */

typedef struct request_context {
	const sp_object_url *url;
	sp_account *account;
	const sp_object_op *op;
} request_context;

static sp_status prepare(void *context, sp_http_request *out, sp_error *err)
{
	const request_context *r = context;

	return sp_protocol_make_request(out, r->url, r->account, r->op, err);
}

static sp_status not_found(const sp_object_url *url, sp_error *err)
{
	sp_error_set(err, SP_NOT_FOUND, "there is nothing");
	return sp_protocol_prefix(err, SP_NOT_FOUND, url);
}

/* Makes one request, unless the account's circuit breaker is open. */
static sp_status send(sp_http_response *response, sp_buffer *body, const sp_object_url *url,
		      sp_account *account, const sp_object_op *op, sp_error *err)
{
	request_context context = {url, account, op};
	sp_transfer_call call = {.prepare = prepare,
				 .context = &context,
				 .timeout_ms = REQUEST_MS,
				 .max_attempts = MAX_ATTEMPTS,
				 .body = body};
	sp_account_view view;
	sp_error why;
	sp_status status;

	SP_TRY(sp_account_check_breaker(account, err));
	status = sp_account_prepare(account, &why);
	if (status == SP_OK)
		status = sp_account_get_view(account, &view, &why);
	if (status == SP_OK) {
		if (view.timeout_ms < call.timeout_ms)
			call.timeout_ms = view.timeout_ms;
		sp_account_view_drop(&view);
		status = sp_transfer_call_make(&call, &why);
	} else {
		call.is_transient = status == SP_IO;
	}
	if (call.is_denied)
		sp_account_report_denied(account);
	if (status == SP_OK || status == SP_NOT_FOUND)
		sp_account_report_success(account);
	if (status != SP_OK)
		sp_protocol_prefix(&why, status, url);
	if (status != SP_OK && call.is_transient)
		sp_account_report_failure(account, &why);
	if (status != SP_OK && err != NULL)
		*err = why;
	*response = call.response;
	return status;
}

static uint64_t identity_of(const sp_http_response *response)
{
	uint64_t traits[] = {response->length, (uint64_t)response->modified_s};

	return response->etag[0] != '\0' ? sp_fingerprint64(response->etag, strlen(response->etag))
					 : sp_fingerprint64(traits, sizeof(traits));
}

static sp_status stat_hdfs(sp_object_attributes *out, const sp_object_url *url, sp_account *account,
			   sp_error *err)
{
	const sp_object_op op = {.kind = SP_OBJECT_OP_STAT};
	sp_listing list = {.arena = sp_arena_create(1024)};
	sp_http_response response;
	sp_status status;
	sp_buffer body;

	SP_NEED_MEMORY(list.arena, err, "the names in a folder");
	sp_buffer_init(&body, MAX_PAGE);
	status = send(&response, &body, url, account, &op, err);
	if (status == SP_OK)
		status = sp_listing_read_json(&list, (sp_bytes){body.data, body.size}, err);
	if (status == SP_OK && list.count != 1)
		status = sp_error_set(err, SP_CORRUPT, "WebHDFS's answer is no status of a file");
	if (status == SP_OK)
		*out = (sp_object_attributes){.is_folder = list.items[0].is_folder,
					      .size = list.items[0].size,
					      .modified_s = list.items[0].modified_s,
					      .identity = list.items[0].identity};
	sp_buffer_fini(&body);
	sp_arena_destroy(list.arena);
	return status;
}

static sp_status stat_object(sp_object_attributes *out, const sp_object_url *url,
			     sp_account *account, sp_error *err)
{
	const sp_object_op op = {.kind = SP_OBJECT_OP_STAT};
	sp_http_response response;

	if (url->kind == SP_OBJECT_HDFS)
		return stat_hdfs(out, url, account, err);
	SP_TRY(send(&response, NULL, url, account, &op, err));
	if (response.length == UINT64_MAX)
		return sp_protocol_prefix(
			err, sp_error_set(err, SP_IO, "the server does not tell how large it is"),
			url);
	*out = (sp_object_attributes){.size = response.length,
				      .modified_s = response.modified_s,
				      .identity = identity_of(&response)};
	snprintf(out->etag, sizeof(out->etag), "%s", response.etag);
	return SP_OK;
}

/* ----------------------------------------------------------------------- lists */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const sp_listing_entry *)a)->name, ((const sp_listing_entry *)b)->name);
}

/* Of entries of the same name one that has attributes stays. */
static void sort_unique(sp_listing *names)
{
	size_t kept = 0;

	if (names->count != 0)
		qsort(names->items, names->count, sizeof(names->items[0]), by_name);
	for (size_t i = 0; i < names->count; i++)
		if (kept == 0 || strcmp(names->items[kept - 1].name, names->items[i].name) != 0)
			names->items[kept++] = names->items[i];
		else if (names->items[i].has_attributes)
			names->items[kept - 1] = names->items[i];
	names->count = kept;
}

/* The previous list of the same folder if it has a validator, else NULL. */
static const names_list *find_previous(const names_list *list)
{
	const names_list *previous = lists;

	while (previous != NULL &&
	       (!is_same_place(&previous->folder, &list->folder) ||
		strcmp(previous->folder.path, list->folder.path) != 0 ||
		(previous->etag[0] == '\0' && previous->last_modified[0] == '\0')))
		previous = previous->next;
	return previous;
}

/* False: no memory. */
static bool copy_entries(sp_listing *to, const sp_listing *from)
{
	to->items = sp_arena_zeros(to->arena, from->count + 1, sizeof(*to->items));
	to->room = to->items != NULL ? from->count : 0;
	for (size_t i = 0; i < to->room; i++) {
		const char *name = sp_arena_text(to->arena, sp_bytes_of(from->items[i].name));

		if (name == NULL)
			return false;
		to->items[i] = (sp_listing_entry){.name = name,
						  .is_folder = from->items[i].is_folder};
	}
	return to->items != NULL;
}

/*
 * Copies the names and validators of a web server's folder from its previous list, if there is one.
 * They are used if the server answers with 304.  Attributes are not copied: they are requested
 * again.
 */
static void copy_previous(names_list *list)
{
	const names_list *previous;

	pthread_mutex_lock(&lock);
	previous = find_previous(list);
	if (previous != NULL && copy_entries(&list->names, &previous->names)) {
		list->names.count = previous->names.count;
		memcpy(list->etag, previous->etag, sizeof(list->etag));
		memcpy(list->last_modified, previous->last_modified, sizeof(list->last_modified));
	}
	pthread_mutex_unlock(&lock);
}

/*
 * Validators have a resolution of one second.  A folder that was changed less than two seconds
 * before the response may change again without a new validator, so it gets none.
 */
static void set_validators(names_list *list, const sp_http_response *response)
{
	bool has_time = response->modified_s != 0;
	bool is_settled = !has_time || response->date_s - response->modified_s >= 2;

	snprintf(list->etag, sizeof(list->etag), "%s", is_settled ? response->etag : "");
	snprintf(list->last_modified, sizeof(list->last_modified), "%s",
		 is_settled && has_time ? response->last_modified : "");
}

/* Reads all pages; SP_BUSY: the tree has more than TREE_PAGES. */
static sp_status read_pages(names_list *list, sp_account *account, sp_error *err)
{
	sp_object_op op = {.kind = list->is_tree ? SP_OBJECT_OP_LIST_TREE : SP_OBJECT_OP_LIST,
			   .if_none_match = list->etag,
			   .if_modified_since = list->last_modified};
	sp_status status = SP_OK;
	sp_http_response response;
	sp_buffer body;

	sp_buffer_init(&body, MAX_PAGE);
	for (int page = 0; status == SP_OK; page++) {
		if (list->is_tree && page == TREE_PAGES) {
			status = SP_BUSY;
			break;
		}
		status = send(&response, &body, &list->folder, account, &op, err);
		if (status == SP_OK && response.status == 304)
			break;
		if (status == SP_OK) {
			if (page == 0)
				list->names.count = 0;
			set_validators(list, &response);
			status = sp_protocol_read_names(&list->names, &list->folder,
							(sp_bytes){body.data, body.size}, err);
			sp_protocol_prefix(err, status, &list->folder);
		}
		op.after = list->names.next;
		if (!list->names.has_more)
			break;
	}
	sp_buffer_fini(&body);
	return status;
}

/*
 * SP_NOT_FOUND: no object lies below the folder.  A tree that is too large is listed as a folder.
 */
static sp_status read_list(names_list **out, const sp_object_url *folder, sp_account *account,
			   bool is_tree, sp_error *err)
{
	names_list *list = sp_alloc_zero(1, sizeof(*list));
	sp_status status;

	SP_NEED_MEMORY(list, err, "the names in a folder");
	list->folder = *folder;
	list->is_tree = is_tree;
	list->read_ns = sp_clock_now_ns();
	list->arena = list->names.arena = sp_arena_create(16 << 10);
	status = list->arena != NULL ? SP_OK : sp_no_memory(err, "the names in a folder");
	if (status == SP_OK && folder->kind == SP_OBJECT_HTTP)
		copy_previous(list);
	if (status == SP_OK)
		status = read_pages(list, account, err);
	if (status == SP_OK && list->names.count == 0 && sp_protocol_has_trees(folder->kind))
		status = not_found(folder, err);
	if (status != SP_OK) {
		free_list(list);
		return status == SP_BUSY ? read_list(out, folder, account, false, err) : status;
	}
	sort_unique(&list->names);
	*out = list;
	return SP_OK;
}

/* Frees older lists of the same folder, and those beyond MAX_LISTS. */
static void drop_outdated(const names_list *newest)
{
	size_t count = 0;

	for (names_list **at = &lists; *at != NULL;) {
		names_list *list = *at;
		bool is_replaced = list != newest &&
				   is_same_place(&list->folder, &newest->folder) &&
				   strcmp(list->folder.path, newest->folder.path) == 0;

		if (is_replaced || ++count > MAX_LISTS) {
			*at = list->next;
			free_list(list);
		} else {
			at = &list->next;
		}
	}
}

static bool is_fresh(const names_list *list, int64_t now)
{
	return !list->is_stale && now - list->read_ns <= MAX_AGE_NS;
}

/* The folder of a listed tree that contains this folder; else this folder. */
static void find_root(sp_object_url *out, const sp_object_url *folder)
{
	*out = *folder;
	pthread_mutex_lock(&lock);
	for (const names_list *list = lists; list != NULL; list = list->next)
		if (list->is_tree && is_same_place(&list->folder, folder) &&
		    path_below(list->folder.path, folder->path) != NULL)
			*out = list->folder;
	pthread_mutex_unlock(&lock);
}

/* Whether the folder, or one that contains it, was too large to be listed as a tree. */
static bool is_large(const sp_object_url *folder)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (const names_list *list = lists; list != NULL && !found; list = list->next)
		found = !list->is_tree && is_same_place(&list->folder, folder) &&
			path_below(list->folder.path, folder->path) != NULL;
	pthread_mutex_unlock(&lock);
	return found;
}

/* Lists the folder, or the tree that contains it if one was listed before. */
static sp_status add_list(const sp_object_url *folder, sp_account *account, sp_error *err)
{
	bool is_tree = sp_protocol_has_trees(folder->kind) && !is_large(folder);
	sp_object_url root;
	names_list *list;

	find_root(&root, folder);
	SP_TRY(read_list(&list, &root, account, is_tree, err));
	pthread_mutex_lock(&lock);
	list->next = lists;
	lists = list;
	drop_outdated(list);
	pthread_mutex_unlock(&lock);
	return SP_OK;
}

/* ---------------------------------------------------------------------- look-up */

/* The index of the first name that is not less than `name`. */
static size_t lower_bound(const sp_listing *names, const char *name)
{
	size_t low = 0, high = names->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strcmp(names->items[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether there are names below the folder `name` of a tree. */
static bool has_names_below(const sp_listing *names, const char *name)
{
	char prefix[SP_OBJECT_PATH_SIZE + 1];
	size_t at;

	snprintf(prefix, sizeof(prefix), "%s/", name);
	at = lower_bound(names, prefix);
	return at < names->count && strncmp(names->items[at].name, prefix, strlen(prefix)) == 0;
}

/*
 * The list that says whether `url` exists or, with `is_folder`, which names are in it; *name is set
 * to the URL's name in that list.  NULL: no list says so.
 */
static names_list *find_list(const sp_object_url *url, bool is_folder, const char **name)
{
	int64_t now = sp_clock_now_ns();

	for (names_list *list = lists; list != NULL; list = list->next) {
		*name = is_same_place(&list->folder, url) ? path_below(list->folder.path, url->path)
							  : NULL;
		if (*name != NULL && is_fresh(list, now) &&
		    (**name == '\0' || list->is_tree || (!is_folder && strchr(*name, '/') == NULL)))
			return list;
	}
	return NULL;
}

/*
 * SP_BUSY: no list says whether it exists.  *has_attributes: all of `out` is known, not only the
 * type.
 */
static sp_status look_up(sp_object_attributes *out, bool *has_attributes, const sp_object_url *url)
{
	const sp_listing_entry *item;
	const char *name;
	names_list *list;
	size_t at;

	*out = (sp_object_attributes){.is_folder = true};
	*has_attributes = true;
	list = find_list(url, false, &name);
	if (list == NULL)
		return SP_BUSY;
	if (*name == '\0')
		return SP_OK;
	at = lower_bound(&list->names, name);
	item = at < list->names.count ? &list->names.items[at] : NULL;
	if (item != NULL && strcmp(item->name, name) == 0 && !item->is_folder) {
		*has_attributes = item->has_attributes;
		*out = (sp_object_attributes){.size = item->size,
					      .modified_s = item->modified_s,
					      .identity = item->identity};
		snprintf(out->etag, sizeof(out->etag), "%s", item->etag != NULL ? item->etag : "");
		return SP_OK;
	}
	if ((item != NULL && strcmp(item->name, name) == 0) ||
	    (list->is_tree && has_names_below(&list->names, name)))
		return SP_OK;
	return SP_NOT_FOUND;
}

/* Adds the attributes to the list that has the name. */
static void cache_attributes(const sp_object_url *url, const sp_object_attributes *attributes)
{
	const char *name;
	names_list *list;

	pthread_mutex_lock(&lock);
	list = find_list(url, false, &name);
	if (list != NULL && *name != '\0') {
		size_t at = lower_bound(&list->names, name);
		sp_listing_entry *item = at < list->names.count ? &list->names.items[at] : NULL;

		if (item != NULL && strcmp(item->name, name) == 0 && !item->is_folder) {
			item->size = attributes->size;
			item->modified_s = attributes->modified_s;
			item->identity = attributes->identity;
			item->etag = sp_arena_text(list->arena, sp_bytes_of(attributes->etag));
			item->has_attributes = true;
		}
	}
	pthread_mutex_unlock(&lock);
}

static sp_object_url parent_of(const sp_object_url *url)
{
	sp_object_url parent = *url;
	char *slash = strrchr(parent.path, '/');

	*(slash != NULL ? slash : parent.path) = '\0';
	return parent;
}

static sp_status look_up_locked(sp_object_attributes *out, bool *has_attributes,
				const sp_object_url *url)
{
	sp_status status;

	pthread_mutex_lock(&lock);
	status = look_up(out, has_attributes, url);
	pthread_mutex_unlock(&lock);
	return status;
}

/* Lists the folder that has the name, or is the name; SP_BUSY: use stat_unlisted(). */
static sp_status list_around(const sp_object_url *url, sp_account *account, mode_t type,
			     sp_error *err)
{
	sp_object_url parent = parent_of(url);
	sp_status status;

	if (type == S_IFDIR && url->kind != SP_OBJECT_HDFS)
		return add_list(url, account, err);
	if (type == S_IFDIR)
		return SP_BUSY;
	status = add_list(&parent, account, err);
	/* A store may allow reading but not listing; a web server may have no listings. */
	return status == SP_OK || (status == SP_NOT_FOUND && url->kind != SP_OBJECT_HTTP) ? status
											  : SP_BUSY;
}

/* For a name whose folder cannot be listed because of `why`, which says more than a failed HEAD. */
static sp_status stat_unlisted(sp_object_attributes *out, const sp_object_url *url,
			       sp_account *account, const sp_error *why, sp_error *err)
{
	sp_status status = stat_object(out, url, account, err);

	if (status != SP_OK && status != SP_NOT_FOUND && why->status == SP_IO && err != NULL)
		*err = *why;
	return status;
}

sp_status sp_names_find(sp_object_attributes *out, const sp_object_url *url, sp_account *account,
			mode_t type, sp_error *err)
{
	bool has_attributes;
	sp_status status = look_up_locked(out, &has_attributes, url);
	sp_error why = {.status = SP_OK};

	if (status == SP_BUSY && url->path[0] == '\0')
		return SP_OK; /* a bucket or a server */
	if (status == SP_BUSY) {
		status = list_around(url, account, type, &why);
		if (status == SP_OK)
			status = look_up_locked(out, &has_attributes, url);
		else if (status == SP_BUSY)
			return stat_unlisted(out, url, account, &why, err);
		else if (err != NULL)
			*err = why;
	}
	if (status == SP_OK && !has_attributes) {
		status = stat_object(out, url, account, err);
		if (status == SP_OK)
			cache_attributes(url, out);
		return status;
	}
	return status == SP_NOT_FOUND ? not_found(url, err) : status;
}

/* ---------------------------------------------------------------------- listing */

/* The names right below `name`, which is "" for the list's folder itself. */
static sp_status copy_names(sp_folder *out, const names_list *list, const char *name,
			    sp_arena *arena, sp_error *err)
{
	char prefix[SP_OBJECT_PATH_SIZE + 1];
	size_t room = 0, size;

	snprintf(prefix, sizeof(prefix), "%s%s", name, *name != '\0' ? "/" : "");
	size = strlen(prefix);
	for (size_t i = lower_bound(&list->names, prefix); i < list->names.count; i++) {
		const char *below = list->names.items[i].name;
		const char *last = out->count != 0 ? out->names[out->count - 1] : NULL;
		sp_bytes part;

		if (strncmp(below, prefix, size) != 0)
			break;
		part = (sp_bytes){below + size, strcspn(below + size, "/")};
		if (part.size == 0 || (last != NULL && sp_bytes_equal_text(part, last)))
			continue;
		SP_NEED_MEMORY(SP_ARENA_GROW(arena, out->names, room, out->count, 1), err,
			       "the names in a folder");
		out->names[out->count] = sp_arena_text(arena, part);
		SP_NEED_MEMORY(out->names[out->count++], err, "the names in a folder");
	}
	return SP_OK;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* "a.b" sorts between "a" and "a/c", so the first parts are neither sorted nor unique. */
static void sort_names(sp_folder *out)
{
	size_t kept = 0;

	if (out->count != 0)
		qsort(out->names, out->count, sizeof(*out->names), by_bytes);
	for (size_t i = 0; i < out->count; i++)
		if (kept == 0 || strcmp(out->names[kept - 1], out->names[i]) != 0)
			out->names[kept++] = out->names[i];
	out->count = kept;
}

/* SP_BUSY: no list has the folder's names. */
static sp_status list_known(sp_folder *out, const sp_object_url *url, sp_arena *arena,
			    sp_error *err)
{
	const char *name;
	sp_status status = SP_BUSY;
	names_list *list;

	pthread_mutex_lock(&lock);
	list = find_list(url, true, &name);
	if (list != NULL)
		status = *name == '\0' || has_names_below(&list->names, name)
				 ? copy_names(out, list, name, arena, err)
				 : not_found(url, err);
	pthread_mutex_unlock(&lock);
	if (status == SP_OK)
		sort_names(out);
	return status;
}

sp_status sp_names_list(sp_folder *out, const sp_object_url *url, sp_account *account,
			sp_arena *arena, sp_error *err)
{
	sp_status status;

	*out = (sp_folder){NULL, 0};
	status = list_known(out, url, arena, err);
	if (status == SP_BUSY)
		status = add_list(url, account, err);
	else
		return status;
	if (status == SP_OK)
		status = list_known(out, url, arena, err);
	if (status == SP_BUSY)
		status = sp_error_set(err, SP_IO, "the names in a folder were forgotten");
	if (status != SP_OK)
		out->count = 0;
	return status;
}

void sp_names_refresh(const sp_object_url *url)
{
	pthread_mutex_lock(&lock);
	for (names_list *list = lists; list != NULL; list = list->next)
		if (is_same_place(&list->folder, url) &&
		    (path_below(list->folder.path, url->path) != NULL ||
		     path_below(url->path, list->folder.path) != NULL))
			list->is_stale = true;
	pthread_mutex_unlock(&lock);
}

void sp_names_drop(void)
{
	pthread_mutex_lock(&lock);
	while (lists != NULL) {
		names_list *list = lists;

		lists = list->next;
		free_list(list);
	}
	pthread_mutex_unlock(&lock);
}
