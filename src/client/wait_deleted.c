/* cor_client_wait_deleted(): a get, and a watch of the object that resumes; both again when the
 * server has no history from the object's version any more (410), after a pause that grows, since a
 * server may answer so each time. All share one deadline, and the caller's cancel handle. Every
 * other failure ends the wait. Thread: the caller's; the condition runs on the runtime's I/O thread
 * or inside the pump. */
#include "base/backoff.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/sized.h"
#include "client/client_int.h"
#include "coracle/apply.h"
#include "coracle/until.h"
#include "meta/object/object.h"

/* Between the rounds. */
static const struct cor_backoff_opts pauses = {
    .initial_ms = 100, .max_ms = 10000, .factor = 2, .jitter = 0.1, .steps = COR_BACKOFF_STEPS_MAX};

#define TOO_LATE "the object was not deleted in time"

/* Is `present` the object that is waited for, which has the same name? An object without a uid,
 * which the program made itself, is identified by its name alone. */
static bool is_same_object(const struct cor_object *awaited, const struct cor_object *present)
{
    struct cor_str uid = cor_object_uid(awaited);

    return uid.n == 0 || cor_str_eq(uid, cor_object_uid(present));
}

/* Is the object deleted, or another one in its place? */
static int on_deletion_event(void *arg, const struct cor_watch_event *event)
{
    return event->type == COR_WATCH_DELETED ||
           (event->type != COR_WATCH_BOOKMARK && !is_same_object(arg, event->object));
}

/* The time of the next request: UINT64_MAX is no end. 0, or -COR_ETIMEOUT. */
static int take_time(const struct cor_client *client, uint64_t end_ms, struct cor_request *req,
                     struct cor_status *reterr)
{
    uint64_t now_ms = cor_clock_mono_ms(client->runtime->clock);

    if (end_ms == UINT64_MAX)
        return 0;
    if (now_ms >= end_ms)
        return cor_status_set(reterr, -COR_ETIMEOUT, TOO_LATE);
    req->timeout_ms = end_ms - now_ms;
    return 0;
}

/* 1: it is deleted; 0: `ret_present` is the object, with a reference; or a failure. */
static int get_present(struct cor_client *client, const struct cor_deletion_wait *w,
                       uint64_t end_ms, struct cor_object **ret_present, struct cor_status *reterr)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = w->resource,
                              .of = w->of, .cancel = w->cancel};
    int r = take_time(client, end_ms, &req, reterr);

    if (r == 0)
        r = cor_client_do(client, &req, ret_present, reterr);
    if (r == -COR_ENOTFOUND)
        return 1;
    if (r < 0 || is_same_object(w->of, *ret_present))
        return r;
    cor_object_unref(*ret_present);
    return 1;
}

int cor_client_wait_deleted(struct cor_client *client, const struct cor_deletion_wait *wait,
                            struct cor_status *reterr)
{
    static const cor_watch_condition_fn conditions[] = {on_deletion_event};
    struct cor_deletion_wait w;
    uint64_t now_ms = cor_clock_mono_ms(client->runtime->clock), end_ms, left_ms, pause_ms;
    struct cor_backoff backoff;
    struct cor_rand rand;
    int r = cor_sized_copy(&w, sizeof(w), wait);

    if (r < 0)
        return cor_status_set(reterr, r, "wait for a deletion: %s", cor_sized_text(r));
    if (!w.of)
        return cor_status_set(reterr, -COR_EINVAL, "wait for a deletion: there is no object");
    w.timeout_ms = cor_client_wait_ms(client, w.timeout_ms);
    end_ms =
        w.timeout_ms > 0 && w.timeout_ms < UINT64_MAX - now_ms ? now_ms + w.timeout_ms : UINT64_MAX;
    cor_rand_init(&rand);
    cor_backoff_init(&backoff, &pauses, now_ms);
    for (;;) {
        COR_CLEANUP(cor_object_unrefp) struct cor_object *present = NULL;
        struct cor_request watch = {COR_REQUEST, .verb = COR_VERB_WATCH, .resource = w.resource,
                                    .cancel = w.cancel, .resumes = true};

        r = get_present(client, &w, end_ms, &present, reterr);
        if (r != 0) {
            present = NULL;
            return r < 0 ? r : 0;
        }
        watch.of = present;
        r = take_time(client, end_ms, &watch, reterr);
        if (r == 0)
            r = cor_client_watch_until(client, &watch, conditions, 1, w.of, NULL, reterr);
        if (r != -COR_EEXPIRED)
            return r;
        now_ms = cor_clock_mono_ms(client->runtime->clock);
        left_ms = end_ms > now_ms ? end_ms - now_ms : 0;
        pause_ms = cor_backoff_next(&backoff, now_ms, &rand);
        r = cor_client_pause(client, pause_ms < left_ms ? pause_ms : left_ms, w.cancel, reterr);
        if (r < 0)
            return r;
    }
}
