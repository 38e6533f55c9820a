/* clang-format off */
/* One timer for a control loop and its feeds. Each of them names a time; the timer is set to the
 * earliest, and its turn calls those that are due: the feeds first, the control loop last, because
 * on_stopped, which may free all of this, is called inside the loop's tick.
 *
 * The timer is set from the beginning, far away: moving a timer that is set needs no memory, so that nothing can fail
 * after the start.
 * Thread: the port's loop. */
/* clang-format on */
#include "kit/controller/port_controller.h"

#include <assert.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/timer.h"

#define NEVER      UINT64_MAX
#define ROUND_MS   1000
#define REPORT_MAX 4096

struct port_feed {
    struct cor_dlist link;
    struct cor_port_controller *controller;
    struct cor_control_feed *feed;
    uint64_t wake_ms;
};

struct cor_port_controller {
    struct cor_port_controller_opts opts;
    const struct cor_clock *clock;
    struct cor_control_loop *loop;
    struct cor_dlist feeds;
    struct cor_timer timer;
    uint64_t loop_wake_ms;
    bool is_started, is_stopping;
};

static struct port_feed *feed_at(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct port_feed, link);
}

/* ---- time ---- */

/* Sets the timer to the earliest of all times. */
static void controller_set_timer(struct cor_port_controller *c)
{
    uint64_t now = cor_clock_mono_ms(c->clock), at = c->loop_wake_ms;

    COR_DLIST_FOREACH(it, &c->feeds)
        at = feed_at(it)->wake_ms < at ? feed_at(it)->wake_ms : at;
    if (at != NEVER && at > now && at - now > ROUND_MS)
        at += (ROUND_MS - at % ROUND_MS) % ROUND_MS;
    (void)cor_timer_set(&c->timer, at == NEVER ? NEVER : at > now ? at - now : 0);
}

static void controller_on_feed_wake_at(void *arg, uint64_t at_ms)
{
    struct port_feed *f = arg;

    f->wake_ms = at_ms;
    controller_set_timer(f->controller);
}

static void controller_on_wake_at(void *arg, uint64_t at_ms)
{
    struct cor_port_controller *c = arg;

    c->loop_wake_ms = at_ms;
    controller_set_timer(c);
}

static void controller_on_timer(struct cor_timer *timer)
{
    struct cor_port_controller *c = COR_CONTAINER_OF(timer, struct cor_port_controller, timer);
    uint64_t now = cor_clock_mono_ms(c->clock);

    COR_DLIST_FOREACH(it, &c->feeds) {
        struct port_feed *f = feed_at(it);

        if (f->wake_ms > now)
            continue;
        f->wake_ms = NEVER;
        cor_control_feed_tick(f->feed);
    }
    if (c->loop_wake_ms > now) {
        controller_set_timer(c);
        return;
    }
    c->loop_wake_ms = NEVER;
    controller_set_timer(c);
    cor_control_loop_tick(c->loop); /* this may free the controller */
}

/* ---- callbacks of the control loop, for the controller's author ---- */

static void controller_on_reconcile(void *arg, struct cor_reconcile *rec)
{
    const struct cor_port_controller *c = arg;

    c->opts.control.reconcile(c->opts.control.arg, rec);
}

static void controller_on_cancel(void *arg, struct cor_reconcile *rec)
{
    const struct cor_port_controller *c = arg;

    if (c->opts.control.on_cancel)
        c->opts.control.on_cancel(c->opts.control.arg, rec);
}

static void controller_on_report(void *arg, const struct cor_control_report *report)
{
    const struct cor_port_controller *c = arg;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf line = {.max = REPORT_MAX};

    if (c->opts.control.on_report) {
        c->opts.control.on_report(c->opts.control.arg, report);
        return;
    }
    (void)cor_control_report_print(report, &line); /* what fits is logged */
    COR_LOG_WARN("a controller reports", COR_F_STR("report", cor_buf_str(&line)));
}

static void controller_stop_feeds(struct cor_port_controller *c)
{
    COR_DLIST_FOREACH(it, &c->feeds) {
        cor_control_feed_stop(feed_at(it)->feed);
        feed_at(it)->wake_ms = NEVER;
    }
}

static void controller_on_stopped(void *arg, const struct cor_status *why)
{
    struct cor_port_controller *c = arg;

    controller_stop_feeds(c);
    c->opts.control.on_stopped(c->opts.control.arg, why); /* this may free the controller */
}

/* ---- feeds ---- */

static void controller_on_feed_error(void *arg, const struct cor_status *error)
{
    struct port_feed *f = arg;

    COR_LOG_DEBUG("a controller could not list or watch; it tries again",
                  COR_F_STR("controller", cor_control_loop_name(f->controller->loop)),
                  COR_F_STR("answer", cor_status_message(error)), COR_F_ERR(error->err));
}

static int controller_add_feed(struct cor_port_controller *c, struct cor_control_feed_opts *opts,
                               struct cor_control_feed **ret_feed, struct cor_status *reterr)
{
    struct port_feed *f = cor_calloc(1, sizeof(*f));
    int r;

    assert(!c->is_stopping);
    if (!f)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    f->controller = c;
    f->wake_ms = NEVER;
    opts->port = c->opts.port;
    opts->clock = c->clock;
    opts->rand = c->opts.rand;
    opts->wake_at = controller_on_feed_wake_at;
    opts->on_error = controller_on_feed_error;
    opts->arg = f;
    r = cor_control_feed_new(opts, &f->feed, reterr);
    if (r < 0) {
        cor_free(f);
        return r;
    }
    cor_dlist_push(&c->feeds, &f->link);
    if (c->is_started)
        cor_control_feed_start(f->feed);
    if (ret_feed)
        *ret_feed = f->feed;
    return 0;
}

static void controller_free_feed(struct port_feed *f)
{
    cor_dlist_remove(&f->link);
    cor_control_feed_free(f->feed);
    cor_free(f);
}

int cor_port_controller_add(struct cor_port_controller *c, const struct cor_port_source *source,
                            struct cor_control_feed **ret_feed, struct cor_status *reterr)
{
    struct cor_control_feed_opts opts = {.what = source->what, .loop = c->loop};
    int r = cor_control_loop_add_source(c->loop, &source->source, &opts.source, reterr);

    return r < 0 ? r : controller_add_feed(c, &opts, ret_feed, reterr);
}

int cor_port_controller_follow(struct cor_port_controller *c, const struct cor_feed_what *what,
                               struct cor_reflector_store *store,
                               struct cor_control_feed **ret_feed, struct cor_status *reterr)
{
    struct cor_control_feed_opts opts = {.what = *what, .store = store};

    return controller_add_feed(c, &opts, ret_feed, reterr);
}

void cor_port_controller_unfollow(struct cor_port_controller *c, struct cor_control_feed *feed)
{
    COR_DLIST_FOREACH_SAFE(it, &c->feeds) {
        if (feed_at(it)->feed == feed) {
            controller_free_feed(feed_at(it));
            return;
        }
    }
    assert(!"the feed is not one of this controller");
}

/* ---- life ---- */

int cor_port_controller_new(const struct cor_port_controller_opts *opts,
                            struct cor_port_controller **ret_controller, struct cor_status *reterr)
{
    COR_CLEANUP(cor_port_controller_freep) struct cor_port_controller *c = NULL;
    struct cor_control_loop_opts control = opts->control;
    int r;

    assert(opts->port && opts->port->loop && opts->rand && control.reconcile && control.on_stopped);
    c = cor_calloc(1, sizeof(*c));
    if (!c) {
        cor_rate_limiter_free(control.take_limiter);
        return cor_status_set_err(reterr, -COR_ENOMEM);
    }
    c->opts = *opts;
    c->clock = control.clock ? control.clock : cor_clock_real();
    c->loop_wake_ms = NEVER;
    cor_dlist_init(&c->feeds);
    cor_timer_init(&c->timer, opts->port->loop, controller_on_timer);
    control.clock = c->clock;
    control.loop = opts->port->loop;
    control.wake_at = controller_on_wake_at;
    control.reconcile = controller_on_reconcile;
    control.on_cancel = controller_on_cancel;
    control.on_report = controller_on_report;
    control.on_stopped = controller_on_stopped;
    control.arg = c;
    r = cor_control_loop_new(&control, &c->loop, reterr);
    if (r < 0)
        return r;
    r = cor_timer_set(&c->timer, NEVER);
    if (r < 0)
        return cor_status_set_err(reterr, r);
    *ret_controller = COR_STEAL(c);
    return 0;
}

struct cor_port_controller *cor_port_controller_free(struct cor_port_controller *c)
{
    if (!c)
        return NULL;
    COR_DLIST_FOREACH_SAFE(it, &c->feeds)
        controller_free_feed(feed_at(it));
    cor_timer_cancel(&c->timer);
    cor_control_loop_free(c->loop);
    return cor_free(c);
}

int cor_port_controller_start(struct cor_port_controller *c, struct cor_status *reterr)
{
    int r;

    assert(cor_loop_is_current(c->opts.port->loop) && !c->is_started);
    r = cor_control_loop_start(c->loop, reterr);
    if (r < 0)
        return r;
    c->is_started = true;
    COR_DLIST_FOREACH(it, &c->feeds)
        cor_control_feed_start(feed_at(it)->feed);
    return 0;
}

void cor_port_controller_stop(struct cor_port_controller *c, uint64_t max_ms)
{
    assert(cor_loop_is_current(c->opts.port->loop));
    c->is_stopping = true;
    controller_stop_feeds(c);
    cor_control_loop_stop(c->loop, max_ms);
}

struct cor_control_loop *cor_port_controller_loop(struct cor_port_controller *c)
{
    return c->loop;
}
