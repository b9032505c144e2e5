#include <expat.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "object_store/listing.h"

/*
 * The elements that are read, by their path from the root:
 *
 *   ListBucketResult
 *     IsTruncated, NextContinuationToken, NextMarker
 *     Contents: Key, LastModified, ETag, Size
 *     CommonPrefixes: Prefix
 *   Error: Code
 *
 * Namespaces are ignored.
 */
enum { MAX_DEPTH = 16, MAX_TEXT = 4096 };

typedef struct reader {
	XML_Parser parser;
	sp_listing *out; /* NULL: only `code` is wanted */
	const char *prefix;
	int depth;
	char path[MAX_DEPTH][24]; /* names of the open elements, cut off */
	char text[MAX_TEXT];      /* of the innermost one */
	size_t text_size;
	bool is_long; /* its text does not fit */

	bool is_list, is_truncated, is_error;
	char code[64];
	char key[MAX_TEXT];
	char etag[128];
	sp_listing_entry entry;
	sp_status status;
	sp_error *err;
} reader;

static void XMLCALL on_start(void *context, const XML_Char *name, const XML_Char **attributes)
{
	reader *r = context;

	(void)attributes;
	if (r->depth == MAX_DEPTH) {
		XML_StopParser(r->parser, XML_FALSE);
		return;
	}
	snprintf(r->path[r->depth], sizeof(r->path[0]), "%.23s", name);
	r->depth++;
	r->text_size = 0;
	r->is_long = false;
	if (r->depth == 1) {
		r->is_list = strcmp(name, "ListBucketResult") == 0;
		r->is_error = strcmp(name, "Error") == 0;
	}
	if (r->depth == 2 && strcmp(name, "Contents") == 0) {
		r->key[0] = '\0';
		r->entry = (sp_listing_entry){.has_attributes = true};
	}
}

static void XMLCALL on_text(void *context, const XML_Char *text, int size)
{
	reader *r = context;
	size_t room = sizeof(r->text) - 1 - r->text_size;

	if ((size_t)size > room) {
		r->is_long = true;
		size = (int)room;
	}
	memcpy(r->text + r->text_size, text, (size_t)size);
	r->text_size += (size_t)size;
}

/* An entity could expand to any size, and no listing has one. */
static void XMLCALL on_doctype(void *context, const XML_Char *name, const XML_Char *system,
			       const XML_Char *public, int has_subset)
{
	reader *r = context;

	(void)name;
	(void)system;
	(void)public;
	(void)has_subset;
	XML_StopParser(r->parser, XML_FALSE);
}

static bool is_at(const reader *r, int depth, const char *outer, const char *inner)
{
	return r->depth == depth && strcmp(r->path[depth - 2], outer) == 0 &&
	       strcmp(r->path[depth - 1], inner) == 0;
}

/* Adds what lies below the prefix; a key that ends in a slash marks a folder. */
static void add(reader *r, const char *key, bool is_folder)
{
	size_t before = strlen(r->prefix);
	sp_bytes name = sp_bytes_of(key);

	if (!sp_bytes_starts_with(name, r->prefix))
		return;
	name = (sp_bytes){name.data + before, name.size - before};
	if (sp_bytes_ends_with(name, "/")) {
		name.size--;
		is_folder = true;
	}
	r->entry.is_folder = is_folder;
	r->status = sp_listing_add(r->out, name, true, &r->entry, r->err);
	if (r->status != SP_OK)
		XML_StopParser(r->parser, XML_FALSE);
}

/* A tag that is too long to be one still tells whether it has changed. */
static void on_etag(reader *r)
{
	r->entry.identity = sp_fingerprint64(r->text, r->text_size);
	if (r->text_size != 0 && r->text_size < sizeof(r->etag)) {
		memcpy(r->etag, r->text, r->text_size + 1);
		r->entry.etag = r->etag;
	}
}

static void on_contents(reader *r)
{
	if (is_at(r, 3, "Contents", "Key") && !r->is_long)
		memcpy(r->key, r->text, r->text_size + 1);
	else if (is_at(r, 3, "Contents", "Size"))
		r->entry.size = strtoull(r->text, NULL, 10);
	else if (is_at(r, 3, "Contents", "LastModified"))
		r->entry.modified_s = sp_listing_time(r->text);
	else if (is_at(r, 3, "Contents", "ETag"))
		on_etag(r);
	else if (r->depth == 2 && strcmp(r->path[1], "Contents") == 0 && r->key[0] != '\0')
		add(r, r->key, false);
}

static void on_list(reader *r)
{
	if (is_at(r, 2, "ListBucketResult", "IsTruncated")) {
		r->is_truncated = strcmp(r->text, "true") == 0;
	} else if (is_at(r, 2, "ListBucketResult", "NextContinuationToken") ||
		   is_at(r, 2, "ListBucketResult", "NextMarker")) {
		if (!r->is_long && r->text_size != 0)
			r->out->next = sp_arena_text(r->out->arena,
						     (sp_bytes){r->text, r->text_size});
	} else if (is_at(r, 3, "CommonPrefixes", "Prefix")) {
		r->entry = (sp_listing_entry){.is_folder = true};
		if (!r->is_long)
			add(r, r->text, true);
	} else {
		on_contents(r);
	}
}

static void XMLCALL on_end(void *context, const XML_Char *name)
{
	reader *r = context;

	(void)name;
	r->text[r->text_size] = '\0';
	if (r->is_list && r->out != NULL)
		on_list(r);
	if (r->is_error && is_at(r, 2, "Error", "Code"))
		snprintf(r->code, sizeof(r->code), "%.63s", r->text);
	r->text_size = 0;
	r->depth--;
}

/* Whether the whole document is well formed. */
static bool parse(reader *r, sp_bytes document)
{
	bool good;

	r->parser = XML_ParserCreate(NULL);
	if (r->parser == NULL || document.size > INT32_MAX)
		return false;
	XML_SetUserData(r->parser, r);
	XML_SetElementHandler(r->parser, on_start, on_end);
	XML_SetCharacterDataHandler(r->parser, on_text);
	XML_SetStartDoctypeDeclHandler(r->parser, on_doctype);
	good = XML_Parse(r->parser, document.data, (int)document.size, 1) == XML_STATUS_OK;
	XML_ParserFree(r->parser);
	return good;
}

sp_status sp_listing_read_xml(sp_listing *out, sp_bytes document, const char *prefix, sp_error *err)
{
	reader r = {.out = out, .prefix = prefix, .err = err};
	bool good;

	out->next = NULL;
	good = parse(&r, document);
	if (r.status != SP_OK)
		return r.status;
	if (r.is_error)
		return sp_error_set(err, SP_IO, "the store answers with the error '%s'", r.code);
	if (!good || !r.is_list)
		return sp_error_set(err, SP_CORRUPT, "the store's answer is no list of objects");
	if (r.is_truncated && out->next == NULL)
		return sp_error_set(err, SP_CORRUPT,
				    "a list of objects goes on, but does not say from where");
	out->has_more = r.is_truncated;
	return SP_OK;
}

void sp_listing_error_code(char out[64], sp_bytes document)
{
	reader r = {.prefix = ""};

	(void)parse(&r, document);
	memcpy(out, r.code, sizeof(r.code));
}
