/* The tree that a JSON Patch works on: places are found by JSON Pointer, every walk is charged to a
 * budget, and the reason of a failure is kept in upstream's words. Used by json_patch.c only.
 * Owner: the patch in progress. */
#ifndef COR_JSON_PATCH_PATCH_TREE_H
#define COR_JSON_PATCH_PATCH_TREE_H

#include "base/buf.h"
#include "base/work.h"
#include "json/patch/patch_index.h"
#include "json/text/json_int.h"

struct cor_json_ptree {
    yyjson_mut_doc *doc;
    struct cor_json_pindex index; /* of its larger objects and arrays */
    size_t work_left;             /* values that may still be visited */
    size_t uncharged;             /* values visited that do not add up to a step of `work` yet */
    struct cor_work *work;        /* of the request; NULL: nothing is counted */
    unsigned depth_max;           /* no value is deeper */
    unsigned depth_bound;         /* an upper bound of the present depth of all values */
    struct cor_buf key;           /* last part of the pointer looked for, decoded */
    unsigned key_depth;           /* number of its parts */
    int error;     /* -COR_ENOMEM, -COR_ETOOBIG or COR_WORK_YIELD: the patch has failed for good */
    char why[256]; /* of the last -COR_EINVALID */
};

/* What a value takes. */
struct cor_json_psize {
    size_t bytes; /* in canonical form */
    unsigned depth;
};

/* `doc` is canonical. 0, -COR_ENOMEM, or the end of the work. */
int cor_json_ptree_init(struct cor_json_ptree *t, struct cor_str doc, unsigned depth_max,
                        struct cor_work *work);
void cor_json_ptree_deinit(struct cor_json_ptree *t);

/* The object or array that holds, or could hold, what `pointer` names, with `key` set to its place
 * there; NULL when there is none. */
yyjson_mut_val *cor_json_ptree_parent(struct cor_json_ptree *t, struct cor_str pointer);

/* Each works at `key` of `parent`: 0, or -COR_EINVALID with `why` set, or `error`. A member that is
 * not there is got as NULL. */
int cor_json_ptree_peek(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val **ret);
int cor_json_ptree_add(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val *val);
/* The same with a value that stood at `depth` of the tree before. */
int cor_json_ptree_add_moved(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val *val,
                             unsigned depth);
int cor_json_ptree_set(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val *val);
int cor_json_ptree_remove(struct cor_json_ptree *t, yyjson_mut_val *parent, yyjson_mut_val **ret);

/* A missing value equals null. False also when `error` is set. */
bool cor_json_ptree_equal(struct cor_json_ptree *t, yyjson_mut_val *a, yyjson_val *b);

struct cor_json_psize cor_json_ptree_measure(struct cor_json_ptree *t, yyjson_mut_val *val);

#endif
