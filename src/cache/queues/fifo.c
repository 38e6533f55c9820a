/* A FIFO has two contents, each a map by key and a list of the same entries in order: what waits
 * now, and what a list that is under way has brought. The commit of the list makes the second the
 * first.
 *
 * Failures: a write that cannot be stored leaves the queue as it was. A consumer that wants its
 * object again gets the entry back whole, so that putting it back needs no memory.
 * Thread: any; one lock guards everything, and consumers run under it. */
#include "cache/queues/fifo.h"

#include <assert.h>

#include <string.h>

#include "base/buf.h"
#include "base/dlist.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sized.h"
#include "cache/reflector/reflector_ops.h"
#include "cache/store/object_key.h"

/* A key in the order. Without an object it is a hole: its object was deleted, and a new one takes
 * the old place, as upstream's. */
struct fifo_entry {
    struct cor_dlist link;
    struct cor_object *object;
    size_t key_len;
    char key[];
};

struct content {
    struct cor_map by_key;
    struct cor_dlist order;
    size_t n; /* objects; the entries of `order` without the holes */
};

struct cor_fifo {
    struct cor_reflector_store store;
    struct cor_fifo_opts opts;
    struct cor_lock lock;
    struct cor_cond ready;
    struct content now;
    struct content staged; /* of the replace under way */
    struct cor_buf key;    /* of the call under way */
    size_t initial;        /* keys of the first list that were not popped */
    bool populated, closed;
};

static void content_init(struct content *c, size_t max)
{
    cor_map_init(&c->by_key, max);
    cor_dlist_init(&c->order);
}

static void entry_free(struct fifo_entry *e)
{
    cor_object_unref(e->object);
    cor_free(e);
}

static void content_clear(struct content *c)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&c->order)))
        entry_free(COR_CONTAINER_OF(link, struct fifo_entry, link));
    cor_map_clear(&c->by_key);
    c->n = 0;
}

static int content_put(struct content *c, struct cor_str key, struct cor_object *object)
{
    struct fifo_entry *e = cor_map_peek(&c->by_key, key);
    int r;

    if (e) {
        c->n += !e->object;
        cor_object_unref(e->object);
        e->object = cor_object_ref(object);
        return 0;
    }
    e = cor_alloc(sizeof(*e) + key.n);
    if (!e)
        return -COR_ENOMEM;
    *e = (struct fifo_entry){.object = cor_object_ref(object), .key_len = key.n};
    memcpy(e->key, key.p, key.n);
    r = cor_map_put(&c->by_key, cor_str(e->key, key.n), e, NULL);
    if (r < 0) {
        entry_free(e);
        return r == -COR_ETOOBIG ? -COR_EBUSY : r;
    }
    cor_dlist_push(&c->order, &e->link);
    c->n++;
    return 0;
}

static struct cor_fifo *fifo_of(struct cor_reflector_store *store)
{
    return COR_CONTAINER_OF(store, struct cor_fifo, store);
}

static int fifo_set_key(struct cor_fifo *f, struct cor_str key, const struct cor_object *object)
{
    const struct cor_keyer keyer = {f->opts.key, f->opts.key_arg};

    cor_buf_reset(&f->key);
    if (key.n > 0 && (!keyer.fn || !object))
        return cor_buf_adds(&f->key, key);
    return cor_keyer_print(&keyer, object, &f->key);
}

static int fifo_status(int r, struct cor_status *reterr)
{
    return r < 0 ? cor_status_set(reterr, r, "an object was not queued: %s", cor_err_text(r)) : 0;
}

static void fifo_unlock_and_wake(struct cor_fifo *f)
{
    cor_cond_broadcast(&f->ready);
    cor_lock_release(&f->lock);
    if (f->opts.on_ready)
        f->opts.on_ready(f->opts.arg);
}

static int fifo_on_put(struct cor_reflector_store *store, struct cor_str key,
                       struct cor_object *object, struct cor_reflector_at at,
                       struct cor_status *reterr)
{
    struct cor_fifo *f = fifo_of(store);
    int r;

    cor_lock_acquire(&f->lock);
    r = fifo_set_key(f, key, object);
    if (r == 0) {
        f->populated = true;
        r = content_put(&f->now, cor_buf_str(&f->key), object);
    }
    fifo_unlock_and_wake(f);
    return fifo_status(r, reterr);
}

static int fifo_on_del(struct cor_reflector_store *store, struct cor_str key,
                       struct cor_object *object, struct cor_reflector_at at,
                       struct cor_status *reterr)
{
    struct cor_fifo *f = fifo_of(store);
    struct fifo_entry *e;
    int r;

    cor_lock_acquire(&f->lock);
    r = fifo_set_key(f, key, object);
    if (r == 0) {
        f->populated = true;
        e = cor_map_peek(&f->now.by_key, cor_buf_str(&f->key));
        if (e && e->object) {
            e->object = cor_object_unref(e->object);
            f->now.n--;
        }
    }
    cor_lock_release(&f->lock);
    return fifo_status(r, reterr);
}

static int fifo_on_replace_begin(struct cor_reflector_store *store, struct cor_status *reterr)
{
    return 0;
}

static int fifo_on_replace_add(struct cor_reflector_store *store, struct cor_str key,
                               struct cor_object *object, struct cor_status *reterr)
{
    struct cor_fifo *f = fifo_of(store);
    int r;

    cor_lock_acquire(&f->lock);
    r = fifo_set_key(f, key, object);
    if (r == 0)
        r = content_put(&f->staged, cor_buf_str(&f->key), object);
    cor_lock_release(&f->lock);
    return fifo_status(r, reterr);
}

static int fifo_on_replace_commit(struct cor_reflector_store *store, struct cor_reflector_at at,
                                  struct cor_status *reterr)
{
    struct cor_fifo *f = fifo_of(store);
    struct cor_map by_key;

    cor_lock_acquire(&f->lock);
    content_clear(&f->now);
    by_key = f->now.by_key;
    f->now.by_key = f->staged.by_key;
    f->staged.by_key = by_key;
    cor_dlist_splice(&f->now.order, &f->staged.order);
    f->now.n = f->staged.n;
    f->staged.n = 0;
    if (!f->populated)
        f->initial = cor_map_len(&f->now.by_key);
    f->populated = true;
    fifo_unlock_and_wake(f);
    return 0;
}

static void fifo_on_replace_abort(struct cor_reflector_store *store)
{
    struct cor_fifo *f = fifo_of(store);

    cor_lock_acquire(&f->lock);
    content_clear(&f->staged);
    cor_lock_release(&f->lock);
}

/* It has no resync: every key with an object is in the order already. */
static const struct cor_reflector_store_ops store_ops = {
    .add = fifo_on_put,
    .update = fifo_on_put,
    .del = fifo_on_del,
    .replace_begin = fifo_on_replace_begin,
    .replace_add = fifo_on_replace_add,
    .replace_commit = fifo_on_replace_commit,
    .replace_abort = fifo_on_replace_abort,
};

int cor_fifo_new(const struct cor_fifo_opts *opts, struct cor_fifo **ret_fifo)
{
    struct cor_fifo *f = cor_calloc(1, sizeof(*f));
    int r = f ? cor_sized_copy(&f->opts, sizeof(f->opts), opts) : -COR_ENOMEM;

    if (r < 0) {
        cor_free(f);
        return r;
    }
    f->store.ops = &store_ops;
    if (f->opts.keys_max == 0)
        f->opts.keys_max = COR_FIFO_MAX;
    cor_lock_init(&f->lock, COR_LOCK_FIFO);
    cor_cond_init(&f->ready);
    content_init(&f->now, f->opts.keys_max);
    content_init(&f->staged, f->opts.keys_max);
    cor_buf_init(&f->key, COR_OBJECT_KEY_MAX);
    *ret_fifo = f;
    return 0;
}

struct cor_fifo *cor_fifo_free(struct cor_fifo *f)
{
    if (!f)
        return NULL;
    content_clear(&f->now);
    content_clear(&f->staged);
    cor_map_deinit(&f->now.by_key);
    cor_map_deinit(&f->staged.by_key);
    cor_buf_deinit(&f->key);
    cor_cond_deinit(&f->ready);
    cor_lock_deinit(&f->lock);
    return cor_free(f);
}

struct cor_reflector_store *cor_fifo_store(struct cor_fifo *f)
{
    return &f->store;
}

static int fifo_put_if_not_present(struct cor_fifo *f, struct cor_str key,
                                   struct cor_object *object)
{
    const struct fifo_entry *e = cor_map_peek(&f->now.by_key, key);

    f->populated = true;
    return e && e->object ? 0 : content_put(&f->now, key, object);
}

int cor_fifo_add_if_not_present(struct cor_fifo *f, struct cor_object *object)
{
    int r;

    assert(object);
    cor_lock_acquire(&f->lock);
    r = fifo_set_key(f, COR_STR(""), object);
    if (r == 0)
        r = fifo_put_if_not_present(f, cor_buf_str(&f->key), object);
    fifo_unlock_and_wake(f);
    return r;
}

static bool fifo_has_synced_locked(const struct cor_fifo *f)
{
    return f->populated && f->initial == 0;
}

static struct fifo_entry *fifo_take_first(struct cor_fifo *f)
{
    struct fifo_entry *e = COR_CONTAINER_OF(cor_dlist_pop(&f->now.order), struct fifo_entry, link);

    cor_map_remove(&f->now.by_key, cor_str(e->key, e->key_len));
    f->now.n -= e->object != NULL;
    if (f->initial > 0)
        f->initial--;
    return e;
}

/* Passes over holes. NULL: nothing waits. */
static struct fifo_entry *fifo_take_object(struct cor_fifo *f, bool *ret_in_initial_list)
{
    while (!cor_dlist_empty(&f->now.order)) {
        struct fifo_entry *e;

        *ret_in_initial_list = !fifo_has_synced_locked(f);
        e = fifo_take_first(f);
        if (e->object)
            return e;
        entry_free(e);
    }
    return NULL;
}

/* The entry goes back whole, so that this cannot fail. */
static void fifo_requeue(struct cor_fifo *f, struct fifo_entry *take)
{
    struct cor_str key = cor_str(take->key, take->key_len);

    if (cor_map_peek(&f->now.by_key, key) || cor_map_put(&f->now.by_key, key, take, NULL) < 0) {
        entry_free(take);
        return;
    }
    cor_dlist_push(&f->now.order, &take->link);
    f->now.n++;
}

static int fifo_pop(struct cor_fifo *f, cor_fifo_fn fn, void *arg, bool wait)
{
    bool in_initial_list = false;
    struct fifo_entry *e;
    int r;

    cor_lock_acquire(&f->lock);
    while (!(e = fifo_take_object(f, &in_initial_list)) && wait && !f->closed)
        cor_cond_wait(&f->ready, &f->lock);
    if (!e) {
        r = f->closed ? -COR_ECANCELED : -COR_EBUSY;
    } else {
        r = fn(arg, cor_str(e->key, e->key_len), e->object, in_initial_list);
        if (r == COR_FIFO_REQUEUE)
            fifo_requeue(f, e);
        else
            entry_free(e);
    }
    cor_lock_release(&f->lock);
    return r;
}

int cor_fifo_pop(struct cor_fifo *f, cor_fifo_fn fn, void *arg)
{
    assert(fn);
    return fifo_pop(f, fn, arg, true);
}

int cor_fifo_try_pop(struct cor_fifo *f, cor_fifo_fn fn, void *arg)
{
    assert(fn);
    return fifo_pop(f, fn, arg, false);
}

int cor_fifo_get(struct cor_fifo *f, struct cor_str key, struct cor_object **ret_object)
{
    const struct fifo_entry *e;
    int r = -COR_ENOTFOUND;

    cor_lock_acquire(&f->lock);
    e = cor_map_peek(&f->now.by_key, key);
    if (e && e->object) {
        *ret_object = cor_object_ref(e->object);
        r = 0;
    }
    cor_lock_release(&f->lock);
    return r;
}

int cor_fifo_each(struct cor_fifo *f,
                  int (*fn)(void *arg, struct cor_str key, struct cor_object *object), void *arg)
{
    int r = 0;

    cor_lock_acquire(&f->lock);
    COR_DLIST_FOREACH(link, &f->now.order) {
        const struct fifo_entry *e = COR_CONTAINER_OF(link, struct fifo_entry, link);

        if (e->object)
            r = fn(arg, cor_str(e->key, e->key_len), e->object);
        if (r != 0)
            break;
    }
    cor_lock_release(&f->lock);
    return r;
}

size_t cor_fifo_len(struct cor_fifo *f)
{
    return COR_LOCKED(&f->lock, f->now.n);
}

bool cor_fifo_has_synced(struct cor_fifo *f)
{
    return COR_LOCKED(&f->lock, fifo_has_synced_locked(f));
}

void cor_fifo_close(struct cor_fifo *f)
{
    cor_lock_acquire(&f->lock);
    f->closed = true;
    fifo_unlock_and_wake(f);
}

bool cor_fifo_is_closed(struct cor_fifo *f)
{
    return COR_LOCKED(&f->lock, f->closed);
}
