#include "model_loader/embedding_internal.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/size.h"
#include "model_loader/ssd_record.h"

/*
 * Rows go from the mapped file to the sink in pieces that stay in a core's
 * cache: copied, or summed by the sink, so that the bytes that are put are those
 * of the checksum.  Both passes hand the pieces out to several threads and join the checksums
 * afterwards.
 */
enum {
	/* Bytes of rows in a piece, and at most so many rows. */
	PIECE_BYTES = 256 << 10,
	PIECE_ROWS = 4096,
	/* Keys in a piece of those that are on an SSD tier. */
	KEYS_PIECE = 32768,
	/* Pieces whose keys are added together. */
	KEYS_PIECES = 16,
	/* Pieces whose pages are given back together. */
	DONE_PIECES = 16,
	/* Pieces of rows that the disk is asked for before they are needed, ... */
	AHEAD = 256,
	/* ... and bytes while the sink makes ready for the first. */
	FIRST_AHEAD = AHEAD * PIECE_BYTES,
	PAGE = 4096,
};

/* One part; freqs.count may be 0 or less than there are rows. */
typedef struct source {
	sp_bundle_span keys, values, freqs;
	sp_ssd_record *ssd; /* NULL: none */
	size_t first_piece; /* its number among those of all sources */
} source;

/* The checksums of one piece, and then of a source. */
typedef struct sums {
	uint32_t keys, values, freqs;
} sums;

typedef struct reading {
	const sp_row_selection *selection;
	const sp_row_sink *sink;
	bool with_freqs;
	size_t dim;
	size_t piece_rows;
	source *sources;
	size_t source_count;
	size_t piece_count;
	sums *pieces; /* [piece_count] */
} reading;

/* Memory for one piece at a time. */
typedef struct room {
	int64_t *keys, *freqs;
	void *raw; /* what lies in the file: it may change there, and its checksum is taken here */
} room;

/* For `rows` keys and frequencies, and `raw` bytes of something else. */
static sp_status room_init(room *r, size_t rows, size_t raw, sp_error *err)
{
	size_t small = rows * sizeof(int64_t), size = raw > small ? raw : small;

	if (!sp_size_add(&size, size, 2 * small) || (r->keys = sp_alloc(size)) == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu rows", rows);
	r->freqs = r->keys + rows;
	r->raw = r->freqs + rows;
	return SP_OK;
}

/* Keys as int64 in memory of ours; `raw` has room for as many. */
static void copy_keys(int64_t *to, const sp_bundle_span *keys, size_t first, size_t count,
		      void *raw, uint32_t *crc)
{
	const char *stored;

	if (keys->entry->dtype == SP_INT64) {
		(void)sp_bundle_span_copy(keys, first, count, to, crc);
		return;
	}
	stored = sp_bundle_span_copy(keys, first, count, raw, crc);
	for (size_t i = 0; i < count; i++) {
		int32_t key;

		memcpy(&key, stored + i * sizeof(key), sizeof(key));
		to[i] = key;
	}
}

sp_status sp_embedding__check_routing(sp_embedding_rows *rows, size_t part, sp_error *err)
{
	int64_t keys[KEYS_PIECE / 16], raw[KEYS_PIECE / 16];
	sp_bundle_span span;
	uint32_t crc = 0;

	SP_TRY(sp_bundle_span_open(&span, rows->bundle, rows->parts[part].keys->name, err));
	for (size_t first = 0, count; first < span.count; first += count) {
		count = span.count - first < KEYS_PIECE / 16 ? span.count - first : KEYS_PIECE / 16;
		copy_keys(keys, &span, first, count, raw, &crc);
		for (size_t i = 0; i < count; i++)
			if (!sp_embedding__routes_to(keys[i], (int64_t)part,
						     (int64_t)rows->part_count))
				rows->routed = false;
	}
	return sp_bundle_span_check(&span, crc, err);
}

/* -------------------------------------------------------------------- pieces */

/* Rows [first, first + count): how often each key was seen, at least what admits a key. */
static void read_freqs(const reading *job, const source *from, size_t first, room *r,
		       sp_row_piece *piece, uint32_t *crc)
{
	int64_t floor = job->selection->frequency_floor;
	size_t known = first < from->freqs.count ? from->freqs.count - first : 0;

	if (known > piece->count)
		known = piece->count;
	if (known != 0)
		(void)sp_bundle_span_copy(&from->freqs, first, known, r->freqs, crc);
	for (size_t i = 0; i < known; i++)
		if (r->freqs[i] < floor)
			r->freqs[i] = floor;
	for (size_t i = known; i < piece->count; i++)
		r->freqs[i] = floor;
	piece->freqs = r->freqs;
}

/* Marks the keys that are not wanted. */
static void select_keys(const reading *job, room *r, const sp_row_piece *piece)
{
	const sp_row_selection *s = job->selection;

	if (s->part_count <= 1 && s->slice_count <= 1 && piece->freqs == NULL)
		return;
	for (size_t i = 0; i < piece->count; i++)
		if (!sp_embedding__selects(s, r->keys[i]) ||
		    (piece->freqs != NULL && piece->freqs[i] < s->frequency_threshold))
			r->keys[i] = -1;
}

/* The piece's keys and frequencies; its rows are still missing. */
static void read_keys(const reading *job, const source *from, size_t first, room *r,
		      sp_row_piece *piece, sums *s)
{
	copy_keys(r->keys, &from->keys, first, piece->count, r->raw, &s->keys);
	piece->keys = r->keys;
	if (job->with_freqs)
		read_freqs(job, from, first, r, piece, &s->freqs);
	select_keys(job, r, piece);
	if (!job->sink->wants_freqs)
		piece->freqs = NULL;
}

/* The same of rows on an SSD tier, whose keys need not be admitted. */
static void read_ssd_keys(const reading *job, sp_ssd_record *ssd, size_t first, room *r,
			  sp_row_piece *piece)
{
	const sp_row_selection *s = job->selection;
	bool known = sp_ssd_record_has_freqs(ssd);

	sp_ssd_record_keys(ssd, first, piece->count, r->keys, r->freqs);
	for (size_t i = 0; i < piece->count; i++) {
		if (known && s->filter == SP_TABLE_FILTER_COUNTER &&
		    r->freqs[i] < s->frequency_floor)
			r->keys[i] = -1;
		if (!known || r->freqs[i] < s->frequency_floor)
			r->freqs[i] = s->frequency_floor;
	}
	piece->keys = r->keys;
	piece->freqs = r->freqs;
	select_keys(job, r, piece);
	if (!job->sink->wants_freqs)
		piece->freqs = NULL;
}

/* Its pages, and the one that the piece before it has begun, need not stay. */
static void done(const sp_bundle_span *span, size_t first, size_t count)
{
	size_t back = PAGE / span->width < first ? PAGE / span->width : first;

	sp_bundle_span_advise(span, first - back, count + back, SP_MAPPING_DONE);
}

/* Up to row `end`, that of piece `number`, and every so often: each time interrupts the others. */
static void done_so_far(const reading *job, const source *from, size_t number, size_t end,
			bool with_values)
{
	size_t index = number - from->first_piece, first;

	if ((index + 1) % DONE_PIECES != 0)
		return;
	first = (index + 1 - DONE_PIECES) * job->piece_rows;
	done(&from->keys, first, end - first);
	if (with_values)
		done(&from->values, first * job->dim, (end - first) * job->dim);
}

static sp_status check_sums(const reading *job, const source *from, const sums *s, bool with_values,
			    sp_error *err)
{
	SP_TRY(sp_bundle_span_check(&from->keys, s->keys, err));
	if (job->with_freqs && from->freqs.count != 0)
		SP_TRY(sp_bundle_span_check(&from->freqs, s->freqs, err));
	return with_values ? sp_bundle_span_check(&from->values, s->values, err) : SP_OK;
}

/* The last source whose pieces do not start behind it. */
static const source *source_of(const reading *job, size_t number)
{
	size_t low = 0, high = job->source_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (job->sources[middle].first_piece <= number)
			low = middle;
		else
			high = middle;
	}
	return &job->sources[low];
}

/* The keys of piece `number`, from *first on; nothing is read yet. */
static sp_row_piece piece_of(const reading *job, const source *from, size_t number, size_t *first)
{
	size_t left;

	*first = (number - from->first_piece) * job->piece_rows;
	left = from->keys.count - *first;
	return (sp_row_piece){.count = left < job->piece_rows ? left : job->piece_rows};
}

/* The sums of all pieces of a source as one. */
static sums join_sums(const reading *job, const source *from)
{
	sums all = {0, 0, 0};

	for (size_t first = 0, number = from->first_piece, count; first < from->keys.count;
	     first += count) {
		const sums *s = &job->pieces[number];
		size_t known = first < from->freqs.count ? from->freqs.count - first : 0;

		count = piece_of(job, from, number++, &first).count;
		all.keys = sp_crc32c_join(all.keys, s->keys, count * from->keys.width);
		all.values = sp_crc32c_join(all.values, s->values,
					    count * job->dim * sizeof(float));
		all.freqs = sp_crc32c_join(all.freqs, s->freqs,
					   (known < count ? known : count) * sizeof(int64_t));
	}
	return all;
}

/* ------------------------------------------------------------ one piece at a time */

/* A piece on its way from the file to the sink. */
typedef struct passage {
	const source *from;
	size_t number, first; /* of the piece; of its first row among those of the source */
	sp_row_piece piece;
	sums sums;
} passage;

static passage passage_of(const reading *job, size_t number)
{
	passage p = {.from = source_of(job, number), .number = number};

	p.piece = piece_of(job, p.from, number, &p.first);
	return p;
}

/* Reads the keys into `r`. */
static void begin(passage *p, const reading *job, room *r)
{
	read_keys(job, p->from, p->first, r, &p->piece, &p->sums);
}

static void end(const passage *p, const reading *job, bool with_values)
{
	done_so_far(job, p->from, p->number, p->first + p->piece.count, with_values);
	job->pieces[p->number] = p->sums;
}

/* ---------------------------------------------------------------- first pass */

/* DeepRec restores what is on the SSD first: of a key in both the tensor's row counts. */
static sp_status add_ssd(const reading *job, const source *from, room *r, sp_error *err)
{
	size_t rows = from->ssd != NULL ? sp_ssd_record_count(from->ssd) : 0;

	for (size_t first = 0; first < rows; first += KEYS_PIECE) {
		sp_row_piece piece = {.count = rows - first < KEYS_PIECE ? rows - first
									 : KEYS_PIECE};

		read_ssd_keys(job, from->ssd, first, r, &piece);
		SP_TRY(job->sink->add_keys(job->sink->context, &piece, err));
	}
	return SP_OK;
}

static sp_status add_all_ssd(const reading *job, sp_error *err)
{
	sp_status status = SP_OK;
	room r = {0};

	SP_TRY(room_init(&r, KEYS_PIECE, 0, err));
	for (size_t i = 0; i < job->source_count && status == SP_OK; i++)
		status = add_ssd(job, &job->sources[i], &r, err);
	sp_free(r.keys);
	return status;
}

/* Together: a sink divides many keys at less cost than few. */
static sp_status add_pieces(void *context, size_t group, sp_error *err)
{
	const reading *job = context;
	size_t first = group * KEYS_PIECES, left = job->piece_count - first;
	size_t count = left < KEYS_PIECES ? left : KEYS_PIECES;
	sp_row_piece all = {.count = 0};
	sp_status status;
	room r = {0}, rest;

	SP_TRY(room_init(&r, count * job->piece_rows, 0, err));
	rest = r;
	for (size_t i = 0; i < count; i++) {
		passage p = passage_of(job, first + i);

		begin(&p, job, &rest);
		end(&p, job, false);
		all.count += p.piece.count;
		rest.keys += p.piece.count;
		rest.freqs += p.piece.count;
	}
	all.keys = r.keys;
	all.freqs = job->sink->wants_freqs ? r.freqs : NULL;
	status = job->sink->add_keys(job->sink->context, &all, err);
	sp_free(r.keys);
	return status;
}

static sp_status add_keys(reading *job, size_t threads, sp_error *err)
{
	SP_TRY(add_all_ssd(job, err));
	SP_TRY(sp_parallel_run(threads, (job->piece_count + KEYS_PIECES - 1) / KEYS_PIECES,
			       add_pieces, job, err));
	for (size_t i = 0; i < job->source_count; i++) {
		sums s = join_sums(job, &job->sources[i]);

		SP_TRY(check_sums(job, &job->sources[i], &s, false, err));
	}
	return SP_OK;
}

/* --------------------------------------------------------------- second pass */

/* The sink sums rows itself, from where they lie. */
static bool puts_checked(const reading *job, const source *from)
{
	return job->sink->put_checked != NULL && from->values.stored;
}

static size_t bytes_copied(const reading *job, const source *from, size_t rows)
{
	return puts_checked(job, from) ? 0 : rows * job->dim * sizeof(float);
}

static sp_status put_values(const reading *job, passage *p, const room *r, sp_error *err)
{
	const sp_bundle_span *values = &p->from->values;
	const sp_row_sink *sink = job->sink;
	size_t at = p->first * job->dim, count = p->piece.count * job->dim;

	if (puts_checked(job, p->from)) {
		p->piece.rows = sp_bundle_span_at(values, at, count);
		return sink->put_checked(sink->context, &p->piece, &p->sums.values, err);
	}
	p->piece.rows = sp_bundle_span_copy(values, at, count, r->raw, &p->sums.values);
	return sink->put_rows(sink->context, &p->piece, err);
}

static sp_status put_piece(void *context, size_t number, sp_error *err)
{
	const reading *job = context;
	passage p = passage_of(job, number);
	sp_status status;
	room r = {0};

	SP_TRY(room_init(&r, p.piece.count, bytes_copied(job, p.from, p.piece.count), err));
	sp_bundle_span_advise(&p.from->values, (p.first + AHEAD * job->piece_rows) * job->dim,
			      job->piece_rows * job->dim, SP_MAPPING_WILL_NEED);
	begin(&p, job, &r);
	status = put_values(job, &p, &r, err);
	end(&p, job, true);
	sp_free(r.keys);
	return status;
}

typedef struct ssd_reading {
	const reading *job;
	sp_ssd_record *ssd;
} ssd_reading;

static sp_status put_ssd_piece(void *context, size_t number, sp_error *err)
{
	const ssd_reading *of = context;
	const reading *job = of->job;
	size_t first = number * job->piece_rows;
	size_t left = sp_ssd_record_count(of->ssd) - first;
	sp_row_piece piece = {.count = left < job->piece_rows ? left : job->piece_rows};
	sp_status status;
	room r = {0};

	SP_TRY(room_init(&r, piece.count, piece.count * job->dim * sizeof(float), err));
	read_ssd_keys(job, of->ssd, first, &r, &piece);
	sp_ssd_record_rows(of->ssd, first, piece.count, r.raw);
	piece.rows = r.raw;
	status = job->sink->put_rows(job->sink->context, &piece, err);
	sp_free(r.keys);
	return status;
}

static sp_status put_ssd(const reading *job, sp_ssd_record *ssd, size_t threads, sp_error *err)
{
	ssd_reading of = {job, ssd};
	size_t rows = ssd != NULL ? sp_ssd_record_count(ssd) : 0;
	size_t pieces = rows / job->piece_rows + (rows % job->piece_rows != 0);

	SP_TRY(sp_parallel_run(threads, pieces, put_ssd_piece, &of, err));
	return ssd != NULL ? sp_ssd_record_check(ssd, err) : SP_OK;
}

static sp_status put_rows(reading *job, size_t threads, sp_error *err)
{
	bool in_order = false;

	for (size_t i = 0; i < job->source_count; i++)
		sp_bundle_span_advise(&job->sources[i].values, 0,
				      FIRST_AHEAD / job->source_count / sizeof(float),
				      SP_MAPPING_WILL_NEED);
	if (job->sink->start_rows != NULL)
		SP_TRY(job->sink->start_rows(job->sink->context, &in_order, err));
	if (in_order)
		threads = 1;
	for (size_t i = 0; i < job->source_count; i++)
		SP_TRY(put_ssd(job, job->sources[i].ssd, threads, err));
	SP_TRY(sp_parallel_run(threads, job->piece_count, put_piece, job, err));
	for (size_t i = 0; i < job->source_count; i++) {
		sums s = join_sums(job, &job->sources[i]);

		SP_TRY(check_sums(job, &job->sources[i], &s, true, err));
	}
	return SP_OK;
}

/* ------------------------------------------------------------------------ all */

static sp_status open_ssd(source *from, const reading *job, const sp_bundle *bundle,
			  const sp_embedding_part *part, sp_error *err)
{
	sp_ssd_record_options options = {.prefix = part->ssd_record,
					 .checkpoint = bundle,
					 .name = part->name,
					 .key_dtype = part->keys->dtype,
					 .dim = job->dim,
					 .filtered = job->selection->filter !=
						     SP_TABLE_FILTER_NONE};

	return part->ssd_record != NULL ? sp_ssd_record_open(&from->ssd, &options, err) : SP_OK;
}

static sp_status open_source(reading *job, const sp_bundle *bundle, const sp_embedding_part *part,
			     sp_error *err)
{
	source *from = &job->sources[job->source_count++];

	*from = (source){.first_piece = job->piece_count};
	SP_TRY(open_ssd(from, job, bundle, part, err));
	SP_TRY(sp_bundle_span_open(&from->keys, bundle, part->keys->name, err));
	SP_TRY(sp_bundle_span_open(&from->values, bundle, part->values->name, err));
	if (part->freqs != NULL)
		SP_TRY(sp_bundle_span_open(&from->freqs, bundle, part->freqs->name, err));
	job->piece_count += from->keys.count / job->piece_rows +
			    (from->keys.count % job->piece_rows != 0);
	return SP_OK;
}

static sp_status open_sources(reading *job, const sp_embedding_rows *rows, sp_error *err)
{
	job->sources = sp_alloc_zero(rows->part_count, sizeof(*job->sources));
	if (job->sources == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu parts", rows->part_count);
	for (size_t i = 0; i < rows->part_count; i++)
		SP_TRY(open_source(job, rows->bundle, &rows->parts[i], err));
	job->pieces = sp_alloc_zero(job->piece_count, sizeof(*job->pieces));
	if (job->pieces == NULL)
		return sp_error_set(err, SP_NO_MEMORY, "no memory for %zu pieces",
				    job->piece_count);
	return SP_OK;
}

sp_status sp_embedding_read(const sp_embedding_rows *rows, size_t dim,
			    const sp_row_selection *selection, const sp_row_sink *sink,
			    size_t threads, sp_error *err)
{
	size_t row_size = dim * sizeof(float); /* fits: the tensor has been measured */
	reading job = {.selection = selection,
		       .sink = sink,
		       .dim = dim,
		       .with_freqs = sink->wants_freqs ||
				     selection->frequency_threshold > selection->frequency_floor,
		       .piece_rows = row_size < PIECE_BYTES ? PIECE_BYTES / row_size : 1};
	sp_status status = SP_OK;

	if (rows->part_count == 0)
		return SP_OK;
	if (job.piece_rows > PIECE_ROWS)
		job.piece_rows = PIECE_ROWS;
	status = open_sources(&job, rows, err);
	if (status == SP_OK && sink->add_keys != NULL)
		status = add_keys(&job, threads, err);
	if (status == SP_OK)
		status = put_rows(&job, threads, err);
	for (size_t i = 0; i < job.source_count; i++)
		sp_ssd_record_close(job.sources[i].ssd);
	sp_free(job.pieces);
	sp_free(job.sources);
	return status;
}
