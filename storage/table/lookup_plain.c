#include <string.h>

#include "storage/table/lookup_internal.h"
#include "storage/placement/placement_lanes.h"
#include "storage/format/packed_row_internal.h"

/*
 * The most frequent lookup, as one tight loop: many keys, rows of float32 in one layer.  State that
 * the general pipeline (storage/table/lookup_pipeline.c) loads again for every key stays in
 * registers, and there is no branch on whether a key is held, which would be unpredictable.
 */
enum {
	BLOCK = 8,         /* keys that go through a stage together */
	LOCATE_AFTER = 32, /* keys between the prefetch of a pilot and its use */
	ANSWER_AFTER = 64, /* keys between the prefetch of a slot and its use */
	RING = 128,
	COPY = 16,          /* elements that are copied at once */
	FEWEST = 16,        /* with other lookups: fewer keys go to the general pipeline */
	POOLED = 8192,      /* elements that are gathered, and then summed, at once */
	FEWEST_POOLED = 64, /* rows that must fit into POOLED */
};

typedef struct plain {
	const sp_rows *rows;
	sp_placement placement; /* of `rows` */
	const char *slots;
	const uint8_t *pilots;
	const float *defaults;
	uint64_t default_mask;
	/* Of the keys in flight. */
	_Alignas(64) uint64_t hashes[RING];
	_Alignas(64) uint64_t buckets[RING];
	_Alignas(64) const char *slot_at[RING];
} plain;

#define INLINE static inline __attribute__((always_inline))

INLINE void start(plain *p, const sp_lookup *lookup)
{
	const sp_rows *rows = lookup->table->base;
	const sp_table_rules *rules = lookup->table->rules;

	p->rows = rows;
	p->placement = rows->shape.placement;
	p->slots = rows->slots;
	p->pilots = rows->pilots;
	p->defaults = rules->default_rows.data;
	p->default_mask = rules->default_row_count - 1;
}

/* Prefetches a slot; if the size is the constant 128, it starts on a line. */
INLINE void fetch(const char *slot, size_t slot_size)
{
	if (__builtin_constant_p(slot_size) && slot_size == 128) {
		__builtin_prefetch(slot, 0, 2);
		__builtin_prefetch(slot + 64, 0, 2);
		return;
	}
	sp_rows__fetch(slot, slot_size);
}

/* Hashes keys [count], at most BLOCK, to the entries of the ring from `at` on. */
INLINE void hash_block(plain *p, const int64_t *keys, size_t at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t hash = sp_placement_hash(&p->placement, keys[i]);

		p->hashes[at + i] = hash;
		p->buckets[at + i] = sp_placement_bucket(&p->placement, hash);
	}
}

INLINE void locate_block(plain *p, size_t at, size_t count, size_t slot_size)
{
	for (size_t i = at; i < at + count; i++) {
		size_t slot = sp_placement_slot(&p->placement, p->hashes[i],
						p->pilots[p->buckets[i]]);

		p->slot_at[i] = p->slots + slot * slot_size;
	}
}

/* The row that answers an absent key. */
INLINE const float *absent_row(const plain *p, int64_t key, size_t dim)
{
	return p->defaults + ((uint64_t)key & p->default_mask) * dim;
}

INLINE void copy_elements(float *to, const float *from, size_t dim)
{
	for (; dim >= COPY; dim -= COPY, to += COPY, from += COPY)
		memcpy(to, from, COPY * sizeof(float));
	if (dim != 0)
		memcpy(to, from, dim * sizeof(float));
}

/* Functions named answer_... write the row of a key, and return whether it is held. */

/* For the layout with keys in front of rows. */
INLINE bool answer_front(const plain *p, const char *slot, int64_t key, size_t dim, float *to)
{
	const char *absent = (const char *)absent_row(p, key, dim);
	uintptr_t is_held;
	int64_t mark;

	memcpy(&mark, slot, sizeof(mark));
	is_held = -(uintptr_t)((mark == ~key) & (key != SP_KEY_EMPTY));
	copy_elements(to,
		      (const float *)(((uintptr_t)(slot + sizeof(mark)) & is_held) |
				      ((uintptr_t)absent & ~is_held)),
		      dim);
	return is_held != 0;
}

/* For packed rows without AVX2, and for outliers. */
INLINE bool answer_packed(const plain *p, const char *slot, int64_t key, size_t dim, float *to)
{
	sp_stored_row row;

	if (key == SP_KEY_EMPTY || !p->rows->packed->holds(slot, key)) {
		copy_elements(to, absent_row(p, key, dim), dim);
		return false;
	}
	row = sp_rows__stored(p->rows, slot);
	row.codec->decode(dim, row.data, to);
	return true;
}

static inline size_t less(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many of `count` keys are in the block that starts at `first`; 0 if it starts past them. */
static inline size_t block_of(size_t first, size_t count)
{
	return first < count ? less(count - first, BLOCK) : 0;
}

/*
 * The loop, for given functions for each stage; the sizes may be constants.  It returns how many of
 * the keys are held.  Hashes and slots are computed a block at a time.  The order of prefetches
 * depends on the processor:
 *
 * ONE_BY_ONE  Alternates prefetches and answers: the prefetches of a whole block at once would
 *             wait for the few line fill buffers.
 * IN_BURSTS   Prefetches for a whole block, then answers one: see sp_lookup__in_bursts().
 *
 * With few keys each stage is done for all of them before the next stage.
 */
#define GATHER(...) GATHER_OF(__VA_ARGS__)
#define GATHER_OF(name, attributes, hash, locate, in_bursts, answer, row_dim, slot_bytes)          \
	attributes static size_t name(const sp_lookup *lookup)                                     \
	{                                                                                          \
		size_t count = lookup->count, stride = lookup->stride;                             \
		size_t dim = (row_dim), slot_size = (slot_bytes);                                  \
		size_t all = (count + BLOCK - 1) / BLOCK * BLOCK;                                  \
		size_t to_locate = less(all, LOCATE_AFTER);                                        \
		size_t to_answer = to_locate + less(all, ANSWER_AFTER);                            \
		const int64_t *keys = lookup->keys;                                                \
		float *to = lookup->rows;                                                          \
		size_t held = 0;                                                                   \
		plain p;                                                                           \
                                                                                                   \
		start(&p, lookup);                                                                 \
		for (size_t t = 0; t < count + to_answer; t += BLOCK) {                            \
			size_t l = t - to_locate, a = t - to_answer;                               \
			size_t hashed = block_of(t, count);                                        \
			size_t located = block_of(l, count);                                       \
			size_t answered = block_of(a, count);                                      \
                                                                                                   \
			if (hashed != 0)                                                           \
				hash(&p, keys + t, t % RING, hashed);                              \
			if (located != 0)                                                          \
				locate(&p, l % RING, located, slot_size);                          \
			for (size_t i = 0; i < BLOCK; i++) {                                       \
				if (i < hashed)                                                    \
					__builtin_prefetch(p.pilots + p.buckets[(t + i) % RING]);  \
				if (i < located)                                                   \
					fetch(p.slot_at[(l + i) % RING], slot_size);               \
				if (!(in_bursts) && i < answered)                                  \
					held += answer(&p, p.slot_at[(a + i) % RING], keys[a + i], \
						       dim, to + (a + i) * stride);                \
			}                                                                          \
			for (size_t i = 0; (in_bursts) && i < answered; i++)                       \
				held += answer(&p, p.slot_at[(a + i) % RING], keys[a + i], dim,    \
					       to + (a + i) * stride);                             \
		}                                                                                  \
		return held;                                                                       \
	}

#define ONE_BY_ONE false
#define IN_BURSTS  true

#define ANY_SIZE lookup->table->rules->dim, lookup->table->base->shape.slot_size

GATHER(gather_front, , hash_block, locate_block, ONE_BY_ONE, answer_front, ANY_SIZE)
GATHER(gather_packed, , hash_block, locate_block, ONE_BY_ONE, answer_packed, ANY_SIZE)

#if defined(__x86_64__)

#define AVX2 __attribute__((target("avx2,bmi2")))

/* An absent key is answered by a default row, which is not packed: all of its bits are kept. */
AVX2 INLINE bool answer_packed_avx2(const plain *p, const char *slot, int64_t key, size_t dim,
				    float *to)
{
	uintptr_t is_held = -(uintptr_t)(sp_packed__holds_avx2(slot, key) & (key != SP_KEY_EMPTY));
	const char *from = (const char *)(((uintptr_t)slot & is_held) |
					  ((uintptr_t)absent_row(p, key, dim) & ~is_held));
	__m256i packed = _mm256_set1_epi32((int)is_held), zero = _mm256_setzero_si256();
	__m256i key_bits = _mm256_and_si256(packed, _mm256_set1_epi32((int)SP_PACKED_KEY));
	__m256i least = _mm256_and_si256(packed, _mm256_set1_epi32((int)SP_PACKED_MIN));
	__m256i low = _mm256_set1_epi32((int)SP_PACKED_LOW);

	if (__builtin_expect(sp_packed_row_outlier(slot) != SP_PACKED_NO_OUTLIER, 0))
		return answer_packed(p, slot, key, dim, to);
#pragma GCC unroll 4
	for (size_t i = 0; i < SP_PACKED_ELEMENTS; i += 8) {
		__m256i bits = _mm256_loadu_si256((const void *)(from + i * sizeof(float)));
		__m256i is_zero = _mm256_cmpeq_epi32(_mm256_and_si256(bits, low), zero);

		bits = _mm256_add_epi32(_mm256_andnot_si256(key_bits, bits),
					_mm256_andnot_si256(is_zero, least));
		_mm256_storeu_si256((void *)(to + i), bits);
	}
	copy_elements(to + SP_PACKED_ELEMENTS, (const float *)from + SP_PACKED_ELEMENTS,
		      dim - SP_PACKED_ELEMENTS);
	return is_held != 0;
}

#define STAGES_AVX2 AVX2, hash_block, locate_block, IN_BURSTS

GATHER(gather_front_avx2, STAGES_AVX2, answer_front, ANY_SIZE)
GATHER(gather_packed_avx2, STAGES_AVX2, answer_packed_avx2, ANY_SIZE)
GATHER(gather_packed_32_avx2, STAGES_AVX2, answer_packed_avx2, 32, 128)

#define AVX512 SP_PLACEMENT_AVX512

/* The ring has entries for a whole block even if `count` is less. */
AVX512 INLINE void hash_block_avx512(plain *p, const int64_t *keys, size_t at, size_t count)
{
	__m512i some = _mm512_maskz_loadu_epi64((__mmask8)((1u << count) - 1), keys);
	__m512i hashes = sp_placement__hash_lanes(&p->placement, some);

	_mm512_store_si512(p->hashes + at, hashes);
	_mm512_store_si512(p->buckets + at, sp_placement__bucket_lanes(&p->placement, hashes));
}

AVX512 INLINE void locate_block_avx512(plain *p, size_t at, size_t count, size_t slot_size)
{
	__m512i pilots = sp_placement__pilot_lanes(p->pilots, p->buckets + at), slots;

	(void)count;
	slots = sp_placement__slot_lanes(&p->placement, _mm512_load_si512(p->hashes + at), pilots);
	slots = _mm512_mullo_epi64(slots, sp_placement__lanes_of(slot_size));
	slots = _mm512_add_epi64(slots, sp_placement__lanes_of((uintptr_t)p->slots));
	_mm512_store_si512(p->slot_at + at, slots);
}

/*
 * Sixteen elements of a packed row, which carry half of a key; `mark` is that half, and is removed.
 */
AVX512 INLINE __m512i without_key(__m512i bits, uint32_t mark)
{
	/* bits ^ (lanes & KEY) */
	return _mm512_ternarylogic_epi32(bits, sp_packed__key_lanes(mark),
					 _mm512_set1_epi32((int)SP_PACKED_KEY), 0x78);
}

AVX512 INLINE __m512i unpack(__m512i bits)
{
	__mmask16 has_low = _mm512_test_epi32_mask(bits, _mm512_set1_epi32((int)SP_PACKED_LOW));

	return _mm512_mask_add_epi32(bits, has_low, bits, _mm512_set1_epi32((int)SP_PACKED_MIN));
}

AVX512 INLINE bool answer_packed_avx512(const plain *p, const char *slot, int64_t key, size_t dim,
					float *to)
{
	const float *absent = absent_row(p, key, dim);
	uint64_t mark = ~(uint64_t)key;
	__m512i low = without_key(_mm512_loadu_si512(slot), (uint32_t)mark);
	__m512i high = without_key(_mm512_loadu_si512(slot + 64), (uint32_t)(mark >> 32));
	bool is_held = (_mm512_test_epi32_mask(_mm512_or_si512(low, high),
					       _mm512_set1_epi32((int)SP_PACKED_KEY)) == 0) &
		       (key != SP_KEY_EMPTY);
	__mmask16 lanes = (__mmask16) - (int)is_held;
	const char *rest = is_held ? slot : (const char *)absent;

	/* As in sp_packed_row_outlier(). */
	if (__builtin_expect((_mm512_cvtsi512_si32(low) & SP_PACKED_LOW) == 1, 0))
		return answer_packed(p, slot, key, dim, to);
	low = _mm512_mask_loadu_epi32(unpack(low), (__mmask16)~lanes, absent);
	high = _mm512_mask_loadu_epi32(unpack(high), (__mmask16)~lanes, absent + 16);
	_mm512_storeu_si512(to, low);
	_mm512_storeu_si512(to + 16, high);
	copy_elements(to + SP_PACKED_ELEMENTS, (const float *)rest + SP_PACKED_ELEMENTS,
		      dim - SP_PACKED_ELEMENTS);
	return is_held;
}

/* The same loops with wider copies, and one for the most frequent size. */
#define STAGES_AVX512 AVX512, hash_block_avx512, locate_block_avx512, ONE_BY_ONE

GATHER(gather_front_avx512, STAGES_AVX512, answer_front, ANY_SIZE)
GATHER(gather_packed_avx512, STAGES_AVX512, answer_packed_avx512, ANY_SIZE)
GATHER(gather_packed_32_avx512, STAGES_AVX512, answer_packed_avx512, 32, 128)

#endif

bool sp_lookup__is_plain(const sp_lookup *lookup, bool alone)
{
	const sp_table *table = lookup->table;
	size_t defaults = table->rules->default_row_count;

	/* For a power of two of default rows a mask replaces floor_mod. */
	return lookup->count >= (alone ? BLOCK : FEWEST) &&
	       (lookup->pooling == NULL || table->rules->dim <= POOLED / FEWEST_POOLED) &&
	       lookup->fallback == NULL && table->overlay == NULL && table->base != NULL &&
	       table->below == NULL && table->base->shape.format == SP_ROW_FP32 &&
	       (defaults & (defaults - 1)) == 0;
}

/* Returns how many keys are held. */
static size_t gather(const sp_lookup *lookup)
{
	bool packed = lookup->table->base->packed != NULL;

#if defined(__x86_64__)
	if (sp_cpu_has(SP_ISA_AVX512)) {
		if (packed && lookup->table->rules->dim == 32)
			return gather_packed_32_avx512(lookup);
		return (packed ? gather_packed_avx512 : gather_front_avx512)(lookup);
	}
	if (sp_cpu_has(SP_ISA_AVX2)) {
		if (packed && lookup->table->rules->dim == 32)
			return gather_packed_32_avx2(lookup);
		return (packed ? gather_packed_avx2 : gather_front_avx2)(lookup);
	}
#endif
	return (packed ? gather_packed : gather_front)(lookup);
}

/*
 * Gathers the rows of some keys to a buffer that stays in cache, then sums them: summing between
 * the keys would delay the prefetches.  Returns how many keys are held.
 */
static size_t pool(const sp_lookup *lookup)
{
	_Alignas(64) float elements[POOLED];
	size_t dim = lookup->table->rules->dim, most = POOLED / dim, held = 0;
	const sp_row_codec *fp32 = sp_row_codec_find(SP_ROW_FP32);
	sp_lookup some = *lookup;
	float divisor = 0;

	some.rows = elements;
	some.stride = dim;
	sp_lookup__clear_pools(lookup);
	for (size_t first = 0; first < lookup->count; first += most) {
		some.keys = lookup->keys + first;
		some.count = less(lookup->count - first, most);
		held += gather(&some);
		sp_lookup__pool_rows(lookup, first, some.count, (sp_stored_row){elements, fp32},
				     dim * sizeof(float), &divisor);
	}
	return held;
}

size_t sp_lookup__run_plain(const sp_lookup *lookup)
{
	return (lookup->pooling != NULL ? pool : gather)(lookup);
}
