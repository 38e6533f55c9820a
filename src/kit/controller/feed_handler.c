/* From the calls of a reflector to those of a handler. A deletion without an object says too little
 * for a handler, so it fails, and the list that follows shows what is missing.
 * Thread: that of the feed. */
#include "kit/controller/feed_handler.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"

static struct cor_feed_handler *handler_of(struct cor_reflector_store *store)
{
    return COR_CONTAINER_OF(store, struct cor_feed_handler, store);
}

static int handler_status(int r, struct cor_status *reterr)
{
    return r < 0 ? cor_status_set_err(reterr, r) : 0;
}

/* A source that has the text alone is the API, whose texts are numbers. */
static cor_rev handler_rev(struct cor_reflector_at at)
{
    cor_rev rev;

    return at.rev > 0 || cor_str_to_u64(at.rv, &rev) < 0 ? at.rev : rev;
}

static int handler_on_list_item(struct cor_reflector_store *store, struct cor_str key,
                                struct cor_object *object, struct cor_status *reterr)
{
    struct cor_feed_handler *h = handler_of(store);

    return handler_status(h->ops->show(h, object), reterr);
}

static int handler_on_put(struct cor_reflector_store *store, struct cor_str key,
                          struct cor_object *object, struct cor_reflector_at at,
                          struct cor_status *reterr)
{
    return handler_on_list_item(store, key, object, reterr);
}

static int handler_on_del(struct cor_reflector_store *store, struct cor_str key,
                          struct cor_object *object, struct cor_reflector_at at,
                          struct cor_status *reterr)
{
    struct cor_feed_handler *h = handler_of(store);

    h->rev = handler_rev(at);
    return handler_status(object ? h->ops->gone(h, object) : -COR_EBUSY, reterr);
}

static int handler_on_list(struct cor_reflector_store *store, struct cor_status *reterr)
{
    struct cor_feed_handler *h = handler_of(store);

    h->list++;
    if (h->ops->begin)
        h->ops->begin(h);
    return 0;
}

static int handler_on_listed(struct cor_reflector_store *store, struct cor_reflector_at at,
                             struct cor_status *reterr)
{
    struct cor_feed_handler *h = handler_of(store);

    h->rev = handler_rev(at);
    return handler_status(h->ops->listed ? h->ops->listed(h) : 0, reterr);
}

void cor_feed_handler_init(struct cor_feed_handler *h, const struct cor_feed_handler_ops *ops)
{
    static const struct cor_reflector_store_ops store_ops = {
        .add = handler_on_put,
        .update = handler_on_put,
        .del = handler_on_del,
        .replace_begin = handler_on_list,
        .replace_add = handler_on_list_item,
        .replace_commit = handler_on_listed,
    };

    assert(ops->show && ops->gone);
    *h = (struct cor_feed_handler){.store = {&store_ops}, .ops = ops};
}
