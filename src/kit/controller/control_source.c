/* From events to keys. The queue behind `keys` drops a key that is queued already, so that the same
 * key of the old and the new object is reconciled once; nothing is sorted out here. */
#include "kit/controller/control_source.h"

#include <assert.h>

#include "coracle/view.h"

void cor_control_keys_add(struct cor_control_keys *keys, struct cor_str ns, struct cor_str name)
{
    int r = keys->add(keys->arg, ns, name);

    if (r < 0 && keys->r == 0)
        keys->r = r;
}

static struct cor_str text_member(struct cor_view object, struct cor_str key)
{
    return cor_view_text_or(cor_view_member(object, key), NULL, 0, "");
}

/* The version of an owner's apiVersion is ignored: an owner may be written with an older one. */
static bool owner_is_of(struct cor_view reference, const struct cor_gk *gk)
{
    struct cor_gv gv;

    return cor_str_eq(text_member(reference, COR_STR("kind")), gk->kind) &&
           cor_gv_parse(text_member(reference, COR_STR("apiVersion")), &gv, NULL) == 0 &&
           cor_str_eq(gv.group, gk->group);
}

static void add_owners(const struct cor_control_source *source,
                       const struct cor_control_source *main, const struct cor_object *object,
                       struct cor_control_keys *keys)
{
    struct cor_view metadata = cor_view_member(cor_object_head_view(object), COR_STR("metadata"));
    struct cor_view_iter it = cor_view_iter(cor_view_member(metadata, COR_STR("ownerReferences")));
    struct cor_str ns = main->opts.is_cluster_scoped ? COR_STR("") : cor_object_namespace(object);

    while (cor_view_next(&it)) {
        struct cor_str name = text_member(it.value, COR_STR("name"));
        bool controls = cor_view_bool_or(cor_view_member(it.value, COR_STR("controller")), false);

        if ((controls || source->opts.every_owner) && name.n > 0 &&
            owner_is_of(it.value, &main->opts.gk))
            cor_control_keys_add(keys, ns, name);
    }
}

static void add_keys_of(const struct cor_control_source *source,
                        const struct cor_control_source *main, const struct cor_object *object,
                        struct cor_control_keys *keys)
{
    switch (source->opts.kind) {
    case COR_CONTROL_FOR:
        cor_control_keys_add(keys, cor_object_namespace(object), cor_object_name(object));
        return;
    case COR_CONTROL_OWNS:
        add_owners(source, main, object, keys);
        return;
    case COR_CONTROL_WATCHES:
        source->opts.map(source->opts.arg, object, keys);
        return;
    case COR_CONTROL_RAW:
        break;
    }
    assert(!"a raw source has no events");
}

int cor_control_source_map(const struct cor_control_source *source,
                           const struct cor_control_source *main,
                           const struct cor_control_event *event, struct cor_control_keys *keys)
{
    assert(event->object && (event->kind == COR_CONTROL_UPDATED || !event->old));
    if (event->old && source->opts.kind != COR_CONTROL_FOR)
        add_keys_of(source, main, event->old, keys);
    add_keys_of(source, main, event->object, keys);
    return keys->r;
}
