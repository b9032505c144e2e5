#ifndef SP_OBJECT_STORE_LISTING_H
#define SP_OBJECT_STORE_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/*
 * The names that a store lists, and the documents that it lists them in.  Those are foreign bytes:
 * names that are no names of files ("", ".", "..", with a control character or, in one folder, a
 * slash) are left out.
 *
 * Threads: one thread at a time.
 */
typedef struct sp_listed {
	const char *name; /* below the folder that was listed; with slashes if it lies deeper */
	bool is_folder;
	bool is_measured; /* the rest is known */
	uint64_t size;
	int64_t changed_s; /* Unix time; 0: unknown */
	uint64_t identity; /* a hash that changes with the content */
	const char *etag;  /* with its quotes; NULL: unknown */
} sp_listed;

/* How many names of one folder, or of all folders below one, are kept. */
enum { SP_LISTING_MOST = 200000 };

typedef struct sp_listing_of {
	sp_arena *arena; /* holds items and texts */
	sp_listed *items;
	size_t count, room;
	bool has_more;    /* there is another page */
	const char *next; /* what to ask for it with; NULL: none */
} sp_listing_of;

/*
 * A page of S3's ListObjectsV2 or of OSS's ListObjects, for keys that begin with `prefix`, which is
 * "" or ends in a slash.  Adds to `out`.  SP_CORRUPT for another document; for one that reports an
 * error SP_IO, with its code.
 */
SP_MUST_CHECK sp_status sp_listing_read_xml(sp_listing_of *out, sp_bytes document,
					    const char *prefix, sp_error *err);

/* The code of an error document, such as "NoSuchKey"; "" if there is none.  `out` has 64 bytes. */
void sp_listing_error_code(char out[64], sp_bytes document);

/*
 * The FileStatuses of WebHDFS's LISTSTATUS, or the FileStatus of GETFILESTATUS, whose name is then
 * "".  A document of a RemoteException gives SP_NOT_FOUND for a file that is missing, else SP_IO.
 */
SP_MUST_CHECK sp_status sp_listing_read_json(sp_listing_of *out, sp_bytes document, sp_error *err);

/*
 * The links of a page of HTML to names in the folder `path` of a web server (escaped, beginning and
 * ending with a slash).  Nothing but names is known; those of folders end in a slash there.  A name
 * may be there twice.
 */
SP_MUST_CHECK sp_status sp_listing_read_html(sp_listing_of *out, sp_bytes document,
					     const char *path, sp_error *err);

/* Adds an entry if its name is one; `deep` allows slashes within.  SP_NO_MEMORY, or SP_INVALID. */
SP_MUST_CHECK sp_status sp_listing_add(sp_listing_of *out, sp_bytes name, bool deep,
				       const sp_listed *about, sp_error *err);

/* Unix time of "2009-10-12T17:50:30.000Z", of an HTTP date, or 0. */
int64_t sp_listing_time(const char *text);

#endif
