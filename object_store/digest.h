#ifndef SP_OBJECT_STORE_DIGEST_H
#define SP_OBJECT_STORE_DIGEST_H

#include "base/bytes.h"

/*
 * Hashes and MACs for signatures; OpenSSL is seen in digest.c only.  False when it fails.
 *
 * Threads: pure.
 */
enum { SP_SHA256_SIZE = 32, SP_SHA1_SIZE = 20, SP_SHA256_HEX_SIZE = 65 };

typedef struct sp_sha256 {
	unsigned char bytes[SP_SHA256_SIZE];
} sp_sha256;

bool sp_digest_sha256(sp_sha256 *out, sp_bytes text);
bool sp_digest_hmac_sha256(sp_sha256 *out, sp_bytes key, sp_bytes text);

/* HMAC-SHA1 in base 64, 28 digits and a NUL. */
bool sp_digest_hmac_sha1_base64(char out[29], sp_bytes key, sp_bytes text);

void sp_digest_hex(char out[SP_SHA256_HEX_SIZE], const sp_sha256 *digest);

/* Overwrites a secret, so that it does not stay in freed memory. */
void sp_digest_wipe(void *secret, size_t size);

/* Overwrites and frees a text of sp_alloc(), and sets it to NULL; NULL is fine. */
void sp_digest_free_secret(char **text);

#endif
