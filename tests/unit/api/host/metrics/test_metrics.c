#include "tests/support/cmocka.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host/metrics/metric.h"
#include "api/host/metrics/metrics_write.h"
#include "api/host/metrics/openmetrics.h"
#include "base/alloc.h"

static sp_buffer out;
static sp_arena *arena;

static int set_up(void **state)
{
	(void)state;
	sp_buffer_init(&out, 1 << 20);
	arena = sp_arena_create(4096);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	sp_buffer_fini(&out);
	sp_arena_destroy(arena);
	return 0;
}

static void assert_text(const char *want)
{
	assert_false(out.failed);
	assert_string_equal(out.data, want);
	sp_buffer_clear(&out);
}

/* A whole line of the page. */
static void assert_line(const char *line)
{
	size_t size = strlen(line);

	for (const char *at = out.data; (at = strstr(at, line)) != NULL; at++)
		if ((at == out.data || at[-1] == '\n') && at[size] == '\n')
			return;
	fail_msg("no line %s in\n%s", line, out.data);
}

static void assert_no(const char *text)
{
	if (strstr(out.data, text) != NULL)
		fail_msg("%s in\n%s", text, out.data);
}

/* -------------------------------------------------------------------- samples */

static void heads_and_samples(void **state)
{
	(void)state;
	sp_metric_begin(&out, SP_METRIC_BUILD);
	sp_metric_add(&out, SP_METRIC_BUILD, (sp_label[]){{"version", sp_bytes_of("1")}}, 1, 1);
	assert_text("# HELP serving_processor_build_info Always 1.\n"
		    "# TYPE serving_processor_build_info gauge\n"
		    "serving_processor_build_info{version=\"1\"} 1\n");
	sp_metric_add(&out, SP_METRIC_START, NULL, 0, 1795303219.753);
	assert_text("process_start_time_seconds 1795303219.753\n");
	sp_metric_add(&out, SP_METRIC_CPU, NULL, 0, 9007199254740991.0);
	assert_text("process_cpu_seconds_total 9007199254740991\n");
	sp_metric_add(&out, SP_METRIC_CPU, NULL, 0, 0x1p70);
	assert_text("process_cpu_seconds_total 1.18059162071741e+21\n");
	sp_metric_add(&out, SP_METRIC_CPU, NULL, 0, -0.0625);
	assert_text("process_cpu_seconds_total -0.0625\n");
}

/* The format's own three escapes; all else as it is, but for what is not UTF-8. */
static void values_of_labels_are_escaped(void **state)
{
	static const char hostile[] = "a\\b\"c\nd} 7\n# \xc3\xa9\xff\xed\xa0\x80{\r\0e";
	const sp_label labels[] = {{"model_name", {hostile, sizeof(hostile) - 1}},
				   {"status", {NULL, 0}}};

	(void)state;
	sp_metric_add(&out, SP_METRIC_REQUESTS, labels, 2, 3);
	assert_int_equal(out.size, strlen(out.data) + 1 + strlen("e\",status=\"\"} 3\n"));
	assert_string_equal(out.data,
			    ":tensorflow:serving:request_count{model_name=\"a\\\\b\\\"c\\n"
			    "d} 7\\n# \xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			    "\xef\xbf\xbd{\r");
	assert_string_equal(out.data + strlen(out.data) + 1, "e\",status=\"\"} 3\n");
}

/* TensorFlow Serving's limits: 10 us times powers of 1.8, 33 of them. */
static void limits_are_powers(void **state)
{
	(void)state;
	for (size_t i = 0; i < SP_HISTOGRAM_BUCKETS - 1; i++)
		assert_true(fabs(sp_histogram_limit_us(i) / (10 * pow(1.8, (double)i)) - 1) <
			    1e-13);
	assert_int_equal(SP_HISTOGRAM_BUCKETS - 1, 33);
}

static void times_fall_into_buckets(void **state)
{
	static sp_histogram h;
	char line[200];

	(void)state;
	sp_histogram_add(&h, 10000); /* a limit belongs to what is below it */
	sp_histogram_add(&h, 10001);
	sp_histogram_add(&h, 0);
	sp_histogram_add(&h, INT64_C(7200000000000)); /* two hours */
	sp_metric_add_histogram(&out, SP_METRIC_REQUEST_LATENCY, NULL, 0, &h, SP_MICROSECONDS);
	assert_line(":tensorflow:serving:request_latency_bucket{le=\"10\"} 2");
	assert_line(":tensorflow:serving:request_latency_bucket{le=\"18\"} 3");
	assert_line(":tensorflow:serving:request_latency_bucket{le=\"1.47476e+09\"} 3");
	assert_line(":tensorflow:serving:request_latency_bucket{le=\"+Inf\"} 4");
	assert_line(":tensorflow:serving:request_latency_count 4");
	snprintf(line, sizeof(line), ":tensorflow:serving:request_latency_sum %.15g",
		 10.0 + 10.001 + 7200e6);
	assert_line(line);
}

/* ------------------------------------------------------------------- the model */

#define COUNTS                                                                       \
	"\"counts\":{\"loads\":3,\"published\":2,\"last_load_ms\":170,\"refusals\":" \
	"{\"corrupt\":2},\"moves\":{\"discovered\":5,\"live\":2,\"refused\":2},"     \
	"\"folds\":4,\"last_fold_ms\":1250,\"reloads\":1,\"rollbacks\":2,\"pins\":3}"

/* Live is 100 alone: its delta 120 was refused before it came, 130 is being loaded. */
static const char told[] =
	"{\"versions\":["
	"{\"full\":\"/c/100\",\"delta\":\"/c/130\",\"full_step\":100,\"delta_step\":130,"
	"\"state\":\"loading\",\"for_ms\":5,\"known_ms\":20,\"why\":\"\",\"newer\":true},"
	"{\"full\":\"/c/100\",\"full_step\":100,\"delta_step\":-1,\"state\":\"live\","
	"\"for_ms\":4500,\"known_ms\":4711,\"why\":\"\"},"
	"{\"full\":\"/c/100\",\"delta\":\"/c/120\",\"full_step\":100,\"delta_step\":120,"
	"\"state\":\"refused\",\"for_ms\":4600,\"known_ms\":9125,\"why\":\"\\\"x\\\"\\n\","
	"\"newer\":true,\"reason\":\"corrupt\"},"
	"{\"full\":\"/c/90\",\"full_step\":90,\"delta_step\":-1,\"state\":\"draining\","
	"\"for_ms\":1,\"known_ms\":99999,\"why\":\"\"},"
	"{\"full\":\"/c/80\",\"full_step\":80,\"delta_step\":-1,\"state\":\"refused\","
	"\"for_ms\":1,\"known_ms\":99999,\"why\":\"old\"}],"
	"\"live\":{\"full_step\":100,\"delta_step\":-1,\"for_ms\":4500},"
	"\"newest\":{\"full_step\":100,\"delta_step\":130,\"lag_ms\":9125},\"new\":[{}]," COUNTS
	",\"memory\":1074340000,\"shards\":{\"peers\":2,\"peers_up\":1},"
	"\"shard_events\":{\"asked\":9,\"hedged\":3},\"tables\":[{\"table\":\"item \\\\ "
	"emb\",\"dim\":16,\"rows\":9000,"
	"\"overlay_rows\":120,\"memory\":640000,\"keys\":700,\"absent\":17},"
	"{\"table\":\"user_emb\",\"dim\":16,\"rows\":8,"
	"\"overlay_rows\":0,\"memory\":7,\"keys\":512,\"absent\":3,\"tier\":\"ssd\","
	"\"in_memory\":10,\"cached\":410,\"missed\":92,\"errors\":1,\"bytes_read\":364544},"
	"{\"table\":\"far\",\"dim\":16,\"rows\":8,\"overlay_rows\":0,\"memory\":7,\"keys\":512,"
	"\"absent\":3,\"tier\":\"redis\",\"in_memory\":0,\"cached\":420,\"missed\":92,"
	"\"errors\":0,\"bytes_read\":5000,\"defaulted\":6,\"servers\":3,\"servers_up\":2,"
	"\"round_trips\":40,\"round_trip_us\":9000,\"disks\":1,\"disks_up\":0,"
	"\"disk_hits\":30,\"disk_errors\":2,\"disk_dropped\":4}],"
	"\"row_stream\":{\"connected\":true,\"paused\":false,\"errors\":2,\"lag_messages\":3,"
	"\"lag_ms\":1500,\"messages\":4,\"rows\":5,\"states\":6,\"batch\":9,"
	"\"incomplete_batches\":7,\"keys\":8,\"memory\":9,\"memory_limit\":10,"
	"\"skipped\":{\"format\":11,\"values\":12}}}";

static void write_told(const char *json)
{
	sp_versions_report report;
	sp_error err;

	sp_buffer_clear(&out);
	assert_ok(sp_versions_report_read(&report, json, arena, &err), &err);
	sp_metrics_write_models(&out, &(sp_model_state){.name = "m", .report = &report}, 1);
	assert_false(out.failed);
}

#define M "{model_name=\"m\""
#define P "serving_processor_"

static void versions_are_told(void **state)
{
	(void)state;
	write_told(told);
	assert_line(P "model_memory_bytes" M "} 1074340000");
	assert_line(P "shards" M ",what=\"peers_up\"} 1");
	assert_line(P "shard_events_total" M ",event=\"hedged\"} 3");
	assert_line(P "versions" M ",state=\"live\"} 1");
	assert_line(P "versions" M ",state=\"refused\"} 2");
	assert_line(P "versions" M ",state=\"discovered\"} 0");
	assert_line(P "version_state" M
		      ",full_step=\"100\",delta_step=\"130\",state=\"loading\"} 1");
	assert_line(P "version_state" M ",full_step=\"100\",delta_step=\"-1\",state=\"live\"} 1");
	assert_line(P "version_state" M
		      ",full_step=\"100\",delta_step=\"120\",state=\"refused\"} 1");
	assert_line(P "version_state" M
		      ",full_step=\"90\",delta_step=\"-1\",state=\"draining\"} 1");
	assert_no("full_step=\"80\"");
	assert_line(P "version_refusal" M
		      ",full_step=\"100\",delta_step=\"120\",reason=\"\\\"x\\\"\\n\"} 1");
	assert_line(P "live_full_step" M "} 100");
	assert_line(P "live_delta_step" M "} -1");
	assert_line(P "newest_full_step" M "} 100");
	assert_line(P "newest_delta_step" M "} 130");
	assert_line(P "pinned" M "} 0");
	assert_line(P "version_moves_total" M ",state=\"live\"} 2");
	assert_line(P "refusals_total" M ",reason=\"corrupt\"} 2");
	assert_line(P "update_lag_seconds" M "} 9.125");
	assert_line(P "last_update_age_seconds" M "} 4.5");
	assert_line(P "last_update_duration_seconds" M "} 0.17");
	assert_line(P "folds_total" M "} 4");
	assert_line(P "last_fold_duration_seconds" M "} 1.25");
	assert_line(P "orders_total" M ",order=\"reload\"} 1");
	assert_line(P "orders_total" M ",order=\"rollback\"} 2");
	assert_line(P "orders_total" M ",order=\"pin\"} 3");
}

static void tables_are_told(void **state)
{
	(void)state;
	write_told(told);
	assert_line(P "table_rows" M ",table=\"item \\\\ emb\"} 9000");
	assert_line(P "table_overlay_rows" M ",table=\"item \\\\ emb\"} 120");
	assert_line(P "table_memory_bytes" M ",table=\"user_emb\"} 7");
	assert_line(P "table_keys_total" M
		      ",table=\"user_emb\",tier=\"ssd\",found=\"overlay\"} 10");
	assert_line(P "table_keys_total" M ",table=\"user_emb\",tier=\"ssd\",found=\"cache\"} 410");
	assert_line(P "table_keys_total" M ",table=\"user_emb\",tier=\"ssd\",found=\"disk\"} 92");
	assert_line(P "table_absent_keys_total" M ",table=\"user_emb\",tier=\"ssd\"} 3");
	assert_line(P "table_read_errors_total" M ",table=\"user_emb\",tier=\"ssd\"} 1");
	assert_line(P "table_read_bytes_total" M ",table=\"user_emb\",tier=\"ssd\"} 364544");
	assert_line(P "table_keys_total" M
		      ",table=\"item \\\\ emb\",tier=\"memory\",found=\"memory\"} 700");
	assert_line(P "table_absent_keys_total" M ",table=\"item \\\\ emb\",tier=\"memory\"} 17");
	assert_no(P "table_keys_total" M ",table=\"user_emb\",tier=\"ssd\",found=\"memory\"}");
	assert_no(P "table_read_bytes_total" M ",table=\"item");
	assert_line(P "table_keys_total" M ",table=\"far\",tier=\"redis\",found=\"server\"} 92");
	assert_line(P "table_defaulted_keys_total" M ",table=\"far\",tier=\"redis\"} 6");
	assert_line(P "table_servers" M ",table=\"far\",tier=\"redis\"} 3");
	assert_line(P "table_servers_up" M ",table=\"far\",tier=\"redis\"} 2");
	assert_line(P "table_round_trips_total" M ",table=\"far\",tier=\"redis\"} 40");
	assert_line(P "table_round_trip_microseconds_total" M
		      ",table=\"far\",tier=\"redis\"} 9000");
	assert_no(P "table_servers" M ",table=\"user_emb\"");
	assert_line(P "table_keys_total" M ",table=\"far\",tier=\"redis\",found=\"disk\"} 30");
	assert_line(P "table_disk_up" M ",table=\"far\",tier=\"redis\"} 0");
	assert_line(P "table_disk_errors_total" M ",table=\"far\",tier=\"redis\"} 2");
	assert_line(P "table_disk_dropped_rows_total" M ",table=\"far\",tier=\"redis\"} 4");
	assert_no(P "table_disk_up" M ",table=\"user_emb\"");
}

static void row_streams_are_told(void **state)
{
	(void)state;
	write_told(told);
	assert_line(P "row_stream_connected" M "} 1");
	assert_line(P "row_stream_paused" M "} 0");
	assert_line(P "row_stream_errors_total" M "} 2");
	assert_line(P "row_stream_lag_messages" M "} 3");
	assert_line(P "row_stream_lag_seconds" M "} 1.5");
	assert_line(P "row_stream_rows_total" M "} 5");
	assert_line(P "row_stream_states_total" M "} 6");
	assert_line(P "row_stream_memory_bytes" M "} 9");
	assert_line(P "row_stream_skipped_total" M ",reason=\"values\"} 12");
}

/* As a SavedModel alone has it, and before there is any version. */
static void little_is_told(void **state)
{
	(void)state;
	write_told("{\"versions\":[]}");
	assert_line(P "update_lag_seconds" M "} 0");
	assert_line(P "source_unreadable_seconds" M "} 0");
	assert_no(P "live_full_step{");
	assert_no(P "last_update_age_seconds{");
	write_told("{}");
	write_told("{\"newest\":{\"full_step\":1,\"delta_step\":2,\"lag_ms\":1500},"
		   "\"unreadable\":{\"for_ms\":2500,\"why\":\"it is away\"},"
		   "\"pinned\":{\"full_step\":1,\"delta_step\":-1,\"for_ms\":7,\"by\":\"x\"}}");
	assert_line(P "update_lag_seconds" M "} 1.5");
	assert_line(P "source_unreadable_seconds" M "} 2.5");
	assert_line(P "pinned" M "} 1");
	/* A sample is there once, however often a version was written again. */
	write_told("{\"versions\":[{\"full_step\":1,\"delta_step\":-1,\"state\":\"refused\","
		   "\"newer\":true,\"why\":\"a\"},{\"full_step\":1,\"delta_step\":-1,"
		   "\"newer\":true,\"state\":\"refused\",\"why\":\"a\"}]}");
	assert_line(P "version_refusal" M ",full_step=\"1\",delta_step=\"-1\",reason=\"a\"} 1");
	assert_null(strstr(strstr(out.data, "refusal{") + 1, "refusal{"));
}

static void what_is_not_that_json_is_refused(void **state)
{
	static const char *const wrong[] = {
		"[]",
		"7",
		"{\"versions\":{}}",
		"{\"versions\":[7]}",
		"{\"versions\":[{\"state\":7}]}",
		"{\"versions\":[{\"full_step\":\"7\"}]}",
		"{\"versions\":[{\"full_step\":1.5}]}",
		"{\"versions\":[{\"newer\":1}]}",
		"{\"newest\":7}",
		"{\"newest\":{\"lag_ms\":\"7\"}}",
		"{\"counts\":{\"moves\":[]}}",
		"{\"counts\":{\"moves\":{\"live\":null}}}",
		"{\"memory\":1e300}",
		"{\"memory\":18446744073709551615}",
		"{\"tables\":[{\"table\":\"\xff\"}]}",
	};
	sp_versions_report report;
	sp_error err;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(sp_versions_report_read(&report, wrong[i], arena, &err),
				 SP_CORRUPT);
	for (size_t size = 0; size + 1 < sizeof(told); size++) {
		char *cut = strndup(told, size);

		assert_int_equal(sp_versions_report_read(&report, cut, arena, &err), SP_CORRUPT);
		free(cut);
	}
}

static void without_memory(void **state)
{
	sp_arena *small = sp_arena_create(64);
	sp_versions_report report;
	sp_error err;

	(void)state;
	sp_alloc_fail_after(0);
	assert_int_equal(sp_versions_report_read(&report, told, small, &err), SP_NO_MEMORY);
	sp_alloc_fail_after(-1);
	sp_arena_destroy(small);
}

/* -------------------------------------------------------------------- the host */

static void answers_are_told(void **state)
{
	static sp_counters counters;
	static sp_model_counters model;
	sp_budget memory;
	const sp_model_state state_of_model = {
		.name = "m", .counters = &model, .thread_pool_name = "batch_threads"};
	const sp_host_state host = {.worker_count = 3,
				    .connections = 4,
				    .connections_dropped = 5,
				    .connections_refused = 6,
				    .memory = &memory,
				    .started = 1700000000,
				    .counters = &counters,
				    .models = &state_of_model,
				    .model_count = 1};

	const sp_call_record of_20us = {.arrived_ns = 1, .answered_ns = 20001};
	const sp_call_record of_30us = {.arrived_ns = 1,
					.begun_ns = 2001,
					.run_ns = 5001,
					.ran_ns = 25001,
					.answered_ns = 30001};
	const sp_call_record of_1ns = {.arrived_ns = 1, .answered_ns = 2};
	const sp_call_record never = {.answered_ns = 5};
	const sp_call_record full = {
		.arrived_ns = 1, .answered_ns = 2, .rejection = SP_REJECTED_QUEUE_FULL};

	(void)state;
	sp_budget_init(&memory, 200000);
	assert_int_equal(sp_budget_grow(&memory, 0, 100000, 100000), 100000);
	assert_int_equal(sp_budget_grow(&memory, 0, 150000, 150000), 0);
	sp_counters_answer(&counters, &model, SP_REQUEST_PREDICT, 200, &of_20us, NULL);
	sp_counters_answer(&counters, &model, SP_REQUEST_GRPC_PREDICT, 200, &of_30us, NULL);
	sp_counters_answer(&counters, &model, SP_REQUEST_PREDICT, 400, &of_20us, NULL);
	sp_counters_answer(&counters, &model, SP_REQUEST_PREDICT, 415, &of_20us, NULL);
	sp_counters_answer(&counters, &model, SP_REQUEST_PREDICT, 599, &of_20us, NULL);
	sp_counters_answer(&counters, &model, SP_REQUEST_HEALTH, 200, &of_1ns, NULL);
	sp_counters_answer(&counters, &model, SP_REQUEST_HEALTH, 200, &of_1ns, NULL);
	sp_counters_answer(&counters, &model, SP_REQUEST_OTHER, 600, &of_1ns,
			   NULL); /* none that there is */
	sp_counters_answer(&counters, &model, SP_REQUEST_OTHER, 99, &of_1ns, NULL);
	sp_counters_answer(&counters, NULL, SP_REQUEST_STATUS, 503, &never, NULL);
	sp_counters_answer(&counters, NULL, SP_REQUEST_STATUS, 413, &never, NULL);
	sp_counters_answer(&counters, &model, SP_REQUEST_EXAMPLES, 503, &full, NULL);
	sp_counters_answer(&counters, &model, SP_REQUEST_EXAMPLES, 503, &of_1ns, NULL);
	sp_counters_answer(&counters, &model, SP_REQUEST_EXAMPLES, 504, &of_1ns, NULL);
	sp_counters_answer(&counters, NULL, SP_REQUEST_HEALTH, 503, &never, NULL);
	sp_size_histogram_add(&model.run_rows, 0);
	sp_size_histogram_add(&model.run_rows, 1);
	sp_size_histogram_add(&model.run_rows, 2);
	sp_size_histogram_add(&model.run_rows, 3);
	sp_size_histogram_add(&model.run_rows, 32768);
	sp_size_histogram_add(&model.run_rows, INT64_MAX / 2);
	sp_counter_add(&model.begun, 5);
	sp_counter_add(&model.ended, 3);
	sp_counter_add(&model.batches, 2);
	sp_counter_add(&model.batch_requests, 7);
	sp_counter_add(&model.batch_rows, 9);
	sp_histogram_add(&model.batch_wait, 30000);
	sp_metrics_write_host(&out, &host);
	assert_line(":tensorflow:serving:request_count" M ",status=\"OK\"} 2");
	assert_line(":tensorflow:serving:request_count" M ",status=\"INVALID_ARGUMENT\"} 2");
	assert_line(":tensorflow:serving:request_count" M ",status=\"UNKNOWN\"} 1");
	assert_line(":tensorflow:serving:request_count" M ",status=\"UNAVAILABLE\"} 0");
	assert_line("serving_processor_stage_seconds_sum" M ",stage=\"queue\"} 2e-06");
	assert_line("serving_processor_stage_seconds_sum" M ",stage=\"decode\"} 3e-06");
	assert_line("serving_processor_stage_seconds_sum" M ",stage=\"run\"} 2e-05");
	assert_line("serving_processor_stage_seconds_sum" M ",stage=\"encode\"} 5e-06");
	assert_line("serving_processor_stage_seconds_count" M ",stage=\"encode\"} 1");
	assert_line("serving_processor_run_rows_bucket" M ",le=\"1\"} 2");
	assert_line("serving_processor_run_rows_bucket" M ",le=\"2\"} 3");
	assert_line("serving_processor_run_rows_bucket" M ",le=\"4\"} 4");
	assert_line("serving_processor_run_rows_bucket" M ",le=\"32768\"} 5");
	assert_line("serving_processor_run_rows_bucket" M ",le=\"+Inf\"} 6");
	assert_line("serving_processor_rejections_total{reason=\"queue_full\"} 1");
	assert_line("serving_processor_rejections_total{reason=\"model_full\"} 0");
	assert_line("serving_processor_rejections_total{reason=\"memory\"} 1");
	assert_line("serving_processor_rejections_total{reason=\"too_large\"} 1");
	assert_line("serving_processor_rejections_total{reason=\"deadline\"} 1");
	assert_line("serving_processor_rejections_total{reason=\"unavailable\"} 1");
	assert_line(":tensorflow:serving:request_latency_count" M
		    ",API=\"predict\",entrypoint=\"REST\"} 1");
	assert_line(":tensorflow:serving:request_latency_sum" M
		    ",API=\"predict\",entrypoint=\"REST\"} 20");
	assert_line(":tensorflow:serving:request_latency_sum" M
		    ",API=\"Predict\",entrypoint=\"GRPC\"} 30");
	assert_line(":tensorflow:serving:runtime_latency_count" M
		    ",API=\"Predict\",runtime=\"serving_processor\"} 0");
	assert_line(P "requests_in_flight" M "} 2");
	assert_line(":tensorflow:serving:batching_session:queuing_latency_sum" M
		    ",thread_pool_name=\"batch_threads\"} 30");
	assert_line(P "batches_total" M "} 2");
	assert_line(P "batch_requests_total" M "} 7");
	assert_line(P "batch_rows_total" M "} 9");
	assert_line(P "batch_reruns_total" M "} 0");
	assert_line(P "threads 3");
	assert_line(P "connections 4");
	assert_line(P "connections_dropped_total 5");
	assert_line(P "connections_refused_total 6");
	assert_line(P "request_memory_bytes 100000");
	assert_line(P "request_memory_limit_bytes 200000");
	assert_line(P "request_memory_refusals_total 1");
	assert_line(P "http_requests_total{route=\"health\",code=\"200\"} 2");
	assert_no("route=\"other\"");
	assert_line(P "model_ready" M "} 0");
	assert_line("process_start_time_seconds 1700000000");
	assert_no("process_resident_memory_bytes 0\n");
}

/* Of what is not the library's, the rest is "other", whatever it is. */
static void memory_is_told_by_owner(void **state)
{
	static const char *const without_rest[] = {"{model_name=\"\",owner=\"other\"} ",
						   "{model_name=\"\",owner=\"allocator\"} "};
	sp_budget memory;
	sp_versions_report report;
	const sp_model_state model = {.name = "m", .report = &report};
	const sp_model_state closed = {.name = "closed"};
	const sp_model_state models[] = {model, closed};
	const sp_host_state host = {.memory = &memory, .models = models, .model_count = 2};
	double own, rest = 0;
	sp_error err;

	(void)state;
	sp_budget_init(&memory, 200000);
	assert_int_equal(sp_budget_grow(&memory, 0, 100000, 100000), 100000);
	assert_ok(sp_versions_report_read(&report,
					  "{\"owners\":{\"tables\":4000,\"image\":1000000000,"
					  "\"sessions\":50}}",
					  arena, &err),
		  &err);
	sp_buffer_clear(&out);
	sp_metrics_write_memory(&out, &host);
	assert_line(P "memory_by_owner_bytes" M ",owner=\"tables\"} 4000");
	assert_line(P "memory_by_owner_bytes" M ",owner=\"sessions\"} 50");
	assert_line(P "memory_by_owner_bytes{model_name=\"\",owner=\"requests\"} 100000");
	assert_no("image");
	assert_no("closed");
	own = strtod(strstr(out.data, "\n" P "own_memory_bytes ") +
			     strlen("\n" P "own_memory_bytes "),
		     NULL);
	for (size_t i = 0; i < 2; i++)
		rest += strtod(strstr(out.data, without_rest[i]) + strlen(without_rest[i]), NULL);
	assert_true(own > 104050 && rest == own - 104050);
}

static void exemplars_are_told_to_those_who_can_read_them(void **state)
{
	static const unsigned char id[16] = {0x4b, 0xf9, 0x2f, [15] = 0x36};
	static sp_histogram histogram;
	const sp_label label = {"a", sp_bytes_of("b")};
	sp_buffer page;

	(void)state;
	sp_metric_begin(&out, SP_METRIC_REQUESTS);
	sp_metric_add(&out, SP_METRIC_REQUESTS, &label, 1, 5);
	sp_metric_begin(&out, SP_METRIC_CPU);
	sp_metric_begin(&out, SP_METRIC_STAGE_LATENCY);
	sp_histogram_add_traced(&histogram, 5000, NULL);
	sp_histogram_add_traced(&histogram, 15500, id);
	sp_metric_add_histogram(&out, SP_METRIC_STAGE_LATENCY, &label, 1, &histogram, SP_SECONDS);
	page = out;
	sp_buffer_init(&out, 1 << 20);
	sp_openmetrics_write(&out, (sp_bytes){page.data, page.size});
	sp_buffer_fini(&page);
	assert_line("# TYPE :tensorflow:serving:request_count unknown");
	assert_line(":tensorflow:serving:request_count{a=\"b\"} 5");
	assert_line("# TYPE process_cpu_seconds counter");
	assert_line("# HELP process_cpu_seconds CPU time of the process, user and system.");
	assert_line("serving_processor_stage_seconds_bucket{a=\"b\",le=\"1e-05\"} 1");
	assert_non_null(strstr(
		out.data, "le=\"1.8e-05\"} 2 # {trace_id=\"4bf92f00000000000000000000000036\"} "
			  "1.55e-05 "));
	assert_line("# EOF");
	assert_no("EXEMPLAR");
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		CASE(heads_and_samples),
		CASE(values_of_labels_are_escaped),
		CASE(limits_are_powers),
		CASE(times_fall_into_buckets),
		CASE(versions_are_told),
		CASE(tables_are_told),
		CASE(row_streams_are_told),
		CASE(little_is_told),
		CASE(what_is_not_that_json_is_refused),
		CASE(without_memory),
		CASE(answers_are_told),
		CASE(memory_is_told_by_owner),
		CASE(exemplars_are_told_to_those_who_can_read_them),
	};

	return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
