/* clang-format off */
/* The states of a control loop:
 *
 *   NEW ──start──► SYNCING ──all sources have synced──► RUNNING ──stop──► STOPPING ──► STOPPED
 *    │                │ └── sync_max_ms passed ──────────────────────────────────────────▲
 *    └──── stop ──────┴── stop ───────────────────────────────────────────► STOPPING ─────┘
 *
 * A tick does in this order what is due: the end of the first sync; keys that were parked, cancels
 * and reports of slow reconciles; new reconciles, as many as there are free slots; the end. Then it
 * asks to be woken at the earliest time at which something is due again. Other functions only
 * change the state, and ask for a tick when there is something to do now.
 *
 * When a step fails:
 * - an event cannot be queued: its feeder gets the error, and still has the event;
 * - the queue has no memory for the delay of a key: the reconcile keeps its slot and its key for a
 *   second ("parked"), and the key is then queued without a delay. This needs no memory, because
 *   the queue has an entry for a key that is being reconciled;
 * - a result comes after the stop: the queue refuses the key, which is dropped as all others are.
 * Thread: one, that of opts.loop. */
/* clang-format on */
#include "kit/controller/control_loop.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "coracle/object_key.h"
#include "loop/loop.h"

#define NEVER UINT64_MAX

enum loop_state { LOOP_NEW, LOOP_SYNCING, LOOP_RUNNING, LOOP_STOPPING, LOOP_STOPPED };

struct cor_control_loop {
    struct cor_control_loop_opts opts;
    char name[COR_CONTROL_NAME_MAX + 1]; /* "" while it is not known */
    struct cor_workqueue *queue;
    struct cor_control_source sources[COR_CONTROL_SOURCES_MAX];
    size_t nsources;
    const struct cor_control_source *main; /* the source FOR, or NULL */
    enum loop_state state;
    uint64_t until_ms; /* of SYNCING and STOPPING */
    uint64_t queue_ms; /* when the queue may have a key; 0: now */
    uint64_t wake_ms;  /* that was asked for last, and has not come */
    bool in_tick;
    uint64_t last_id;
    struct cor_control_loop_stats stats; /* `active` and the counts */
    struct cor_dlist free;               /* slots */
    struct cor_reconcile slots[];        /* opts.reconciles_max */
};

static uint64_t now_ms(const struct cor_control_loop *l)
{
    return cor_clock_mono_ms(l->opts.clock);
}

static uint64_t later(uint64_t now, uint64_t ms)
{
    return ms < NEVER - now ? now + ms : NEVER;
}

static void assert_on_loop(const struct cor_control_loop *l)
{
    assert(!l->opts.loop || cor_loop_is_current(l->opts.loop));
}

/* Asks for a tick now. The end of a tick finds out itself what is due. */
static void loop_wake(struct cor_control_loop *l)
{
    uint64_t now = now_ms(l);

    if (l->in_tick || l->state == LOOP_STOPPED || l->wake_ms <= now)
        return;
    l->wake_ms = now;
    l->opts.wake_at(l->opts.arg, now);
}

static void on_queue_ready(void *arg)
{
    struct cor_control_loop *l = arg;

    l->queue_ms = 0;
    if (l->state == LOOP_RUNNING && !cor_dlist_empty(&l->free))
        loop_wake(l);
}

/* The slots. */

static void slot_release(struct cor_reconcile *rec)
{
    struct cor_control_loop *l = rec->loop;
    const char *key = rec->key;

    rec->state = COR_RECONCILE_FREE;
    rec->key = NULL;
    cor_dlist_push(&l->free, &rec->link);
    l->stats.active--;
    cor_workqueue_done(l->queue, key);
    loop_wake(l);
}

static void slot_report(const struct cor_reconcile *rec, enum cor_control_report_kind kind,
                        const struct cor_reconcile_result *result)
{
    const struct cor_control_loop *l = rec->loop;
    const struct cor_control_report report = {
        .kind = kind,
        .controller = l->name,
        .ns = rec->ns,
        .name = rec->name,
        .id = rec->id,
        .ran_ms = now_ms(l) - rec->began_ms,
        .err = result ? result->err : 0,
        .why = result ? result->why : NULL,
    };

    if (l->opts.on_report)
        l->opts.on_report(l->opts.arg, &report);
}

static void slot_begin(struct cor_control_loop *l, const char *key)
{
    struct cor_reconcile *rec =
        COR_CONTAINER_OF(cor_dlist_pop(&l->free), struct cor_reconcile, link);
    uint64_t now = now_ms(l), max_ms = l->opts.reconcile_max_ms;
    int r;

    assert(rec->state == COR_RECONCILE_FREE);
    *rec = (struct cor_reconcile){
        .id = ++l->last_id,
        .loop = l,
        .state = COR_RECONCILE_RUNS,
        .key = key,
        .began_ms = now,
        .slow_at_ms = later(now, l->opts.slow_ms),
        .cancel_at_ms = max_ms ? later(now, max_ms) : NEVER,
    };
    cor_dlist_init(&rec->link);
    r = cor_object_key_split(cor_strz(key), &rec->ns, &rec->name);
    assert(r == 0);
    (void)r;
    l->stats.active++;
    l->opts.reconcile(l->opts.arg, rec);
}

/* What is due for one slot. Each callback may end the reconcile, or any other. */
static void slot_check(struct cor_reconcile *rec, uint64_t now)
{
    struct cor_control_loop *l = rec->loop;

    if (rec->state == COR_RECONCILE_PARKED && rec->parked_to_ms <= now) {
        cor_workqueue_add(l->queue, rec->key);
        slot_release(rec);
    }
    if (rec->state == COR_RECONCILE_RUNS && rec->cancel_at_ms <= now) {
        rec->is_cancelled = true;
        rec->cancel_at_ms = NEVER;
        if (l->opts.on_cancel)
            l->opts.on_cancel(l->opts.arg, rec);
    }
    if (rec->state == COR_RECONCILE_RUNS && rec->slow_at_ms <= now) {
        while (rec->slow_at_ms <= now)
            rec->slow_at_ms = later(rec->began_ms, 2 * (rec->slow_at_ms - rec->began_ms));
        slot_report(rec, COR_CONTROL_SLOW, NULL);
    }
}

static uint64_t slot_next_ms(const struct cor_reconcile *rec)
{
    if (rec->state == COR_RECONCILE_FREE)
        return NEVER;
    if (rec->state == COR_RECONCILE_PARKED)
        return rec->parked_to_ms;
    return rec->cancel_at_ms < rec->slow_at_ms ? rec->cancel_at_ms : rec->slow_at_ms;
}

/* Puts the key back as the result wants it, and counts. 0, or what the queue returned. */
static int slot_apply(struct cor_reconcile *rec, const struct cor_reconcile_result *result)
{
    struct cor_control_loop *l = rec->loop;
    bool wants_again = result->again || result->again_after_ms != 0;

    if (result->is_terminal || result->err < 0) {
        l->stats.error++;
        l->stats.terminal += result->is_terminal;
        slot_report(rec, result->is_terminal ? COR_CONTROL_TERMINAL : COR_CONTROL_FAILED, result);
        if (wants_again)
            slot_report(rec, COR_CONTROL_RESULT_IGNORED, result);
        return result->is_terminal ? 0 : cor_workqueue_add_rate_limited(l->queue, rec->key);
    }
    if (result->again_after_ms > 0) {
        l->stats.requeue_after++;
        if (!result->keeps_failures)
            cor_workqueue_forget(l->queue, rec->key);
        return cor_workqueue_add_after(l->queue, rec->key, (uint64_t)result->again_after_ms);
    }
    if (result->again) {
        l->stats.requeue++;
        return cor_workqueue_add_rate_limited(l->queue, rec->key);
    }
    l->stats.success++;
    cor_workqueue_forget(l->queue, rec->key);
    return 0;
}

void cor_reconcile_done(struct cor_reconcile *rec, const struct cor_reconcile_result *result)
{
    struct cor_control_loop *l = rec->loop;
    int r;

    assert_on_loop(l);
    assert(rec->state == COR_RECONCILE_RUNS && result->err <= 0);
    l->stats.work_ms += now_ms(l) - rec->began_ms;
    r = slot_apply(rec, result);
    if (r == 0 || r == -COR_ECANCELED) {
        slot_release(rec);
        return;
    }
    rec->state = COR_RECONCILE_PARKED;
    rec->parked_to_ms = later(now_ms(l), COR_CONTROL_PARK_MS);
    slot_report(rec, COR_CONTROL_NO_MEMORY, NULL);
    loop_wake(l);
}

/* Making, and the sources. */

int cor_control_loop_new(const struct cor_control_loop_opts *opts,
                         struct cor_control_loop **ret_loop, struct cor_status *reterr)
{
    COR_CLEANUP(cor_control_loop_freep) struct cor_control_loop *l = NULL;
    uint32_t max = opts->reconciles_max ? opts->reconciles_max : 1;
    struct cor_workqueue_opts queue_opts = {
        COR_WORKQUEUE_OPTS,         .take_limiter = opts->take_limiter,
        .keys_max = opts->keys_max, .on_ready = on_queue_ready,
        .clock = opts->clock,
    };
    int r;

    assert(opts->wake_at && opts->reconcile && opts->on_stopped);
    if (max > COR_CONTROL_RECONCILES_MAX ||
        (opts->name && strlen(opts->name) > COR_CONTROL_NAME_MAX)) {
        cor_rate_limiter_free(opts->take_limiter);
        return cor_status_set(reterr, -COR_EINVAL,
                              "reconciles_max is at most %d, and a name has at most %d bytes",
                              COR_CONTROL_RECONCILES_MAX, COR_CONTROL_NAME_MAX);
    }
    l = cor_calloc(1, sizeof(*l) + max * sizeof(l->slots[0]));
    if (!l) {
        cor_rate_limiter_free(opts->take_limiter);
        return cor_status_no_memory(reterr);
    }
    queue_opts.arg = l;
    r = cor_workqueue_new(&queue_opts, &l->queue);
    if (r < 0)
        return cor_status_set_err(reterr, r);
    l->opts = *opts;
    l->opts.take_limiter = NULL;
    l->opts.reconciles_max = max;
    if (!l->opts.clock)
        l->opts.clock = cor_clock_real();
    if (!l->opts.sync_max_ms)
        l->opts.sync_max_ms = COR_CONTROL_SYNC_MS;
    if (!l->opts.slow_ms)
        l->opts.slow_ms = COR_CONTROL_SLOW_MS;
    if (opts->name)
        snprintf(l->name, sizeof(l->name), "%s", opts->name);
    l->wake_ms = NEVER;
    l->stats.max = max;
    cor_dlist_init(&l->free);
    for (uint32_t i = 0; i < max; i++) {
        l->slots[i].loop = l;
        cor_dlist_push(&l->free, &l->slots[i].link);
    }
    *ret_loop = COR_STEAL(l);
    return 0;
}

struct cor_control_loop *cor_control_loop_free(struct cor_control_loop *l)
{
    if (!l)
        return NULL;
    assert((l->state == LOOP_NEW || l->state == LOOP_STOPPED) && !l->in_tick);
    cor_workqueue_free(l->queue);
    return cor_free(l);
}

int cor_control_loop_add_source(struct cor_control_loop *l,
                                const struct cor_control_source_opts *opts,
                                struct cor_control_source **ret_source, struct cor_status *reterr)
{
    struct cor_control_source *source;

    assert_on_loop(l);
    if (l->state >= LOOP_STOPPING)
        return cor_status_set_err(reterr, -COR_ECANCELED);
    if (l->nsources == COR_CONTROL_SOURCES_MAX)
        return cor_status_set(reterr, -COR_ETOOBIG, "a controller has at most %d sources",
                              COR_CONTROL_SOURCES_MAX);
    if (opts->kind == COR_CONTROL_FOR && l->main)
        return cor_status_set(reterr, -COR_EINVAL,
                              "For(...) should only be called once, could not assign multiple "
                              "objects for reconciliation");
    if (opts->kind == COR_CONTROL_OWNS && !l->main)
        return cor_status_set(reterr, -COR_EINVAL, "Owns() can only be used together with For()");
    if (opts->kind == COR_CONTROL_WATCHES && !opts->map)
        return cor_status_set(reterr, -COR_EINVAL, "a source WATCHES needs a function `map`");
    source = &l->sources[l->nsources++];
    *source = (struct cor_control_source){.opts = *opts, .holds_start = l->state == LOOP_NEW};
    if (opts->kind == COR_CONTROL_FOR)
        l->main = source;
    *ret_source = source;
    return 0;
}

/* The first source that holds back the reconciles, or NULL. */
static const struct cor_control_source *loop_unsynced(const struct cor_control_loop *l)
{
    for (size_t i = 0; i < l->nsources; i++)
        if (l->sources[i].holds_start && !l->sources[i].is_synced)
            return &l->sources[i];
    return NULL;
}

void cor_control_loop_source_synced(struct cor_control_loop *l, struct cor_control_source *source)
{
    assert_on_loop(l);
    source->is_synced = true;
    if (l->state == LOOP_SYNCING && !loop_unsynced(l))
        loop_wake(l);
}

/* A controller without a name has that of its kind, in lower case. False: it has neither. */
static bool loop_take_name(struct cor_control_loop *l)
{
    struct cor_str kind = l->main ? l->main->opts.gk.kind : COR_STR("");

    if (l->name[0] != '\0')
        return true;
    if (kind.n == 0 || kind.n > COR_CONTROL_NAME_MAX)
        return false;
    for (size_t i = 0; i < kind.n; i++)
        l->name[i] = kind.p[i] >= 'A' && kind.p[i] <= 'Z' ? (char)(kind.p[i] | 0x20) : kind.p[i];
    return true;
}

int cor_control_loop_check(struct cor_control_loop *l, struct cor_status *reterr)
{
    if (l->state != LOOP_NEW)
        return cor_status_set(reterr, -COR_EINVAL,
                              "controller was started more than once. This is likely to be caused "
                              "by being added to a manager multiple times");
    if (l->nsources == 0)
        return cor_status_set(reterr, -COR_EINVAL,
                              "there are no watches configured, controller will never get "
                              "triggered. Use For(), Owns(), Watches() or WatchesRawSource() to "
                              "set them up");
    if (!loop_take_name(l))
        return cor_status_set(reterr, -COR_EINVAL, "one of For() or Named() must be called");
    return 0;
}

int cor_control_loop_start(struct cor_control_loop *l, struct cor_status *reterr)
{
    int r = cor_control_loop_check(l, reterr);

    assert_on_loop(l);
    if (r < 0)
        return r;
    l->state = LOOP_SYNCING;
    l->until_ms = later(now_ms(l), l->opts.sync_max_ms);
    /* The tick asks for the right time. */
    loop_wake(l);
    return 0;
}

/* Feeding. */

int cor_control_loop_enqueue(struct cor_control_loop *l, struct cor_str ns, struct cor_str name,
                             uint64_t delay_ms)
{
    char key[COR_OBJECT_KEY_MAX + 1];

    assert_on_loop(l);
    if (name.n == 0 || cor_str_find(name, '/') >= 0 || cor_str_find(ns, '/') >= 0 ||
        cor_object_key_join(ns, name, key, sizeof(key)) >= sizeof(key))
        return -COR_EINVAL;
    return delay_ms ? cor_workqueue_add_after(l->queue, key, delay_ms)
                    : cor_workqueue_add(l->queue, key);
}

/* Where the keys of an event go. */
struct source_keys {
    struct cor_control_loop *loop;
    uint64_t delay_ms;
};

/* The names in an object are what its author wrote, for example that of an owner or of a volume's
 * claim. A name that no object can have needs no reconcile; an error would make the feeder list all
 * objects again and again, and meet the same name each time. */
static int on_source_key(void *arg, struct cor_str ns, struct cor_str name)
{
    const struct source_keys *to = arg;
    int r = cor_control_loop_enqueue(to->loop, ns, name, to->delay_ms);

    return r == -COR_EINVAL ? 0 : r;
}

int cor_control_loop_event(struct cor_control_loop *l, const struct cor_control_source *source,
                           const struct cor_control_event *event)
{
    struct source_keys to = {l, source->opts.delay_ms};
    struct cor_control_keys keys = {.add = on_source_key, .arg = &to};

    assert_on_loop(l);
    if (l->state >= LOOP_STOPPING)
        return -COR_ECANCELED;
    if (!cor_control_predicates_pass(&l->opts.predicates, event) ||
        !cor_control_predicates_pass(&source->opts.predicates, event))
        return 0;
    return cor_control_source_map(source, l->main, event, &keys);
}

/* The tick, and the end. */

static void loop_begin_reconciles(struct cor_control_loop *l)
{
    for (size_t left = COR_CONTROL_TURN_MAX; left > 0; left--) {
        const char *key;

        if (l->state != LOOP_RUNNING || cor_dlist_empty(&l->free))
            return;
        if (cor_workqueue_try_get(l->queue, &key, &l->queue_ms) < 0)
            return;
        slot_begin(l, key);
    }
    /* Others on this thread have their turn first. */
    l->queue_ms = 0;
}

/* The earliest time at which a reconcile has something due. */
static uint64_t loop_next_slot_ms(const struct cor_control_loop *l)
{
    uint64_t at = NEVER;

    for (uint32_t i = 0; i < l->opts.reconciles_max; i++) {
        uint64_t slot_ms = slot_next_ms(&l->slots[i]);

        at = slot_ms < at ? slot_ms : at;
    }
    return at;
}

/* Is the loop at its end? `why` is filled when that is a failure. The end waits until on_cancel was
 * called for each reconcile under way, even when there is no time left. */
static bool loop_is_over(struct cor_control_loop *l, uint64_t now, struct cor_status *why)
{
    const struct cor_control_source *source;

    if (l->state == LOOP_SYNCING && l->until_ms <= now) {
        source = loop_unsynced(l);
        cor_status_set(why, -COR_ETIMEOUT,
                       "failed to wait for %s caches to sync kind source: %.*s: timed out waiting "
                       "for cache to be synced for Kind %.*s",
                       l->name, COR_STR_ARG(source->opts.gk.kind),
                       COR_STR_ARG(source->opts.gk.kind));
        return true;
    }
    if (l->state != LOOP_STOPPING)
        return false;
    if (l->stats.active > 0 && (l->until_ms > now || loop_next_slot_ms(l) <= now))
        return false;
    if (l->stats.active > 0)
        cor_status_set(why, -COR_ETIMEOUT,
                       "controller %s: %zu reconciles have not ended within the time of the stop",
                       l->name, l->stats.active);
    return true;
}

static uint64_t loop_next_ms(const struct cor_control_loop *l)
{
    uint64_t at = NEVER, slot_ms = loop_next_slot_ms(l);

    if (l->state == LOOP_RUNNING && !cor_dlist_empty(&l->free))
        at = l->queue_ms;
    if (l->state == LOOP_STOPPING)
        at = l->stats.active > 0 ? l->until_ms : 0;
    if (l->state == LOOP_SYNCING)
        at = loop_unsynced(l) ? l->until_ms : 0;
    return slot_ms < at ? slot_ms : at;
}

void cor_control_loop_tick(struct cor_control_loop *l)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    uint64_t now = now_ms(l), at;

    assert_on_loop(l);
    assert(!l->in_tick);
    if (l->state == LOOP_STOPPED)
        return;
    l->in_tick = true;
    l->wake_ms = NEVER;
    if (l->state == LOOP_SYNCING && !loop_unsynced(l))
        l->state = LOOP_RUNNING;
    for (uint32_t i = 0; i < l->opts.reconciles_max; i++)
        slot_check(&l->slots[i], now);
    loop_begin_reconciles(l);
    l->in_tick = false;
    if (loop_is_over(l, now, &why)) {
        l->state = LOOP_STOPPED;
        cor_workqueue_shutdown(l->queue);
        l->opts.wake_at(l->opts.arg, NEVER);
        /* This may free the loop. */
        l->opts.on_stopped(l->opts.arg, why.err < 0 ? &why : NULL);
        return;
    }
    at = loop_next_ms(l);
    if (at == NEVER)
        return;
    l->wake_ms = at > now ? at : now;
    l->opts.wake_at(l->opts.arg, l->wake_ms);
}

void cor_control_loop_stop(struct cor_control_loop *l, uint64_t max_ms)
{
    uint64_t now = now_ms(l), until = later(now, max_ms);

    assert_on_loop(l);
    if (l->state == LOOP_STOPPED)
        return;
    if (l->state == LOOP_STOPPING) {
        l->until_ms = until < l->until_ms ? until : l->until_ms;
        loop_wake(l);
        return;
    }
    l->state = LOOP_STOPPING;
    l->until_ms = until;
    cor_workqueue_shutdown(l->queue);
    for (uint32_t i = 0; i < l->opts.reconciles_max; i++) {
        struct cor_reconcile *rec = &l->slots[i];

        if (rec->state == COR_RECONCILE_PARKED)
            slot_release(rec);
        if (rec->state == COR_RECONCILE_RUNS && !rec->is_cancelled) {
            rec->is_cancelled = true;
            rec->cancel_at_ms = now;
        }
    }
    loop_wake(l);
}

/* Reading. */

bool cor_control_loop_is_synced(const struct cor_control_loop *l)
{
    return !loop_unsynced(l);
}

const char *cor_control_loop_name(const struct cor_control_loop *l)
{
    return l->name;
}

void cor_control_loop_stats(struct cor_control_loop *l, struct cor_control_loop_stats *ret)
{
    *ret = l->stats;
    cor_workqueue_stats(l->queue, &ret->queue);
}

void cor_control_loop_queue_stats(struct cor_control_loop *l, struct cor_workqueue_stats *ret)
{
    cor_workqueue_stats(l->queue, ret);
}

void cor_control_loop_queue_durations(struct cor_control_loop *l,
                                      struct cor_workqueue_durations *ret)
{
    cor_workqueue_durations(l->queue, ret);
}

static const char *report_text(const struct cor_control_report *report)
{
    return report->why ? cor_status_message(report->why) : cor_err_text(report->err);
}

int cor_control_report_print(const struct cor_control_report *report, struct cor_buf *out)
{
    int r = cor_buf_addf(out, "controller %s: %.*s%s%.*s: reconcile %" PRIu64 ": ",
                         report->controller, COR_STR_ARG(report->ns), report->ns.n ? "/" : "",
                         COR_STR_ARG(report->name), report->id);

    if (r < 0)
        return r;
    switch (report->kind) {
    case COR_CONTROL_FAILED:
        return cor_buf_addz(out, report_text(report));
    case COR_CONTROL_TERMINAL:
        return report->err == 0 && !report->why
                   ? cor_buf_addz(out, "nil terminal error")
                   : cor_buf_addf(out, "terminal error: %s", report_text(report));
    case COR_CONTROL_RESULT_IGNORED:
        return cor_buf_addz(out, "the result is ignored because there is an error");
    case COR_CONTROL_SLOW:
        return cor_buf_addf(out, "has not ended after %" PRIu64 " ms", report->ran_ms);
    case COR_CONTROL_NO_MEMORY:
        return cor_buf_addf(out, "no memory for the delay; it runs again after %d ms",
                            COR_CONTROL_PARK_MS);
    }
    return 0;
}
