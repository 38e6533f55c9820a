/* The update that moves no field: what it changes, its client owns already, or nobody does. Most
 * updates of a controller are of this sort. No set is read then: the entries are scanned as bytes
 * for the few paths that changed, and are copied; only the time of the client's entry may change.
 *
 * Everything unusual (an entry of another version, FieldsV1 out of order, many entries) is left to
 * cor_field_managers_update(), which gives the same result.
 * Thread: any (pure). */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "schema/apply/field_managers_int.h"
#include "json/text/scan.h"

#define ENTRIES_MAX 32
#define STEP_BYTES  16 /* of the list, whose values are passed over */

/* What FieldsV1 has of a set. */
struct found {
    bool any, all;
    bool is_unusual; /* cannot be said without reading it */
};

/* A key of FieldsV1 as an element; those without escapes need no memory. */
static int read_element(struct cor_arena *arena, struct cor_str raw, struct cor_path_element *ret)
{
    if (raw.n > 2 && raw.p[0] == 'f' && raw.p[1] == ':' && !memchr(raw.p, '\\', raw.n)) {
        *ret = (struct cor_path_element){cor_str_from(raw, 2), COR_PATH_FIELD};
        return 0;
    }
    return cor_path_element_read(arena, raw, ret);
}

/* Goes over the members of one level of FieldsV1 and the nodes of the set, both in order. */
static int scan_level(struct cor_arena *arena, struct cor_str object,
                      const struct cor_field_node *node, struct found *found)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_path_element element;
    struct cor_str raw;
    int r;

    while (node && !found->is_unusual && cor_json_iter_member(&it, &raw)) {
        struct cor_str below = cor_json_iter_value(&it);
        int c = 1;

        cor_arena_charge(arena, 1 + below.n / STEP_BYTES);
        if (arena->error < 0)
            return arena->error;
        if (cor_str_eq(raw, COR_STR(".")))
            continue;
        r = read_element(arena, raw, &element);
        if (r < 0)
            return r;
        if (r > 0 || cor_json_type(below) != COR_JSON_OBJECT) {
            found->is_unusual = true;
            return 0;
        }
        for (; node && (c = cor_path_element_cmp(&node->element, &element)) < 0; node = node->next)
            found->all = false;
        if (!node || c > 0)
            continue;
        if (node->is_member) {
            bool is_member = below.n == 2 || (below.n > 4 && memcmp(below.p, "{\".\"", 4) == 0);

            found->any = found->any || is_member;
            found->all = found->all && is_member;
        }
        if (node->first) {
            r = scan_level(arena, below, node->first, found);
            if (r < 0)
                return r;
        }
        node = node->next;
    }
    if (node)
        found->all = false;
    return 0;
}

/* An entry as its bytes have it. */
struct entry {
    struct cor_field_manager manager; /* without its set */
    struct cor_str bytes, fields;
};

static struct cor_str raw_of(struct cor_str value)
{
    struct cor_str raw;

    return value.p && cor_json_to_raw(value, &raw) == 0 ? raw : COR_STR("");
}

/* False: the entry is unusual. */
static bool read_entry(struct cor_str bytes, struct cor_str version, struct entry *ret)
{
    static const struct cor_str keys[] = {
        COR_STR_INIT("apiVersion"), COR_STR_INIT("fieldsType"), COR_STR_INIT("fieldsV1"),
        COR_STR_INIT("manager"),    COR_STR_INIT("operation"),  COR_STR_INIT("subresource"),
        COR_STR_INIT("time"),
    };
    struct cor_str v[COR_ARRAY_LEN(keys)], operation;

    cor_json_get_each(bytes, keys, COR_ARRAY_LEN(keys), v);
    operation = raw_of(v[4]);
    *ret = (struct entry){
        .manager = {.name = raw_of(v[3]),
                    .api_version = raw_of(v[0]),
                    .subresource = raw_of(v[5]),
                    .time = raw_of(v[6]),
                    .is_apply = cor_str_eq(operation, COR_STR("Apply"))},
        .bytes = bytes,
        .fields = v[2],
    };
    /* An entry that owns nothing is dropped by any update. */
    return v[2].p && cor_json_type(v[2]) == COR_JSON_OBJECT && v[2].n > 2 &&
           cor_str_eq(ret->manager.api_version, version) &&
           cor_str_eq(raw_of(v[1]), COR_STR("FieldsV1")) &&
           (ret->manager.is_apply || cor_str_eq(operation, COR_STR("Update")));
}

/* Appends the entries in order, `own` with its new time. */
static int write_entries(struct entry *entries, size_t n, size_t own, struct cor_str now,
                         struct cor_buf *out)
{
    struct entry moved = entries[own];
    struct cor_str old = moved.manager.time;
    int r = cor_buf_addc(out, '[');

    moved.manager.time = now;
    /* The others are in order already. */
    memmove(&entries[own], &entries[own + 1], (n - own - 1) * sizeof(entries[0]));
    for (own = n - 1;
         own > 0 && cor_field_manager_cmp(&entries[own - 1].manager, &moved.manager) > 0; own--)
        entries[own] = entries[own - 1];
    entries[own] = moved;
    for (size_t i = 0; i < n && r == 0; i++) {
        struct cor_str bytes = entries[i].bytes;

        if (i > 0)
            r = cor_buf_addc(out, ',');
        if (r == 0 && i == own) {
            r = cor_buf_add(out, bytes.p, (size_t)(old.p - bytes.p));
            if (r == 0)
                r = cor_buf_adds(out, now);
            bytes = cor_str_from(bytes, (size_t)(old.p + old.n - bytes.p));
        }
        if (r == 0)
            r = cor_buf_adds(out, bytes);
    }
    return r < 0 ? r : cor_buf_addc(out, ']');
}

/* Has an update two entries, of which the later one replaces the other? A write to the scale leaves
 * such entries, and one of them has no time then (scale_managers.c). */
static bool has_repeated(const struct entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (entries[i].manager.is_apply || entries[i].manager.time.n > 0)
            continue;
        for (size_t k = i + 1; k < n; k++) {
            if (cor_field_manager_is_same(&entries[i].manager, &entries[k].manager))
                return true;
        }
    }
    return false;
}

/* Are the sets of all entries as the schema of today has them? Those of built-in kinds are. */
static int are_reconciled(const struct cor_apply_request *request, const struct entry *entries,
                          size_t n)
{
    const struct cor_apply_versions *versions = request->versions;
    struct cor_apply_place place;
    int r = 1;

    if (!versions->is_custom)
        return 1;
    if (!versions->place(versions->arg, request->api_version, &place))
        return 0;
    for (size_t i = 0; i < n && r == 1; i++)
        r = cor_fields_v1_is_reconciled(request->arena, entries[i].fields, &place);
    return r;
}

int cor_field_managers_keep(const struct cor_apply_request *request, struct cor_str list,
                            struct cor_str before, struct cor_str after, struct cor_buf *out)
{
    const struct cor_field_manager self = cor_field_manager_requester(request, false);
    struct entry entries[ENTRIES_MAX];
    struct cor_json_iter it = cor_json_iter(list);
    size_t n = 0, updates = 0, own = SIZE_MAX;
    struct cor_comparison changes;
    struct cor_fieldset taken;
    int r = 0;

    cor_arena_charge(request->arena, list.n / STEP_BYTES);
    if (request->arena->error < 0)
        return request->arena->error;
    for (; cor_json_iter_elem(&it); n++) {
        if (n == ENTRIES_MAX ||
            !read_entry(cor_json_iter_value(&it), request->api_version, &entries[n]))
            return 0;
        if (n > 0 && cor_field_manager_cmp(&entries[n - 1].manager, &entries[n].manager) >= 0)
            return 0;
        if (cor_field_manager_is_same(&entries[n].manager, &self))
            own = n;
        updates += !entries[n].manager.is_apply;
    }
    if (updates > COR_MANAGERS_UPDATES_MAX || has_repeated(entries, n))
        return 0;
    r = are_reconciled(request, entries, n);
    if (r < 1)
        return r;
    r = cor_field_managers_changes(request, before, after, &changes, &taken);
    for (size_t i = 0; i < n && r == 0; i++) {
        struct found gone = {.all = true}, lost = {.all = true};

        r = scan_level(request->arena, entries[i].fields, changes.removed.first, &gone);
        if (r == 0)
            r = scan_level(request->arena, entries[i].fields, taken.first, &lost);
        if (r == 0 &&
            (gone.any || gone.is_unusual || lost.is_unusual || (i == own ? !lost.all : lost.any)))
            return 0;
    }
    if (r < 0)
        return r == -COR_EINVAL ? 0 : r;
    if (n == 0 || (own == SIZE_MAX && !cor_fieldset_is_empty(taken)))
        return 0;
    if (cor_fieldset_is_empty(taken) || cor_str_eq(entries[own].manager.time, request->now))
        return COR_MANAGERS_SAME;
    if (entries[own].manager.time.n != request->now.n)
        return 0;
    r = write_entries(entries, n, own, request->now, out);
    return r < 0 ? r : COR_MANAGERS_TIMED;
}
