/* clang-format off */
/* One step of a path into an object, as field ownership names it: a field or the key of a map, an
 * item of a list by the values of its keys, an item of a set by its value, an item by its index.
 *
 * The text of an element borrows its bytes, from an object or from an arena. It is canonical, so
 * that equal elements have equal bytes:
 *   FIELD   the raw JSON text of the name, escaped as canonical JSON escapes it
 *   KEY     a JSON object with its keys in byte order, without spaces: {"name":"a"}
 *   VALUE   a JSON value; numbers in the shortest form
 *   INDEX   a decimal number
 * Thread: any (a value). */
/* clang-format on */
#ifndef COR_SCHEMA_APPLY_PATH_ELEMENT_H
#define COR_SCHEMA_APPLY_PATH_ELEMENT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* In the order in which FieldsV1 has them. */
enum cor_path_kind { COR_PATH_FIELD, COR_PATH_KEY, COR_PATH_VALUE, COR_PATH_INDEX };

struct cor_path_element {
    struct cor_str text;
    enum cor_path_kind kind;
};

/* The order of FieldsV1: fields by name, then keys by their names and values, then values, then
 * indexes. Values are ordered as numbers < strings < booleans < lists < objects < null. */
int cor_path_element_cmp(const struct cor_path_element *a, const struct cor_path_element *b);

/* The canonical text of a scalar of a canonical object, for VALUE and inside KEY: a number with a
 * fraction or an exponent is printed in the shortest form. p == NULL: the arena has failed. */
struct cor_str cor_path_scalar(struct cor_arena *arena, struct cor_str value);

/* Reads the raw text of a key of FieldsV1, such as f:spec or k:{\"name\":\"a\"}; the result borrows
 * from `raw` where it can. 0; 1: the element's type is unknown, and upstream ignores it with all
 * that is below it; -COR_EINVAL: the text is malformed; -COR_ENOMEM, -COR_ETOOBIG. */
int cor_path_element_read(struct cor_arena *arena, struct cor_str raw,
                          struct cor_path_element *ret_element);

/* Appends the element as a key of FieldsV1, with its quotes, escaped as Go writes it in an object.
 * 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_path_element_write(const struct cor_path_element *element, struct cor_buf *out);

/* Appends the element as messages show it: .name, [name="a",port=80], [="x"], [3]. The same errors.
 */
int cor_path_element_print(const struct cor_path_element *element, struct cor_buf *out);

#endif
