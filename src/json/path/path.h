/* How a compiled path is evaluated over bytes: by scanning, without allocating. The language is
 * in its public header: field selectors, columns, indexes and views use it.
 * Thread: any (immutable).  Owner: whoever compiled it. */
#ifndef COR_JSON_PATH_PATH_H
#define COR_JSON_PATH_PATH_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "coracle/json_path.h"
#include "json/text/json.h"
#include "json/text/scan.h"

COR_DEFINE_CLEANUP(struct cor_json_path, cor_json_path_free)

/* The first match in `json`, which is valid JSON. 0, or -COR_ENOTFOUND. */
int cor_json_path_first(const struct cor_json_path *path, struct cor_str json,
                        enum cor_json_order order, struct cor_str *ret_value);

/* The same without the first `nsteps` steps of the path. */
int cor_json_path_first_from(const struct cor_json_path *path, size_t nsteps, struct cor_str json,
                             enum cor_json_order order, struct cor_str *ret_value);

/* Is its first step the member `key`? */
bool cor_json_path_begins(const struct cor_json_path *path, struct cor_str key);

/* Returns whether to go on. */
typedef bool (*cor_json_match_cb)(struct cor_str value, void *arg);

/* Calls back for every match, in the order of the bytes. */
void cor_json_path_each(const struct cor_json_path *path, struct cor_str json,
                        enum cor_json_order order, cor_json_match_cb on_match, void *arg);

#endif
