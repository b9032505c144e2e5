#include "api/host/observe/http_post.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/clock.h"

struct sp_http_post {
	CURL *curl;
	struct curl_slist *headers;
	char error[CURL_ERROR_SIZE];
	atomic_int_least64_t end_ns; /* 0: none */
};

static size_t ignore_answer(char *data, size_t size, size_t count, void *context)
{
	(void)data;
	(void)context;
	return size * count;
}

/* libcurl calls it at least once a second; it stops the transfer by returning non-zero. */
static int is_over(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total,
		   curl_off_t up_now)
{
	sp_http_post *post = context;
	int64_t end_ns = atomic_load(&post->end_ns);

	(void)total;
	(void)now;
	(void)up_total;
	(void)up_now;
	return end_ns != 0 && sp_clock_now_ns() >= end_ns;
}

static void initialise(void)
{
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

static bool set_options(sp_http_post *post, const char *url)
{
	static const char *const headers[] = {"Content-Type: application/json", "Expect:"};
	CURL *curl = post->curl;

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		struct curl_slist *list = curl_slist_append(post->headers, headers[i]);

		if (list == NULL)
			return false;
		post->headers = list;
	}
	return curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_HTTPHEADER, post->headers) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, post->error) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore_answer) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, is_over) == CURLE_OK &&
	       curl_easy_setopt(curl, CURLOPT_XFERINFODATA, post) == CURLE_OK;
}

sp_status sp_http_post_open(sp_http_post **out, const char *url, sp_error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sp_http_post *post = sp_alloc_zero(1, sizeof(*post));

	if (post == NULL)
		return sp_no_memory(err, "an HTTP client");
	pthread_once(&once, initialise);
	post->curl = curl_easy_init();
	if (post->curl == NULL || !set_options(post, url)) {
		sp_http_post_close(post);
		return sp_no_memory(err, "an HTTP client");
	}
	*out = post;
	return SP_OK;
}

void sp_http_post_close(sp_http_post *post)
{
	if (post == NULL)
		return;
	curl_easy_cleanup(post->curl);
	curl_slist_free_all(post->headers);
	sp_free(post);
}

int sp_http_post_send(sp_http_post *post, sp_bytes body, int64_t timeout_ms, sp_error *err)
{
	long status = 0;
	CURLcode code;

	post->error[0] = '\0';
	curl_easy_setopt(post->curl, CURLOPT_POSTFIELDS, body.data);
	curl_easy_setopt(post->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
	curl_easy_setopt(post->curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	code = curl_easy_perform(post->curl);
	if (code != CURLE_OK) {
		sp_error_set(err, SP_IO, "%s",
			     post->error[0] != '\0' ? post->error : curl_easy_strerror(code));
		return 0;
	}
	curl_easy_getinfo(post->curl, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

void sp_http_post_end_by(sp_http_post *post, int64_t end_ns)
{
	if (post != NULL)
		atomic_store(&post->end_ns, end_ns);
}
