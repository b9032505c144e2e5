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
	MAX_PAGE = 32 << 20, /* bytes of a page of a list */
	TREE_PAGES = 10,     /* of a whole tree; a larger one is listed folder by folder */
	ASK_MS = 10000,      /* at most for one question, */
	ASK_ATTEMPTS = 6,    /* and so many attempts, in some two seconds */
	LISTS_KEPT = 64,
};

#define KEPT_NS (INT64_C(30) * 1000000000)

/* The names in a folder, or in all folders below it. */
typedef struct names_list {
	struct names_list *next;
	sp_object_url folder;
	bool is_tree;
	bool is_stale; /* it tells nothing any more, but which tree to list instead of a part */
	int64_t read_ns;
	char etag[128], changed[48]; /* what the list is asked for with again; "": none */
	sp_arena *arena;
	sp_listing_of names; /* sorted, each once */
} names_list;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the lists */
static names_list *lists;

static void drop_list(names_list *list)
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

/* ------------------------------------------------------------------- questions */

typedef struct asking {
	const sp_object_url *url;
	sp_account *account;
	const sp_question *question;
} asking;

static sp_status prepare(void *context, sp_http_request *out, sp_error *err)
{
	const asking *a = context;

	return sp_protocol_ask(out, a->url, a->account, a->question, err);
}

static sp_status failed(const sp_object_url *url, sp_status status, sp_error *err)
{
	char name[SP_OBJECT_NAME_SIZE];

	return sp_error_prefix(err, status, "%s", sp_protocol_name(name, url));
}

/* One question, unless the store has just failed. */
static sp_status ask(sp_http_answer *answer, sp_buffer *body, const sp_object_url *url,
		     sp_account *account, const sp_question *question, sp_error *err)
{
	asking context = {url, account, question};
	sp_transfer_call call = {.prepare = prepare,
				 .context = &context,
				 .timeout_ms = ASK_MS,
				 .attempts_most = ASK_ATTEMPTS,
				 .body = body};
	sp_account_view view;
	sp_error why;
	sp_status status;

	SP_TRY(sp_account_may_ask(account, err));
	status = sp_account_prepare(account, &why);
	if (status == SP_OK)
		status = sp_account_look(account, &view, &why);
	if (status == SP_OK) {
		if (view.timeout_ms < call.timeout_ms)
			call.timeout_ms = view.timeout_ms;
		sp_account_view_drop(&view);
		status = sp_transfer_call_make(&call, &why);
	} else {
		call.may_pass = status == SP_IO;
	}
	if (call.is_denied)
		sp_account_was_denied(account);
	if (status == SP_OK || status == SP_NOT_FOUND)
		sp_account_has_answered(account);
	if (status != SP_OK)
		failed(url, status, &why);
	if (status != SP_OK && call.may_pass)
		sp_account_has_failed(account, &why);
	if (status != SP_OK && err != NULL)
		*err = why;
	*answer = call.answer;
	return status;
}

static uint64_t identity_of(const sp_http_answer *answer)
{
	uint64_t traits[] = {answer->length, (uint64_t)answer->changed_s};

	return answer->etag[0] != '\0' ? sp_fingerprint64(answer->etag, strlen(answer->etag))
				       : sp_fingerprint64(traits, sizeof(traits));
}

static sp_status ask_hdfs(sp_name_about *out, const sp_object_url *url, sp_account *account,
			  sp_error *err)
{
	const sp_question question = {.ask = SP_ASK_ABOUT};
	sp_listing_of list = {.arena = sp_arena_create(1024)};
	sp_http_answer answer;
	sp_status status;
	sp_buffer body;

	SP_NEED_MEMORY(list.arena, err, "the names in a folder");
	sp_buffer_init(&body, MAX_PAGE);
	status = ask(&answer, &body, url, account, &question, err);
	if (status == SP_OK)
		status = sp_listing_read_json(&list, (sp_bytes){body.data, body.size}, err);
	if (status == SP_OK && list.count != 1)
		status = sp_error_set(err, SP_CORRUPT, "WebHDFS's answer is no status of a file");
	if (status == SP_OK)
		*out = (sp_name_about){.is_folder = list.items[0].is_folder,
				       .size = list.items[0].size,
				       .changed_s = list.items[0].changed_s,
				       .identity = list.items[0].identity};
	sp_buffer_fini(&body);
	sp_arena_destroy(list.arena);
	return status;
}

/* Asks about one object. */
static sp_status ask_about(sp_name_about *out, const sp_object_url *url, sp_account *account,
			   sp_error *err)
{
	const sp_question question = {.ask = SP_ASK_ABOUT};
	sp_http_answer answer;

	if (url->kind == SP_OBJECT_HDFS)
		return ask_hdfs(out, url, account, err);
	SP_TRY(ask(&answer, NULL, url, account, &question, err));
	if (answer.length == UINT64_MAX)
		return failed(url,
			      sp_error_set(err, SP_IO, "the server does not tell how large it is"),
			      err);
	*out = (sp_name_about){.size = answer.length,
			       .changed_s = answer.changed_s,
			       .identity = identity_of(&answer)};
	snprintf(out->etag, sizeof(out->etag), "%s", answer.etag);
	return SP_OK;
}

/* ----------------------------------------------------------------------- lists */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const sp_listed *)a)->name, ((const sp_listed *)b)->name);
}

/* Sorts; of names that are there twice, one that is measured stays. */
static void settle(sp_listing_of *names)
{
	size_t kept = 0;

	if (names->count != 0)
		qsort(names->items, names->count, sizeof(names->items[0]), by_name);
	for (size_t i = 0; i < names->count; i++)
		if (kept == 0 || strcmp(names->items[kept - 1].name, names->items[i].name) != 0)
			names->items[kept++] = names->items[i];
		else if (names->items[i].is_measured)
			names->items[kept - 1] = names->items[i];
	names->count = kept;
}

/* The former list of the same folder that can be asked for with a condition, or NULL. */
static const names_list *find_former(const names_list *list)
{
	const names_list *former = lists;

	while (former != NULL && (!is_same_place(&former->folder, &list->folder) ||
				  strcmp(former->folder.path, list->folder.path) != 0 ||
				  (former->etag[0] == '\0' && former->changed[0] == '\0')))
		former = former->next;
	return former;
}

/* False: no memory. */
static bool copy_listed(sp_listing_of *to, const sp_listing_of *from)
{
	to->items = sp_arena_zeros(to->arena, from->count + 1, sizeof(*to->items));
	to->room = to->items != NULL ? from->count : 0;
	for (size_t i = 0; i < to->room; i++) {
		const char *name = sp_arena_text(to->arena, sp_bytes_of(from->items[i].name));

		if (name == NULL)
			return false;
		to->items[i] = (sp_listed){.name = name, .is_folder = from->items[i].is_folder};
	}
	return to->items != NULL;
}

/*
 * Takes over the names of a web server's folder from its former list, if there is one; they hold if
 * the server says that nothing has changed.  What else was known of them is asked for again.
 */
static void take_over(names_list *list)
{
	const names_list *former;

	pthread_mutex_lock(&lock);
	former = find_former(list);
	if (former != NULL && copy_listed(&list->names, &former->names)) {
		list->names.count = former->names.count;
		memcpy(list->etag, former->etag, sizeof(list->etag));
		memcpy(list->changed, former->changed, sizeof(list->changed));
	}
	pthread_mutex_unlock(&lock);
}

/*
 * Keeps what the list can be asked for with again.  One that was changed in the second in which it
 * was sent may change once more in that second, which no tag or time need show.
 */
static void keep_tag(names_list *list, const sp_http_answer *answer)
{
	bool has_time = answer->changed_s != 0;
	bool is_settled = !has_time || answer->date_s - answer->changed_s >= 2;

	snprintf(list->etag, sizeof(list->etag), "%s", is_settled ? answer->etag : "");
	snprintf(list->changed, sizeof(list->changed), "%s",
		 is_settled && has_time ? answer->changed : "");
}

/* Reads all pages; SP_BUSY: a tree has too many. */
static sp_status read_pages(names_list *list, sp_account *account, sp_error *err)
{
	sp_question question = {.ask = list->is_tree ? SP_ASK_TREE : SP_ASK_FOLDER,
				.known_etag = list->etag,
				.known_changed = list->changed};
	sp_status status = SP_OK;
	sp_http_answer answer;
	sp_buffer body;

	sp_buffer_init(&body, MAX_PAGE);
	for (int page = 0; status == SP_OK; page++) {
		if (list->is_tree && page == TREE_PAGES) {
			status = SP_BUSY;
			break;
		}
		status = ask(&answer, &body, &list->folder, account, &question, err);
		if (status == SP_OK && answer.status == 304)
			break;
		if (status == SP_OK) {
			if (page == 0)
				list->names.count = 0;
			keep_tag(list, &answer);
			status = sp_protocol_read_names(&list->names, &list->folder,
							(sp_bytes){body.data, body.size}, err);
			failed(&list->folder, status, err);
		}
		question.after = list->names.next;
		if (!list->names.has_more)
			break;
	}
	sp_buffer_fini(&body);
	return status;
}

/* SP_NOT_FOUND: there is nothing. */
static sp_status read_list(names_list **out, const sp_object_url *folder, sp_account *account,
			   bool is_tree, sp_error *err)
{
	names_list *list = sp_alloc_zero(1, sizeof(*list));
	char name[SP_OBJECT_NAME_SIZE];
	sp_status status;

	SP_NEED_MEMORY(list, err, "the names in a folder");
	list->folder = *folder;
	list->is_tree = is_tree;
	list->read_ns = sp_clock_now_ns();
	list->arena = list->names.arena = sp_arena_create(16 << 10);
	status = list->arena != NULL ? SP_OK : sp_no_memory(err, "the names in a folder");
	if (status == SP_OK && folder->kind == SP_OBJECT_HTTP)
		take_over(list);
	if (status == SP_OK)
		status = read_pages(list, account, err);
	if (status == SP_OK && list->names.count == 0 && sp_protocol_has_trees(folder->kind))
		status = sp_error_set(err, SP_NOT_FOUND, "%s: there is nothing",
				      sp_protocol_name(name, folder));
	if (status != SP_OK) {
		drop_list(list);
		return status == SP_BUSY ? read_list(out, folder, account, false, err) : status;
	}
	settle(&list->names);
	*out = list;
	return SP_OK;
}

/* Forgets those of the same folder, and those that are too many. */
static void expire(const names_list *newest)
{
	size_t count = 0;

	for (names_list **at = &lists; *at != NULL;) {
		names_list *list = *at;
		bool is_replaced = list != newest &&
				   is_same_place(&list->folder, &newest->folder) &&
				   strcmp(list->folder.path, newest->folder.path) == 0;

		if (is_replaced || ++count > LISTS_KEPT) {
			*at = list->next;
			drop_list(list);
		} else {
			at = &list->next;
		}
	}
}

static bool tells(const names_list *list, int64_t now)
{
	return !list->is_stale && now - list->read_ns <= KEPT_NS;
}

/* The folder of the tree that was listed before and had this one in it; else this one. */
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

/* Whether the folder, or one that it is in, was too large to be listed as a tree. */
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

/* Lists the folder, with all around it that was listed together before. */
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
	expire(list);
	pthread_mutex_unlock(&lock);
	return SP_OK;
}

/* ---------------------------------------------------------------------- look-up */

/* The index of the first name that is not less than `name`. */
static size_t lower_bound(const sp_listing_of *names, const char *name)
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
static bool has_names_below(const sp_listing_of *names, const char *name)
{
	char prefix[SP_OBJECT_PATH_SIZE + 1];
	size_t at;

	snprintf(prefix, sizeof(prefix), "%s/", name);
	at = lower_bound(names, prefix);
	return at < names->count && strncmp(names->items[at].name, prefix, strlen(prefix)) == 0;
}

/*
 * The list that tells whether `url` exists or, with `names_in`, what names are in it; and its name
 * in there.  NULL: none does.
 */
static names_list *list_about(const sp_object_url *url, bool names_in, const char **name)
{
	int64_t now = sp_clock_now_ns();

	for (names_list *list = lists; list != NULL; list = list->next) {
		*name = is_same_place(&list->folder, url) ? path_below(list->folder.path, url->path)
							  : NULL;
		if (*name != NULL && tells(list, now) &&
		    (**name == '\0' || list->is_tree || (!names_in && strchr(*name, '/') == NULL)))
			return list;
	}
	return NULL;
}

/* What the lists know: SP_OK, SP_NOT_FOUND, or SP_BUSY if none tells.  *is_measured: the rest. */
static sp_status look_up(sp_name_about *out, bool *is_measured, const sp_object_url *url)
{
	const sp_listed *item;
	const char *name;
	names_list *list;
	size_t at;

	*out = (sp_name_about){.is_folder = true};
	*is_measured = true;
	list = list_about(url, false, &name);
	if (list == NULL)
		return SP_BUSY;
	if (*name == '\0')
		return SP_OK;
	at = lower_bound(&list->names, name);
	item = at < list->names.count ? &list->names.items[at] : NULL;
	if (item != NULL && strcmp(item->name, name) == 0 && !item->is_folder) {
		*is_measured = item->is_measured;
		*out = (sp_name_about){.size = item->size,
				       .changed_s = item->changed_s,
				       .identity = item->identity};
		snprintf(out->etag, sizeof(out->etag), "%s", item->etag != NULL ? item->etag : "");
		return SP_OK;
	}
	if ((item != NULL && strcmp(item->name, name) == 0) ||
	    (list->is_tree && has_names_below(&list->names, name)))
		return SP_OK;
	return SP_NOT_FOUND;
}

/* Keeps what was asked about a name, for the next look-up. */
static void keep(const sp_object_url *url, const sp_name_about *about)
{
	const char *name;
	names_list *list;

	pthread_mutex_lock(&lock);
	list = list_about(url, false, &name);
	if (list != NULL && *name != '\0') {
		size_t at = lower_bound(&list->names, name);
		sp_listed *item = at < list->names.count ? &list->names.items[at] : NULL;

		if (item != NULL && strcmp(item->name, name) == 0 && !item->is_folder) {
			item->size = about->size;
			item->changed_s = about->changed_s;
			item->identity = about->identity;
			item->etag = sp_arena_text(list->arena, sp_bytes_of(about->etag));
			item->is_measured = true;
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

static sp_status look_up_locked(sp_name_about *out, bool *is_measured, const sp_object_url *url)
{
	sp_status status;

	pthread_mutex_lock(&lock);
	status = look_up(out, is_measured, url);
	pthread_mutex_unlock(&lock);
	return status;
}

/* Lists what tells about the name; SP_BUSY: a question about it alone does. */
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
	/* A store may let us read what we must not list; a web server may list nothing. */
	return status == SP_OK || (status == SP_NOT_FOUND && url->kind != SP_OBJECT_HTTP) ? status
											  : SP_BUSY;
}

/* Asks about a name whose folder cannot be listed because of `why`, which says more than a HEAD. */
static sp_status ask_alone(sp_name_about *out, const sp_object_url *url, sp_account *account,
			   const sp_error *why, sp_error *err)
{
	sp_status status = ask_about(out, url, account, err);

	if (status != SP_OK && status != SP_NOT_FOUND && why->status == SP_IO && err != NULL)
		*err = *why;
	return status;
}

static sp_status not_found(const sp_object_url *url, sp_error *err)
{
	char name[SP_OBJECT_NAME_SIZE];

	return sp_error_set(err, SP_NOT_FOUND, "%s: there is nothing", sp_protocol_name(name, url));
}

sp_status sp_names_find(sp_name_about *out, const sp_object_url *url, sp_account *account,
			mode_t type, sp_error *err)
{
	bool is_measured;
	sp_status status = look_up_locked(out, &is_measured, url);
	sp_error why = {.status = SP_OK};

	if (status == SP_BUSY && url->path[0] == '\0')
		return SP_OK; /* a bucket or a server */
	if (status == SP_BUSY) {
		status = list_around(url, account, type, &why);
		if (status == SP_OK)
			status = look_up_locked(out, &is_measured, url);
		else if (status == SP_BUSY)
			return ask_alone(out, url, account, &why, err);
		else if (err != NULL)
			*err = why;
	}
	if (status == SP_OK && !is_measured) {
		status = ask_about(out, url, account, err);
		if (status == SP_OK)
			keep(url, out);
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

/* "a.b" sorts between "a" and "a/c", so that parts are sorted again, and may be there twice. */
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

/* SP_BUSY: no list tells. */
static sp_status list_known(sp_folder *out, const sp_object_url *url, sp_arena *arena,
			    sp_error *err)
{
	const char *name;
	sp_status status = SP_BUSY;
	names_list *list;

	pthread_mutex_lock(&lock);
	list = list_about(url, true, &name);
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
		drop_list(list);
	}
	pthread_mutex_unlock(&lock);
}
