#include "storage/cacher/ready.h"

#include <math.h>
#include <stdio.h>

#define RETRY_AFTER_S_MIN 1
#define RETRY_AFTER_S_MAX 30

static void move_to(struct cor_ready *ready, enum cor_ready_state state, uint64_t now_ms)
{
    if (ready->state == state || ready->state == COR_CACHE_STOPPED)
        return;
    ready->state = state;
    ready->since_ms = now_ms;
}

void cor_ready_init(struct cor_ready *ready, uint64_t now_ms)
{
    *ready = (struct cor_ready){.state = COR_CACHE_PENDING, .since_ms = now_ms};
}

void cor_ready_set(struct cor_ready *ready, uint64_t now_ms)
{
    if (ready->state == COR_CACHE_PENDING)
        ready->generation++;
    move_to(ready, COR_CACHE_READY, now_ms);
    ready->message[0] = '\0';
}

void cor_ready_fail(struct cor_ready *ready, const char *message, uint64_t now_ms)
{
    move_to(ready, COR_CACHE_PENDING, now_ms);
    snprintf(ready->message, sizeof(ready->message), "%s", message);
}

void cor_ready_stop(struct cor_ready *ready, uint64_t now_ms)
{
    move_to(ready, COR_CACHE_STOPPED, now_ms);
}

int64_t cor_ready_retry_after_s(uint64_t downtime_ms)
{
    double s = exp(0.06 * ((double)downtime_ms / 1000));

    if (s >= RETRY_AFTER_S_MAX)
        return RETRY_AFTER_S_MAX;
    return s < RETRY_AFTER_S_MIN ? RETRY_AFTER_S_MIN : (int64_t)s;
}

int cor_ready_check(const struct cor_ready *ready, uint64_t now_ms,
                    struct cor_status *reterr_status)
{
    char message[COR_READY_MESSAGE_MAX + 64];

    if (ready->state == COR_CACHE_READY)
        return 0;
    if (ready->state == COR_CACHE_STOPPED)
        return cor_status_untyped(reterr_status, -COR_EINTERNAL, "apiserver cacher is stopped");
    snprintf(message, sizeof(message), "storage is (re)initializing%s%s",
             ready->message[0] ? ": " : "", ready->message);
    return cor_status_too_many_requests(
        reterr_status, message,
        cor_ready_retry_after_s(now_ms > ready->since_ms ? now_ms - ready->since_ms : 0));
}
