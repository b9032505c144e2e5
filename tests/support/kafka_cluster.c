#include "tests/support/kafka_cluster.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <stdio.h>
#include <stdlib.h>

struct sp_kafka_cluster {
	rd_kafka_t *producer;
	rd_kafka_mock_cluster_t *mock;
};

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "kafka_cluster: %s\n", what);
	abort();
}

sp_kafka_cluster *sp_kafka_cluster_start(void)
{
	sp_kafka_cluster *cluster = calloc(1, sizeof(*cluster));
	rd_kafka_conf_t *settings = rd_kafka_conf_new();
	char why[256];

	rd_kafka_conf_set(settings, "linger.ms", "1", why, sizeof(why));
	rd_kafka_conf_set(settings, "log_level", "0", why, sizeof(why));
	rd_kafka_conf_set(settings, "message.max.bytes", "16000000", why, sizeof(why));
	rd_kafka_conf_set(settings, "test.mock.num.brokers", "1", why, sizeof(why));
	cluster->producer = rd_kafka_new(RD_KAFKA_PRODUCER, settings, why, sizeof(why));
	check(cluster->producer != NULL, why);
	cluster->mock = rd_kafka_handle_mock_cluster(cluster->producer);
	check(cluster->mock != NULL, "no mock cluster");
	return cluster;
}

void sp_kafka_cluster_stop(sp_kafka_cluster *cluster)
{
	if (cluster == NULL)
		return;
	rd_kafka_destroy(cluster->producer);
	free(cluster);
}

const char *sp_kafka_cluster_brokers(const sp_kafka_cluster *cluster)
{
	return rd_kafka_mock_cluster_bootstraps(cluster->mock);
}

void sp_kafka_cluster_add_topic(sp_kafka_cluster *cluster, const char *topic, int partitions)
{
	check(rd_kafka_mock_topic_create(cluster->mock, topic, partitions, 1) ==
		      RD_KAFKA_RESP_ERR_NO_ERROR,
	      "no topic");
}

void sp_kafka_cluster_hide_topic(sp_kafka_cluster *cluster, const char *topic, bool is_hidden)
{
	rd_kafka_mock_topic_set_error(cluster->mock, topic,
				      is_hidden ? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
						: RD_KAFKA_RESP_ERR_NO_ERROR);
}

void sp_kafka_cluster_send(sp_kafka_cluster *cluster, const char *topic, int32_t partition,
			   const void *bytes, size_t size)
{
	rd_kafka_resp_err_t code;

	do {
		code = rd_kafka_producev(cluster->producer, RD_KAFKA_V_TOPIC(topic),
					 RD_KAFKA_V_PARTITION(partition),
					 RD_KAFKA_V_VALUE((void *)(uintptr_t)bytes, size),
					 RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
		if (code == RD_KAFKA_RESP_ERR__QUEUE_FULL)
			rd_kafka_poll(cluster->producer, 10);
	} while (code == RD_KAFKA_RESP_ERR__QUEUE_FULL);
	check(code == RD_KAFKA_RESP_ERR_NO_ERROR, "a message is not taken");
}

void sp_kafka_cluster_flush(sp_kafka_cluster *cluster)
{
	check(rd_kafka_flush(cluster->producer, 30000) == RD_KAFKA_RESP_ERR_NO_ERROR,
	      "messages are not delivered");
}

int64_t sp_kafka_cluster_end(sp_kafka_cluster *cluster, const char *topic, int32_t partition)
{
	int64_t first = 0, end = 0;

	check(rd_kafka_query_watermark_offsets(cluster->producer, topic, partition, &first, &end,
					       10000) == RD_KAFKA_RESP_ERR_NO_ERROR,
	      "no watermarks");
	return end;
}

void sp_kafka_cluster_set_down(sp_kafka_cluster *cluster, bool is_down)
{
	if (is_down)
		rd_kafka_mock_broker_set_down(cluster->mock, 1);
	else
		rd_kafka_mock_broker_set_up(cluster->mock, 1);
}
