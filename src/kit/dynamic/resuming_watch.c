/* clang-format off */
/* Watches, one after the other, that look like one to the taker.
 *
 *   watch_start() ──► on_event(): judged by watch_resumption.h, given to the taker, noted
 *                 ──► on_done() ──► the rules say AGAIN: pause (a timer) ──► watch_start()
 *                               └─► they say END: an ERROR event and on_done, with the reason
 *
 * A watch that cannot be sent (no memory, too many requests) is tried again after the pause; the
 * first one is refused by cor_resuming_watch_open(). The timer is always set, so that moving it
 * cannot fail.
 * Thread: the REST client's loop. */
/* clang-format on */
#include "kit/dynamic/resuming_watch.h"

#include "base/err.h"
#include "base/mem.h"
#include "kit/dynamic/watch_resumption.h"
#include "loop/loop.h"
#include "loop/timer.h"

struct cor_resuming_watch {
    struct cor_resuming_watch_opts opts;
    struct cor_watch_resumption at;
    struct cor_timer timer;          /* always set, so that moving it cannot fail */
    struct cor_dynamic_request *req; /* NULL: paused */
    enum cor_watch_verdict verdict;  /* on the last event of this watch; TELL: it goes on */
    struct cor_status why;           /* of AGAIN and END, and of the last watch that failed */
};

static uint64_t now_ms(const struct cor_resuming_watch *w)
{
    return cor_loop_now_ms(cor_rest_client_loop(w->opts.client));
}

static void watch_free(struct cor_resuming_watch *w)
{
    cor_timer_cancel(&w->timer);
    cor_status_deinit(&w->why);
    cor_free(w);
}

const char *cor_resuming_watch_failure(const struct cor_resuming_watch *w)
{
    const char *of_request = w->req ? cor_dynamic_failure(w->req) : "";

    return of_request[0] || w->why.err == 0 ? of_request : cor_status_message(&w->why);
}

void cor_resuming_watch_cancel(struct cor_resuming_watch *w)
{
    if (w->req)
        cor_dynamic_cancel(w->req);
    watch_free(w);
}

static void watch_pause(struct cor_resuming_watch *w, const struct cor_status *why)
{
    w->req = NULL;
    cor_timer_set(&w->timer, cor_watch_resumption_pause_ms(&w->at, now_ms(w), why));
}

static void watch_give_error(struct cor_resuming_watch *w, const struct cor_status *why)
{
    const struct cor_watch_event event = {.type = COR_WATCH_ERROR, .status = why};

    w->opts.on_event(w->opts.arg, &event);
}

static int on_event(void *arg, const struct cor_watch_event *event)
{
    struct cor_resuming_watch *w = arg;
    int r = 0;

    w->verdict = cor_watch_resumption_judge(event, &w->why);
    if (w->verdict == COR_WATCH_END)
        watch_give_error(w, &w->why);
    if (w->verdict == COR_WATCH_AGAIN || w->verdict == COR_WATCH_END)
        return w->why.err;
    if (w->verdict == COR_WATCH_TELL || w->opts.tells_bookmarks)
        r = w->opts.on_event(w->opts.arg, event);
    if (r < 0) {
        w->verdict = COR_WATCH_END;
        return cor_status_untyped(&w->why, r, "%s", cor_err_text(r));
    }
    if (w->why.err != 0)
        cor_status_deinit(&w->why);
    cor_watch_resumption_told(&w->at, event);
    return 0;
}

static void watch_finish(struct cor_resuming_watch *w, const struct cor_status *error)
{
    w->opts.on_done(w->opts.arg, error);
    watch_free(w);
}

static void on_done(void *arg, const struct cor_response *response)
{
    struct cor_resuming_watch *w = arg;
    const struct cor_status *error = response->error;

    w->req = NULL;
    if (w->verdict == COR_WATCH_END) {
        watch_finish(w, &w->why);
    } else if (w->verdict == COR_WATCH_AGAIN) {
        watch_pause(w, &w->why);
    } else if (cor_watch_resumption_judge_end(error) == COR_WATCH_AGAIN) {
        if (error)
            cor_status_copy(&w->why, error);
        watch_pause(w, error);
    } else {
        watch_give_error(w, error);
        watch_finish(w, error);
    }
}

static int watch_start(struct cor_resuming_watch *w, struct cor_status *reterr)
{
    static const struct cor_dynamic_cbs cbs = {.on_event = on_event, .on_done = on_done};
    const struct cor_dynamic_call call = {.client = w->opts.client, .cbs = &cbs, .arg = w};

    w->verdict = COR_WATCH_TELL;
    w->opts.op.query.list.resource_version = cor_strz(w->at.rv);
    cor_watch_resumption_begun(&w->at, now_ms(w));
    return cor_dynamic_send(&call, &w->opts.op, &w->req, reterr);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_resuming_watch *w = COR_CONTAINER_OF(timer, struct cor_resuming_watch, timer);
    struct cor_status why = {0};

    cor_timer_set(&w->timer, UINT64_MAX);
    if (watch_start(w, &why) < 0) {
        watch_pause(w, &why);
        cor_status_move(&w->why, &why);
    }
    cor_status_deinit(&why);
}

int cor_resuming_watch_open(const struct cor_resuming_watch_opts *opts,
                            struct cor_resuming_watch **ret_watch, struct cor_status *reterr)
{
    struct cor_resuming_watch *w;
    int r;

    if (opts->op.query.list.send_initial_events != COR_UNSET)
        return cor_status_set(reterr, -COR_EINVAL,
                              "send_initial_events: a watch that resumes has none");
    w = cor_calloc(1, sizeof(*w));
    if (!w)
        return cor_status_set(reterr, -COR_ENOMEM, "begin a watch");
    w->opts = *opts;
    w->opts.op.query.list.allow_bookmarks = true;
    cor_timer_init(&w->timer, cor_rest_client_loop(opts->client), on_timer);
    r = cor_watch_resumption_init(&w->at, opts->op.query.list.resource_version, reterr);
    if (r == 0 && opts->restart_ms > 0)
        w->at.restart_ms = opts->restart_ms;
    if (r == 0 && (r = cor_timer_set(&w->timer, UINT64_MAX)) < 0)
        cor_status_set(reterr, r, "begin a watch");
    if (r == 0)
        r = watch_start(w, reterr);
    if (r < 0) {
        watch_free(w);
        return r;
    }
    *ret_watch = w;
    return 0;
}
