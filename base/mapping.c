#include "base/mapping.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif

/*
 * A signal handler may interrupt anything, so it takes no lock and walks a fixed array of
 * atomics.  A guard is free while `start` is 0.  `end` is 0 while the pair is being set or
 * cleared, and the handler reads `start` again after `end`, so that it never combines `start`
 * and `end` of two mappings.
 *
 * Signal handlers are per process, hence the global state.
 */
struct sp_mapping_guard {
	_Atomic uintptr_t start;
	_Atomic uintptr_t end;
	atomic_bool broken;
};

static struct sp_mapping_guard guards[SP_MAPPING_LIMIT];
static atomic_size_t guards_used; /* guards from this index on have never been used */

static size_t page_size; /* like `former`, set before our handler is installed */

/* Protects open_count, and installing and removing the handler. */
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;
static size_t open_count;
static struct sigaction former;

static struct sp_mapping_guard *find_guard(uintptr_t address)
{
	size_t used = atomic_load(&guards_used);

	for (size_t i = 0; i < used; i++) {
		uintptr_t start = atomic_load(&guards[i].start);
		uintptr_t end = atomic_load(&guards[i].end);

		if (start != 0 && start <= address && address < end &&
		    start == atomic_load(&guards[i].start))
			return &guards[i];
	}
	return NULL;
}

/*
 * A system call, because memory checkers replace mmap() by code that is unsafe in a signal handler.
 */
static bool map_zeros(uintptr_t start, uintptr_t end)
{
	return syscall(SYS_mmap, start, end - start, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
		       0) == (long)start;
}

/*
 * Replaces the pages from the address to the end of the mapping by zeros.  Replacing only one page
 * would need more mappings, whose number is limited, and the pages after a missing one are usually
 * missing too.  On a file system with larger pages part of a mapping cannot be replaced; then all
 * of it is.
 */
static bool replace_pages(uintptr_t address)
{
	struct sp_mapping_guard *guard = find_guard(address);
	uintptr_t start, end, page;

	if (guard == NULL)
		return false;
	start = atomic_load(&guard->start);
	end = atomic_load(&guard->end);
	page = address & ~(uintptr_t)(page_size - 1);
	atomic_store(&guard->broken, true);
	return map_zeros(page, end) || map_zeros(start, end);
}

/* Has the effect that the signal would have without our handler. */
static void forward_signal(int signal_number, siginfo_t *info, void *context)
{
	bool sent = info->si_code <= 0; /* by a process, not raised by a memory access */

	if (former.sa_handler == SIG_IGN && sent)
		return;
	if (former.sa_handler == SIG_DFL || former.sa_handler == SIG_IGN) {
		/*
		 * The access is repeated on return, and then the default action ends the process.
		 */
		signal(signal_number, SIG_DFL);
		if (sent)
			raise(signal_number);
	} else if ((former.sa_flags & SA_SIGINFO) != 0) {
		former.sa_sigaction(signal_number, info, context);
	} else {
		former.sa_handler(signal_number);
	}
}

static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
	int saved_errno = errno;

	if (info->si_code <= 0 || !replace_pages((uintptr_t)info->si_addr))
		forward_signal(signal_number, info, context);
	errno = saved_errno;
}

static void install(void)
{
	struct sigaction ours;

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, NULL, &former);
	ours = former; /* with its mask, because our handler may call it */
	ours.sa_sigaction = on_sigbus;
	/* SA_ONSTACK: threads of the host may have small stacks. */
	ours.sa_flags = (former.sa_flags & ~SA_RESETHAND) | SA_SIGINFO | SA_ONSTACK;
	sigaction(SIGBUS, &ours, NULL);
}

/* Whether the action is SIG_DFL or SIG_IGN. */
static bool has_no_handler(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) == 0 &&
	       (action->sa_handler == SIG_DFL || action->sa_handler == SIG_IGN);
}

static void handler_acquire(void)
{
	struct sigaction now;

	pthread_mutex_lock(&install_lock);
	sigaction(SIGBUS, NULL, &now);
	/* The host may have replaced our handler and later restored the default instead. */
	if (open_count++ == 0 || has_no_handler(&now))
		install();
	pthread_mutex_unlock(&install_lock);
}

static void handler_release(void)
{
	struct sigaction now;

	pthread_mutex_lock(&install_lock);
	if (--open_count == 0) {
		sigaction(SIGBUS, NULL, &now);
		if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_sigbus)
			sigaction(SIGBUS, &former, NULL);
		else if (!has_no_handler(&now))
			open_count++; /* a handler of the host may chain to ours, so it must stay */
	}
	pthread_mutex_unlock(&install_lock);
}

static struct sp_mapping_guard *take_guard(uintptr_t start, size_t size)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t end = (start + size + page - 1) & ~(page - 1);

	for (size_t i = 0; i < SP_MAPPING_LIMIT; i++) {
		uintptr_t none = 0;
		size_t used = atomic_load(&guards_used);

		if (!atomic_compare_exchange_strong(&guards[i].start, &none, start))
			continue;
		atomic_store(&guards[i].broken, false);
		while (used <= i && !atomic_compare_exchange_weak(&guards_used, &used, i + 1))
			;
		atomic_store(&guards[i].end, end);
		return &guards[i];
	}
	return NULL;
}

/* The pages of the file, or memory with the bytes of an object. */
static sp_status map(void **out, const sp_file *file, sp_error *err)
{
	bool is_object = file->object != NULL;
	int flags = is_object ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	char reason[128];
	sp_status status;

	*out = mmap(NULL, (size_t)file->size, is_object ? PROT_READ | PROT_WRITE : PROT_READ, flags,
		    is_object ? -1 : file->fd, 0);
	if (*out == MAP_FAILED)
		return sp_error_set(err, SP_IO, "cannot map %llu bytes of a file: %s",
				    (unsigned long long)file->size,
				    strerror_r(errno, reason, sizeof(reason)));
	if (!is_object)
		return SP_OK;
	status = sp_file_read_at(file, 0, *out, (size_t)file->size, err);
	if (status == SP_OK)
		(void)mprotect(*out, (size_t)file->size, PROT_READ);
	else
		munmap(*out, (size_t)file->size);
	return status;
}

sp_status sp_mapping_open(sp_mapping *out, const sp_file *file, sp_error *err)
{
	void *data;

	*out = (sp_mapping){0};
	if (file->size == 0)
		return SP_OK;
	if (file->size > PTRDIFF_MAX)
		return sp_error_set(err, SP_IO, "cannot map %llu bytes",
				    (unsigned long long)file->size);
	SP_TRY(map(&data, file, err));
	out->guard = take_guard((uintptr_t)data, (size_t)file->size);
	if (out->guard == NULL) {
		munmap(data, (size_t)file->size);
		return sp_error_set(err, SP_BUSY, "%d files are mapped already", SP_MAPPING_LIMIT);
	}
	handler_acquire();
	out->data = data;
	out->size = (size_t)file->size;
	return SP_OK;
}

void sp_mapping_close(sp_mapping *mapping)
{
	if (mapping->guard != NULL) {
		/* Clear the guard before munmap(): afterwards the addresses may be reused. */
		atomic_store(&mapping->guard->end, 0);
		atomic_store(&mapping->guard->start, 0);
		munmap((void *)mapping->data, mapping->size);
		handler_release();
	}
	*mapping = (sp_mapping){0};
}

bool sp_mapping_is_broken(const sp_mapping *mapping)
{
	return mapping->guard != NULL && atomic_load(&mapping->guard->broken);
}

/* The pages that contain the range; false if there are none. */
static bool find_pages(const sp_mapping *mapping, size_t offset, size_t size, char **start,
		       size_t *length)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), end;

	if (offset >= mapping->size)
		return false;
	end = size < mapping->size - offset ? offset + size : mapping->size;
	offset &= ~(page - 1);
	if (offset >= end)
		return false;
	*start = (char *)mapping->data + offset;
	*length = end - offset;
	return true;
}

void sp_mapping_advise(const sp_mapping *mapping, size_t offset, size_t size,
		       sp_mapping_advice advice)
{
	static const int system_advice[] = {
		[SP_MAPPING_RANDOM] = MADV_RANDOM,
		[SP_MAPPING_WILL_NEED] = MADV_WILLNEED,
		[SP_MAPPING_HUGE] = MADV_HUGEPAGE,
	};
	char *start;
	size_t length;

	if (find_pages(mapping, offset, size, &start, &length))
		madvise(start, length, system_advice[advice]);
}

/* Reads one byte of each page, if MADV_POPULATE_READ is missing or has failed. */
static void touch(const char *start, size_t length)
{
	const volatile char *bytes = start;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (size_t at = 0; at < length; at += page)
		(void)bytes[at];
}

bool sp_mapping_populate(const sp_mapping *mapping, size_t offset, size_t size)
{
	char *start;
	size_t length;

	if (find_pages(mapping, offset, size, &start, &length) &&
	    madvise(start, length, MADV_POPULATE_READ) != 0)
		touch(start, length);
	return !sp_mapping_is_broken(mapping);
}
