/* clang-format off */
/* A whole controller over an API port: a control loop, a feed for each of its sources, and one timer
 * of the port's loop that drives them. This is what a controller inside the server embeds; the same
 * program runs over HTTP.
 *
 *   const struct cor_port_controller_opts opts = {
 *       .port = port, .rand = rand,
 *       .control = {.name = "sample", .reconcile = sample_reconcile, .on_cancel = sample_on_cancel,
 *                   .on_stopped = sample_on_stopped, .arg = sample}};
 *   const struct cor_port_source pods = {
 *       .source = {.kind = COR_CONTROL_FOR, .gk = {COR_STR(""), COR_STR("Pod")}},
 *       .what = {.of = {.at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")}}}}};
 *   cor_port_controller_new(&opts, &c, reterr) ──► cor_port_controller_add(c, &pods, &feed, reterr) ──►
 *   cor_port_controller_start(c, reterr) ──► reconciles … ──► cor_port_controller_stop(c, 1000) ──► on_stopped
 *
 * on_cancel should cancel the requests of its reconcile and end it at once: a stop then takes one
 * turn.
 * Nothing wakes the loop while there is nothing to do. Times that are more than a second away are
 * moved to the next full second, so that the timers of several controllers expire together.
 * Thread: the port's loop, for every function and callback.  Owner: its maker. */
/* clang-format on */
#ifndef COR_KIT_PORT_CONTROLLER_H
#define COR_KIT_PORT_CONTROLLER_H

#include "base/cleanup.h"
#include "kit/controller/control_feed.h"
#include "kit/controller/control_loop.h"

struct cor_port_controller;

struct cor_port_controller_opts {
    struct cor_api_port *port; /* with a loop; must stay valid, as must the generator */
    struct cor_rand *rand;
    /* The control loop's. `wake_at` and `loop` are set here. Without on_report each report is a
     * line of the log. on_stopped may free the controller as the last thing that it does. */
    struct cor_control_loop_opts control;
};

struct cor_port_source {
    struct cor_control_source_opts source; /* not RAW, which has no feed */
    struct cor_feed_what what;
};

/* 0, -COR_EINVAL (the message names the option), -COR_ENOMEM; control.take_limiter is taken in
 * every case. */
int cor_port_controller_new(const struct cor_port_controller_opts *opts,
                            struct cor_port_controller **ret_controller, struct cor_status *reterr);

/* Before the start, or from on_stopped on. Requests of reconciles that have not ended must be
 * cancelled before. Returns NULL; NULL is allowed. */
struct cor_port_controller *cor_port_controller_free(struct cor_port_controller *c);
COR_DEFINE_CLEANUP(struct cor_port_controller, cor_port_controller_free)

/* Adds a source with its feed, which starts with the controller, or at once when that has started.
 * `ret_feed` may be NULL; it belongs to the controller. Errors as of cor_control_loop_add_source()
 * and cor_control_feed_new(). */
int cor_port_controller_add(struct cor_port_controller *c, const struct cor_port_source *source,
                            struct cor_control_feed **ret_feed, struct cor_status *reterr);

/* Adds a feed into a store of the caller's, which stays valid; it may call
 * cor_control_loop_enqueue(). Started and owned as above. 0, -COR_EINVAL, -COR_ENOMEM. */
int cor_port_controller_follow(struct cor_port_controller *c, const struct cor_feed_what *what,
                               struct cor_reflector_store *store,
                               struct cor_control_feed **ret_feed, struct cor_status *reterr);
/* Stops and frees a feed of cor_port_controller_follow(). Not from inside a call of its store. */
void cor_port_controller_unfollow(struct cor_port_controller *c, struct cor_control_feed *feed);

/* Starts the feeds and the control loop. Errors as of cor_control_loop_start(). Once. */
int cor_port_controller_start(struct cor_port_controller *c, struct cor_status *reterr);

/* Stops the feeds at once, and the control loop as cor_control_loop_stop() does: on_stopped is
 * called in a later turn, `max_ms` later at most. */
void cor_port_controller_stop(struct cor_port_controller *c, uint64_t max_ms);

/* The control loop: to enqueue keys, to add raw sources, to read its numbers. Borrowed. */
struct cor_control_loop *cor_port_controller_loop(struct cor_port_controller *c);

#endif
