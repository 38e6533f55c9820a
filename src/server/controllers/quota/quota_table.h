/* The ResourceQuotas of the server by namespace, each as it was delivered last, by reference.
 * Thread: one at a time.  Owner: whoever embeds the table. */
#ifndef COR_SERVER_CONTROLLERS_QUOTA_QUOTA_TABLE_H
#define COR_SERVER_CONTROLLERS_QUOTA_QUOTA_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dlist.h"
#include "base/map.h"
#include "meta/object/object.h"

#define COR_QUOTA_NAMESPACES_MAX (1024u * 1024)

struct cor_quota_entry {
    struct cor_dlist link; /* in the namespace's `quotas` */
    struct cor_object *quota;
    uint32_t list; /* the last list that had it */
};

struct cor_quota_ns {
    struct cor_dlist quotas; /* struct cor_quota_entry; never empty */
    char name[];
};

struct cor_quota_table {
    struct cor_map namespaces; /* its name -> struct cor_quota_ns */
    uint32_t list;             /* counts the lists */
};

void cor_quota_table_init(struct cor_quota_table *t);
void cor_quota_table_deinit(struct cor_quota_table *t);

/* The quotas of a namespace, borrowed; NULL: it has none. */
struct cor_quota_ns *cor_quota_table_in(const struct cor_quota_table *t, struct cor_str ns);

/* Borrowed until the next change; NULL: there is none. */
struct cor_quota_entry *cor_quota_table_find(const struct cor_quota_table *t, struct cor_str ns,
                                             struct cor_str name);

/* Keeps the object, in place of an older state of it. 0, or -COR_ENOMEM (no memory, or too many
 * namespaces): nothing has changed. */
int cor_quota_table_put(struct cor_quota_table *t, struct cor_object *quota);
void cor_quota_table_remove(struct cor_quota_table *t, struct cor_quota_entry *entry);

/* Removes what the last list, which began with `t->list++`, did not have. */
void cor_quota_table_remove_unlisted(struct cor_quota_table *t);

/* Have two maps of quantities the same names with equal values? A map that is missing is empty. */
bool cor_quota_lists_equal(struct cor_view a, struct cor_view b);

#endif
