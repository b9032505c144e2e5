#ifndef SP_TESTS_SUPPORT_HTTP_SCENE_H
#define SP_TESTS_SUPPORT_HTTP_SCENE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "api/host/http/http_server.h"
#include "base/queue.h"

/*
 * A server whose handler answers with what it was sent: method, path, a space, the body.  The path
 * says what else happens:
 *
 *	/headers          two more headers; /headers/bad: one that cannot be sent
 *	/trailers         two trailers behind the body; /trailers/only: and no body
 *	/large            a megabyte
 *	/alone            the answer is whether it is, by sp_http_request_is_alone()
 *	/stream           a stream that sends what it gets, "tick" now and then, and a trailer
 *	/stream/soon      likewise, with a deadline of 100 ms
 *	/stream/ask       a stream that makes a request of each line of DATA; "large": a megabyte
 *	/stream/later     likewise; all but "now" go through the queue as /later does
 *	/later            goes through a queue to a thread that waits until the test opens the gate
 *	/later/soon       likewise, with a deadline of 100 ms
 *	/later/plain      likewise; errors are answered in plain text
 *	/later/cancelled  the thread waits until the request is cancelled
 */
typedef struct sp_http_scene {
	sp_http_server *server;
	sp_queue *queue;
	pthread_t worker;
	pthread_mutex_t gate;
	atomic_int handled, begun, dropped, cancelled;
	atomic_int refused, closed; /* what streams could not send or ask; streams */
	uint16_t port;
} sp_http_scene;

/* Options that are 0 get a value with which nothing fails; fails the test on an error. */
void sp_http_scene_start(sp_http_scene *scene, sp_http_options options);
void sp_http_scene_finish(sp_http_scene *scene);

void sp_http_scene_pause_ms(int ms);

/* Waits until the counter has the value, for five seconds. */
void sp_http_scene_wait_for(atomic_int *counter, int value);

#endif
