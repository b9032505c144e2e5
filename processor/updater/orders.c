#include "processor/updater/orders.h"

#include <stdio.h>

void sp_orders_init(sp_orders *orders)
{
	pthread_mutex_init(&orders->turn, NULL);
	pthread_mutex_init(&orders->lock, NULL);
	pthread_cond_init(&orders->carried_out, NULL);
}

void sp_orders_fini(sp_orders *orders)
{
	pthread_cond_destroy(&orders->carried_out);
	pthread_mutex_destroy(&orders->lock);
	pthread_mutex_destroy(&orders->turn);
}

sp_status sp_orders_give(sp_orders *orders, sp_order *order, const char *by, sp_watch *watch,
			 sp_error *err)
{
	sp_error line;

	/* sp_error_set() replaces control characters, so that a log line stays one line. */
	sp_error_set(&line, SP_OK, "%.200s", by != NULL && *by != '\0' ? by : "the host");
	snprintf(order->by, sizeof(order->by), "%.255s", line.text);
	pthread_mutex_lock(&orders->turn);
	pthread_mutex_lock(&orders->lock);
	orders->pending = order;
	sp_watch_wake(watch);
	while (!order->done)
		pthread_cond_wait(&orders->carried_out, &orders->lock);
	pthread_mutex_unlock(&orders->lock);
	pthread_mutex_unlock(&orders->turn);
	if (order->status != SP_OK && err != NULL)
		*err = order->error;
	return order->status;
}

sp_order *sp_orders_take(sp_orders *orders)
{
	sp_order *order;

	pthread_mutex_lock(&orders->lock);
	order = orders->pending;
	orders->pending = NULL;
	pthread_mutex_unlock(&orders->lock);
	return order;
}

void sp_orders_finish(sp_orders *orders, sp_order *order)
{
	pthread_mutex_lock(&orders->lock);
	order->done = true;
	pthread_cond_broadcast(&orders->carried_out);
	pthread_mutex_unlock(&orders->lock);
}
