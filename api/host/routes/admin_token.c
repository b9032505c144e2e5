#include "api/host/routes/admin_token.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/words.h"

static bool is_token(sp_bytes text)
{
	if (text.size < SP_ADMIN_TOKEN_LEAST || text.size > SP_ADMIN_TOKEN_MOST)
		return false;
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return false;
	return true;
}

sp_status sp_admin_token_read(const char **out, const char *path, sp_arena *arena, sp_error *err)
{
	sp_status status = SP_OK;
	sp_bytes token;
	char *text;

	SP_TRY(sp_file_read(&text, &token.size, path, 2 * SP_ADMIN_TOKEN_MOST, err));
	token.data = text;
	while (token.size != 0 && strchr("\r\n", text[token.size - 1]) != NULL)
		token.size--;
	if (!is_token(token))
		status = sp_error_set(err, SP_INVALID,
				      "%s: a token has %d to %d printable characters, no spaces",
				      path, SP_ADMIN_TOKEN_LEAST, SP_ADMIN_TOKEN_MOST);
	else if ((*out = sp_arena_text(arena, token)) == NULL)
		status = sp_no_memory(err, "the token");
	sp_free(text);
	return status;
}

bool sp_admin_token_check(const char *token, const sp_http_head *head)
{
	sp_bytes sent = sp_http_head_get(head, "authorization");
	volatile unsigned char differs = 0;

	if (token == NULL)
		return true;
	if (!sp_words_take(&sent, "bearer ") || sent.size != strlen(token))
		return false;
	for (size_t i = 0; i < sent.size; i++)
		differs |= (unsigned char)(sent.data[i] ^ token[i]);
	return differs == 0;
}
