#include "api/host/eas/eas_token.h"

#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/hex.h"
#include "base/words.h"

enum { SHA1_SIZE = 20, MD5_SIZE = 16, BASE64_SHA1 = 28, MAX_SIGNED = 8 << 10 };

/* Compares without telling by the time taken where two texts of one length differ. */
static bool equal(sp_bytes a, sp_bytes b)
{
	return a.size == b.size && a.size != 0 && CRYPTO_memcmp(a.data, b.data, a.size) == 0;
}

/* Lower-case hexadecimal MD5 of the body. */
static bool md5_hex(char out[2 * MD5_SIZE + 1], sp_bytes body)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned size = 0;

	if (EVP_Digest(body.data, body.size, digest, &size, EVP_md5(), NULL) != 1 ||
	    size != MD5_SIZE)
		return false;
	sp_hex_print(out, digest, size);
	return true;
}

/* The base64 of HMAC-SHA1(token, "<method>\n<md5>\n<type>\n<date>\n<path>"). */
static bool sign(char out[BASE64_SHA1 + 1], const sp_eas_request *request, sp_bytes method,
		 const char *md5, sp_bytes token)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	char text[MAX_SIGNED];
	unsigned size = 0;
	int length = snprintf(text, sizeof(text), "%.*s\n%s\n%.*s\n%.*s\n%.*s", (int)method.size,
			      method.data, md5, (int)request->content_type.size,
			      request->content_type.data, (int)request->date.size,
			      request->date.data, (int)request->path.size, request->path.data);

	if (length < 0 || (size_t)length >= sizeof(text))
		return false;
	if (HMAC(EVP_sha1(), token.data, (int)token.size, (const unsigned char *)text,
		 (size_t)length, digest, &size) == NULL ||
	    size != SHA1_SIZE)
		return false;
	return EVP_EncodeBlock((unsigned char *)out, digest, SHA1_SIZE) == BASE64_SHA1;
}

/* The SDK signs as for a POST, whatever it sends. */
static bool signature_is_right(const sp_eas_request *request, sp_bytes signature, sp_bytes token)
{
	const sp_bytes methods[] = {sp_bytes_of("POST"), request->method};
	char md5[2 * MD5_SIZE + 1], right[BASE64_SHA1 + 1];
	bool found = false;

	if (!md5_hex(md5, request->body) ||
	    !equal(request->content_md5, (sp_bytes){md5, 2 * MD5_SIZE}))
		return false;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		found |= sign(right, request, methods[i], md5, token) &&
			 equal(signature, (sp_bytes){right, BASE64_SHA1});
	return found;
}

static bool has_token(const sp_eas_request *request, sp_bytes token)
{
	sp_bytes sent = request->authorization;

	if (sp_words_take(&sent, "EAS "))
		return signature_is_right(request, sent, token);
	sp_words_take(&sent, "Bearer ");
	return equal(sent, token);
}

bool sp_eas_token_check(const sp_eas_request *request, const char *tokens)
{
	bool found = false;

	while (*tokens != '\0') {
		size_t size = strcspn(tokens, ",");

		found |= has_token(request, (sp_bytes){tokens, size});
		tokens += size + (tokens[size] == ',');
	}
	return found;
}
