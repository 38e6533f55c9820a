/* A handler that calls another one only for objects that a filter passes. An update whose old
 * object did not pass is an add, one whose new object does not pass is a deletion, and one where
 * neither passes is dropped. Thread: that on which the handler is called. */
#include "coracle/filtering_handler.h"

#include "cache/store/object_key.h"

static bool filtering_passes(const struct cor_filtering_handler *f, const struct cor_object *object)
{
    return f->passes(f->arg, object);
}

static void filtering_on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    const struct cor_filtering_handler *f = arg;

    if (filtering_passes(f, object) && f->to.on_add)
        f->to.on_add(f->to.arg, object, in_initial_list);
}

/* The name of an object of the cache, which has room for it, in `to`. */
static struct cor_str key_of(const struct cor_object *object, char to[COR_OBJECT_KEY_MAX + 1])
{
    return cor_str(to, cor_object_key_join(cor_object_namespace(object), cor_object_name(object),
                                           to, COR_OBJECT_KEY_MAX + 1));
}

static void filtering_on_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    const struct cor_filtering_handler *f = arg;
    bool was = filtering_passes(f, old), is = filtering_passes(f, object);
    char key[COR_OBJECT_KEY_MAX + 1];

    if (was && is && f->to.on_update)
        f->to.on_update(f->to.arg, old, object);
    else if (!was && is && f->to.on_add)
        f->to.on_add(f->to.arg, object, false);
    else if (was && !is && f->to.on_delete)
        f->to.on_delete(f->to.arg, key_of(old, key), old, false);
}

static void filtering_on_delete(void *arg, struct cor_str key, struct cor_object *object,
                                bool final_state_unknown)
{
    const struct cor_filtering_handler *f = arg;

    if (filtering_passes(f, object) && f->to.on_delete)
        f->to.on_delete(f->to.arg, key, object, final_state_unknown);
}

static void filtering_on_behind(void *arg, size_t pending_bytes)
{
    const struct cor_filtering_handler *f = arg;

    if (f->to.on_behind)
        f->to.on_behind(f->to.arg, pending_bytes);
}

struct cor_handler_fns cor_filtering_handler(struct cor_filtering_handler *filter)
{
    return (struct cor_handler_fns){filtering_on_add, filtering_on_update, filtering_on_delete,
                                    filtering_on_behind, filter};
}
