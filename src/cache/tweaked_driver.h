/* A driver before another: changes the options of each list and watch on their way to it. Answers
 * go from the inner one to the reflector as they always do.
 * Thread: the reflector's.  Owner: whoever embeds it; both drivers must stay valid. */
#ifndef COR_CACHE_TWEAKED_DRIVER_H
#define COR_CACHE_TWEAKED_DRIVER_H

#include "cache/informer_scope.h"
#include "cache/reflector_ops.h"

struct cor_tweaked_driver {
    struct cor_reflector_driver driver; /* for the reflector */
    struct cor_reflector_driver *inner;
    cor_list_tweak_fn tweak;
    void *arg;
};

void cor_tweaked_driver_init(struct cor_tweaked_driver *t, struct cor_reflector_driver *inner,
                             cor_list_tweak_fn tweak, void *arg);

#endif
