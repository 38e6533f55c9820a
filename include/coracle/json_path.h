/* clang-format off */
/* Paths name fields of JSON values. A path is compiled once; the functions of coracle/view.h use it.
 *
 *   metadata.name   .metadata.name   $.metadata.name   {.metadata.name}
 *   .metadata.labels['app.kubernetes.io/name']   ["…"]   .metadata.labels.app\.kubernetes\.io/name
 *   .spec.containers[0].image   [-1] counts from the end
 *   [*] and .* match every element of an array or member of an object
 *   .status.conditions[?(@.type=="Ready")].status   == and != with a string, number, true or
 *                                                   false; [?(@.key)] tests that the key exists
 *   . or $ is the whole value
 *
 * A dot separates keys. A key that contains dots is quoted in brackets, or its dots are escaped.
 *
 * This is the part of client-go's JSONPath that columns of custom resources use. Recursive descent,
 * slices, unions and templates are refused, and the message says which of them was found. Inside
 * quotes only the backslash is special.
 * Thread: any (immutable).  Owner: the program that compiled it. */
/* clang-format on */
#ifndef CORACLE_JSON_PATH_H
#define CORACLE_JSON_PATH_H

#include <stddef.h>

#include "coracle/api.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

#define COR_JSON_PATH_BYTES_MAX 4096
#define COR_JSON_PATH_STEPS_MAX 64

/* Where and why a text could not be parsed; for JSON the message is that of Go's decoder. */
struct cor_json_error {
    size_t offset; /* of the wrong byte, from 0; the input's length when the input ends too soon */
    unsigned line; /* from 1 */
    unsigned column; /* in bytes, from 1 */
    char message[100];
};

struct cor_json_path;

/* `text` is not kept. 0, -COR_ENOMEM, -COR_ETOOBIG (too long, too many steps), -COR_EINVAL;
 * `reterr` (may be NULL) names the position for the last two. */
COR_API int cor_json_path_new(struct cor_str text, struct cor_json_path **ret_path,
                              struct cor_json_error *reterr);

/* NULL is fine; returns NULL. */
COR_API struct cor_json_path *cor_json_path_free(struct cor_json_path *path);

#ifdef __cplusplus
}
#endif

#endif
