#include <string.h>

#include "base/percent.h"
#include "object_store/listing.h"

enum { MAX_LINK = 4096, MAX_TAG = 2 * MAX_LINK };

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool begins(sp_bytes text, const char *word)
{
	size_t size = strlen(word);

	if (text.size < size)
		return false;
	for (size_t i = 0; i < size; i++)
		if (lower(text.data[i]) != word[i])
			return false;
	return true;
}

static sp_bytes after(sp_bytes text, size_t count)
{
	return (sp_bytes){text.data + count, text.size - count};
}

/* Copies a link, its "&amp;" and the like decoded; false if it is too long. */
static bool decode_entities(char out[MAX_LINK], sp_bytes link)
{
	static const struct {
		const char *entity;
		char c;
	} entities[] = {{"&amp;", '&'}, {"&#38;", '&'}, {"&#x27;", '\''}, {"&#39;", '\''},
			{"&lt;", '<'},  {"&gt;", '>'},  {"&quot;", '"'},  {"&#34;", '"'}};
	size_t size = 0;

	while (link.size != 0) {
		char c = link.data[0];
		size_t used = 1;

		for (size_t i = 0; c == '&' && i < sizeof(entities) / sizeof(entities[0]); i++)
			if (begins(link, entities[i].entity)) {
				used = strlen(entities[i].entity);
				c = entities[i].c;
				break;
			}
		if (size + 1 == MAX_LINK || c == '\0')
			return false;
		out[size++] = c;
		link = after(link, used);
	}
	out[size] = '\0';
	return true;
}

/* Adds the name in a link, if it leads to something right below the folder. */
static sp_status add_link(sp_listing *out, sp_bytes raw, const char *path, sp_error *err)
{
	char link[MAX_LINK], name[MAX_LINK];
	sp_listing_entry entry = {0};
	sp_bytes text;

	if (!decode_entities(link, raw) || strpbrk(link, "?#") != NULL)
		return SP_OK;
	text = sp_bytes_of(link);
	if (sp_bytes_starts_with(text, path))
		text = after(text, strlen(path));
	if (sp_bytes_starts_with(text, "./"))
		text = after(text, 2);
	entry.is_folder = sp_bytes_ends_with(text, "/");
	text.size -= entry.is_folder;
	if (memchr(text.data, ':', text.size) != NULL ||
	    !sp_percent_decode(name, sizeof(name), text))
		return SP_OK;
	return sp_listing_add(out, sp_bytes_of(name), false, &entry, err);
}

/* The value of the attribute href in a tag <a ...>; its data is NULL if there is none. */
static sp_bytes find_href(sp_bytes tag)
{
	for (size_t i = 1; i + 5 < tag.size; i++) {
		sp_bytes value;
		const char *end;
		char quote;

		if (!begins(after(tag, i), "href=") || strchr(" \t\r\n", tag.data[i - 1]) == NULL)
			continue;
		value = after(tag, i + 5);
		quote = value.data[0];
		if (quote != '"' && quote != '\'')
			return (sp_bytes){NULL, 0};
		value = after(value, 1);
		end = memchr(value.data, quote, value.size);
		if (end == NULL)
			return (sp_bytes){NULL, 0};
		return (sp_bytes){value.data, (size_t)(end - value.data)};
	}
	return (sp_bytes){NULL, 0};
}

sp_status sp_listing_read_html(sp_listing *out, sp_bytes document, const char *path, sp_error *err)
{
	bool is_html = false;

	for (size_t i = 0; i + 3 < document.size; i++) {
		sp_bytes rest = after(document, i), href;
		const char *end;

		is_html |= begins(rest, "<html") || begins(rest, "<!doctype html") ||
			   begins(rest, "<a ");
		if (!begins(rest, "<a") || strchr(" \t\r\n", rest.data[2]) == NULL)
			continue;
		end = memchr(rest.data, '>', rest.size < MAX_TAG ? rest.size : MAX_TAG);
		if (end == NULL)
			continue;
		href = find_href((sp_bytes){rest.data, (size_t)(end - rest.data)});
		if (href.data != NULL)
			SP_TRY(add_link(out, href, path, err));
	}
	if (!is_html)
		return sp_error_set(err, SP_CORRUPT, "the server's answer is no page of links");
	return SP_OK;
}
