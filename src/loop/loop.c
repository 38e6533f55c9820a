/* clang-format off */
/* A libuv loop with a mailbox, a heap of timers and three ways to run.
 *
 *   cor_loop_start()      a thread of its own runs turns until cor_loop_stop()
 *   cor_loop_run_until()  the caller's thread runs turns until a condition holds or time is up
 *   cor_loop_run_ready()  the caller's thread runs what is ready and returns (loop/pump.h)
 *
 * Mail. A sender on another thread writes to the eventfd when the mailbox was empty; libuv's poll
 * then calls on_wake(), which delivers the batch, or what of it a turn has time for. A sender on the loop's own thread, inside a
 * turn, starts the idle handle instead, and the batch is delivered in the next turn. A trigger
 * (loop/trigger.h) always writes to the eventfd, because a signal handler may fire it.
 *
 * Home. `home` names the thread that may use the loop: the maker's until the start, the loop's own
 * while it runs, the stopper's afterwards. cor_loop_is_current() compares with it, and the entries
 * of every module above assert it.
 *
 * Failures. Only cor_loop_new() and cor_loop_start() can fail; both leave nothing behind. A handle
 * of somebody else's that is still open in cor_loop_free() is a programming error and asserts.
 *
 * Thread: the loop's, unless loop.h says otherwise. */
/* clang-format on */
#include "loop/loop.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop_int.h"

/* cor_loop_run_ready() begins no turn after this time, so that the program gets to its own work. */
#define RUN_READY_MS 5

/* Turns of one run whose clock the program moves: no time limit ends it, so that a test does not
 * depend on the machine's speed. */
#define RUN_READY_TURNS_MAX 65536

/* Mail that has come takes so much of a turn; the rest is delivered in the next one. */
#define MAIL_US 4000

/* What cor_loop_run_until() waits for, while it runs. */
struct until {
    struct cor_loop *loop;
    bool (*done)(void *arg);
    void *arg;
    bool is_done;
    bool has_begun; /* a turn */
    bool is_late;   /* time was up before the first one */
};

static uintptr_t this_thread(void)
{
    static _Thread_local char mark;

    return (uintptr_t)&mark;
}

static bool has_time_for_mail(void *arg)
{
    struct cor_loop *loop = arg;

    /* What was posted before the stop is delivered before it. */
    return atomic_load(&loop->stopping) ||
           cor_turn_share_take(&loop->mail_share, loop, MAIL_US, true);
}

static void on_own_wake(uv_idle_t *wake)
{
    struct cor_loop *loop = wake->data;

    uv_idle_stop(wake);
    cor_mailbox_deliver_while(&loop->mailbox, has_time_for_mail, loop);
}

/* The mailbox was empty: makes the loop deliver it. The loop has an eventfd of its own because
 * uv_async spins in the loop's thread until the sender has returned from its write, and the lock of
 * the mailbox makes that unnecessary. Within a turn the loop's own thread is awake, so its mail
 * comes in the next turn without a system call. Between turns the eventfd is written even on the
 * loop's own thread, because a program may be waiting for the loop's descriptor. */
static void loop_wake(void *arg)
{
    const uint64_t one = 1;
    struct cor_loop *loop = arg;
    ssize_t n;

    if (cor_loop_is_running(loop)) {
        uv_idle_start(&loop->own_wake, on_own_wake);
        return;
    }
    n = write(loop->wake_fd, &one, sizeof(one));
    (void)n; /* a full eventfd is readable, which is all that is needed */
}

static void on_wake(uv_poll_t *wake, int status, int events)
{
    struct cor_loop *loop = wake->data;
    uint64_t count;
    ssize_t n = read(loop->wake_fd, &count, sizeof(count));

    (void)n;
    cor_mailbox_deliver_while(&loop->mailbox, has_time_for_mail, loop);
    cor_triggers_run(loop);
    if (atomic_load(&loop->stopping))
        uv_stop(&loop->uv);
}

int cor_loop_new(size_t mail_max, struct cor_loop **ret_loop)
{
    COR_CLEANUP(cor_freep) struct cor_loop *loop = cor_calloc(1, sizeof(*loop));
    int r;

    if (!loop)
        return -COR_ENOMEM;
    r = uv_loop_init(&loop->uv);
    if (r < 0)
        return r == UV_ENOMEM ? -COR_ENOMEM : -COR_EIO;
    loop->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wake_fd < 0) {
        uv_loop_close(&loop->uv);
        return -COR_EIO;
    }
    r = uv_poll_init(&loop->uv, &loop->wake, loop->wake_fd);
    if (r < 0) {
        close(loop->wake_fd);
        uv_loop_close(&loop->uv);
        return -COR_EIO;
    }
    /* A letter may bring a large value from the store, which its receiver decodes at once. */
    loop->mail_share.counts_first = true;
    loop->wake.data = loop;
    uv_poll_start(&loop->wake, UV_READABLE, on_wake);
    uv_idle_init(&loop->uv, &loop->own_wake);
    loop->own_wake.data = loop;
    uv_prepare_init(&loop->uv, &loop->before_poll);
    uv_prepare_init(&loop->uv, &loop->turn_end);
    loop->turn_end.data = loop;
    uv_check_init(&loop->uv, &loop->woken);
    loop->woken.data = loop;
    uv_timer_init(&loop->uv, &loop->deadline);
    cor_dlist_init(&loop->triggers);
    cor_timers_init(loop);
    cor_mailbox_init(&loop->mailbox, mail_max, loop_wake, loop);
    atomic_init(&loop->home, this_thread());
    atomic_init(&loop->stopping, false);
    *ret_loop = COR_STEAL(loop);
    return 0;
}

struct cor_loop *cor_loop_free(struct cor_loop *loop)
{
    int r;

    if (!loop)
        return NULL;
    assert(!loop->started && cor_loop_is_current(loop));
    assert(cor_dlist_empty(&loop->triggers));
    while (cor_mailbox_deliver(&loop->mailbox) > 0)
        ;
    uv_close((uv_handle_t *)&loop->wake, NULL);
    uv_close((uv_handle_t *)&loop->own_wake, NULL);
    uv_close((uv_handle_t *)&loop->before_poll, NULL);
    uv_close((uv_handle_t *)&loop->turn_end, NULL);
    uv_close((uv_handle_t *)&loop->woken, NULL);
    uv_close((uv_handle_t *)&loop->deadline, NULL);
    cor_timers_close(loop);
    uv_run(&loop->uv, UV_RUN_NOWAIT);
    r = uv_loop_close(&loop->uv);
    assert(r == 0); /* somebody's handle is still open */
    (void)r;
    cor_mailbox_deinit(&loop->mailbox);
    close(loop->wake_fd);
    cor_timers_deinit(loop);
    return cor_free(loop);
}

/* A write to a connection that the peer has closed returns an error instead of ending the process.
 */
static void loop_block_sigpipe(sigset_t *ret_old)
{
    sigset_t pipe_only;

    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_only, ret_old);
}

/* Also takes a SIGPIPE that became pending while it was blocked, so that unblocking delivers none.
 */
static void loop_unblock_sigpipe(const sigset_t *old)
{
    static const struct timespec at_once;
    sigset_t pipe_only;

    if (sigismember(old, SIGPIPE))
        return;
    sigemptyset(&pipe_only);
    sigaddset(&pipe_only, SIGPIPE);
    while (sigtimedwait(&pipe_only, NULL, &at_once) > 0)
        ;
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

static void *loop_thread_main(void *arg)
{
    struct cor_loop *loop = arg;

    loop_block_sigpipe(NULL);
    pthread_setname_np(pthread_self(), loop->name);
    atomic_store(&loop->home, this_thread());
    loop->running = true;
    loop->is_awake = false;
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    loop->running = false;
    return NULL;
}

int cor_loop_start(struct cor_loop *loop, const char *name)
{
    assert(!loop->started && !loop->clock && cor_loop_is_current(loop));
    snprintf(loop->name, sizeof(loop->name), "%s", name);
    atomic_store(&loop->home, 0);
    if (pthread_create(&loop->thread, NULL, loop_thread_main, loop) != 0) {
        atomic_store(&loop->home, this_thread());
        return -COR_EIO;
    }
    loop->started = true;
    return 0;
}

void cor_loop_stop(struct cor_loop *loop)
{
    assert(loop->started && !cor_loop_is_current(loop));
    atomic_store(&loop->stopping, true);
    loop_wake(loop);
    pthread_join(loop->thread, NULL);
    loop->started = false;
    atomic_store(&loop->stopping, false);
    atomic_store(&loop->home, this_thread());
}

static void on_before_poll(uv_prepare_t *prepare)
{
    struct until *until = prepare->data;

    until->has_begun = true;
    until->is_done = until->done(until->arg);
    if (until->is_done || until->is_late)
        uv_stop(prepare->loop);
    cor_timers_rearm(until->loop);
}

/* libuv 1.45 and later call it before the first turn when no time was given; a loop that is stopped
 * then runs no turn at all. */
static void on_deadline(uv_timer_t *timer)
{
    struct until *until = timer->data;

    until->is_late = true;
    if (until->has_begun)
        uv_stop(timer->loop);
}

bool cor_loop_run_until(struct cor_loop *loop, bool (*done)(void *arg), void *arg,
                        uint64_t timeout_ms)
{
    struct until until = {.loop = loop, .done = done, .arg = arg, .is_done = done(arg)};
    sigset_t old;

    assert(!loop->started && !loop->running && cor_loop_is_current(loop));
    if (until.is_done)
        return true;
    loop->running = true;
    loop->is_awake = false;
    loop->before_poll.data = loop->deadline.data = &until;
    uv_update_time(&loop->uv);
    cor_timers_rearm(loop);
    uv_prepare_start(&loop->before_poll, on_before_poll);
    uv_timer_start(&loop->deadline, on_deadline, timeout_ms, 0);
    loop_block_sigpipe(&old);
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    loop_unblock_sigpipe(&old);
    uv_timer_stop(&loop->deadline);
    uv_prepare_stop(&loop->before_poll);
    loop->running = false;
    return until.is_done || done(arg);
}

uint64_t cor_loop_run_ready(struct cor_loop *loop, unsigned turns_max)
{
    uint64_t until_ns = uv_hrtime() + RUN_READY_MS * UINT64_C(1000000);
    sigset_t old;
    int timeout_ms;

    assert(!loop->started && !loop->running && cor_loop_is_current(loop));
    loop_block_sigpipe(&old);
    loop->running = true;
    loop->is_awake = false;
    if (loop->clock)
        turns_max = RUN_READY_TURNS_MAX;
    cor_timers_rearm(loop);
    do {
        uv_run(&loop->uv, UV_RUN_NOWAIT);
        cor_timers_rearm(loop);
        timeout_ms = uv_backend_timeout(&loop->uv);
    } while (timeout_ms == 0 && --turns_max > 0 && (loop->clock || uv_hrtime() < until_ns));
    loop->running = false;
    loop_unblock_sigpipe(&old);
    return cor_loop_next_ms(loop);
}

/* libuv returns 0 also when one of its handles is not in its epoll yet; that is so within a turn
 * only. */
uint64_t cor_loop_next_ms(struct cor_loop *loop)
{
    int timeout_ms;

    uv_update_time(&loop->uv);
    timeout_ms = uv_backend_timeout(&loop->uv);
    return timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms;
}

int cor_loop_fd(const struct cor_loop *loop)
{
    return uv_backend_fd(&loop->uv);
}

bool cor_loop_is_running(const struct cor_loop *loop)
{
    return cor_loop_is_current(loop) && loop->running;
}

bool cor_loop_is_current(const struct cor_loop *loop)
{
    return atomic_load(&loop->home) == this_thread();
}

void cor_loop_use_clock(struct cor_loop *loop, const struct cor_clock *clock)
{
    assert(!loop->started && cor_loop_is_current(loop));
    assert(!cor_due_heap_peek(&loop->timers.heap));
    loop->clock = clock;
}

uint64_t cor_loop_now_ms(const struct cor_loop *loop)
{
    if (loop->clock)
        return cor_clock_mono_ms(loop->clock);
    return loop->running ? uv_now(&loop->uv) : uv_hrtime() / 1000000;
}

int cor_loop_post(struct cor_loop *loop, struct cor_mail *mail)
{
    return cor_mailbox_post(&loop->mailbox, mail);
}

void cor_loop_post_always(struct cor_loop *loop, struct cor_mail *mail)
{
    cor_mailbox_post_always(&loop->mailbox, mail);
}

void cor_loop_post_always_all(struct cor_loop *loop, struct cor_dlist *mails, size_t n)
{
    cor_mailbox_post_always_all(&loop->mailbox, mails, n);
}

struct uv_loop_s *cor_loop_uv(struct cor_loop *loop)
{
    return &loop->uv;
}
