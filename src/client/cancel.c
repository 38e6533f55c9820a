/* A cancel handle: a flag, and the hooks of the calls that are under way.
 *
 * Triggering sets the flag and calls the hooks under one lock, and a call adds and removes its hook
 * under the same lock. So a call either sees the flag when it begins, or its hook is called; and a
 * hook is never called after its removal, which is why a call may be freed right after it.
 * Thread: any. */
#include "client/cancel.h"

#include <stdatomic.h>

#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/ref.h"

struct cor_cancel {
    struct cor_ref ref;
    struct cor_lock lock; /* of `hooks`, and of the moment in which the flag is set */
    struct cor_dlist hooks;
    atomic_bool is_triggered;
};

int cor_cancel_new(struct cor_cancel **ret_cancel)
{
    struct cor_cancel *cancel = cor_calloc(1, sizeof(*cancel));

    if (!cancel)
        return -COR_ENOMEM;
    cor_ref_init(&cancel->ref);
    cor_lock_init(&cancel->lock, COR_LOCK_CANCEL);
    cor_dlist_init(&cancel->hooks);
    atomic_init(&cancel->is_triggered, false);
    *ret_cancel = cancel;
    return 0;
}

struct cor_cancel *cor_cancel_ref(struct cor_cancel *cancel)
{
    cor_ref_get(&cancel->ref);
    return cancel;
}

struct cor_cancel *cor_cancel_unref(struct cor_cancel *cancel)
{
    if (!cancel || !cor_ref_put(&cancel->ref))
        return NULL;
    assert(cor_dlist_empty(&cancel->hooks)); /* a call holds a reference */
    cor_lock_deinit(&cancel->lock);
    return cor_free(cancel);
}

void cor_cancel_trigger(struct cor_cancel *cancel)
{
    cor_lock_acquire(&cancel->lock);
    if (!atomic_exchange(&cancel->is_triggered, true))
        COR_DLIST_FOREACH_SAFE(it, &cancel->hooks) {
            struct cor_cancel_hook *hook = COR_CONTAINER_OF(it, struct cor_cancel_hook, link);

            hook->on_cancel(hook);
        }
    cor_lock_release(&cancel->lock);
}

bool cor_cancel_is_triggered(const struct cor_cancel *cancel)
{
    return atomic_load(&cancel->is_triggered);
}

bool cor_cancel_hook_add(struct cor_cancel_hook *hook, struct cor_cancel *cancel)
{
    bool is_added;

    assert(hook->on_cancel && !hook->cancel);
    if (!cancel)
        return true;
    hook->cancel = cor_cancel_ref(cancel);
    cor_dlist_init(&hook->link);
    cor_lock_acquire(&cancel->lock);
    is_added = !atomic_load(&cancel->is_triggered);
    if (is_added)
        cor_dlist_push(&cancel->hooks, &hook->link);
    cor_lock_release(&cancel->lock);
    return is_added;
}

void cor_cancel_hook_remove(struct cor_cancel_hook *hook)
{
    if (!hook->cancel)
        return;
    cor_lock_acquire(&hook->cancel->lock);
    cor_dlist_remove(&hook->link);
    cor_lock_release(&hook->cancel->lock);
    hook->cancel = cor_cancel_unref(hook->cancel);
}
