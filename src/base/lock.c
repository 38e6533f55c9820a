/* The check of the order of locks: each thread keeps a short list of the locks that it holds, in
 * the order in which it took them, and each call compares with that list before pthread is called.
 * So a wrong order stops the program the first time a thread takes the two locks, whether or not
 * another thread holds one of them at that moment. A list that is full (a program holds two or
 * three locks at the most) is a breach too.
 *
 * Thread: any; the list is the thread's own. */
#include "base/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void cor_cond_init(struct cor_cond *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&cond->cond, &attr);
    pthread_condattr_destroy(&attr);
}

#ifdef COR_CHECK_LOCKS

static const char *const lock_names[] = {
#define LOCK_NAME(name, text) [COR_LOCK_##name] = #name " (" text ")",
    COR_LOCK_RANKS(LOCK_NAME)
#undef LOCK_NAME
};

static _Thread_local struct {
    const struct cor_lock *locks[8];
    size_t n;
} held;

/* Writes what is wrong, and the locks that the thread holds, past the program's streams, as a
 * failed assertion of the C library does; a core or a sanitizer's report shows where. */
__attribute__((noreturn, cold)) static void lock_breach(const char *what,
                                                        const struct cor_lock *lock)
{
    dprintf(STDERR_FILENO, "lock order: %s%s", what, lock ? lock_names[lock->rank] : "");
    for (size_t i = 0; i < held.n; i++)
        dprintf(STDERR_FILENO, "%s%s", i == 0 ? " while the thread holds " : ", ",
                lock_names[held.locks[i]->rank]);
    dprintf(STDERR_FILENO, "\n");
    abort();
}

void cor_lock_check_acquire(const struct cor_lock *lock)
{
    for (size_t i = 0; i < held.n; i++) {
        if (held.locks[i]->rank >= lock->rank)
            lock_breach("must not take ", lock);
    }
    if (held.n == sizeof(held.locks) / sizeof(held.locks[0]))
        lock_breach("too many locks, with ", lock);
    held.locks[held.n++] = lock;
}

void cor_lock_check_release(const struct cor_lock *lock)
{
    for (size_t i = held.n; i > 0; i--) {
        if (held.locks[i - 1] != lock)
            continue;
        for (held.n--; i <= held.n; i++)
            held.locks[i - 1] = held.locks[i];
        return;
    }
    lock_breach("must not give back what it does not hold: ", lock);
}

void cor_lock_check_wait(const struct cor_lock *lock)
{
    if (held.n != 1 || held.locks[0] != lock)
        lock_breach("must hold no other lock when it waits with ", lock);
}

void cor_lock_assert_none(void)
{
    if (held.n > 0)
        lock_breach("must not call a callback", NULL);
}

#endif
