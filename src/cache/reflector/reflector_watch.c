/* The watch phase: watch after watch from where the last one ended, into the store, with the resync
 * beside it, until one fails in a way that a list must mend. */
#include "cache/reflector/reflector_int.h"

#include "cache/reflector/watch_error.h"
#include "coracle/status_is.h"

#define TIMEOUT_MIN_MS   (5u * 60 * 1000)
#define SHORT_MS         1000
#define RETRY_SPACING_MS 1000

void cor_reflector_watch_count(struct cor_reflector *r)
{
    r->watch.began_ms = r->now_ms;
    r->watch.heard_ms = 0;
    r->watch.events = 0;
    r->watch.rv_stands = false;
}

/* A period of 0, or one that the clock cannot show, never passes. */
static uint64_t end_of(uint64_t period_ms, uint64_t from_ms)
{
    return period_ms > 0 && period_ms < COR_REFLECTOR_NEVER - from_ms ? from_ms + period_ms
                                                                      : COR_REFLECTOR_NEVER;
}

static void watch_arm_resync(struct cor_reflector *r)
{
    r->watch.resync_ms = end_of(r->opts.resync_ms, r->now_ms);
}

void cor_reflector_watch_begin(struct cor_reflector *r)
{
    cor_retry_with_deadline_init(&r->watch.retry, r->opts.internal_retry_ms);
    watch_arm_resync(r);
}

void cor_reflector_watch_open(struct cor_reflector *r)
{
    struct cor_reflector_at at = cor_reflector_rv_at(&r->last_rv);

    cor_reflector_watch_count(r);
    r->watch.rv_stands = at.rev == 0 && (at.rv.n == 0 || cor_str_eqz(at.rv, "0"));
    cor_reflector_request(r, COR_REFLECTOR_WATCH_OPENING);
}

void cor_reflector_watch_send(struct cor_reflector *r)
{
    uint64_t min_ms = r->opts.watch_timeout_min_ms;
    struct cor_list_options opts = {
        .resource_version = cor_reflector_rv_str(&r->last_rv),
        .recursive = true,
        .watch = true,
        .allow_bookmarks = true,
    };
    double timeout_s;

    r->stats.watches++;
    r->watch_sent_ms = r->now_ms;
    if (min_ms < TIMEOUT_MIN_MS)
        min_ms = TIMEOUT_MIN_MS;
    timeout_s = (double)min_ms / 1000 * (1 + cor_rand_unit(r->opts.rand));
    if (r->state == COR_REFLECTOR_STREAM_OPENING)
        cor_reflector_stream_send(r, &opts);
    r->driver->ops->watch(r->driver, &opts, (uint32_t)timeout_s);
}

static void watch_say_text(struct cor_reflector *r, enum cor_reflector_report what,
                           const char *text)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    cor_status_set(&st, -COR_EINVAL, "%s: %s", r->name, text);
    cor_reflector_say(r, what, &st);
}

static bool is_expected_type(const struct cor_reflector *r, const struct cor_object *object)
{
    return cor_str_eqz(cor_object_kind(object), r->expected_kind) &&
           cor_str_eqz(cor_object_api_version(object), r->expected_api_version);
}

/* The words of client-go's log. */
static void watch_say_unexpected(struct cor_reflector *r, const struct cor_object *object)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    if (r->expected_kind)
        cor_status_set(&st, -COR_EINVAL,
                       "%s: unexpected watch event object gvk: expected %s, Kind=%s, got %.*s, "
                       "Kind=%.*s",
                       r->name, r->expected_api_version, r->expected_kind,
                       COR_STR_ARG(cor_object_api_version(object)),
                       COR_STR_ARG(cor_object_kind(object)));
    else
        cor_status_set(&st, -COR_EINVAL, "%s: unexpected watch event object type: %.*s", r->name,
                       COR_STR_ARG(cor_object_kind(object)));
    cor_reflector_say(r, COR_REFLECTOR_UNEXPECTED_TYPE, &st);
}

/* What a server sends to a client that it takes for kubectl; it contains no objects. */
static bool is_table(const struct cor_object *object)
{
    struct cor_str version;

    if (!cor_str_eqz(cor_object_kind(object), "Table"))
        return false;
    version = cor_object_api_version(object);
    return cor_str_eqz(version, "meta.k8s.io/v1") || cor_str_eqz(version, "meta.k8s.io/v1beta1");
}

bool cor_reflector_watch_accepts(struct cor_reflector *r, const struct cor_reflector_event *event)
{
    bool needs_object = event->type == COR_WATCH_ADDED || event->type == COR_WATCH_MODIFIED ||
                        (event->type == COR_WATCH_DELETED &&
                         (event->key.n == 0 || r->state == COR_REFLECTOR_STREAMING));

    if ((needs_object && !event->object) ||
        cor_reflector_event_at(event).rv.n > COR_REFLECTOR_RV_MAX) {
        watch_say_text(r, COR_REFLECTOR_UNREADABLE, "unable to understand watch event");
        return false;
    }
    if (!event->object)
        return true;
    if (is_table(event->object) || (r->expected_kind && !is_expected_type(r, event->object))) {
        watch_say_unexpected(r, event->object);
        if (r->state == COR_REFLECTOR_WATCHING && r->store->ops->skip)
            r->store->ops->skip(r->store, event->key, event->object, -COR_EINVALID);
        return false;
    }
    return true;
}

static int watch_apply(struct cor_reflector *r, const struct cor_reflector_event *event,
                       struct cor_reflector_at at, struct cor_status *reterr)
{
    const struct cor_reflector_store_ops *ops = r->store->ops;

    switch (event->type) {
    case COR_WATCH_ADDED:
        return ops->add(r->store, event->key, event->object, at, reterr);
    case COR_WATCH_MODIFIED:
        return ops->update(r->store, event->key, event->object, at, reterr);
    case COR_WATCH_DELETED:
        return ops->del(r->store, event->key, event->object, at, reterr);
    case COR_WATCH_BOOKMARK:
        if (ops->bookmark)
            ops->bookmark(r->store, at);
        return 0;
    case COR_WATCH_UNKNOWN:
        watch_say_text(r, COR_REFLECTOR_UNKNOWN_EVENT, "unknown watch event");
        return 0;
    case COR_WATCH_ERROR:
        return 0;
    }
    return 0;
}

/* An event that the store could not take is reported and skipped, as upstream does, unless a retry
 * can help: then the revision stays where it is and a relist brings the object. */
void cor_reflector_watch_take(struct cor_reflector *r, const struct cor_reflector_event *event)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};
    struct cor_reflector_at at;
    int rc;

    if (event->type == COR_WATCH_ERROR) {
        cor_reflector_watch_error(r, event->status);
        return;
    }
    if (!cor_reflector_watch_accepts(r, event))
        return;
    if (event->type != COR_WATCH_ADDED && event->type != COR_WATCH_UNKNOWN)
        r->watch.rv_stands = false;
    at = cor_reflector_event_at(event);
    if (r->watch.rv_stands || (at.rv.n == 0 && at.rev == 0))
        at = cor_reflector_rv_at(&r->last_rv);
    rc = watch_apply(r, event, at, &st);
    if (rc < 0) {
        cor_reflector_say(r, COR_REFLECTOR_STORE_FAILED, &st);
        if (cor_err_retryable(rc)) {
            cor_reflector_drop(r);
            cor_reflector_end_round(r, NULL);
            return;
        }
    }
    cor_reflector_rv_set(&r->last_rv, at);
    r->watch.events++;
    r->stats.watch_items++;
    r->watch.heard_ms = r->now_ms;
}

static void watch_pause(struct cor_reflector *r, const struct cor_status *why, uint64_t until_ms)
{
    cor_reflector_say(r, COR_REFLECTOR_WATCH_RETRY, why);
    cor_reflector_pause(r, COR_REFLECTOR_WATCH_PAUSE, until_ms);
}

void cor_reflector_watch_refused(struct cor_reflector *r, const struct cor_status *status)
{
    if (cor_watch_error_unreachable(status) || cor_status_is_too_many_requests(status))
        watch_pause(r, status, cor_reflector_backoff_until(r));
    else
        cor_reflector_end_round(r, status);
}

/* An internal error that comes at once is not asked for again at once: two such watches begin a
 * second apart. */
static void watch_retry_internal(struct cor_reflector *r, const struct cor_status *status)
{
    uint64_t until = r->watch.began_ms + RETRY_SPACING_MS;

    if (until > r->now_ms) {
        watch_pause(r, status, until);
        return;
    }
    cor_reflector_say(r, COR_REFLECTOR_WATCH_RETRY, status);
    cor_reflector_watch_open(r);
}

void cor_reflector_watch_error(struct cor_reflector *r, const struct cor_status *status)
{
    bool internal = cor_watch_error_internal(status);

    if (internal)
        cor_retry_with_deadline_after(&r->watch.retry, r->now_ms);
    if (cor_watch_error_expired(status)) {
        cor_reflector_say(r, COR_REFLECTOR_WATCH_EXPIRED, status);
    } else if (cor_status_is_too_many_requests(status)) {
        watch_pause(r, status, cor_reflector_backoff_until(r));
        return;
    } else if (internal && cor_retry_with_deadline_should(&r->watch.retry, r->now_ms)) {
        watch_retry_internal(r, status);
        return;
    } else {
        cor_reflector_say(r, COR_REFLECTOR_WATCH_FAILED, status);
    }
    cor_reflector_end_round(r, NULL);
}

bool cor_reflector_watch_was_short(struct cor_reflector *r, struct cor_status *ret)
{
    if (r->watch.events > 0 || r->now_ms - r->watch.began_ms >= SHORT_MS)
        return false;
    r->stats.short_watches++;
    cor_status_untyped(ret, -COR_ECANCELED,
                       "very short watch: %s: Unexpected watch close - watch lasted less than a "
                       "second and no items received",
                       r->name);
    return true;
}

void cor_reflector_watch_end(struct cor_reflector *r)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    if (!cor_reflector_watch_was_short(r, &st)) {
        cor_reflector_watch_open(r);
        return;
    }
    cor_reflector_say(r, COR_REFLECTOR_WATCH_FAILED, &st);
    cor_reflector_end_round(r, NULL);
}

/* False: the resync failed, and the round is over. */
static bool watch_resync(struct cor_reflector *r)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    if (r->now_ms < r->watch.resync_ms)
        return true;
    if (!r->opts.should_resync || r->opts.should_resync(r->opts.resync_arg)) {
        if (r->store->ops->resync && r->store->ops->resync(r->store, &st) < 0) {
            cor_reflector_say(r, COR_REFLECTOR_RESYNC_FAILED, &st);
            if (r->state != COR_REFLECTOR_WATCH_PAUSE)
                cor_reflector_drop(r);
            cor_reflector_end_round(r, NULL);
            return false;
        }
    }
    watch_arm_resync(r);
    return true;
}

uint64_t cor_reflector_watch_silent_at(const struct cor_reflector *r)
{
    uint64_t heard_ms = r->watch.events > 0 ? r->watch.heard_ms : r->watch.began_ms;

    return end_of(r->opts.watch_silence_ms, heard_ms);
}

bool cor_reflector_watch_give_up_silent(struct cor_reflector *r)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {0};

    if (r->now_ms < cor_reflector_watch_silent_at(r))
        return false;
    cor_status_set(&st, -COR_ETIMEOUT, "%s: nothing came from the watch for %llu ms", r->name,
                   (unsigned long long)r->opts.watch_silence_ms);
    cor_reflector_say(r, COR_REFLECTOR_WATCH_SILENT, &st);
    cor_reflector_drop(r);
    return true;
}

void cor_reflector_watch_tick(struct cor_reflector *r)
{
    if (!watch_resync(r))
        return;
    if (r->state == COR_REFLECTOR_WATCH_PAUSE ? r->now_ms >= r->pause_until_ms
                                              : cor_reflector_watch_give_up_silent(r))
        cor_reflector_watch_open(r);
}
