/* The one language for reading fields: field selectors, columns and indexes use it. A path is
 * compiled once and evaluated over bytes by scanning, without allocating.
 *
 *   metadata.name   .metadata.name   $.metadata.name   {.metadata.name}
 *   .metadata.labels['app.kubernetes.io/name']   ["…"]   .metadata.labels.app\.kubernetes\.io/name
 *   .spec.containers[0].image   [-1] counts from the end   [*] and .* take all of an array or
 * object .status.conditions[?(@.type=="Ready")].status   == and != with a string, number, true or
 * false;
 *                                                   [?(@.key)] wants it to be there
 *   . or $ is the whole value
 *
 * This is the part of client-go's JSONPath that columns of custom resources use; recursive descent,
 * slices, unions and templates are refused by name. Inside quotes only a backslash is special.
 * Thread: any (immutable).  Owner: whoever compiled it. */
#ifndef COR_JSON_PATH_H
#define COR_JSON_PATH_H

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "json/json.h"
#include "json/scan.h"

#define COR_JSON_PATH_BYTES_MAX 4096
#define COR_JSON_PATH_STEPS_MAX 64

struct cor_json_path;

/* 0, -COR_ENOMEM, -COR_ETOOBIG (too long, too many steps), -COR_EINVAL; `reterr` (may be NULL)
 * names the position for the last two. */
int cor_json_path_new(struct cor_str text, struct cor_json_path **ret_path,
                      struct cor_json_error *reterr);
struct cor_json_path *cor_json_path_free(struct cor_json_path *path);
COR_DEFINE_CLEANUP(struct cor_json_path, cor_json_path_free)

/* The first match in `json`, which is valid JSON. 0, or -COR_ENOTFOUND. */
int cor_json_path_first(const struct cor_json_path *path, struct cor_str json,
                        enum cor_json_order order, struct cor_str *ret_value);

/* Returns whether to go on. */
typedef bool (*cor_json_match_cb)(struct cor_str value, void *arg);

/* Calls back for every match, in the order of the bytes. */
void cor_json_path_each(const struct cor_json_path *path, struct cor_str json,
                        enum cor_json_order order, cor_json_match_cb on_match, void *arg);

#endif
