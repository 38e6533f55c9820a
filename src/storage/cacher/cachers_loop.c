/* clang-format off */
/* How events reach the loops: the writer marks readers and mails their loops, and each loop then
 * delivers to its own watches.
 *
 *   writer, after a batch    cor_cachers_loops_notify(): put each reader of a touched cacher that
 *                            has watches among its loop's dirty ones; mail the loop once
 *   loop, on that mail       loop_on_mail(): for each dirty reader cor_cacher_reader_update(), which
 *                            delivers events (dispatch.c) and releases snapshots; then end the
 *                            reads that waited for the published revision (fresh_wait.c)
 *
 * No wake-up is lost. A watch, or a read that waits, is counted under the loop's lock before it
 * looks at the cache; the writer changes the cache before it looks at the counts under the same
 * lock. So at least one of the two sees the other. Nothing here allocates, so nothing fails.
 *
 * Threads: the writer notifies; all else runs on the loop, or on the home loop where it says so. */
/* clang-format on */
#include "storage/cacher/cache_reader_int.h"

#include "base/mem.h"

/* Takes the next dirty reader. The lock is needed for each: a reader that is freed leaves the list
 * under it. */
static struct cacher_reader *loop_next_dirty(struct cachers_loop *loop, struct cor_dlist *dirty)
{
    struct cor_dlist *link;

    cor_lock_acquire(&loop->lock);
    link = cor_dlist_pop(dirty);
    cor_lock_release(&loop->lock);
    return link ? COR_CONTAINER_OF(link, struct cacher_reader, dirty) : NULL;
}

/* The delivery of every event to every watch of this loop begins here. Readers that become dirty
 * meanwhile come with a mail of their own, so that a writer that is faster than this loop cannot
 * keep it from its sockets. */
static void loop_on_mail(struct cor_mail *mail)
{
    struct cachers_loop *loop = COR_CONTAINER_OF(mail, struct cachers_loop, mail);
    struct cacher_reader *reader;
    struct cor_dlist dirty;

    assert(cor_loop_is_current(loop->loop));
    cor_dlist_init(&dirty);
    cor_lock_acquire(&loop->lock);
    loop->posted = false;
    cor_dlist_splice(&dirty, &loop->dirty);
    cor_lock_release(&loop->lock);
    while ((reader = loop_next_dirty(loop, &dirty)))
        cor_cacher_reader_update(reader);
    cor_cachers_loop_end_waits(loop);
}

/* Puts the cacher's reader of loop `l` among the dirty ones. True: the loop must be mailed. */
static bool loop_mark(struct cachers_loop *loop, struct cor_cacher *cacher, size_t l)
{
    struct cacher_reader *reader;
    bool wanted = false;

    cor_lock_acquire(&cacher->cache.lock);
    reader = cacher->readers[l];
    if (reader) {
        cor_lock_acquire(&loop->lock);
        wanted = reader->nwatches > 0 || atomic_load(&reader->asked_back);
        if (wanted && cor_dlist_empty(&reader->dirty))
            cor_dlist_push(&loop->dirty, &reader->dirty);
        cor_lock_release(&loop->lock);
    }
    cor_lock_release(&cacher->cache.lock);
    return wanted;
}

void cor_cachers_loops_notify(struct cor_cachers *c, bool advanced)
{
    assert(c->is_writing);
    for (size_t l = 0; l < c->nloops; l++) {
        struct cachers_loop *loop = &c->loops[l];
        bool post = false;

        for (size_t i = 0; i < c->nsorted; i++) {
            if (c->sorted[i]->touched)
                post |= loop_mark(loop, c->sorted[i], l);
        }
        cor_lock_acquire(&loop->lock);
        post = (post || (advanced && loop->waiting > 0)) && !loop->posted;
        loop->posted |= post;
        cor_lock_release(&loop->lock);
        if (post)
            cor_loop_post_always(loop->loop, &loop->mail);
    }
    for (size_t i = 0; i < c->nsorted; i++)
        c->sorted[i]->touched = false;
}

/* The end. A mailbox keeps its order, so what was mailed to the loop before end_mail has arrived
 * when end_mail does. A question to the engine may still be under way: its answer ends the loop
 * then. */

void cor_cachers_loop_ended(struct cachers_loop *loop)
{
    loop->end_mail.on_mail = loop->on_ended;
    cor_cachers_answer(loop->cachers, &loop->end_mail);
}

static void loop_on_end_mail(struct cor_mail *mail)
{
    struct cachers_loop *loop = COR_CONTAINER_OF(mail, struct cachers_loop, end_mail);

    loop->is_ending = loop->is_asking;
    if (!loop->is_ending)
        cor_cachers_loop_ended(loop);
}

void cor_cachers_loop_end(struct cachers_loop *loop, void (*on_ended)(struct cor_mail *mail))
{
    assert(cor_loop_is_current(loop->cachers->home));
    loop->on_ended = on_ended;
    loop->end_mail.on_mail = loop_on_end_mail;
    cor_loop_post_always(loop->loop, &loop->end_mail);
}

int cor_cachers_loops_init(struct cor_cachers *c, struct cor_loop *const *loops, size_t n)
{
    assert(n > 0);
    c->loops = cor_calloc(n, sizeof(*c->loops));
    if (!c->loops)
        return -COR_ENOMEM;
    c->nloops = n;
    for (size_t i = 0; i < n; i++) {
        struct cachers_loop *loop = &c->loops[i];

        loop->loop = loops[i];
        loop->cachers = c;
        loop->mail.on_mail = loop_on_mail;
        loop->deliveries.are_alike = true;
        cor_lock_init(&loop->lock, COR_LOCK_CACHERS_LOOP);
        cor_dlist_init(&loop->dirty);
        cor_dlist_init(&loop->waits);
        cor_dlist_init(&loop->asked);
        cor_dlist_init(&loop->asking);
    }
    return 0;
}

void cor_cachers_loops_deinit(struct cor_cachers *c)
{
    for (size_t i = 0; i < c->nloops; i++)
        cor_lock_deinit(&c->loops[i].lock);
    c->loops = cor_free(c->loops);
    c->nloops = 0;
}
