/* Reading fields out of JSON bytes without a tree: iterators over objects and arrays, and typed
 * getters. A value is the span of its bytes; a string's raw text is what is between its quotes,
 * escapes and all. The bytes are valid JSON (cor_json_check() said so); on others nothing is read
 * outside the span, but what comes back is unspecified.
 * Thread: any (values).  Owner: the caller owns the bytes; spans borrow from them. */
#ifndef COR_JSON_TEXT_SCAN_H
#define COR_JSON_TEXT_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "coracle/view.h"

/* What a look-up may rely on. */
enum cor_json_order {
    COR_JSON_ANY_ORDER, /* keys are anywhere, and the last of equal ones counts */
    COR_JSON_SORTED,    /* canonical bytes: a look-up stops where the key would stand */
    COR_JSON_FIRST,     /* keys are anywhere, and the first of equal ones counts */
};

static inline bool cor_json_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* The type that the first byte of a value announces. */
enum cor_json_type cor_json_type(struct cor_str value);

/* What Go's decoder calls it: "object", "array", "string", "number", "bool". */
const char *cor_json_go_type(enum cor_json_type type);

struct cor_json_iter {
    const char *p;     /* next byte to read */
    const char *end;   /* nothing is read from here on */
    const char *value; /* start of the current value when it was not skipped yet, or NULL */
};

/* An iterator over the object or array at the start of `value`, which may be followed by other
 * bytes; over anything else it is empty. */
struct cor_json_iter cor_json_iter(struct cor_str value);

/* Moves to the next member of an object; false when there is none. */
bool cor_json_iter_member(struct cor_json_iter *it, struct cor_str *ret_raw_key);

/* Moves to the next element of an array; false when there is none. */
bool cor_json_iter_elem(struct cor_json_iter *it);

/* The current value; call it at most once per move. */
struct cor_str cor_json_iter_value(struct cor_json_iter *it);

/* The current value with everything up to the end of the scanned bytes: enough to iterate over it
 * or to learn its type, and cheaper, because its end is not looked for. */
struct cor_str cor_json_iter_open_value(const struct cor_json_iter *it);

/* Moves `it` behind its current value, which `inner` iterates over and may have left early. */
void cor_json_iter_leave(struct cor_json_iter *it, const struct cor_json_iter *inner);

/* Moves behind the current value, an object or array, if all that it holds are strings and nothing
 * is between them: cheaper than to visit each. False: `it` was not moved. */
bool cor_json_iter_skip_texts(struct cor_json_iter *it);

/* The value at the start of `bytes` (white space before it is skipped), without what follows. */
struct cor_str cor_json_first_value(struct cor_str bytes);

/* The member `key` of an object. 0, or -COR_ENOTFOUND (also when it is not an object). */
int cor_json_get(struct cor_str object, struct cor_str key, enum cor_json_order order,
                 struct cor_str *ret_value);

/* Several members of an object below the outermost one, in one walk: both its keys and `keys` are
 * in byte order. What is absent has a p of NULL. */
void cor_json_get_each(struct cor_str object, const struct cor_str *keys, size_t n,
                       struct cor_str *ret_values);
/* The same for the object that `it` iterates over from its beginning; it stops behind the last of
 * `keys`. */
void cor_json_iter_each(struct cor_json_iter *it, const struct cor_str *keys, size_t n,
                        struct cor_str *ret_values);

/* 0, or -COR_EINVAL when the value has another type; int64 also -COR_ETOOBIG, and a number with a
 * fraction or an exponent is not an integer. */
int cor_json_to_raw(struct cor_str value, struct cor_str *ret_raw);
int cor_json_to_bool(struct cor_str value, bool *ret);
int cor_json_to_i64(struct cor_str value, int64_t *ret);

/* The text of raw text: `raw` itself when it has no escapes, else decoded into `buf`, which may be
 * raw.p. raw.n bytes are always enough. 0, -COR_ETOOBIG (more than `cap` bytes). */
int cor_json_unescape(struct cor_str raw, char *buf, size_t cap, struct cor_str *ret_text);

/* Compare texts without decoding them into memory; byte order. */
int cor_json_raw_cmp(struct cor_str raw_a, struct cor_str raw_b);
bool cor_json_raw_eq(struct cor_str raw, struct cor_str text);
int cor_json_raw_cmp_text(struct cor_str raw, struct cor_str text);

#endif
