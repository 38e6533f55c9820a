/* Reading what waits in the queue, and leaving it there. An object of the newest list may be in the
 * array of the list only (delta_fifo_int.h): reading first makes it a change like the others, the
 * whole array or none of it, which is the only step that can fail. Thread: any. */
#include "base/err.h"
#include "base/mem.h"
#include "cache/queues/delta_fifo_int.h"

int cor_delta_record_read(const struct cor_delta_record *record, size_t n, struct cor_delta *one,
                          struct cor_delta **ret_deltas)
{
    struct cor_delta *deltas = n > 1 ? cor_alloc(n * sizeof(*deltas)) : one;
    size_t i = 0;

    if (!deltas)
        return -COR_ENOMEM;
    COR_DLIST_FOREACH(it, &record->deltas) {
        deltas[i] = COR_CONTAINER_OF(it, struct cor_delta_node, in_record)->delta;
        if (++i == n)
            break;
    }
    *ret_deltas = deltas;
    return 0;
}

static int record_show(const struct cor_delta_record *record, cor_deltas_fn fn, void *arg)
{
    struct cor_delta one = {COR_DELTA_ADDED, false, NULL}, *deltas;
    int r = cor_delta_record_read(record, record->n, &one, &deltas);

    if (r < 0)
        return r;
    r = fn(arg, cor_str(record->key, record->key_len), deltas, record->n);
    if (deltas != &one)
        cor_free(deltas);
    return r;
}

int cor_delta_fifo_read(struct cor_delta_fifo *f, struct cor_str key, cor_deltas_fn fn, void *arg)
{
    const struct cor_delta_record *record;
    int r;

    cor_lock_acquire(&f->lock);
    r = cor_delta_fifo_unpack(f);
    if (r == 0) {
        record = cor_delta_peek(f, key);
        r = record ? record_show(record, fn, arg) : -COR_ENOTFOUND;
    }
    cor_lock_release(&f->lock);
    return r;
}

int cor_delta_fifo_each(struct cor_delta_fifo *f, cor_deltas_fn fn, void *arg)
{
    int r;

    cor_lock_acquire(&f->lock);
    r = cor_delta_fifo_unpack(f);
    COR_DLIST_FOREACH(it, &f->records) {
        if (r == 0)
            r = record_show(COR_CONTAINER_OF(it, struct cor_delta_record, link), fn, arg);
    }
    cor_lock_release(&f->lock);
    return r;
}
