#include "api/host/routes/admin_token.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/words.h"

void sp_admin_token_init(sp_admin_token *token)
{
	token->size = 0;
	pthread_mutex_init(&token->lock, NULL);
}

void sp_admin_token_fini(sp_admin_token *token)
{
	pthread_mutex_destroy(&token->lock);
}

static bool is_token(sp_bytes text)
{
	if (text.size < SP_ADMIN_TOKEN_LEAST || text.size > SP_ADMIN_TOKEN_MOST)
		return false;
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] <= ' ' || text.data[i] > '~')
			return false;
	return true;
}

sp_status sp_admin_token_read(sp_admin_token *token, const char *path, sp_error *err)
{
	sp_status status = SP_OK;
	sp_bytes read;
	char *text;

	SP_TRY(sp_file_read(&text, &read.size, path, 2 * SP_ADMIN_TOKEN_MOST, err));
	read.data = text;
	while (read.size != 0 && strchr("\r\n", text[read.size - 1]) != NULL)
		read.size--;
	if (is_token(read)) {
		pthread_mutex_lock(&token->lock);
		memcpy(token->text, read.data, read.size);
		token->size = read.size;
		pthread_mutex_unlock(&token->lock);
	} else {
		status = sp_error_set(err, SP_INVALID,
				      "%s: a token has %d to %d printable characters, no spaces",
				      path, SP_ADMIN_TOKEN_LEAST, SP_ADMIN_TOKEN_MOST);
	}
	sp_free(text);
	return status;
}

bool sp_admin_token_check(sp_admin_token *token, const sp_http_head *head)
{
	sp_bytes sent = sp_http_head_get(head, "authorization");
	volatile unsigned char differs = 0;
	bool fits;

	if (!sp_words_take(&sent, "bearer "))
		return false;
	pthread_mutex_lock(&token->lock);
	fits = token->size != 0 && sent.size == token->size;
	for (size_t i = 0; fits && i < sent.size; i++)
		differs |= (unsigned char)(sent.data[i] ^ token->text[i]);
	pthread_mutex_unlock(&token->lock);
	return fits && differs == 0;
}
