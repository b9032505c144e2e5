#ifndef SP_TESTS_SUPPORT_KAFKA_CLUSTER_H
#define SP_TESTS_SUPPORT_KAFKA_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * librdkafka's broker for tests, in this process, and a producer.  What goes wrong ends the
 * process.
 */
typedef struct sp_kafka_cluster sp_kafka_cluster;

sp_kafka_cluster *sp_kafka_cluster_start(void);
void sp_kafka_cluster_stop(sp_kafka_cluster *cluster);

/* For bootstrap.servers. */
const char *sp_kafka_cluster_brokers(const sp_kafka_cluster *cluster);

void sp_kafka_cluster_add_topic(sp_kafka_cluster *cluster, const char *topic, int partitions);

/* The broker says that the topic does not exist, or lists it again. */
void sp_kafka_cluster_hide_topic(sp_kafka_cluster *cluster, const char *topic, bool is_hidden);

/* Sends a message; flush() returns when all that were sent are there. */
void sp_kafka_cluster_send(sp_kafka_cluster *cluster, const char *topic, int32_t partition,
			   const void *bytes, size_t size);
void sp_kafka_cluster_flush(sp_kafka_cluster *cluster);

/* Messages that the partition has. */
int64_t sp_kafka_cluster_end(sp_kafka_cluster *cluster, const char *topic, int32_t partition);

/* The broker closes all connections and takes none, or takes them again. */
void sp_kafka_cluster_set_down(sp_kafka_cluster *cluster, bool is_down);

#endif
