#include "model_loader/embedding/embedding_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/parallel.h"
#include "base/size.h"
#include "model_loader/embedding/ssd_record.h"

/*
 * Rows go from the file to the sink in pieces that fit into a core's cache.  In both passes several
 * threads take pieces, and their checksums are joined at the end.
 */
enum {
	/* Limits of a piece: bytes of rows, and number of rows. */
	PIECE_BYTES = 1 << 20,
	PIECE_ROWS = 16384,
	/* Keys in a piece of rows on an SSD tier. */
	KEYS_PIECE = 32768,
	/* Pieces whose keys are added together. */
	KEYS_PIECES = 4,
	/* Pieces of rows requested from a disk in advance. */
	AHEAD = 64,
};

/* One part; `freqs` may be missing or shorter than the rows. */
typedef struct source {
	sp_bundle_span keys, values, freqs;
	sp_ssd_record *ssd;         /* NULL: none */
	sp_bucket_offsets *offsets; /* NULL: none */
	size_t first_piece;         /* its index among the pieces of all sources */
} source;

/* The checksums of one piece, later of a source. */
typedef struct sums {
	uint32_t keys, values, freqs;
} sums;

typedef struct reading {
	const sp_row_selection *selection;
	const sp_row_sink *sink;
	bool with_freqs;
	bool keys_checked; /* the first pass has checked that keys are in their buckets */
	size_t dim;
	size_t piece_rows;
	size_t ahead; /* pieces of rows requested in advance */
	source *sources;
	size_t source_count;
	size_t piece_count;
	sums *pieces; /* [piece_count] */
} reading;

/* Buffers for one piece. */
typedef struct room {
	int64_t *keys, *freqs;
	void *values;
} room;

/* Allocates for `rows` keys and frequencies, and `bytes` of values. */
static sp_status room_init(room *r, size_t rows, size_t bytes, sp_error *err)
{
	size_t size = 2 * rows * sizeof(int64_t);

	if (!sp_size_add(&size, size, bytes) || (r->keys = sp_alloc(size)) == NULL)
		return sp_no_memory(err, "%zu rows", rows);
	r->freqs = r->keys + rows;
	r->values = r->freqs + rows;
	return SP_OK;
}

/* -------------------------------------------------------------------- pieces */

/* Reads the frequencies of rows [first, first + count), raised to the number that admits a key. */
static sp_status read_freqs(const reading *job, const source *from, size_t first, room *r,
			    sp_row_piece *piece, uint32_t *crc, sp_error *err)
{
	int64_t floor = job->selection->frequency_floor;
	size_t known = first < from->freqs.count ? from->freqs.count - first : 0;

	if (known > piece->count)
		known = piece->count;
	if (known != 0)
		SP_TRY(sp_bundle_span_read(&from->freqs, first, known, r->freqs, crc, err));
	for (size_t i = 0; i < known; i++)
		if (r->freqs[i] < floor)
			r->freqs[i] = floor;
	for (size_t i = known; i < piece->count; i++)
		r->freqs[i] = floor;
	piece->freqs = r->freqs;
	return SP_OK;
}

/* Replaces unwanted keys by -1, once the frequencies are known. */
static void select_keys(const reading *job, int64_t *keys, sp_row_piece *piece)
{
	const sp_row_selection *s = job->selection;

	piece->keys = keys;
	if (s->part_count > 1 || s->slice_count > 1 || piece->freqs != NULL)
		for (size_t i = 0; i < piece->count; i++)
			if (!sp_embedding__selects(s, keys[i]) ||
			    (piece->freqs != NULL && piece->freqs[i] < s->frequency_threshold))
				keys[i] = -1;
	if (!job->sink->wants_freqs)
		piece->freqs = NULL;
}

static sp_status check_buckets(const source *from, size_t first, const sp_row_piece *piece,
			       sp_error *err)
{
	const sp_bundle_entry *entry = from->keys.entry;

	for (size_t i = 0; i < piece->count; i++)
		if (!sp_bucket_offsets_allow(from->offsets, piece->keys[i], first + i))
			return sp_error_set(
				err, SP_CORRUPT,
				"%s: '%.*s' has key %lld in row %zu, outside its bucket "
				"by the partition offsets",
				sp_bundle_prefix(from->keys.bundle), (int)entry->name.size,
				entry->name.data, (long long)piece->keys[i], first + i);
	return SP_OK;
}

/* A piece between file and sink. */
typedef struct passage {
	const source *from;
	size_t number, first; /* index of the piece; index of its first row in the source */
	sp_row_piece piece;
	sums sums;
} passage;

/* Reads keys and frequencies; rows follow later. */
static sp_status read_keys(passage *p, const reading *job, room *r, sp_error *err)
{
	const source *from = p->from;

	SP_TRY(sp_bundle_span_read_keys(&from->keys, p->first, p->piece.count, r->keys,
					&p->sums.keys, err));
	p->piece.keys = r->keys;
	if (from->offsets != NULL && !job->keys_checked)
		SP_TRY(check_buckets(from, p->first, &p->piece, err));
	if (job->with_freqs)
		SP_TRY(read_freqs(job, from, p->first, r, &p->piece, &p->sums.freqs, err));
	select_keys(job, r->keys, &p->piece);
	return SP_OK;
}

/* The same for rows on an SSD tier, whose keys may not be admitted. */
static sp_status read_ssd_keys(const reading *job, sp_ssd_record *ssd, size_t first, room *r,
			       sp_row_piece *piece, sp_error *err)
{
	const sp_row_selection *s = job->selection;
	bool known = sp_ssd_record_has_freqs(ssd);

	SP_TRY(sp_ssd_record_keys(ssd, first, piece->count, r->keys, r->freqs, err));
	for (size_t i = 0; i < piece->count; i++) {
		if (known && s->filter == SP_TABLE_FILTER_COUNTER &&
		    r->freqs[i] < s->frequency_floor)
			r->keys[i] = -1;
		if (!known || r->freqs[i] < s->frequency_floor)
			r->freqs[i] = s->frequency_floor;
	}
	piece->freqs = r->freqs;
	select_keys(job, r->keys, piece);
	return SP_OK;
}

/* The source of a piece: the last one that starts at or before it. */
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

/* Describes a piece; nothing is read yet. */
static passage passage_of(const reading *job, const source *from, size_t number)
{
	passage p = {.from = from, .number = number};
	size_t left;

	p.first = (number - from->first_piece) * job->piece_rows;
	left = from->keys.count - p.first;
	p.piece.count = left < job->piece_rows ? left : job->piece_rows;
	return p;
}

/* After all pieces: joins the checksums of each source and compares them with the checkpoint's. */
static sp_status check_sums(const reading *job, bool with_values, sp_error *err)
{
	for (size_t i = 0; i < job->source_count; i++) {
		const source *from = &job->sources[i];
		size_t next = i + 1 < job->source_count ? from[1].first_piece : job->piece_count;
		sums all = {0, 0, 0};

		for (size_t number = from->first_piece; number < next; number++) {
			const sums *s = &job->pieces[number];
			passage p = passage_of(job, from, number);
			size_t count = p.piece.count;
			size_t known = p.first < from->freqs.count ? from->freqs.count - p.first
								   : 0;

			known = known < count ? known : count;
			all.keys = sp_crc32c_join(all.keys, s->keys, count * from->keys.width);
			all.values = sp_crc32c_join(all.values, s->values,
						    count * job->dim * sizeof(float));
			all.freqs = sp_crc32c_join(all.freqs, s->freqs, known * sizeof(int64_t));
		}
		SP_TRY(sp_bundle_span_check(&from->keys, all.keys, err));
		if (job->with_freqs && from->freqs.count != 0)
			SP_TRY(sp_bundle_span_check(&from->freqs, all.freqs, err));
		if (with_values)
			SP_TRY(sp_bundle_span_check(&from->values, all.values, err));
	}
	return SP_OK;
}

/* ---------------------------------------------------------------- first pass */

/* DeepRec restores the SSD tier first: of a key in both the tensor's row counts. */
static sp_status add_ssd_keys(const reading *job, sp_error *err)
{
	sp_status status = SP_OK;
	room r = {0};

	SP_TRY(room_init(&r, KEYS_PIECE, 0, err));
	for (size_t i = 0; i < job->source_count; i++) {
		sp_ssd_record *ssd = job->sources[i].ssd;
		size_t rows = ssd != NULL ? sp_ssd_record_count(ssd) : 0;

		for (size_t first = 0; first < rows && status == SP_OK; first += KEYS_PIECE) {
			sp_row_piece piece = {.count = rows - first < KEYS_PIECE ? rows - first
										 : KEYS_PIECE};

			status = read_ssd_keys(job, ssd, first, &r, &piece, err);
			if (status == SP_OK)
				status = job->sink->add_keys(job->sink->context, &piece, err);
		}
	}
	sp_free(r.keys);
	return status;
}

/* Reads the keys of pieces [first, first + count) one after the other into the buffers. */
static sp_status read_pieces(const reading *job, size_t first, size_t count, room rest,
			     sp_row_piece *all, sp_error *err)
{
	*all = (sp_row_piece){.keys = rest.keys,
			      .freqs = job->sink->wants_freqs ? rest.freqs : NULL};
	for (size_t i = 0; i < count; i++) {
		passage p = passage_of(job, source_of(job, first + i), first + i);

		SP_TRY(read_keys(&p, job, &rest, err));
		job->pieces[p.number] = p.sums;
		all->count += p.piece.count;
		rest.keys += p.piece.count;
		rest.freqs += p.piece.count;
	}
	return SP_OK;
}

/* Several pieces at once: a sink partitions many keys at less cost per key. */
static sp_status add_pieces(void *context, size_t group, sp_error *err)
{
	const reading *job = context;
	size_t first = group * KEYS_PIECES, left = job->piece_count - first;
	size_t count = left < KEYS_PIECES ? left : KEYS_PIECES;
	sp_row_piece all;
	sp_status status;
	room r = {0};

	SP_TRY(room_init(&r, count * job->piece_rows, 0, err));
	status = read_pieces(job, first, count, r, &all, err);
	if (status == SP_OK)
		status = job->sink->add_keys(job->sink->context, &all, err);
	sp_free(r.keys);
	return status;
}

static sp_status add_keys(reading *job, size_t threads, sp_error *err)
{
	SP_TRY(add_ssd_keys(job, err));
	SP_TRY(sp_parallel_run(threads, (job->piece_count + KEYS_PIECES - 1) / KEYS_PIECES,
			       add_pieces, job, err));
	return check_sums(job, false, err);
}

/* --------------------------------------------------------------- second pass */

/* A sink that computes the checksum itself saves a pass over the rows. */
static sp_status put_values(const reading *job, passage *p, const room *r, sp_error *err)
{
	const sp_bundle_span *values = &p->from->values;
	const sp_row_sink *sink = job->sink;
	size_t at = p->first * job->dim, count = p->piece.count * job->dim;
	bool by_sink = sink->put_checked != NULL;

	SP_TRY(sp_bundle_span_read(values, at, count, r->values, by_sink ? NULL : &p->sums.values,
				   err));
	p->piece.rows = r->values;
	if (by_sink)
		return sink->put_checked(sink->context, &p->piece, &p->sums.values, err);
	return sink->put_rows(sink->context, &p->piece, err);
}

/* Requests the piece of rows at `first`; its keys only of a store, for a disk has just read them.
 */
static void fetch_piece(const reading *job, const source *from, size_t first)
{
	if (job->ahead > AHEAD)
		sp_bundle_span_fetch(&from->keys, first, job->piece_rows, false);
	sp_bundle_span_fetch(&from->values, first * job->dim, job->piece_rows * job->dim, true);
}

static sp_status put_piece(void *context, size_t number, sp_error *err)
{
	const reading *job = context;
	passage p = passage_of(job, source_of(job, number), number);
	sp_status status;
	room r = {0};

	SP_TRY(room_init(&r, p.piece.count, p.piece.count * job->dim * sizeof(float), err));
	fetch_piece(job, p.from, p.first + job->ahead * job->piece_rows);
	status = read_keys(&p, job, &r, err);
	if (status == SP_OK)
		status = put_values(job, &p, &r, err);
	job->pieces[number] = p.sums;
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
	status = read_ssd_keys(job, of->ssd, first, &r, &piece, err);
	if (status == SP_OK)
		status = sp_ssd_record_rows(of->ssd, first, piece.count, r.values, err);
	piece.rows = r.values;
	if (status == SP_OK)
		status = job->sink->put_rows(job->sink->context, &piece, err);
	sp_free(r.keys);
	return status;
}

static void fetch_keys(const reading *job)
{
	for (size_t i = 0; i < job->source_count; i++)
		sp_bundle_span_fetch(&job->sources[i].keys, 0, job->sources[i].keys.count, false);
}

/* Requests the first rows of all sources. */
static void fetch_first(const reading *job)
{
	for (size_t i = 0; i < job->source_count; i++) {
		const sp_bundle_span *values = &job->sources[i].values;

		sp_bundle_span_fetch(
			values, 0, sp_bundle_span_ahead(values) / job->source_count / sizeof(float),
			true);
	}
}

/* A store answers late, so more is requested of it than of a disk. */
static size_t pieces_ahead(const reading *job)
{
	size_t piece = job->piece_rows * job->dim * sizeof(float), pieces = AHEAD;

	for (size_t i = 0; i < job->source_count; i++) {
		size_t bytes = sp_bundle_span_ahead(&job->sources[i].values);

		if (bytes > AHEAD * PIECE_BYTES && piece != 0 && bytes / piece > pieces)
			pieces = bytes / piece;
	}
	return pieces;
}

static sp_status put_rows(reading *job, size_t threads, sp_error *err)
{
	bool in_order = false;

	if (job->ahead > AHEAD)
		fetch_keys(job); /* a store keeps some of those that it has read */
	fetch_first(job);
	if (job->sink->start_rows != NULL)
		SP_TRY(job->sink->start_rows(job->sink->context, &in_order, err));
	if (in_order)
		threads = 1;
	for (size_t i = 0; i < job->source_count; i++) {
		ssd_reading of = {job, job->sources[i].ssd};
		size_t rows = of.ssd != NULL ? sp_ssd_record_count(of.ssd) : 0;

		SP_TRY(sp_parallel_run(threads, (rows + job->piece_rows - 1) / job->piece_rows,
				       put_ssd_piece, &of, err));
		if (of.ssd != NULL)
			SP_TRY(sp_ssd_record_check(of.ssd, err));
	}
	SP_TRY(sp_parallel_run(threads, job->piece_count, put_piece, job, err));
	return check_sums(job, true, err);
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

static sp_status read_offsets(source *from, const sp_bundle *bundle, const sp_embedding_part *part,
			      sp_error *err)
{
	if (part->offsets == NULL)
		return SP_OK;
	from->offsets = sp_alloc(sizeof(*from->offsets));
	SP_NEED_MEMORY(from->offsets, err, "the buckets of '%s'", part->name);
	return sp_bucket_offsets_read(from->offsets, bundle, part->offsets, from->keys.count, err);
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
	SP_TRY(read_offsets(from, bundle, part, err));
	job->piece_count += from->keys.count / job->piece_rows +
			    (from->keys.count % job->piece_rows != 0);
	return SP_OK;
}

static sp_status open_sources(reading *job, const sp_embedding_rows *rows, sp_error *err)
{
	job->sources = sp_alloc_zero(rows->part_count, sizeof(*job->sources));
	SP_NEED_MEMORY(job->sources, err, "%zu parts", rows->part_count);
	for (size_t i = 0; i < rows->part_count; i++)
		SP_TRY(open_source(job, rows->bundle, &rows->parts[i], err));
	job->pieces = sp_alloc_zero(job->piece_count, sizeof(*job->pieces));
	SP_NEED_MEMORY(job->pieces, err, "%zu pieces", job->piece_count);
	return SP_OK;
}

sp_status sp_embedding_read(const sp_embedding_rows *rows, size_t dim,
			    const sp_row_selection *selection, const sp_row_sink *sink,
			    size_t threads, sp_error *err)
{
	size_t row_size = dim * sizeof(float); /* no overflow: the size of the tensor is known */
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
	if (status == SP_OK && (job.ahead = pieces_ahead(&job)) > AHEAD) {
		fetch_keys(&job);
		fetch_first(&job); /* while the keys are read */
	}
	if (status == SP_OK && sink->add_keys != NULL) {
		status = add_keys(&job, threads, err);
		job.keys_checked = true;
	}
	if (status == SP_OK)
		status = put_rows(&job, threads, err);
	for (size_t i = 0; i < job.source_count; i++) {
		sp_ssd_record_close(job.sources[i].ssd);
		sp_free(job.sources[i].offsets);
	}
	sp_free(job.pieces);
	sp_free(job.sources);
	return status;
}
