#ifndef SP_BASE_HASH_H
#define SP_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/*
 * Hashes whose values are part of file formats or of TensorFlow's operators, and one that is
 * keyed per process.
 *
 * Threads: pure.
 */

/*
 * CRC-32C (Castagnoli, reflected polynomial 0x82F63B78).  Continues the value `crc`, initially 0,
 * over `size` bytes.  Source: RFC 3720, B.4.
 */
uint32_t sp_crc32c(uint32_t crc, const void *data, size_t size);

/*
 * The CRC-32C of the concatenation of two byte ranges from the CRC-32C of each; the second range
 * has `second_size` bytes.  Ranges can thus be summed in parallel and in any order.
 */
uint32_t sp_crc32c_join(uint32_t first, uint32_t second, uint64_t second_size);

/* The masked form in which TensorFlow and LevelDB store a CRC beside its data. */
static inline uint32_t sp_crc32c_mask(uint32_t crc)
{
	return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/*
 * FarmHash Fingerprint64 (farmhashna::Hash64), the hash behind TensorFlow's
 * StringToHashBucketFast and Fingerprint64.  Source: the FarmHash definition
 * by G. Pike, 2014.
 */
uint64_t sp_fingerprint64(const void *data, size_t size);

/* One fingerprint of two, TensorFlow's FingerprintCat64; the order matters. */
static inline uint64_t sp_fingerprint64_join(uint64_t first, uint64_t second)
{
	const uint64_t m = 0xc6a4a7935bd1e995u; /* MurmurHash64A's */
	uint64_t h = second * m;

	h = (first ^ m ^ ((h ^ (h >> 47)) * m)) * m;
	h = (h ^ (h >> 47)) * m;
	return h ^ (h >> 47);
}

/*
 * SipHash-2-4 under a key of two words, the hash behind TensorFlow's
 * StringToHashBucketStrong.  Source: J.-P. Aumasson and D. J. Bernstein,
 * "SipHash: a fast short-input PRF", 2012.
 */
uint64_t sp_siphash24(const uint64_t key[2], const void *data, size_t size);

/* SipHash-1-3: faster, for our own hash tables. */
uint64_t sp_siphash13(const uint64_t key[2], const void *data, size_t size);

/*
 * A random key, constant for the life of the process, so that outsiders cannot choose names and
 * keys that collide.
 */
const uint64_t *sp_hash_process_key(void);

/*
 * MurmurHash64A, the hash behind TensorFlow's StringToHashBucket (with seed
 * 0xDECAFCAFFE).  Source: the definition by A. Appleby, 2008.
 */
uint64_t sp_murmur64(uint64_t seed, const void *data, size_t size);

#endif
