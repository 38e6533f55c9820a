/* Deletions: changes of the store (store_change.c) after which the object is gone. Thread: the
 * store's loop. */
#include "storage/store/store_change.h"

void cor_store_change_accept(struct cor_store_change *change)
{
    assert(change->is_delete && cor_loop_is_current(change->store->loop));
    cor_store_change_submit(change);
}

int cor_store_delete(struct cor_store *store, struct cor_str key,
                     const struct cor_store_delete_opts *opts, struct cor_status *reterr_status)
{
    struct cor_store_change *change;
    int r;

    assert(!opts->unreadable ||
           (!opts->preconditions.uid.p && !opts->preconditions.resource_version.p));
    r = cor_store_change_new(store, key, &opts->preconditions, opts->suggestion, &change,
                             reterr_status);
    if (r < 0)
        return r;
    change->is_delete = true;
    change->unreadable = opts->unreadable;
    change->deadline_ms = opts->deadline_ms;
    change->step = opts->step;
    change->on_done = opts->on_done;
    change->arg = opts->arg;
    cor_store_change_start(change);
    return 0;
}
