#ifndef SP_PROCESSOR_UPDATER_ORDERS_H
#define SP_PROCESSOR_UPDATER_ORDERS_H

#include <pthread.h>

#include "incremental/watch.h"
#include "processor/updater/decide.h"

/*
 * Passes orders from any thread to the updater's, one at a time.
 *
 * Threads: sp_orders_give() any; the others as each says.
 */
typedef struct sp_order { /* on the stack of the waiting thread */
	sp_order_kind kind;
	int64_t full_step; /* for SP_ORDER_PIN */
	int64_t delta_step;
	char by[256]; /* who gives the order, without control characters */
	bool done;
	sp_status status;
	sp_error error;
} sp_order;

typedef struct sp_orders {
	pthread_mutex_t turn; /* held during an order: one at a time */
	pthread_mutex_t lock; /* protects `pending` and its `done` */
	pthread_cond_t carried_out;
	sp_order *pending;
} sp_orders;

void sp_orders_init(sp_orders *orders);
void sp_orders_fini(sp_orders *orders);

/* Wakes the updater and returns when the order is carried out.  `by` NULL: the host. */
SP_MUST_CHECK sp_status sp_orders_give(sp_orders *orders, sp_order *order, const char *by,
				       sp_watch *watch, sp_error *err);

/* For the updater's thread: the waiting order, or NULL; and marking it as carried out. */
sp_order *sp_orders_take(sp_orders *orders);
void sp_orders_finish(sp_orders *orders, sp_order *order);

#endif
