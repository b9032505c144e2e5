#include "tests/support/cmocka.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "session_group/slots.h"

static sp_slots *slots_of(size_t count)
{
	sp_slots *slots = NULL;
	sp_error err;

	assert_ok(sp_slots_create(&slots, count, 100, &err), &err);
	return slots;
}

/* Without a deadline. */
static size_t acquire(sp_slots *slots, size_t preferred)
{
	size_t slot = SIZE_MAX;

	assert_int_equal(sp_slots_acquire(&slot, slots, (sp_slots_wish){preferred, NULL, 0}, 0),
			 SP_OK);
	return slot;
}

static void the_preferred_slot_or_the_next_idle_one(void **state)
{
	sp_slots *slots = slots_of(3);

	(void)state;
	assert_int_equal(acquire(slots, 1), 1);
	assert_int_equal(acquire(slots, 1), 2);
	assert_int_equal(acquire(slots, 1), 0); /* around the end */
	sp_slots_release(slots, 2);
	assert_int_equal(acquire(slots, 0), 2);
	sp_slots_release(slots, 0);
	sp_slots_release(slots, 1);
	sp_slots_release(slots, 2);
	assert_int_equal(acquire(slots, SIZE_MAX), SIZE_MAX % 3);
	sp_slots_release(slots, SIZE_MAX % 3);
	sp_slots_destroy(slots);
}

static void those_wished_for_come_first(void **state)
{
	static const uint16_t near[] = {3, 1};
	const sp_slots_wish wish = {0, near, 2}, other = {5, near, 2};
	sp_slots *slots = slots_of(4);
	size_t slot;

	(void)state;
	assert_int_equal(sp_slots_acquire(&slot, slots, other, 0), SP_OK);
	assert_int_equal(slot, 1);
	sp_slots_release(slots, slot);
	assert_int_equal(sp_slots_acquire(&slot, slots, wish, 0), SP_OK);
	assert_int_equal(slot, 3);
	assert_int_equal(sp_slots_acquire(&slot, slots, wish, 0), SP_OK);
	assert_int_equal(slot, 1);
	assert_int_equal(sp_slots_acquire(&slot, slots, wish, 0), SP_OK); /* one of the others */
	assert_int_equal(slot, 2);
	assert_int_equal(sp_slots_acquire(&slot, slots, wish, 0), SP_OK);
	assert_int_equal(slot, 0);
	for (slot = 0; slot < 4; slot++)
		sp_slots_release(slots, slot);
	sp_slots_destroy(slots);
}

static void no_memory_is_an_error(void **state)
{
	sp_slots *slots = NULL;
	sp_error err;

	(void)state;
	assert_int_equal(sp_slots_create(&slots, SIZE_MAX / 2, 1, &err), SP_NO_MEMORY);
	sp_alloc_fail_after(0);
	assert_int_equal(sp_slots_create(&slots, 4, 1, &err), SP_NO_MEMORY);
	sp_alloc_fail_after(-1);
	sp_slots_destroy(NULL);
}

/* ------------------------------------------------------------------ in line */

enum { LINE = 6 };

typedef struct queue {
	sp_slots *slots;
	atomic_int served;
	int place[LINE]; /* when each thread was served */
} queue;

typedef struct member {
	queue *queue;
	int number;
	int64_t deadline_ns;
	pthread_t thread;
} member;

static void *stand_in_line(void *argument)
{
	member *self = argument;
	size_t slot;

	if (sp_slots_acquire(&slot, self->queue->slots, (sp_slots_wish){0}, self->deadline_ns) !=
	    SP_OK) {
		self->queue->place[self->number] = -1;
		return NULL;
	}
	self->queue->place[self->number] = atomic_fetch_add(&self->queue->served, 1);
	sp_slots_release(self->queue->slots, slot);
	return NULL;
}

static void first_come_first_served(void **state)
{
	queue line = {.slots = slots_of(1)};
	member members[LINE];
	size_t held = acquire(line.slots, 0);

	(void)state;
	for (int i = 0; i < LINE; i++) {
		members[i] = (member){.queue = &line, .number = i};
		assert_int_equal(
			pthread_create(&members[i].thread, NULL, stand_in_line, &members[i]), 0);
		while (sp_slots_waiting(line.slots) != (size_t)i + 1)
			sched_yield();
	}
	sp_slots_release(line.slots, held);
	for (int i = 0; i < LINE; i++)
		pthread_join(members[i].thread, NULL);
	for (int i = 0; i < LINE; i++)
		assert_int_equal(line.place[i], i);
	assert_int_equal(sp_slots_waiting(line.slots), 0);
	sp_slots_destroy(line.slots);
}

/* From the front, the middle and the end of the line; the others keep their places. */
static void who_has_no_more_time_leaves_the_line(void **state)
{
	static const int want[LINE] = {-1, 0, -1, -1, 1, -1};
	queue line = {.slots = slots_of(1)};
	member members[LINE];
	size_t held = acquire(line.slots, 0), slot;

	(void)state;
	for (int i = 0; i < LINE; i++) {
		members[i] = (member){.queue = &line, .number = i};
		if (want[i] < 0)
			members[i].deadline_ns = sp_clock_now_ns() + 300000000;
		assert_int_equal(
			pthread_create(&members[i].thread, NULL, stand_in_line, &members[i]), 0);
		while (sp_slots_waiting(line.slots) != (size_t)i + 1 &&
		       sp_clock_now_ns() < members[i].deadline_ns)
			sched_yield();
	}
	while (sp_slots_waiting(line.slots) != 2)
		sched_yield();
	/* It is at the end of the line for as long as it takes to see that it is too late. */
	assert_int_equal(sp_slots_acquire(&slot, line.slots, (sp_slots_wish){0}, 1), SP_DEADLINE);
	assert_int_equal(sp_slots_waiting(line.slots), 2);
	sp_slots_release(line.slots, held);
	for (int i = 0; i < LINE; i++)
		pthread_join(members[i].thread, NULL);
	for (int i = 0; i < LINE; i++)
		assert_int_equal(line.place[i], want[i]);
	/* An idle slot is had whatever the time is. */
	assert_int_equal(sp_slots_acquire(&slot, line.slots, (sp_slots_wish){0}, 1), SP_OK);
	sp_slots_release(line.slots, slot);
	sp_slots_destroy(line.slots);
}

static void a_line_of_bounded_length(void **state)
{
	queue line = {.slots = NULL};
	member members[2];
	size_t held, slot;
	sp_error err;

	(void)state;
	assert_ok(sp_slots_create(&line.slots, 1, 2, &err), &err);
	held = acquire(line.slots, 0);
	for (int i = 0; i < 2; i++) {
		members[i] = (member){.queue = &line, .number = i};
		assert_int_equal(
			pthread_create(&members[i].thread, NULL, stand_in_line, &members[i]), 0);
	}
	while (sp_slots_waiting(line.slots) != 2)
		sched_yield();
	for (int i = 0; i < 3; i++)
		assert_int_equal(sp_slots_acquire(&slot, line.slots, (sp_slots_wish){0}, 0),
				 SP_BUSY);
	sp_slots_release(line.slots, held);
	for (int i = 0; i < 2; i++)
		pthread_join(members[i].thread, NULL);
	assert_int_equal(atomic_load(&line.served), 2);
	sp_slots_destroy(line.slots);
	assert_ok(sp_slots_create(&line.slots, 1, 0, &err), &err);
	held = acquire(line.slots, 0);
	assert_int_equal(sp_slots_acquire(&slot, line.slots, (sp_slots_wish){0}, 0), SP_BUSY);
	sp_slots_release(line.slots, held);
	sp_slots_destroy(line.slots);
}

/* ------------------------------------------------------------------- stress */

enum { STRESS_SLOTS = 3, STRESS_THREADS = 9, STRESS_ROUNDS = 20000 };

typedef struct stress_test {
	sp_slots *slots;
	/* Plain on purpose: two owners of one slot at once lose counts, and a
	 * thread sanitizer sees them. */
	uint64_t uses[STRESS_SLOTS];
	atomic_int owners[STRESS_SLOTS];
	atomic_int violations;
	bool timed; /* every second thread has hardly any time */
	atomic_int late, threads;
} stress_test;

static void *use_slots(void *argument)
{
	stress_test *stress = argument;
	bool timed = stress->timed && atomic_fetch_add(&stress->threads, 1) % 2 == 0;

	for (size_t round = 0; round < STRESS_ROUNDS; round++) {
		int64_t deadline_ns = timed ? sp_clock_now_ns() + (int64_t)(round % 50) * 1000 : 0;
		size_t slot;

		if (sp_slots_acquire(&slot, stress->slots, (sp_slots_wish){round, NULL, 0},
				     deadline_ns) != SP_OK) {
			atomic_fetch_add(&stress->late, 1);
			continue;
		}
		if (atomic_fetch_add(&stress->owners[slot], 1) != 0)
			atomic_fetch_add(&stress->violations, 1);
		stress->uses[slot]++;
		if (round % 64 == 0)
			sched_yield();
		atomic_fetch_sub(&stress->owners[slot], 1);
		sp_slots_release(stress->slots, slot);
	}
	return NULL;
}

static void put_under_stress(bool timed)
{
	stress_test stress = {.slots = slots_of(STRESS_SLOTS), .timed = timed};
	pthread_t threads[STRESS_THREADS];
	uint64_t uses = 0;

	for (int i = 0; i < STRESS_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_slots, &stress), 0);
	for (int i = 0; i < STRESS_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < STRESS_SLOTS; i++)
		uses += stress.uses[i];
	assert_int_equal(atomic_load(&stress.violations), 0);
	assert_int_equal(uses + (uint64_t)atomic_load(&stress.late),
			 (uint64_t)STRESS_THREADS * STRESS_ROUNDS);
	assert_true(timed || atomic_load(&stress.late) == 0);
	assert_int_equal(sp_slots_waiting(stress.slots), 0);

	/* Nothing was lost on the way: all of them can be held at once again. */
	for (size_t i = 0; i < STRESS_SLOTS; i++)
		assert_int_equal(acquire(stress.slots, i), i);
	for (size_t i = 0; i < STRESS_SLOTS; i++)
		sp_slots_release(stress.slots, i);
	sp_slots_destroy(stress.slots);
}

static void a_slot_never_has_two_owners(void **state)
{
	(void)state;
	put_under_stress(false);
}

static void nothing_is_lost_when_threads_leave_the_line(void **state)
{
	(void)state;
	put_under_stress(true);
}

/* ------------------------------------------------------------- system calls */

enum { EXIT_CANNOT_SEAL = 77 };

/* The kernel kills a sealed process at its first system call but exit. */
static void use_slots_sealed(sp_slots *slots)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		_exit(EXIT_CANNOT_SEAL);
	for (size_t round = 0; round < 1000; round++) {
		size_t slot;

		if (sp_slots_acquire(&slot, slots, (sp_slots_wish){round, NULL, 0}, 1) != SP_OK)
			syscall(SYS_exit, 1);
		sp_slots_release(slots, slot);
	}
	syscall(SYS_exit, 0);
}

static void no_system_call_while_a_slot_is_idle(void **state)
{
	sp_slots *slots;
	int status = 0;
	pid_t child;

	(void)state;
#ifdef __SANITIZE_THREAD__
	skip(); /* the sanitizer makes calls of its own */
#endif
	slots = slots_of(2);
	child = fork();
	if (child == 0)
		use_slots_sealed(slots);
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	sp_slots_destroy(slots);
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CANNOT_SEAL)
		skip();
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_preferred_slot_or_the_next_idle_one),
		cmocka_unit_test(those_wished_for_come_first),
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(first_come_first_served),
		cmocka_unit_test(a_line_of_bounded_length),
		cmocka_unit_test(who_has_no_more_time_leaves_the_line),
		cmocka_unit_test(a_slot_never_has_two_owners),
		cmocka_unit_test(nothing_is_lost_when_threads_leave_the_line),
		cmocka_unit_test(no_system_call_while_a_slot_is_idle),
	};

	return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
