#ifndef SP_API_HOST_HTTP_HTTP2_INTERNAL_H
#define SP_API_HOST_HTTP_HTTP2_INTERNAL_H

#include <nghttp2/nghttp2.h>

#include "api/host/http/http2_memory.h"
#include "api/host/http/http_internal.h"

/*
 * HTTP/2 over a connection (RFC 9113).  nghttp2 reads and writes frames and sees to the protocol.
 * http2_session.c is the connection: what nghttp2 calls, time, and what bounds a client's use of
 * memory.  http2_stream.c is one stream: its request and its answer.  http_stream.c is a stream
 * whose body is passed on and which is answered in parts (http_stream.h).
 *
 * nghttp2 calls back while it reads; what is to be written is collected later, by the session.
 */
typedef struct sp_http2_session sp_http2_session;

/*
 * A stream is READING until its request is whole, HANDED until the request is answered, and
 * ANSWERED until its last frame has been sent or it is reset.  STREAMING is one that is answered in
 * parts; the `out` of its request is what the client has not taken yet.
 */
typedef enum sp_http2_state {
	SP_HTTP2_READING,
	SP_HTTP2_HANDED,
	SP_HTTP2_STREAMING,
	SP_HTTP2_ANSWERED,
	SP_HTTP2_STATES, /* how many there are */
} sp_http2_state;

struct sp_http_stream {
	TAILQ_ENTRY(sp_http_stream) link; /* in session->streams */
	sp_http2_session *s;
	int32_t id;
	sp_http2_state state;
	bool open;                /* the client has not ended its side */
	bool complete;            /* the last frame of the answer has been sent */
	int refusal;              /* status with which the head will be refused; 0: none */
	size_t head_bytes;        /* of the head or trailers, as HTTP/2 counts them */
	size_t sent;              /* of the body of the answer */
	sp_http_request *request; /* NULL once it was left */
	int64_t deadline_ns;      /* INT64_MAX: none, a thread works on it */

	struct sp_http2_streaming *streaming; /* NULL: never STREAMING */
};

/* A request that is a part of a stream's body. */
typedef struct sp_http2_part {
	sp_http_stream *st;
	sp_http_request *request;
	bool answered;
	int64_t deadline_ns;
} sp_http2_part;

typedef struct sp_http2_streaming {
	const sp_http_stream_handler *handler;
	void *state;      /* of the handler */
	bool begun;       /* the headers of the answer are submitted */
	bool told_end;    /* ... of the client's side, to the handler */
	bool stopping;    /* it ends with the last answer of `parts` */
	size_t passed;    /* bytes at the front of the kept body that the handler has taken */
	int64_t tick_ns;  /* when tick() is called next */
	int64_t quiet_ns; /* when it fails, unless the client sends something */
	int64_t taken_ns; /* when it is reset, unless the client takes all of `out` */
	sp_http2_part parts[SP_HTTP_STREAM_REQUESTS]; /* a ring, in the order of the answers */
	size_t first, count;
} sp_http2_streaming;

struct sp_http2_session {
	sp_http_connection *c;
	sp_http_loop *loop;
	nghttp2_session *h2;
	sp_http2_memory memory;
	TAILQ_HEAD(, sp_http_stream) streams;
	size_t stream_count;
	size_t count_of[SP_HTTP2_STATES]; /* streams by state */
	size_t part_count;                /* of all streams */
	bool to_feed;                     /* a stream may have room for further parts */
	bool notified;                    /* the client knows that the server ends soon */
	bool ended;               /* the last frame, which ends the session, is on its way */
	bool failed;              /* the connection must be closed */
	int32_t head_stream;      /* whose head is being read; 0: the preface */
	int64_t head_deadline_ns; /* 0: neither the preface nor a head is being read */
	int64_t idle_deadline_ns; /* when no stream is open */
	sp_buffer rest;           /* frames that the socket has not taken */
	size_t rest_sent;
	int64_t rest_deadline_ns;
	int64_t input_ns;                 /* when the client sent something last */
	bool asked;                       /* ... and has been asked since whether it is there */
	int64_t idle_frames, refilled_ns; /* how many more frames may carry nothing */
};

/* How much of a request's body a stream takes before the client has to wait. */
enum { SP_HTTP2_STREAM_WINDOW = 1 << 20 };

/* Memory of a stream, beside the bodies of its request and answer. */
enum { SP_HTTP2_STREAM_BYTES = 16 << 10 };

/* A time at which something must be done, if that is earlier than all others. */
void sp_http2__set_deadline(sp_http2_session *s, int64_t deadline_ns);

/* The client may send so many bytes more on the stream. */
void sp_http2__consume(sp_http2_session *s, int32_t id, size_t size);

/* ----------------------------------------------------------- http2_stream.c */

/*
 * Opens a stream for the request, or for a new one if it is NULL.  NULL when the connection or the
 * server has no memory for it.
 */
sp_http_stream *sp_http2__stream_open(sp_http2_session *s, int32_t id, sp_http_request *request);
void sp_http2__stream_close(sp_http_stream *st);

void sp_http2__stream_set_state(sp_http_stream *st, sp_http2_state state);
void sp_http2__stream_set_deadline(sp_http_stream *st, int64_t deadline_ns);
void sp_http2__stream_late(sp_http_stream *st); /* the deadline has passed */
void sp_http2__stream_reset(sp_http_stream *st, uint32_t code);

/*
 * The answer to a request that no thread has begun in time, which takes the place of the request;
 * NULL if a thread works on it or memory is out.
 */
sp_http_request *sp_http2__late(sp_http2_session *s, sp_http_request *request);

/*
 * What the client sends, in this order: headers; the end of the head, which may refuse the request;
 * data, of which the client may send as many bytes more as are returned; the end of the body.
 */
void sp_http2__stream_add_header(sp_http_stream *st, sp_bytes name, sp_bytes value);
void sp_http2__stream_end_head(sp_http_stream *st, bool is_end);
size_t sp_http2__stream_add_data(sp_http_stream *st, sp_bytes data);
void sp_http2__stream_end(sp_http_stream *st);

/* Sends the headers of the answer; what is in its request's `out` follows. */
void sp_http2__stream_submit(sp_http_stream *st);

/* There is more to send. */
void sp_http2__stream_resume(sp_http_stream *st);

/* Sends the answer that the request has, or the rest of it. */
void sp_http2__stream_answer(sp_http_stream *st);
void sp_http2__stream_refuse(sp_http_stream *st, int status, const char *text);

/* nghttp2_send_data_callback: appends a frame of the body to the loop's output. */
int sp_http2__send_body(nghttp2_session *h2, nghttp2_frame *frame, const uint8_t *head, size_t size,
			nghttp2_data_source *source, void *context);

/* ------------------------------------------------------------ http_stream.c */

/* Makes it STREAMING if the head is that of such a stream. */
void sp_http2__streaming_begin(sp_http_stream *st);

void sp_http2__streaming_close(sp_http_stream *st);

/* Returns how many bytes it takes; the rest is passed by feed(), and the end of the body, too. */
size_t sp_http2__streaming_data(sp_http_stream *st, sp_bytes data);
void sp_http2__streaming_feed(sp_http_stream *st);

/* Moves answers to `out` as far as there is room. */
void sp_http2__streaming_collect(sp_http_stream *st);

/* Requests that have begun are answered first. */
void sp_http2__streaming_stop(sp_http_stream *st);
void sp_http2__streaming_tick(sp_http_stream *st, int64_t now);

/* Ends it as sp_http_refusal makes it, if the client can be told so, or resets it. */
void sp_http2__streaming_fail(sp_http_stream *st, int status, const char *text);

#endif
