#include "api/host/metrics/counters.h"

double sp_histogram_limit_us(size_t bucket)
{
	static const double limits[SP_HISTOGRAM_BUCKETS - 1] = {
		10,
		18,
		32.4,
		58.32,
		104.976,
		188.9568,
		340.12224,
		612.220032,
		1101.9960576,
		1983.59290368,
		3570.467226624,
		6426.8410079232,
		11568.3138142618,
		20822.9648656712,
		37481.3367582081,
		67466.4061647746,
		121439.531096594,
		218591.15597387,
		393464.080752965,
		708235.345355338,
		1274823.62163961,
		2294682.51895129,
		4130428.53411233,
		7434771.36140219,
		13382588.4505239,
		24088659.2109431,
		43359586.5796976,
		78047255.8434557,
		140485060.51822,
		252873108.932796,
		455171596.079033,
		819308872.94226,
		1474755971.29607,
	};

	return limits[bucket];
}

void sp_histogram_add(sp_histogram *histogram, int64_t ns)
{
	double us = (double)ns / 1000;
	size_t bucket = 0;

	while (bucket < SP_HISTOGRAM_BUCKETS - 1 && us > sp_histogram_limit_us(bucket))
		bucket++;
	sp_counter_add(&histogram->buckets[bucket], 1);
	sp_counter_add(&histogram->sum_ns, ns > 0 ? (uint64_t)ns : 0);
}

const char *sp_asked_name(sp_asked asked)
{
	static const char *const names[SP_ASKED_COUNT] = {
		"other", "predict", "examples", "metadata", "status", "admin", "health", "metrics"};

	return names[asked];
}

void sp_counters_answer(sp_counters *counters, sp_asked asked, int status, int64_t took_ns)
{
	size_t at = (size_t)(status - SP_LEAST_STATUS);

	if (at >= SP_STATUS_COUNT)
		return;
	sp_counter_add(&counters->answers[asked][at], 1);
	if (asked == SP_ASKED_PREDICT && status == 200)
		sp_histogram_add(&counters->request, took_ns);
}
