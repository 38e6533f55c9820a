/* clang-format off */
/* A list-watch of the program's functions, as a reflector's driver.
 *
 *   the reflector asks ──► list or watch of the program ──► answers, from any thread
 *                                                                │ queued under `lock`
 *   the reflector's input ◄── the loop takes them in order ◄── mail
 *
 * A driver must not answer before its call returns; the queue makes that true also for a program that
 * answers inside its function. Each request has a number. An answer to another request than the one
 * under way is dropped, when it is given and again when it is taken, because a cancel may come between
 * the two. A request ends with a page, a failure or an end of the watch.
 *
 * Failures: an answer for which there is no memory is returned to its sender with an error. Timers
 * are always set, far away when nothing waits for them, so that moving them cannot fail.
 * Thread: the loop's of the runtime, except for the answers. */
/* clang-format on */
#include <assert.h>
#include <string.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/informers/list_watch_int.h"
#include "client/runtime/runtime_int.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "meta/status/status.h"

enum answer_kind { ANSWER_PAGE, ANSWER_OPENED, ANSWER_EVENT, ANSWER_ENDED, ANSWER_FAILED };

struct answer {
    struct cor_dlist link;
    enum answer_kind kind;
    uint64_t id;
    enum cor_watch_type type;
    struct cor_status status;     /* of a failure and of an error event */
    struct cor_str rv, continues; /* of a page, in `texts` */
    char *texts;
    size_t n; /* objects; an event has one or none */
    struct cor_object *objects[];
};

/* The mail that says that answers wait. It is a block of its own, because it may be on its way when
 * the list-watch is detached: then it frees itself on its arrival. */
struct delivery {
    struct cor_mail mail;
    struct program_list_watch *to; /* NULL: detached */
};

struct program_list_watch {
    struct cor_list_watch base;
    struct cor_list_watch_opts opts;
    struct cor_str label_selector, field_selector; /* in `strings` */
    char *strings;
    struct cor_runtime *runtime;
    struct cor_timer timer; /* the reflector's */
    bool is_opened;         /* the watch under way: the reflector was told */

    struct cor_lock lock; /* a leaf; guards what follows */
    uint64_t id;          /* of the request under way; 0: none */
    uint64_t last_id;
    struct cor_dlist answers;
    size_t nanswers;
    struct delivery *delivery; /* while attached */
    bool is_posted;            /* it is on its way */
    int lost;                  /* the failure of an answer for which there was no memory; 0: none */
};

static struct program_list_watch *program_of(struct cor_list_watch *lw)
{
    return COR_CONTAINER_OF(lw, struct program_list_watch, base);
}

static void answer_free(struct answer *a)
{
    for (size_t i = 0; i < a->n; i++)
        cor_object_unref(a->objects[i]);
    cor_status_deinit(&a->status);
    cor_free(a->texts);
    cor_free(a);
}

static struct answer *answer_new(enum answer_kind kind, uint64_t id, size_t nobjects)
{
    struct answer *a = cor_calloc(1, sizeof(*a) + nobjects * sizeof(a->objects[0]));

    if (a) {
        a->kind = kind;
        a->id = id;
        cor_dlist_init(&a->link);
    }
    return a;
}

/* Wakes the loop. The lock is held meanwhile, so that nobody detaches the list-watch and frees the
 * loop in between. */
static void program_post_locked(struct program_list_watch *p)
{
    if (!p->is_posted)
        cor_loop_post_always(p->runtime->loop, &p->delivery->mail);
    p->is_posted = true;
}

/* Queues an answer, which it takes, also when it fails. */
static int program_answer(struct cor_list_watch *lw, struct answer *take)
{
    struct program_list_watch *p = program_of(lw);
    int r = 0;

    cor_lock_acquire(&p->lock);
    if (take->id != p->id)
        r = -COR_ECANCELED;
    else if (p->nanswers >= COR_LIST_WATCH_ANSWERS_MAX)
        r = -COR_EBUSY;
    if (r == 0) {
        cor_dlist_push(&p->answers, &take->link);
        p->nanswers++;
        program_post_locked(p);
    }
    cor_lock_release(&p->lock);
    if (r < 0)
        answer_free(take);
    return r;
}

int cor_list_watch_page(struct cor_list_watch *lw, uint64_t id,
                        const struct cor_list_watch_page *page)
{
    struct answer *a = answer_new(ANSWER_PAGE, id, page->n);

    assert(id > 0 && (page->objects || page->n == 0));
    if (!a)
        return -COR_ENOMEM;
    for (; a->n < page->n; a->n++)
        a->objects[a->n] = cor_object_ref(page->objects[a->n]);
    a->rv = page->resource_version;
    a->continues = page->continue_token;
    if (cor_str_gather((struct cor_str *const[]){&a->rv, &a->continues}, 2, &a->texts) < 0) {
        answer_free(a);
        return -COR_ENOMEM;
    }
    return program_answer(lw, a);
}

int cor_list_watch_opened(struct cor_list_watch *lw, uint64_t id)
{
    struct answer *a = answer_new(ANSWER_OPENED, id, 0);

    return a ? program_answer(lw, a) : -COR_ENOMEM;
}

int cor_list_watch_event(struct cor_list_watch *lw, uint64_t id,
                         const struct cor_watch_event *event)
{
    struct answer *a = answer_new(ANSWER_EVENT, id, 1);

    assert(event->object || event->type == COR_WATCH_ERROR);
    if (!a)
        return -COR_ENOMEM;
    a->type = event->type;
    if (event->object)
        a->objects[a->n++] = cor_object_ref(event->object);
    if (event->status && cor_status_copy(&a->status, event->status) < 0) {
        answer_free(a);
        return -COR_ENOMEM;
    }
    return program_answer(lw, a);
}

int cor_list_watch_ended(struct cor_list_watch *lw, uint64_t id)
{
    struct answer *a = answer_new(ANSWER_ENDED, id, 0);

    return a ? program_answer(lw, a) : -COR_ENOMEM;
}

/* Without memory, and behind a full queue of answers, a failure loses its message and its place in
 * the order, but it is never lost: the request would have no end. */
static int program_fail_bare(struct cor_list_watch *lw, uint64_t id, int err)
{
    struct program_list_watch *p = program_of(lw);
    int r = 0;

    cor_lock_acquire(&p->lock);
    if (id != p->id) {
        r = -COR_ECANCELED;
    } else {
        p->lost = err;
        program_post_locked(p);
    }
    cor_lock_release(&p->lock);
    return r;
}

int cor_list_watch_failed(struct cor_list_watch *lw, uint64_t id, int err, const char *message)
{
    struct answer *a = answer_new(ANSWER_FAILED, id, 0);
    int r;

    assert(err < 0);
    if (!a)
        return program_fail_bare(lw, id, err);
    cor_status_set(&a->status, err, "%s", message ? message : cor_err_text(err));
    r = program_answer(lw, a);
    return r == -COR_EBUSY ? program_fail_bare(lw, id, err) : r;
}

/* The next answer to the request under way; NULL: none waits. */
static struct answer *program_take(struct program_list_watch *p)
{
    struct answer *a = NULL;
    struct cor_dlist *link;

    cor_lock_acquire(&p->lock);
    while (!a && (link = cor_dlist_pop(&p->answers))) {
        a = COR_CONTAINER_OF(link, struct answer, link);
        p->nanswers--;
        if (a->id != p->id) {
            answer_free(a);
            a = NULL;
        }
    }
    if (!a)
        p->is_posted = false;
    else if (a->kind != ANSWER_OPENED && a->kind != ANSWER_EVENT)
        p->id = 0;
    cor_lock_release(&p->lock);
    return a;
}

static void program_give_page(struct program_list_watch *p, const struct answer *a, uint64_t now_ms)
{
    const struct cor_list_page page = {.objects = (struct cor_object **)a->objects,
                                       .n = a->n,
                                       .resource_version = a->rv,
                                       .continue_token = a->continues};

    cor_reflector_list_page(p->base.reflector, now_ms, &page);
}

/* A program need not say that a watch is open before its first event. */
static void program_open(struct program_list_watch *p, uint64_t now_ms)
{
    if (p->is_opened)
        return;
    p->is_opened = true;
    cor_reflector_watch_opened(p->base.reflector, now_ms);
}

static void program_give(struct program_list_watch *p, const struct answer *a)
{
    struct cor_reflector *r = p->base.reflector;
    uint64_t now_ms = cor_loop_now_ms(p->runtime->loop);

    switch (a->kind) {
    case ANSWER_PAGE:
        program_give_page(p, a, now_ms);
        break;
    case ANSWER_OPENED:
        program_open(p, now_ms);
        break;
    case ANSWER_EVENT: {
        const struct cor_reflector_event event = {
            .type = a->type, .object = a->n > 0 ? a->objects[0] : NULL, .status = &a->status};

        program_open(p, now_ms);
        cor_reflector_watch_event(r, now_ms, &event);
        break;
    }
    case ANSWER_ENDED:
        cor_reflector_watch_ended(r, now_ms, NULL);
        break;
    case ANSWER_FAILED:
        if (cor_reflector_state(r) == COR_REFLECTOR_LISTING)
            cor_reflector_list_failed(r, now_ms, &a->status);
        else
            cor_reflector_watch_ended(r, now_ms, &a->status);
        break;
    }
}

/* The failure of the request under way, when there was no memory for its answer. */
static void program_give_lost(struct program_list_watch *p)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_reflector *r = p->base.reflector;
    int err;

    cor_lock_acquire(&p->lock);
    err = p->id > 0 ? p->lost : 0;
    p->lost = 0;
    if (err < 0)
        p->id = 0;
    cor_lock_release(&p->lock);
    if (err == 0)
        return;
    cor_status_set_err(&status, err);
    if (cor_reflector_state(r) == COR_REFLECTOR_LISTING)
        cor_reflector_list_failed(r, cor_loop_now_ms(p->runtime->loop), &status);
    else
        cor_reflector_watch_ended(r, cor_loop_now_ms(p->runtime->loop), &status);
}

static void program_on_mail(struct cor_mail *mail)
{
    struct delivery *d = COR_CONTAINER_OF(mail, struct delivery, mail);
    struct program_list_watch *p = d->to;
    struct answer *a;

    if (!p) {
        cor_free(d);
        return;
    }
    while ((a = program_take(p))) {
        program_give(p, a);
        answer_free(a);
    }
    program_give_lost(p);
}

static uint64_t program_begin(struct program_list_watch *p)
{
    uint64_t id;

    cor_lock_acquire(&p->lock);
    id = p->id = ++p->last_id;
    p->lost = 0;
    cor_lock_release(&p->lock);
    p->is_opened = false;
    return id;
}

static void program_on_list(struct cor_reflector_driver *d, const struct cor_list_options *opts)
{
    struct program_list_watch *p = program_of(cor_list_watch_of(d));
    const struct cor_informer_request req =
        cor_informer_request_of(COR_VERB_LIST, opts, p->label_selector, p->field_selector, 0);

    p->opts.list(p->opts.arg, &p->base, program_begin(p), &req);
}

static void program_on_watch(struct cor_reflector_driver *d, const struct cor_list_options *opts,
                             uint32_t timeout_s)
{
    struct program_list_watch *p = program_of(cor_list_watch_of(d));
    const struct cor_informer_request req = cor_informer_request_of(
        COR_VERB_WATCH, opts, p->label_selector, p->field_selector, timeout_s);

    p->opts.watch(p->opts.arg, &p->base, program_begin(p), &req);
}

static void program_on_cancel(struct cor_reflector_driver *d)
{
    struct program_list_watch *p = program_of(cor_list_watch_of(d));
    uint64_t id;

    cor_lock_acquire(&p->lock);
    id = p->id;
    p->id = 0;
    cor_lock_release(&p->lock);
    if (id > 0 && p->opts.cancel)
        p->opts.cancel(p->opts.arg, &p->base, id);
}

static void program_on_wake_at(struct cor_reflector_driver *d, uint64_t at_ms)
{
    struct program_list_watch *p = program_of(cor_list_watch_of(d));
    uint64_t now = cor_loop_now_ms(p->runtime->loop);

    cor_timer_set(&p->timer, at_ms == COR_REFLECTOR_NEVER ? UINT64_MAX
                             : at_ms > now                ? at_ms - now
                                                          : 0);
}

static const struct cor_reflector_driver_ops program_driver_ops = {
    program_on_list, program_on_watch, program_on_cancel, program_on_wake_at};

static void program_on_timer(struct cor_timer *timer)
{
    struct program_list_watch *p = COR_CONTAINER_OF(timer, struct program_list_watch, timer);

    cor_timer_set(&p->timer, UINT64_MAX);
    cor_reflector_tick(p->base.reflector, cor_loop_now_ms(p->runtime->loop));
}

static int program_attach(struct cor_list_watch *lw, struct cor_runtime *runtime)
{
    struct program_list_watch *p = program_of(lw);
    int r;

    assert(!p->delivery);
    p->delivery = cor_calloc(1, sizeof(*p->delivery));
    if (!p->delivery)
        return -COR_ENOMEM;
    p->delivery->mail.on_mail = program_on_mail;
    p->delivery->to = p;
    p->is_posted = false;
    p->runtime = runtime;
    cor_timer_init(&p->timer, runtime->loop, program_on_timer);
    r = cor_timer_set(&p->timer, UINT64_MAX);
    if (r < 0)
        p->delivery = cor_free(p->delivery);
    return r;
}

/* The reflector has cancelled its request, so that no answer is queued any more. */
static void program_detach(struct cor_list_watch *lw)
{
    struct program_list_watch *p = program_of(lw);

    if (!p->delivery)
        return;
    cor_timer_cancel(&p->timer);
    cor_lock_acquire(&p->lock);
    assert(p->id == 0);
    p->delivery->to = NULL;
    if (!p->is_posted)
        cor_free(p->delivery);
    p->delivery = NULL;
    cor_lock_release(&p->lock);
}

static void program_free(struct cor_list_watch *lw)
{
    struct program_list_watch *p = program_of(lw);
    void (*on_freed)(void *arg) = p->opts.on_freed;
    void *arg = p->opts.arg;
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&p->answers)))
        answer_free(COR_CONTAINER_OF(link, struct answer, link));
    cor_lock_deinit(&p->lock);
    cor_free(p->strings);
    cor_free(p);
    if (on_freed)
        on_freed(arg);
}

static const struct cor_list_watch_ops program_ops = {program_attach, program_detach, program_free};

int cor_list_watch_new(const struct cor_list_watch_opts *opts, struct cor_list_watch **ret_lw)
{
    struct program_list_watch *p = cor_calloc(1, sizeof(*p));
    int r = p ? cor_sized_copy(&p->opts, sizeof(p->opts), opts) : -COR_ENOMEM;

    if (r == 0 && (!p->opts.list || !p->opts.watch))
        r = -COR_EINVAL;
    if (r == 0) {
        p->label_selector = cor_strz(p->opts.label_selector);
        p->field_selector = cor_strz(p->opts.field_selector);
        r = cor_str_gather((struct cor_str *const[]){&p->label_selector, &p->field_selector}, 2,
                           &p->strings);
    }
    if (r < 0) {
        cor_free(p);
        return r;
    }
    p->base.driver.ops = &program_driver_ops;
    p->base.ops = &program_ops;
    cor_dlist_init(&p->answers);
    cor_lock_init(&p->lock, COR_LOCK_LIST_WATCH);
    *ret_lw = &p->base;
    return 0;
}

struct cor_list_watch *cor_list_watch_free(struct cor_list_watch *lw)
{
    if (!lw)
        return NULL;
    assert(!lw->reflector);
    lw->ops->free(lw);
    return NULL;
}

struct cor_informer_request cor_informer_request_of(enum cor_verb verb,
                                                    const struct cor_list_options *opts,
                                                    struct cor_str label_selector,
                                                    struct cor_str field_selector,
                                                    uint32_t timeout_s)
{
    return (struct cor_informer_request){
        .verb = verb,
        .send_initial_events = opts->send_initial_events == COR_TRUE,
        .label_selector = label_selector,
        .field_selector = field_selector,
        .resource_version = opts->resource_version,
        .resource_version_match = opts->resource_version_match,
        .continue_token = opts->continue_token,
        .limit = opts->limit,
        .server_timeout = timeout_s,
        .allow_bookmarks = opts->allow_bookmarks,
    };
}
