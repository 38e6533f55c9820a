/* An object that has such a field is opened as a draft (schema/walk/draft.h), only into those types
 * that can hold one. First the old object is visited: which gates does it use? Then the new one:
 * the fields of all others are dropped. In the end volumes that were dropped are unmounted.
 *
 * A type that was made while the server runs has no such fields. A failed allocation sticks to the
 * draft and is returned in the end.
 * Thread: any. */
#include "schema/walk/gates.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/str_set.h"
#include "meta/object/object.h"
#include "schema/types/types_int.h"
#include "schema/walk/draft.h"
#include "json/text/scan.h"

static const struct cor_gated_field *gates_row(const struct cor_type_field *field)
{
    uint32_t number = (uint32_t)(field - cor_type_fields);
    size_t low = 0, high = cor_gated_fields_n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (cor_gated_fields[middle].field == number)
            return &cor_gated_fields[middle];
        if (cor_gated_fields[middle].field < number)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static bool gates_holds(const struct cor_type *type)
{
    return type >= cor_types && type < cor_types + cor_types_n && cor_gated_types[type - cor_types];
}

static const struct cor_gated_field *gates_member_row(const struct cor_type *type,
                                                      const struct cor_type_field *field)
{
    return cor_gated_types[type - cor_types] == COR_GATED_HERE ? gates_row(field) : NULL;
}

/* A walk over an opened object. */
struct gates {
    struct cor_draft draft;
    uint64_t used;                    /* gates of which the object has a field */
    uint64_t allowed;                 /* gates whose fields stay */
    bool drops;                       /* else nothing is changed */
    struct cor_str_set volumes;       /* raw names of dropped volumes */
    struct cor_draft_value *pod_spec; /* that they were of; NULL: none was dropped */
};

/* Does this member count as one of its gate? */
static bool gates_counts(const struct cor_gated_field *row, const struct cor_draft_value *member)
{
    const struct cor_draft_value *list = member->parent->parent;

    if (cor_str_eq(member->json, COR_STR("null")))
        return false;
    return row->hook != COR_GATE_HOOK_restart_policy || !list ||
           !cor_str_eq(list->key, COR_STR("initContainers")) ||
           !cor_str_eq(member->json, COR_STR("\"Always\""));
}

static void gates_drop_volume(struct gates *g, struct cor_draft_value *volume)
{
    const struct cor_draft_value *name = cor_draft_get(volume, COR_STR("name"));
    struct cor_draft_value *list = volume->parent;
    struct cor_str raw;
    bool is_new;
    int r = 0;

    if (name && cor_json_to_raw(name->json, &raw) == 0)
        r = cor_str_set_add(&g->volumes, raw, &is_new);
    if (r < 0)
        g->draft.error = r;
    g->pod_spec = list->parent;
    cor_draft_remove(volume);
    if (!list->first)
        cor_draft_remove(list);
}

/* Drops a member. True: the struct around it went, too. */
static bool gates_drop(struct gates *g, const struct cor_gated_field *row,
                       struct cor_draft_value *member)
{
    struct cor_draft_value *around = member->parent;

    if (row->hook == COR_GATE_HOOK_image_volume) {
        gates_drop_volume(g, around);
        return true;
    }
    cor_draft_remove(member);
    if (row->hook != COR_GATE_HOOK_stop_signal || around->first)
        return false;
    cor_draft_remove(around);
    return true;
}

static void gates_visit(struct gates *g, struct cor_draft_value *value)
{
    struct cor_draft_value *child, *next;
    struct cor_member member;

    cor_draft_open(&g->draft, value);
    if (!value->is_open)
        return;
    for (child = value->first; child && g->draft.error == 0; child = next) {
        const struct cor_gated_field *row = NULL;

        next = child->next;
        if (cor_type_shape(value->type) == COR_SHAPE_STRUCT && child->member != COR_DRAFT_UNKNOWN) {
            cor_type_member(value->type, child->member, &member);
            row = gates_member_row(value->type, member.field);
        }
        if (row && gates_counts(row, child)) {
            g->used |= UINT64_C(1) << row->gate;
            if (g->drops && !(g->allowed >> row->gate & 1) && gates_drop(g, row, child))
                return;
        } else if (child->type && gates_holds(child->type)) {
            gates_visit(g, child);
        }
    }
}

/* Takes the mounts of dropped volumes out of a list of containers. */
static void gates_unmount(struct gates *g, const char *containers)
{
    struct cor_draft_value *list = cor_draft_open_member(&g->draft, g->pod_spec, containers);
    struct cor_draft_value *container, *mounts, *mount, *next;

    for (container = list ? list->first : NULL; container; container = container->next) {
        cor_draft_open(&g->draft, container);
        mounts =
            container->is_open ? cor_draft_open_member(&g->draft, container, "volumeMounts") : NULL;
        for (mount = mounts ? mounts->first : NULL; mount; mount = next) {
            const struct cor_draft_value *name;
            struct cor_str raw;

            next = mount->next;
            cor_draft_open(&g->draft, mount);
            name = mount->is_open ? cor_draft_get(mount, COR_STR("name")) : NULL;
            if (name && cor_json_to_raw(name->json, &raw) == 0 && cor_str_set_has(&g->volumes, raw))
                cor_draft_remove(mount);
        }
        if (mounts && !mounts->first)
            cor_draft_remove(mounts);
    }
}

static void gates_init(struct gates *g, const struct cor_type *type, struct cor_str json)
{
    cor_draft_init(&g->draft, type, json);
    cor_str_set_init(&g->volumes, COR_OBJECT_BYTES_MAX_DEFAULT);
}

static void gates_deinit(struct gates *g)
{
    cor_draft_deinit(&g->draft);
    cor_str_set_deinit(&g->volumes);
}

/* Which gates does the present object use? 0, -COR_ENOMEM. */
static int gates_read_old(const struct cor_type *type, struct cor_str old, uint64_t *ret_used)
{
    struct gates g = {.drops = false};
    int r;

    gates_init(&g, type, old);
    gates_visit(&g, &g.draft.root);
    *ret_used = g.used;
    r = g.draft.error;
    gates_deinit(&g);
    return r;
}

int cor_gates_drop(const struct cor_type *type, struct cor_str json, struct cor_str old,
                   struct cor_buf *out)
{
    struct gates g = {.drops = true};
    int r = 0;

    if (!gates_holds(type))
        return 0;
    if (old.p)
        r = gates_read_old(type, old, &g.allowed);
    if (r < 0)
        return r;
    gates_init(&g, type, json);
    gates_visit(&g, &g.draft.root);
    if (g.pod_spec && g.draft.error == 0) {
        gates_unmount(&g, "containers");
        gates_unmount(&g, "ephemeralContainers");
        gates_unmount(&g, "initContainers");
    }
    r = g.draft.error;
    if (r == 0 && g.draft.root.is_changed) {
        r = cor_draft_write(&g.draft, out);
        r = r < 0 ? r : 1;
    }
    gates_deinit(&g);
    return r;
}
