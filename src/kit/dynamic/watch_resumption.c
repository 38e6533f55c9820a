/* The rules of a watch that resumes, as functions over values: see the header. An event is judged
 * before it is given; its resourceVersion is noted after the taker has had it, so that a break in
 * between repeats nothing and loses nothing.
 * Thread: one at a time. */
#include "kit/dynamic/watch_resumption.h"

#include "base/err.h"
#include "coracle/status_is.h"
#include "meta/object/object.h"

int cor_watch_resumption_init(struct cor_watch_resumption *w, struct cor_str rv,
                              struct cor_status *reterr)
{
    if (rv.n == 0 || cor_str_eqz(rv, "0") || rv.n > COR_WATCH_RV_MAX)
        return cor_status_set(reterr, -COR_EINVAL,
                              "resource_version: a watch that resumes begins at one that a list or "
                              "an object has, and not at \"%.*s\"",
                              (int)(rv.n < COR_WATCH_RV_MAX ? rv.n : COR_WATCH_RV_MAX), rv.p);
    *w = (struct cor_watch_resumption){.restart_ms = COR_WATCH_RESTART_MS};
    memcpy(w->rv, rv.p, rv.n);
    return 0;
}

static enum cor_watch_verdict resumption_end(struct cor_status *ret_why, const char *text)
{
    cor_status_internal(ret_why, "a watch cannot resume: %s", text);
    return COR_WATCH_END;
}

enum cor_watch_verdict cor_watch_resumption_judge(const struct cor_watch_event *event,
                                                  struct cor_status *ret_why)
{
    struct cor_str rv;

    switch (event->type) {
    case COR_WATCH_ADDED:
    case COR_WATCH_MODIFIED:
    case COR_WATCH_DELETED:
    case COR_WATCH_BOOKMARK:
        rv = cor_object_resource_version(event->object);
        if (rv.n == 0 || rv.n > COR_WATCH_RV_MAX)
            return resumption_end(ret_why, rv.n == 0
                                               ? "an object has no resourceVersion"
                                               : "the resourceVersion of an object is too long");
        return event->type == COR_WATCH_BOOKMARK ? COR_WATCH_PROGRESS : COR_WATCH_TELL;
    case COR_WATCH_ERROR:
        cor_status_copy(ret_why, event->status);
        return event->status->code == 410 ? COR_WATCH_END : COR_WATCH_AGAIN;
    case COR_WATCH_UNKNOWN:
        break;
    }
    return resumption_end(ret_why, "an event has a type that is not known");
}

/* An event that is too large would be sent again with every watch, so it ends the watch for good.
 */
enum cor_watch_verdict cor_watch_resumption_judge_end(const struct cor_status *error)
{
    if (error && (error->code == 410 || error->err == -COR_ETOOBIG ||
                  cor_status_is_forbidden(error) || cor_status_is_unauthorized(error)))
        return COR_WATCH_END;
    return COR_WATCH_AGAIN;
}

void cor_watch_resumption_told(struct cor_watch_resumption *w, const struct cor_watch_event *event)
{
    struct cor_str rv = cor_object_resource_version(event->object);

    memcpy(w->rv, rv.p, rv.n);
    w->rv[rv.n] = '\0';
}

void cor_watch_resumption_begun(struct cor_watch_resumption *w, uint64_t now_ms)
{
    w->begun_ms = now_ms;
}

uint64_t cor_watch_resumption_pause_ms(const struct cor_watch_resumption *w, uint64_t now_ms,
                                       const struct cor_status *why)
{
    uint64_t was_ms = now_ms - w->begun_ms;
    uint64_t pause_ms = was_ms < w->restart_ms ? w->restart_ms - was_ms : 0;
    uint64_t asked_ms = why && why->retry_after_s > 0 ? (uint64_t)why->retry_after_s * 1000 : 0;

    return asked_ms > pause_ms ? asked_ms : pause_ms;
}
