/* How a JSON Patch finds members and elements of large objects and arrays without walking them. A
 * container gets its index the first time that it is looked into when it has more than a few
 * children, and every change of it goes through here from then on. Used by patch_tree.c only.
 * Owner: the tree.  Thread: one at a time. */
#ifndef COR_JSON_PATCH_PATCH_INDEX_H
#define COR_JSON_PATCH_PATCH_INDEX_H

#include "base/map.h"
#include "json/text/json_int.h"

struct cor_json_pindex {
    struct cor_map containers; /* by their address */
};

void cor_json_pindex_init(struct cor_json_pindex *ix);
void cor_json_pindex_deinit(struct cor_json_pindex *ix);

/* `work` counts the children that were visited, by all of these. -COR_ENOMEM leaves the container
 * as it was. */

/* The key whose text this is; NULL when the object has none. 0, -COR_ENOMEM. */
int cor_json_pindex_find(struct cor_json_pindex *ix, yyjson_mut_val *object, struct cor_str key,
                         size_t *work, yyjson_mut_val **ret_key);

/* Adds a member that is not there yet; the index borrows the key's text. 0, -COR_ENOMEM. */
int cor_json_pindex_add(struct cor_json_pindex *ix, yyjson_mut_val *object, yyjson_mut_val *key,
                        yyjson_mut_val *val, size_t *work);

/* Removes the member with the key `key`, which was found; returns its value. The order of members
 * changes: nothing depends on it, because the canonical writer sorts them. */
yyjson_mut_val *cor_json_pindex_drop(struct cor_json_pindex *ix, yyjson_mut_val *object,
                                     yyjson_mut_val *key);

/* The element at `index`, which is below the array's size. 0, -COR_ENOMEM. */
int cor_json_pindex_at(struct cor_json_pindex *ix, yyjson_mut_val *array, size_t index,
                       size_t *work, yyjson_mut_val **ret_elem);

/* Inserts before `index`, which is at most the array's size. 0, -COR_ENOMEM. */
int cor_json_pindex_insert(struct cor_json_pindex *ix, yyjson_mut_val *array, size_t index,
                           yyjson_mut_val *val, size_t *work);

/* Puts `val` in place of the element at `index`. 0, -COR_ENOMEM. */
int cor_json_pindex_replace(struct cor_json_pindex *ix, yyjson_mut_val *array, size_t index,
                            yyjson_mut_val *val, size_t *work);

/* Takes the element at `index` out. 0, -COR_ENOMEM. */
int cor_json_pindex_remove(struct cor_json_pindex *ix, yyjson_mut_val *array, size_t index,
                           size_t *work, yyjson_mut_val **ret_elem);

#endif
