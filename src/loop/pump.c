/* A loop within another program's loop: one epoll descriptor, which is readable when the Coracle
 * loop has something to do. It holds the loop's own descriptor and a timerfd, which is set for the
 * loop's next timer after each run, so that the program needs no timeout of its own. What can fail
 * (descriptors, memory) fails in cor_pump_new().
 * Thread: the loop's. */
#include "loop/pump.h"

#include <assert.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"

/* One cor_pump_run() runs at most so many turns of the loop, then the program goes on. */
#define TURNS_MAX 16

struct cor_pump {
    struct cor_loop *loop;
    int epoll_fd; /* holds the loop's descriptor and timer_fd */
    int timer_fd; /* set for the loop's next timer, so that the program needs no timeout */
};

static int pump_watch(int epoll_fd, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

    return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0 ? -COR_EIO : 0;
}

int cor_pump_new(struct cor_loop *loop, struct cor_pump **ret_pump)
{
    COR_CLEANUP(cor_pump_freep) struct cor_pump *pump = cor_calloc(1, sizeof(*pump));

    if (!pump)
        return -COR_ENOMEM;
    pump->loop = loop;
    pump->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    pump->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (pump->epoll_fd < 0 || pump->timer_fd < 0 ||
        pump_watch(pump->epoll_fd, pump->timer_fd) < 0 ||
        pump_watch(pump->epoll_fd, cor_loop_fd(loop)) < 0)
        return -COR_EIO;
    cor_pump_rearm(pump);
    *ret_pump = COR_STEAL(pump);
    return 0;
}

struct cor_pump *cor_pump_free(struct cor_pump *pump)
{
    if (!pump)
        return NULL;
    if (pump->timer_fd >= 0)
        close(pump->timer_fd);
    if (pump->epoll_fd >= 0)
        close(pump->epoll_fd);
    return cor_free(pump);
}

int cor_pump_fd(const struct cor_pump *pump)
{
    return pump->epoll_fd;
}

/* Setting the timer also ends that it is readable. */
static void pump_arm(struct cor_pump *pump, uint64_t delay_ms)
{
    struct itimerspec at = {0};

    if (delay_ms == 0)
        at.it_value.tv_nsec = 1;
    else if (delay_ms != UINT64_MAX)
        at.it_value =
            (struct timespec){(time_t)(delay_ms / 1000), (long)(delay_ms % 1000) * 1000000};
    timerfd_settime(pump->timer_fd, 0, &at, NULL);
}

void cor_pump_run(struct cor_pump *pump)
{
    assert(cor_loop_is_current(pump->loop));
    pump_arm(pump, cor_loop_run_ready(pump->loop, TURNS_MAX));
}

void cor_pump_rearm(struct cor_pump *pump)
{
    pump_arm(pump, cor_loop_next_ms(pump->loop));
}
