#ifndef SP_OBJECT_STORE_LISTING_H
#define SP_OBJECT_STORE_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * Parsers of the documents in which stores list names.  The documents are not trusted: names that
 * no file can have ("", ".", "..", with a control character or, in one folder, a slash) are left
 * out.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_listing_entry {
	const char *name; /* relative to the listed folder; with slashes if it lies deeper */
	bool is_folder;
	bool has_attributes; /* the following are known */
	uint64_t size;
	int64_t modified_s; /* Unix time; 0: unknown */
	uint64_t identity;  /* a hash that changes with the content */
	const char *etag;   /* with its quotes; NULL: unknown */
} sp_listing_entry;

/* A listing of a folder or a tree with more names is refused. */
enum { SP_LISTING_MAX = 200000 };

typedef struct sp_listing {
	sp_arena *arena; /* holds items and texts */
	sp_listing_entry *items;
	size_t count, room;
	bool has_more;    /* there is another page */
	const char *next; /* its continuation token or marker; NULL: none */
} sp_listing;

/*
 * Adds the names of a page of S3's ListObjectsV2 or OSS's ListObjects for keys that begin with
 * `prefix`, which is "" or ends in a slash.  SP_IO for an error document, with its code in the
 * text; SP_CORRUPT for any other document.
 */
SP_MUST_CHECK sp_status sp_listing_read_xml(sp_listing *out, sp_bytes document, const char *prefix,
					    sp_error *err);

/* The code of an error document, such as "NoSuchKey"; "" if there is none.  `out` has 64 bytes. */
void sp_listing_error_code(char out[64], sp_bytes document);

/*
 * Adds the FileStatuses of WebHDFS's LISTSTATUS, or the FileStatus of GETFILESTATUS under the name
 * "".  For a RemoteException SP_NOT_FOUND if the file is missing, else SP_IO.
 */
SP_MUST_CHECK sp_status sp_listing_read_json(sp_listing *out, sp_bytes document, sp_error *err);

/*
 * Adds the names in the folder `path` of a web server (escaped, beginning and ending with a slash)
 * that an HTML page links to.  A link that ends in a slash is a folder.  The entries have no
 * attributes, and a name may occur twice.
 */
SP_MUST_CHECK sp_status sp_listing_read_html(sp_listing *out, sp_bytes document, const char *path,
					     sp_error *err);

/* Adds an entry if its name is valid; `deep` allows slashes.  SP_INVALID: too many. */
SP_MUST_CHECK sp_status sp_listing_add(sp_listing *out, sp_bytes name, bool deep,
				       const sp_listing_entry *entry, sp_error *err);

/* Unix time of "2009-10-12T17:50:30.000Z", of an HTTP date, or 0. */
int64_t sp_listing_time(const char *text);

#endif
