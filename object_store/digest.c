#include "object_store/digest.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "base/alloc.h"

bool sp_digest_sha256(sp_sha256 *out, sp_bytes text)
{
	unsigned size;

	return EVP_Digest(text.data, text.size, out->bytes, &size, EVP_sha256(), NULL) == 1;
}

bool sp_digest_hmac_sha256(sp_sha256 *out, sp_bytes key, sp_bytes text)
{
	unsigned size;

	return key.size <= INT_MAX &&
	       HMAC(EVP_sha256(), key.data, (int)key.size, (const unsigned char *)text.data,
		    text.size, out->bytes, &size) != NULL;
}

bool sp_digest_hmac_sha1_base64(char out[29], sp_bytes key, sp_bytes text)
{
	unsigned char digest[SP_SHA1_SIZE];
	unsigned size;

	if (key.size > INT_MAX ||
	    HMAC(EVP_sha1(), key.data, (int)key.size, (const unsigned char *)text.data, text.size,
		 digest, &size) == NULL)
		return false;
	return EVP_EncodeBlock((unsigned char *)out, digest, SP_SHA1_SIZE) == 28;
}

void sp_digest_hex(char out[SP_SHA256_HEX_SIZE], const sp_sha256 *digest)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < SP_SHA256_SIZE; i++) {
		out[2 * i] = digits[digest->bytes[i] >> 4];
		out[2 * i + 1] = digits[digest->bytes[i] & 15];
	}
	out[2 * SP_SHA256_SIZE] = '\0';
}

void sp_digest_wipe(void *secret, size_t size)
{
	OPENSSL_cleanse(secret, size);
}

void sp_digest_free_secret(char **text)
{
	if (*text != NULL)
		sp_digest_wipe(*text, strlen(*text));
	sp_free(*text);
	*text = NULL;
}
