/* How a call hears of its cancel handle.
 * Owner: the call embeds the hook.  Thread: any. */
#ifndef COR_CLIENT_CANCEL_H
#define COR_CLIENT_CANCEL_H

#include "base/cleanup.h"
#include "base/dlist.h"
#include "coracle/cancel.h"

COR_DEFINE_CLEANUP(struct cor_cancel, cor_cancel_unref)

struct cor_cancel_hook {
    struct cor_cancel *cancel; /* a reference; NULL: the call has no handle */
    struct cor_dlist link;
    /* Called once at most, on the thread that triggers, with the handle's lock held: it only posts
     * a mail. */
    void (*on_cancel)(struct cor_cancel_hook *hook);
};

/* Registers the hook, whose on_cancel is set. `cancel` may be NULL. False: the handle was triggered
 * already, and on_cancel is not called. cor_cancel_hook_remove() follows in either case. */
bool cor_cancel_hook_add(struct cor_cancel_hook *hook, struct cor_cancel *cancel);

/* on_cancel is not called any more, and is not running. Allowed for a zeroed hook. */
void cor_cancel_hook_remove(struct cor_cancel_hook *hook);

#endif
