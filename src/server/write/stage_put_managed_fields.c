/* The stage PUT_MANAGED_FIELDS: the next managedFields, which MANAGE_FIELDS has made, are put into
 * the object. An update that changes nothing but their times keeps the old times, so that the store
 * has nothing to write. Failures: no memory; 413 for an apply whose object is too large with them.
 * Thread: the thread that has the call. */
#include <assert.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/object/object_edit.h"
#include "server/write/stages.h"
#include "json/text/json.h"
#include "json/text/scan.h"

/* The member `time` of an entry with one of its commas; empty: the entry has none. It is the last
 * member of a canonical entry. */
static struct cor_str time_of(struct cor_str entry)
{
    struct cor_str value;
    const char *begin;

    if (cor_json_get(entry, COR_STR("time"), COR_JSON_SORTED, &value) < 0)
        return cor_str(entry.p + entry.n, 0);
    begin = value.p - sizeof(",\"time\":") + 1;
    return cor_str(begin, (size_t)(value.p + value.n - begin));
}

/* Are both entries equal except for their times? */
static bool is_same_entry(struct cor_str a, struct cor_str b)
{
    struct cor_str a_time = time_of(a), b_time = time_of(b);

    return cor_str_eq(cor_str(a.p, (size_t)(a_time.p - a.p)),
                      cor_str(b.p, (size_t)(b_time.p - b.p)));
}

/* Have both lists the same entries in the same order, except for their times? */
static bool is_same_list(struct cor_str a, struct cor_str b)
{
    struct cor_json_iter a_it = cor_json_iter(a), b_it = cor_json_iter(b);

    for (;;) {
        bool has_a = cor_json_iter_elem(&a_it), has_b = cor_json_iter_elem(&b_it);

        if (!has_a || !has_b)
            return has_a == has_b;
        if (!is_same_entry(cor_json_iter_value(&a_it), cor_json_iter_value(&b_it)))
            return false;
    }
}

bool cor_stage_has_managed(const struct cor_judging *write)
{
    return write->managed->next.p != NULL;
}

/* Sorts the fields in the entries of a custom resource, for which upstream has no type that keeps
 * their order: so they are read from the store. Sets *list to the text in `room`. */
static int sort_fields(const struct cor_storing *write, struct cor_buf *room, struct cor_str *list)
{
    static const struct cor_json_limits limits = {COR_WRITE_JSON_MAX, COR_JSON_DEPTH_MAX, true};
    int r = cor_json_canonicalize(*list, &limits, room, NULL, NULL);

    *list = cor_buf_str(room);
    return r < 0 ? cor_status_set_err(&write->call->status, r) : 0;
}

int cor_stage_put_managed_fields(const struct cor_storing *write)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf sorted = {.max = COR_WRITE_JSON_MAX};
    struct cor_str list = write->managed->next;
    struct cor_object *with;
    int r = 0;

    assert(write->to_store->object && list.p);
    if (write->call->res->custom)
        r = sort_fields(write, &sorted, &list);
    if (r < 0)
        return r;
    if (!write->present->is_create && !write->to_store->removes &&
        cor_object_same_stored(write->to_store->object, write->managed->old)) {
        struct cor_str live =
            cor_object_meta_member(write->present->current, COR_STR("managedFields"));

        if (live.p && is_same_list(live, list))
            list = live;
    }
    /* An object that is too large with managedFields is stored without them, unless its client
     * applies it. */
    if (write->to_store->object->len + sizeof("\"managedFields\":,") - 1 + list.n >
        COR_OBJECT_BYTES_MAX_DEFAULT)
        return write->asked->is_applied ? cor_status_set_err(&write->call->status, -COR_ETOOBIG)
                                        : 0;
    r = cor_object_with_managed(write->to_store->object, list, &with);
    if (r < 0)
        return cor_status_set_err(&write->call->status, r);
    cor_object_unref(write->to_store->object);
    write->to_store->object = with;
    return 0;
}
