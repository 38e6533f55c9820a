/* Internals of a set of paths: the tree of their leading keys, which a projection walks too. */
#ifndef COR_JSON_WRITE_VIEW_SET_H
#define COR_JSON_WRITE_VIEW_SET_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "coracle/view.h"

#define COR_VIEW_NONE UINT16_MAX

struct cor_view_node {
    struct cor_str key;         /* borrowed from a path */
    uint64_t bit;               /* its own among its siblings */
    uint16_t first_child, next; /* siblings in canonical order; COR_VIEW_NONE: no more */
    uint16_t nchildren;
    uint16_t first_path; /* whose keys end here; the others follow by next_path */
};

struct cor_view_set {
    size_t npaths, nnodes;
    struct cor_json_path *paths[COR_VIEW_SET_MAX];
    size_t nkeys[COR_VIEW_SET_MAX]; /* steps that are keys, before the first other one */
    uint16_t next_path[COR_VIEW_SET_MAX];
    struct cor_view_node *nodes; /* [0] is the whole value */
};

COR_DEFINE_CLEANUP(struct cor_view_set, cor_view_set_free)

/* Has the path keys only, and one at least? */
bool cor_view_set_is_plain(const struct cor_view_set *set, size_t i);

/* Appends an object with what was found and nothing else, members in canonical order, for paths
 * that are all plain. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_view_set_print(const struct cor_view_set *set, const struct cor_view *found,
                       struct cor_buf *out);

#endif
