/* What the two files of a strategic merge share: strategic_merge.c merges objects, strategic_list.c
 * the lists whose elements have keys. Both work on one struct cor_strategic; its error sticks, and
 * nothing that is written after it counts. */
#ifndef COR_SCHEMA_MERGE_STRATEGIC_INT_H
#define COR_SCHEMA_MERGE_STRATEGIC_INT_H

#include "base/map.h"
#include "schema/types/types.h"
#include "json/patch/patch.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define COR_STRATEGIC_ITEMS_MAX (1u << 22) /* more than a body has room for */

/* How the elements of a list are merged. */
struct cor_strategic_list_rule {
    struct cor_str key;             /* of its elements; empty: they are scalars */
    const struct cor_type *element; /* NULL: not known */
};

/* A member of the patch that says how another one is merged: "$setElementOrder/…". */
struct cor_strategic_directive {
    struct cor_str field; /* raw text of the other one's key */
    struct cor_str value;
    struct cor_strategic_directive *next; /* of the object, in the order of the fields */
};

/* The directives of one object of the patch. */
struct cor_strategic_directives {
    const char *object;            /* where it begins: the key of the map */
    struct cor_str marker, retain; /* $patch and $retainKeys; p == NULL: not there */
    struct cor_strategic_directive *orders, **orders_end, *deletes, **deletes_end;
};

struct cor_strategic {
    struct cor_json_writer w;
    struct cor_map directives; /* of the patch's objects that have any, by where they begin */
    int error;
    struct cor_json_patch_error *why; /* NULL: not wanted */
    struct cor_work *work;            /* NULL: nobody counts */
};

/* Charges what is gone over; the end of the work is a failure of the merge. */
void cor_strategic_charge(struct cor_strategic *m, uint64_t steps);

/* Notes the first failure, with a message that is truncated when it is too long. */
void cor_strategic_fail(struct cor_strategic *m, int err, const char *fmt, ...) COR_PRINTF(3, 4);
/* There is no such marker. */
void cor_strategic_fail_marker(struct cor_strategic *m, struct cor_str marker,
                               struct cor_str object);
/* Appends `value`, which is canonical, as messages print it; what does not fit into a message is
 * cut. */
void cor_strategic_print(struct cor_strategic *m, struct cor_str value, struct cor_buf *out);

/* A member of a canonical object; p == NULL: there is none. */
struct cor_str cor_strategic_get(struct cor_str object, struct cor_str key);
/* An iterator whose current value is this one; over nothing when there is none. */
struct cor_json_iter cor_strategic_iter(struct cor_str value);

/* NULL: the object at this address has none. */
struct cor_strategic_directives *cor_strategic_directives_of(const struct cor_strategic *m,
                                                             const char *object);
bool cor_strategic_has_marker(const struct cor_strategic *m, struct cor_str value);

/* Writes the merge of the current values of both, which are objects, and moves behind them. */
void cor_strategic_map(struct cor_strategic *m, struct cor_json_iter *old,
                       struct cor_json_iter *patch, const struct cor_type *type, bool outermost);

/* Writes the merge of two lists. `order` and `deleted` are what the patch's directives say about
 * the list. All but `old` may be missing (p == NULL). */
void cor_strategic_list(struct cor_strategic *m, const struct cor_strategic_list_rule *rule,
                        struct cor_str old, struct cor_str patch, struct cor_str order,
                        struct cor_str deleted);

#endif
