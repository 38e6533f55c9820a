/* Reads that wait. One question for the store's revision serves all reads of a loop that began
 * before it was asked; who comes later waits for the next one, since the answer under way may be
 * older than a write that was acknowledged meanwhile. */
#include "storage/cacher/reader_int.h"

static void ask(struct cachers_loop *loop);

static void leave(struct cacher_wait *wait)
{
    cor_dlist_remove(&wait->link);
    cor_timer_cancel(&wait->timer);
    if (wait->is_asking)
        return;
    pthread_mutex_lock(&wait->loop->lock);
    wait->loop->waiting--;
    pthread_mutex_unlock(&wait->loop->lock);
}

static void on_timer(struct cor_timer *timer)
{
    struct cacher_wait *wait = COR_CONTAINER_OF(timer, struct cacher_wait, timer);

    leave(wait);
    wait->on_done(wait, false);
}

/* It is among those that the writer looks for before the revision is looked at: one of the two sees
 * the other. */
static void stand(struct cacher_wait *wait)
{
    struct cachers_loop *loop = wait->loop;

    cor_dlist_push(&loop->waits, &wait->link);
    pthread_mutex_lock(&loop->lock);
    loop->waiting++;
    pthread_mutex_unlock(&loop->lock);
    if (cachers_have_reached(loop->cachers, wait->need)) {
        leave(wait);
        wait->on_done(wait, true);
    }
}

static void on_store_rev(struct cor_engine_req *req)
{
    struct cachers_loop *loop = COR_CONTAINER_OF(req, struct cachers_loop, store_rev.req);
    cor_rev rev = req->result < 0 ? 0 : loop->store_rev.ret_rev;
    struct cor_dlist answered, *link;

    cor_range_req_deinit(&loop->store_rev);
    loop->is_asking = false;
    cor_dlist_init(&answered);
    cor_dlist_splice(&answered, &loop->asked);
    ask(loop);
    while ((link = cor_dlist_pop(&answered))) {
        struct cacher_wait *wait = COR_CONTAINER_OF(link, struct cacher_wait, link);

        if (rev == 0) {
            leave(wait);
            wait->on_done(wait, false);
            continue;
        }
        wait->is_asking = false;
        wait->need = rev;
        stand(wait);
    }
    if (loop->last_waits)
        cor_cachers_loop_last(loop);
}

static void ask(struct cachers_loop *loop)
{
    if (loop->is_asking || cor_dlist_empty(&loop->asking))
        return;
    loop->is_asking = true;
    cor_dlist_splice(&loop->asked, &loop->asking);
    cor_range_req_init(&loop->store_rev, loop->loop, on_store_rev);
    loop->store_rev.keys_only = true;
    cor_engine_range(loop->cachers->engine, &loop->store_rev);
}

int cor_cacher_wait_begin(struct cacher_wait *wait, struct cachers_loop *loop, cor_rev need,
                          void (*on_done)(struct cacher_wait *wait, bool in_time))
{
    int r;

    wait->loop = loop;
    wait->need = need;
    wait->on_done = on_done;
    wait->is_asking = need == CACHERS_STORE_REV;
    cor_timer_init(&wait->timer, loop->loop, on_timer);
    r = cor_timer_set(&wait->timer, FRESH_WAIT_MS);
    if (r < 0) {
        wait->loop = NULL;
        return r;
    }
    if (wait->is_asking) {
        cor_dlist_push(&loop->asking, &wait->link);
        ask(loop);
    } else {
        stand(wait);
    }
    return 0;
}

void cor_cacher_wait_cancel(struct cacher_wait *wait)
{
    if (wait->loop && cor_timer_is_set(&wait->timer))
        leave(wait);
}

static void end_waits(struct cachers_loop *loop)
{
    struct cor_dlist all, *link;

    cor_dlist_init(&all);
    cor_dlist_splice(&all, &loop->waits);
    while ((link = cor_dlist_pop(&all))) {
        struct cacher_wait *wait = COR_CONTAINER_OF(link, struct cacher_wait, link);

        cor_dlist_push(&loop->waits, link);
        if (!cachers_have_reached(loop->cachers, wait->need))
            continue;
        leave(wait);
        wait->on_done(wait, true);
    }
}

static struct cacher_reader *next_dirty(struct cachers_loop *loop, struct cor_dlist *dirty)
{
    struct cor_dlist *link;

    pthread_mutex_lock(&loop->lock);
    link = cor_dlist_pop(dirty);
    pthread_mutex_unlock(&loop->lock);
    return link ? COR_CONTAINER_OF(link, struct cacher_reader, dirty) : NULL;
}

/* What becomes dirty meanwhile comes with a mail of its own: a writer that is faster than this loop
 * must not keep it from its sockets. */
void cor_cachers_loop_news(struct cachers_loop *loop)
{
    struct cacher_reader *reader;
    struct cor_dlist dirty;

    cor_dlist_init(&dirty);
    pthread_mutex_lock(&loop->lock);
    loop->posted = false;
    cor_dlist_splice(&dirty, &loop->dirty);
    pthread_mutex_unlock(&loop->lock);
    while ((reader = next_dirty(loop, &dirty)))
        cor_cacher_reader_news(reader);
    end_waits(loop);
}
