#include "cache/reflector/reflector_int.h"

#include <assert.h>

#include "base/mem.h"

/* clang-format off */
/* A round is upstream's ListAndWatch: STREAM_OPENING or, without streaming, LISTING begins it.
 *
 *   IDLE ── start ──► round            every state ── stop ──► STOPPED
 *
 *   STREAM_OPENING ── opened ──► STREAMING ── end bookmark: replaced ──► WATCHING
 *      ▲       │                     │
 *      │       ├─────────────────────┤ 410 or too large; the first early end
 *      ├───────│─────────────────────┘
 *      │       ├── 429, unreachable; a second early end ──► STREAM_PAUSE ── time ──┐
 *      └───────│──────────────────────────────────────────────────────────────────┘
 *              └── anything else ──► LISTING
 *
 *   LISTING ── last page: replaced ──► WATCH_OPENING ── opened ──► WATCHING
 *    ▲    │                              ▲        │                    │
 *    └────┘ next page;                   ├────────┴── ended; 500 ──────┤
 *           410 or too large             │                             │
 *                                        └─ time ── WATCH_PAUSE ◄──────┘ 429, unreachable, 500
 *
 *   LISTING:  failed, or the store refused it                   ──► ROUND_PAUSE ── time ──► round
 *   WATCH_*:  410, very short, resync or store failed, others   ──► ROUND_PAUSE
 */
/* clang-format on */
#define BIT(state) (1u << COR_REFLECTOR_##state)
#define ROUND      (BIT(STREAM_OPENING) | BIT(LISTING))

static const uint32_t moves[] = {
    [COR_REFLECTOR_IDLE] = ROUND | BIT(STOPPED),
    [COR_REFLECTOR_LISTING] = BIT(LISTING) | BIT(WATCH_OPENING) | BIT(ROUND_PAUSE) | BIT(STOPPED),
    [COR_REFLECTOR_STREAM_OPENING] = ROUND | BIT(STREAMING) | BIT(STREAM_PAUSE) | BIT(STOPPED),
    [COR_REFLECTOR_STREAMING] = ROUND | BIT(STREAM_PAUSE) | BIT(WATCHING) | BIT(STOPPED),
    [COR_REFLECTOR_STREAM_PAUSE] = BIT(STREAM_OPENING) | BIT(STOPPED),
    [COR_REFLECTOR_WATCH_OPENING] =
        BIT(WATCH_OPENING) | BIT(WATCHING) | BIT(WATCH_PAUSE) | BIT(ROUND_PAUSE) | BIT(STOPPED),
    [COR_REFLECTOR_WATCHING] =
        BIT(WATCH_OPENING) | BIT(WATCH_PAUSE) | BIT(ROUND_PAUSE) | BIT(STOPPED),
    [COR_REFLECTOR_WATCH_PAUSE] = BIT(WATCH_OPENING) | BIT(ROUND_PAUSE) | BIT(STOPPED),
    [COR_REFLECTOR_ROUND_PAUSE] = ROUND | BIT(STOPPED),
    [COR_REFLECTOR_STOPPED] = 0,
};

#define OBJECTS_MAX_DEFAULT ((size_t)1 << 24)

bool cor_reflector_rv_set(struct cor_reflector_rv *to, struct cor_reflector_at from)
{
    if (from.rv.n > COR_REFLECTOR_RV_MAX)
        return false;
    if (from.rv.n > 0)
        memmove(to->p, from.rv.p, from.rv.n);
    to->n = from.rv.n;
    to->rev = from.rev;
    return true;
}

struct cor_reflector_at cor_reflector_rv_at(const struct cor_reflector_rv *rv)
{
    return (struct cor_reflector_at){cor_reflector_rv_str(rv), rv->rev};
}

struct cor_str cor_reflector_rv_str(const struct cor_reflector_rv *rv)
{
    return cor_str(rv->p, rv->n);
}

void cor_reflector_wrap(struct cor_status *to, const struct cor_status *from, const char *what)
{
    struct cor_buf text;

    cor_status_init(to);
    cor_status_copy(to, from);
    cor_buf_init(&text, COR_STATUS_MESSAGE_MAX);
    if (cor_buf_addf(&text, "%s: %s", what, cor_status_message(from)) == 0) {
        cor_free(to->message);
        to->message = cor_buf_steal(&text, NULL);
    }
    cor_buf_deinit(&text);
}

void cor_reflector_say(struct cor_reflector *r, enum cor_reflector_report what,
                       const struct cor_status *status)
{
    if (r->opts.on_report && !r->stop_wanted)
        r->opts.on_report(r->opts.arg, what, status);
}

static bool reflector_is_watch(enum cor_reflector_state state)
{
    return state == COR_REFLECTOR_STREAM_OPENING || state == COR_REFLECTOR_STREAMING ||
           state == COR_REFLECTOR_WATCH_OPENING || state == COR_REFLECTOR_WATCHING;
}

void cor_reflector_move(struct cor_reflector *r, enum cor_reflector_state to)
{
    assert(moves[r->state] & (1u << to));
    /* A watch goes on from opening to events, and from a streamed list to the watch after it. */
    if (reflector_is_watch(r->state) && to != COR_REFLECTOR_WATCHING &&
        to != COR_REFLECTOR_STREAMING)
        r->stats.watch_ms += r->now_ms - r->watch_sent_ms;
    r->state = to;
}

void cor_reflector_request(struct cor_reflector *r, enum cor_reflector_state to)
{
    assert(!r->request_due);
    cor_reflector_move(r, to);
    r->request_due = true;
}

void cor_reflector_drop(struct cor_reflector *r)
{
    assert(!r->cancel_due && !r->request_due);
    r->cancel_due = true;
}

void cor_reflector_pause(struct cor_reflector *r, enum cor_reflector_state to, uint64_t until_ms)
{
    cor_reflector_move(r, to);
    r->pause_until_ms = until_ms;
}

static void reflector_send_request(struct cor_reflector *r)
{
    switch (r->state) {
    case COR_REFLECTOR_LISTING:
        cor_reflector_list_send(r);
        break;
    case COR_REFLECTOR_STREAM_OPENING:
    case COR_REFLECTOR_WATCH_OPENING:
        cor_reflector_watch_send(r);
        break;
    case COR_REFLECTOR_IDLE:
    case COR_REFLECTOR_STREAMING:
    case COR_REFLECTOR_STREAM_PAUSE:
    case COR_REFLECTOR_WATCHING:
    case COR_REFLECTOR_WATCH_PAUSE:
    case COR_REFLECTOR_ROUND_PAUSE:
    case COR_REFLECTOR_STOPPED:
        assert(0);
    }
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t reflector_wake_ms(const struct cor_reflector *r)
{
    switch (r->state) {
    case COR_REFLECTOR_STREAM_OPENING:
    case COR_REFLECTOR_STREAMING:
        return earlier(r->stream.late_ms, cor_reflector_watch_silent_at(r));
    case COR_REFLECTOR_STREAM_PAUSE:
    case COR_REFLECTOR_ROUND_PAUSE:
        return r->pause_until_ms;
    case COR_REFLECTOR_WATCH_OPENING:
    case COR_REFLECTOR_WATCHING:
        return earlier(r->watch.resync_ms, cor_reflector_watch_silent_at(r));
    case COR_REFLECTOR_WATCH_PAUSE:
        return earlier(r->pause_until_ms, r->watch.resync_ms);
    case COR_REFLECTOR_IDLE:
    case COR_REFLECTOR_LISTING:
    case COR_REFLECTOR_STOPPED:
        return COR_REFLECTOR_NEVER;
    }
    return COR_REFLECTOR_NEVER;
}

static bool reflector_has_request(enum cor_reflector_state state)
{
    return state == COR_REFLECTOR_LISTING || reflector_is_watch(state);
}

static void reflector_stop_now(struct cor_reflector *r)
{
    if (reflector_has_request(r->state) && !r->request_due && !r->cancel_due)
        r->cancel_due = true;
    r->request_due = false;
    cor_reflector_unstage(r);
    cor_object_set_clear(&r->stream.set);
    cor_reflector_move(r, COR_REFLECTOR_STOPPED);
}

static void reflector_flush(struct cor_reflector *r)
{
    uint64_t wake;

    if (r->cancel_due) {
        r->cancel_due = false;
        r->driver->ops->cancel(r->driver);
    }
    if (r->request_due && !r->stop_wanted) {
        r->request_due = false;
        reflector_send_request(r);
    }
    wake = reflector_wake_ms(r);
    if (wake != r->told_wake_ms && !r->stop_wanted) {
        r->told_wake_ms = wake;
        r->driver->ops->wake_at(r->driver, wake);
    }
}

/* False: the reflector has stopped, and the input is not wanted any more. */
static bool reflector_enter(struct cor_reflector *r, uint64_t now_ms)
{
    assert(!r->busy);
    if (r->state == COR_REFLECTOR_STOPPED)
        return false;
    assert(r->state == COR_REFLECTOR_IDLE || now_ms >= r->now_ms);
    r->now_ms = now_ms;
    r->busy = true;
    return true;
}

/* A driver's callback may want to stop, too: hence the second look. */
static void reflector_leave(struct cor_reflector *r)
{
    reflector_flush(r);
    if (r->stop_wanted && r->state != COR_REFLECTOR_STOPPED) {
        reflector_stop_now(r);
        r->stop_wanted = false;
        reflector_flush(r);
    }
    r->busy = false;
}

static void reflector_begin_round(struct cor_reflector *r)
{
    if (r->opts.stream_initial)
        cor_reflector_stream_begin(r);
    else
        cor_reflector_list_begin(r);
}

void cor_reflector_end_round(struct cor_reflector *r, const struct cor_status *error)
{
    uint64_t until;

    cor_reflector_unstage(r);
    if (error && r->opts.on_watch_error && !r->stop_wanted)
        r->opts.on_watch_error(r->opts.arg, error);
    if (r->opts.on_round_end && !r->stop_wanted)
        r->opts.on_round_end(r->opts.arg, error);
    if (r->opts.round_delay_ms > 0)
        until = r->now_ms + r->opts.round_delay_ms;
    else
        until = cor_reflector_backoff_until(r);
    cor_reflector_pause(r, COR_REFLECTOR_ROUND_PAUSE, until);
}

void cor_reflector_set_resync(struct cor_reflector *r, uint64_t resync_ms)
{
    assert(r->state == COR_REFLECTOR_IDLE);
    r->opts.resync_ms = resync_ms;
}

void cor_reflector_start(struct cor_reflector *r, uint64_t now_ms)
{
    assert(r->state == COR_REFLECTOR_IDLE || r->state == COR_REFLECTOR_STOPPED);
    if (!reflector_enter(r, now_ms))
        return;
    cor_reflector_backoff_init(r);
    reflector_begin_round(r);
    reflector_leave(r);
}

void cor_reflector_list_page(struct cor_reflector *r, uint64_t now_ms,
                             const struct cor_list_page *page)
{
    assert(page && (page->objects || page->n == 0));
    if (!reflector_enter(r, now_ms))
        return;
    assert(r->state == COR_REFLECTOR_LISTING);
    cor_reflector_list_take(r, page);
    reflector_leave(r);
}

void cor_reflector_list_failed(struct cor_reflector *r, uint64_t now_ms,
                               const struct cor_status *status)
{
    assert(status && status->err < 0);
    if (!reflector_enter(r, now_ms))
        return;
    assert(r->state == COR_REFLECTOR_LISTING);
    cor_reflector_list_error(r, status);
    reflector_leave(r);
}

void cor_reflector_watch_opened(struct cor_reflector *r, uint64_t now_ms)
{
    if (!reflector_enter(r, now_ms))
        return;
    if (r->state == COR_REFLECTOR_STREAM_OPENING)
        cor_reflector_move(r, COR_REFLECTOR_STREAMING);
    else
        cor_reflector_move(r, COR_REFLECTOR_WATCHING);
    reflector_leave(r);
}

void cor_reflector_watch_event(struct cor_reflector *r, uint64_t now_ms,
                               const struct cor_reflector_event *event)
{
    assert(event && (event->type != COR_WATCH_ERROR || event->status));
    if (!reflector_enter(r, now_ms))
        return;
    assert(r->state == COR_REFLECTOR_STREAMING || r->state == COR_REFLECTOR_WATCHING);
    if (event->type == COR_WATCH_ERROR)
        cor_reflector_drop(r);
    if (r->state == COR_REFLECTOR_STREAMING)
        cor_reflector_stream_take(r, event);
    else
        cor_reflector_watch_take(r, event);
    reflector_leave(r);
}

void cor_reflector_watch_ended(struct cor_reflector *r, uint64_t now_ms,
                               const struct cor_status *status)
{
    assert(!status || status->err < 0);
    if (!reflector_enter(r, now_ms))
        return;
    if (r->state == COR_REFLECTOR_STREAM_OPENING || r->state == COR_REFLECTOR_STREAMING) {
        if (status)
            cor_reflector_stream_error(r, status);
        else
            cor_reflector_stream_end(r);
    } else {
        assert(r->state == COR_REFLECTOR_WATCH_OPENING || r->state == COR_REFLECTOR_WATCHING);
        if (!status)
            cor_reflector_watch_end(r);
        else if (r->state == COR_REFLECTOR_WATCH_OPENING)
            cor_reflector_watch_refused(r, status);
        else
            cor_reflector_watch_error(r, status);
    }
    reflector_leave(r);
}

void cor_reflector_tick(struct cor_reflector *r, uint64_t now_ms)
{
    if (!reflector_enter(r, now_ms))
        return;
    r->told_wake_ms = COR_REFLECTOR_NEVER;
    if (r->state == COR_REFLECTOR_STREAM_OPENING || r->state == COR_REFLECTOR_STREAMING)
        cor_reflector_stream_tick(r);
    else if (r->state == COR_REFLECTOR_STREAM_PAUSE && now_ms >= r->pause_until_ms)
        cor_reflector_stream_open(r);
    else if (r->state == COR_REFLECTOR_ROUND_PAUSE && now_ms >= r->pause_until_ms)
        reflector_begin_round(r);
    else if (r->state == COR_REFLECTOR_WATCH_OPENING || r->state == COR_REFLECTOR_WATCHING ||
             r->state == COR_REFLECTOR_WATCH_PAUSE)
        cor_reflector_watch_tick(r);
    reflector_leave(r);
}

void cor_reflector_stop(struct cor_reflector *r, uint64_t now_ms)
{
    if (r->busy) {
        r->stop_wanted = r->state != COR_REFLECTOR_STOPPED;
        return;
    }
    if (!reflector_enter(r, now_ms))
        return;
    reflector_stop_now(r);
    reflector_leave(r);
}

/* Without memory nothing is expected. */
void cor_reflector_expect(struct cor_reflector *r, const struct cor_object *like)
{
    struct cor_str kind = like ? cor_object_kind(like) : COR_STR("");
    struct cor_str version = like ? cor_object_api_version(like) : COR_STR("");

    if (r->expected_kind && cor_str_eqz(kind, r->expected_kind) &&
        cor_str_eqz(version, r->expected_api_version))
        return;
    r->expected_kind = cor_free(r->expected_kind);
    r->expected_api_version = cor_free(r->expected_api_version);
    if (kind.n == 0)
        return;
    r->expected_kind = cor_strndup(kind.p, kind.n);
    r->expected_api_version = cor_strndup(version.p, version.n);
    if (!r->expected_kind || !r->expected_api_version) {
        r->expected_kind = cor_free(r->expected_kind);
        r->expected_api_version = cor_free(r->expected_api_version);
    }
}

static int reflector_describe(struct cor_reflector *r, const struct cor_reflector_opts *opts)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    const struct cor_gvk *gvk = &opts->expected;
    struct cor_gv gv = cor_gvk_gv(gvk);
    int rc = 0;

    cor_buf_init(&text, 4096);
    if (gvk->kind.n > 0) {
        r->expected_kind = cor_strndup(gvk->kind.p, gvk->kind.n);
        rc = cor_gv_print(&gv, &text);
        if (!r->expected_kind || rc < 0 || !(r->expected_api_version = cor_buf_steal(&text, NULL)))
            return -COR_ENOMEM;
        rc = cor_gvk_print(gvk, &text);
    } else {
        rc = cor_buf_addz(&text, "<unspecified>");
    }
    if (opts->type_description.n > 0) {
        cor_buf_reset(&text);
        rc = cor_buf_adds(&text, opts->type_description);
    }
    if (rc < 0)
        return rc;
    r->type_description = cor_buf_steal(&text, NULL);
    if (!r->type_description)
        return -COR_ENOMEM;
    r->name = opts->name.n > 0 ? cor_strndup(opts->name.p, opts->name.n)
                               : cor_strdup(r->type_description);
    return r->name ? 0 : -COR_ENOMEM;
}

int cor_reflector_new(const struct cor_reflector_opts *opts, struct cor_reflector_driver *driver,
                      struct cor_reflector_store *store, struct cor_reflector **ret_reflector)
{
    COR_CLEANUP(cor_reflector_freep) struct cor_reflector *r = cor_calloc(1, sizeof(*r));
    int rc;

    assert(opts->rand && opts->page_size >= 0);
    if (!r)
        return -COR_ENOMEM;
    r->opts = *opts;
    if (r->opts.objects_max == 0)
        r->opts.objects_max = OBJECTS_MAX_DEFAULT;
    r->driver = driver;
    r->store = store;
    r->told_wake_ms = COR_REFLECTOR_NEVER;
    cor_page_walk_init(&r->list.walk);
    cor_object_set_init(&r->stream.set, r->opts.objects_max);
    rc = reflector_describe(r, opts);
    if (rc < 0)
        return rc;
    *ret_reflector = COR_STEAL(r);
    return 0;
}

struct cor_reflector *cor_reflector_free(struct cor_reflector *r)
{
    if (!r)
        return NULL;
    assert(r->state == COR_REFLECTOR_IDLE || r->state == COR_REFLECTOR_STOPPED);
    assert(!r->busy);
    cor_object_unref(r->list.first);
    cor_object_set_deinit(&r->stream.set);
    cor_page_walk_deinit(&r->list.walk);
    cor_free(r->name);
    cor_free(r->type_description);
    cor_free(r->expected_api_version);
    cor_free(r->expected_kind);
    return cor_free(r);
}

struct cor_str cor_reflector_last_sync_rv(const struct cor_reflector *r)
{
    return cor_reflector_rv_str(&r->last_rv);
}

void cor_reflector_stats(const struct cor_reflector *r, struct cor_reflector_stats *ret)
{
    *ret = r->stats;
}

enum cor_reflector_state cor_reflector_state(const struct cor_reflector *r)
{
    return r->state;
}
