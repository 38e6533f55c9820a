/* The streamed list: a watch that begins with the whole state. Its objects gather in a set, with
 * what happens to them meanwhile, and go to the store in one replace when the end bookmark comes;
 * the stream then goes on as the watch. Until then the store is not touched. */
#include "cache/reflector/reflector_int.h"

#include "cache/reflector/watch_error.h"
#include "coracle/status_is.h"

#define LATE_MS 10000
#define SLOW_MS 10000

void cor_reflector_stream_begin(struct cor_reflector *r)
{
    r->stream.began_ms = r->now_ms;
    r->stream.ends = 0;
    if (r->opts.learns_expected)
        cor_reflector_expect(r, NULL);
    cor_reflector_stream_open(r);
}

void cor_reflector_stream_open(struct cor_reflector *r)
{
    cor_object_set_clear(&r->stream.set);
    cor_reflector_watch_count(r);
    r->stream.late_ms = r->now_ms + LATE_MS;
    cor_reflector_request(r, COR_REFLECTOR_STREAM_OPENING);
}

void cor_reflector_stream_send(struct cor_reflector *r, struct cor_list_options *opts)
{
    if (r->rv_unavailable)
        opts->resource_version = COR_STR("");
    opts->resource_version_match = COR_STR("NotOlderThan");
    opts->send_initial_events = COR_TRUE;
}

static void stream_fall_back(struct cor_reflector *r, const struct cor_status *why)
{
    cor_object_set_clear(&r->stream.set);
    cor_reflector_unstage(r);
    cor_reflector_say(r, COR_REFLECTOR_STREAM_FAILED, why);
    cor_reflector_list_begin(r);
}

/* When even the newest state is answered with 410, asking again would not end: a list decides. */
void cor_reflector_stream_error(struct cor_reflector *r, const struct cor_status *status)
{
    if (cor_watch_error_unreachable(status) || cor_status_is_too_many_requests(status)) {
        cor_object_set_clear(&r->stream.set);
        cor_reflector_say(r, COR_REFLECTOR_STREAM_RETRY, status);
        cor_reflector_pause(r, COR_REFLECTOR_STREAM_PAUSE, cor_reflector_backoff_until(r));
    } else if (!r->rv_unavailable &&
               (cor_watch_error_expired(status) || cor_watch_error_too_large_rv(status))) {
        r->rv_unavailable = true;
        cor_reflector_stream_open(r);
    } else {
        stream_fall_back(r, status);
    }
}

/* A server that always ends the stream too soon must not be asked without a pause. */
void cor_reflector_stream_end(struct cor_reflector *r)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    if (cor_reflector_watch_was_short(r, &st)) {
        stream_fall_back(r, &st);
    } else if (r->stream.ends++ == 0) {
        cor_reflector_stream_open(r);
    } else {
        cor_object_set_clear(&r->stream.set);
        cor_reflector_pause(r, COR_REFLECTOR_STREAM_PAUSE, cor_reflector_backoff_until(r));
    }
}

static void stream_say_if_slow(struct cor_reflector *r)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    uint64_t took = r->now_ms - r->stream.began_ms;

    if (took <= SLOW_MS)
        return;
    cor_status_set(&st, -COR_ETIMEOUT, "streaming the list of %s took %llu ms", r->type_description,
                   (unsigned long long)took);
    cor_reflector_say(r, COR_REFLECTOR_SLOW, &st);
}

struct staging {
    struct cor_reflector *r;
    struct cor_status *reterr;
};

static int stream_stage_one(void *arg, struct cor_object *object)
{
    struct staging *s = arg;

    return cor_reflector_stage(s->r, (struct cor_str){0}, object, s->reterr);
}

static int stream_replace_store(struct cor_reflector *r, struct cor_reflector_at at,
                                struct cor_status *reterr)
{
    struct staging s = {r, reterr};
    int rc = cor_object_set_each(&r->stream.set, stream_stage_one, &s);

    return rc < 0 ? rc : cor_reflector_commit(r, at, reterr);
}

static void stream_finish(struct cor_reflector *r, struct cor_reflector_at at)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    COR_CLEANUP(cor_status_deinit) struct cor_status wrapped = {0};

    r->rv_unavailable = false;
    stream_say_if_slow(r);
    if (stream_replace_store(r, at, &st) < 0) {
        cor_reflector_wrap(&wrapped, &st, "unable to sync watch-list result");
        cor_reflector_drop(r);
        stream_fall_back(r, &wrapped);
        return;
    }
    cor_object_set_clear(&r->stream.set);
    cor_reflector_watch_begin(r);
    cor_reflector_watch_count(r);
    cor_reflector_move(r, COR_REFLECTOR_WATCHING);
}

static int stream_gather(struct cor_reflector *r, const struct cor_reflector_event *event)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    switch (event->type) {
    case COR_WATCH_ADDED:
    case COR_WATCH_MODIFIED:
        return cor_object_set_put(&r->stream.set, event->object);
    case COR_WATCH_DELETED:
        return cor_object_set_remove(&r->stream.set, event->object);
    case COR_WATCH_BOOKMARK:
    case COR_WATCH_ERROR:
        return 0;
    case COR_WATCH_UNKNOWN:
        cor_status_set(&st, -COR_EINVAL, "%s: unknown watch event", r->name);
        cor_reflector_say(r, COR_REFLECTOR_UNKNOWN_EVENT, &st);
        return 0;
    }
    return 0;
}

void cor_reflector_stream_take(struct cor_reflector *r, const struct cor_reflector_event *event)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    int rc;

    if (event->type == COR_WATCH_ERROR) {
        cor_reflector_stream_error(r, event->status);
        return;
    }
    if (!cor_reflector_watch_accepts(r, event))
        return;
    rc = stream_gather(r, event);
    if (rc < 0) {
        cor_status_set(&st, rc, "unable to keep a watch-list object: %s", cor_err_text(rc));
        cor_reflector_drop(r);
        stream_fall_back(r, &st);
        return;
    }
    r->watch.events++;
    r->stats.watch_items++;
    r->watch.heard_ms = r->now_ms;
    if (cor_reflector_event_ends_initial(event))
        stream_finish(r, cor_reflector_event_at(event));
}

/* Each try begins from nothing, so a second one that falls silent leaves it to a list. */
static void stream_give_up_silent(struct cor_reflector *r)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    if (r->stream.ends++ == 0) {
        cor_reflector_stream_open(r);
        return;
    }
    cor_status_set(&st, -COR_ETIMEOUT, "%s: the initial events fell silent twice", r->name);
    stream_fall_back(r, &st);
}

void cor_reflector_stream_tick(struct cor_reflector *r)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    bool heard = r->watch.events > 0;
    uint64_t silent = r->now_ms - (heard ? r->watch.heard_ms : r->watch.began_ms);

    if (cor_reflector_watch_give_up_silent(r)) {
        stream_give_up_silent(r);
        return;
    }
    if (r->now_ms < r->stream.late_ms)
        return;
    r->stream.late_ms = r->now_ms + LATE_MS;
    if (silent < LATE_MS)
        return;
    cor_status_set(&st, -COR_ETIMEOUT,
                   heard ? "%s: the bookmark that ends the initial events has not come, "
                           "the last event came %llu ms ago"
                         : "%s: the bookmark that ends the initial events has not come, "
                           "no event came for %llu ms",
                   r->name, (unsigned long long)silent);
    cor_reflector_say(r, COR_REFLECTOR_STREAM_LATE, &st);
}
