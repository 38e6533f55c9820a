/* The quotas of each namespace, in a map from the namespace to a list of its quotas.
 *
 * The feed of quotas puts and removes them; a list begins a new number, and what does not have this
 * number at its end is removed. A namespace leaves the map with its last quota.
 * Failures: no memory, or COR_QUOTA_NAMESPACES_MAX namespaces; the table is unchanged then.
 * Thread: one at a time. */
#include "server/controllers/quota/quota_table.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "coracle/quantity.h"
#include "server/controllers/quota/quota_rules.h"

static struct cor_quota_entry *entry_at(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct cor_quota_entry, link);
}

static void entry_free(struct cor_quota_entry *e)
{
    cor_dlist_remove(&e->link);
    cor_object_unref(e->quota);
    cor_free(e);
}

void cor_quota_table_init(struct cor_quota_table *t)
{
    t->list = 0;
    cor_map_init(&t->namespaces, COR_QUOTA_NAMESPACES_MAX);
}

void cor_quota_table_deinit(struct cor_quota_table *t)
{
    COR_MAP_FOREACH(it, &t->namespaces) {
        struct cor_quota_ns *ns = it.value;

        COR_DLIST_FOREACH_SAFE(link, &ns->quotas)
            entry_free(entry_at(link));
        cor_free(ns);
    }
    cor_map_deinit(&t->namespaces);
}

struct cor_quota_ns *cor_quota_table_in(const struct cor_quota_table *t, struct cor_str ns)
{
    return cor_map_peek(&t->namespaces, ns);
}

struct cor_quota_entry *cor_quota_table_find(const struct cor_quota_table *t, struct cor_str ns,
                                             struct cor_str name)
{
    struct cor_quota_ns *in = cor_quota_table_in(t, ns);

    if (in)
        COR_DLIST_FOREACH(link, &in->quotas)
            if (cor_str_eq(cor_object_name(entry_at(link)->quota), name))
                return entry_at(link);
    return NULL;
}

/* The namespace, which is added when it is missing. */
static struct cor_quota_ns *table_make_ns(struct cor_quota_table *t, struct cor_str name)
{
    struct cor_quota_ns *ns = cor_quota_table_in(t, name);

    if (ns)
        return ns;
    ns = cor_calloc(1, sizeof(*ns) + name.n + 1);
    if (!ns)
        return NULL;
    cor_dlist_init(&ns->quotas);
    memcpy(ns->name, name.p, name.n);
    if (cor_map_put(&t->namespaces, cor_strz(ns->name), ns, NULL) < 0)
        return cor_free(ns);
    return ns;
}

int cor_quota_table_put(struct cor_quota_table *t, struct cor_object *quota)
{
    struct cor_quota_entry *e =
        cor_quota_table_find(t, cor_object_namespace(quota), cor_object_name(quota));
    struct cor_object *old = e ? e->quota : NULL;

    if (!e) {
        struct cor_quota_ns *ns;

        e = cor_calloc(1, sizeof(*e));
        ns = e ? table_make_ns(t, cor_object_namespace(quota)) : NULL;
        if (!ns) {
            cor_free(e);
            return -COR_ENOMEM;
        }
        cor_dlist_push(&ns->quotas, &e->link);
    }
    e->quota = cor_object_ref(quota);
    e->list = t->list;
    cor_object_unref(old);
    return 0;
}

void cor_quota_table_remove(struct cor_quota_table *t, struct cor_quota_entry *entry)
{
    struct cor_quota_ns *ns = cor_quota_table_in(t, cor_object_namespace(entry->quota));

    entry_free(entry);
    if (cor_dlist_empty(&ns->quotas)) {
        cor_map_remove(&t->namespaces, cor_strz(ns->name));
        cor_free(ns);
    }
}

void cor_quota_table_remove_unlisted(struct cor_quota_table *t)
{
    COR_MAP_FOREACH(it, &t->namespaces) {
        struct cor_quota_ns *ns = it.value;

        COR_DLIST_FOREACH_SAFE(link, &ns->quotas)
            if (entry_at(link)->list != t->list)
                entry_free(entry_at(link));
        if (cor_dlist_empty(&ns->quotas)) {
            cor_map_remove(&t->namespaces, it.key);
            cor_free(ns);
        }
    }
}

/* Both are canonical, so that equal lists have their names in the same order. */
bool cor_quota_lists_equal(struct cor_view a, struct cor_view b)
{
    struct cor_view_iter a_it = cor_view_iter(a), b_it = cor_view_iter(b);

    for (;;) {
        bool has_a = cor_view_next(&a_it), has_b = cor_view_next(&b_it);
        int order;

        if (!has_a || !has_b)
            return has_a == has_b;
        if (!cor_str_eq(a_it.key, b_it.key) ||
            cor_quantity_cmp(cor_quota_text(a_it.value), cor_quota_text(b_it.value), &order) < 0 ||
            order != 0)
            return false;
    }
}
