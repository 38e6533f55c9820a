/* A value inside JSON bytes, which is read in place: there is no tree and no allocation.
 *
 *   struct cor_view pod = cor_object_view(object);
 *   struct cor_view phase = cor_view_at(pod, phase_path);
 *   if (cor_str_eqz(cor_view_text_or(phase, NULL, 0, ""), "Running")) ...
 *
 * A view of nothing (there is no such field) is a valid view: its type is COR_JSON_NONE, and a
 * lookup in it returns a view of nothing again. When an object has two equal keys, the first one is
 * used. On bytes that are not JSON the functions read nothing outside the bytes, but their results
 * are unspecified. Thread: any (values).  Owner: views borrow the bytes; their owner keeps them
 * valid. */
#ifndef CORACLE_VIEW_H
#define CORACLE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/json_path.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
COR_STRUCT_NAMES_BEGIN
#endif

enum cor_json_type {
    COR_JSON_NONE, /* there is no value */
    COR_JSON_NULL,
    COR_JSON_BOOL,
    COR_JSON_NUMBER,
    COR_JSON_STRING,
    COR_JSON_ARRAY,
    COR_JSON_OBJECT,
};

struct cor_view {
    struct cor_str json; /* the value's bytes; p is NULL when there is none */
    int order;           /* private to the library: whether the keys are sorted */
};

/* The value at the start of `json`. For an API object use cor_object_view(). */
COR_API struct cor_view cor_view(struct cor_str json);

COR_API enum cor_json_type cor_view_type(struct cor_view view);

/* Is there a value? null is a value. */
COR_API bool cor_view_exists(struct cor_view view);

/* The first match of a path, and the member with that key of an object; `key` is the key itself,
 * not a path. */
COR_API struct cor_view cor_view_at(struct cor_view view, const struct cor_json_path *path);
COR_API struct cor_view cor_view_member(struct cor_view view, struct cor_str key);

/* Calls `on_match` for every match, in the order of the bytes, until it returns false. */
COR_API void cor_view_each(struct cor_view view, const struct cor_json_path *path,
                           bool (*on_match)(void *arg, struct cor_view match), void *arg);

/* The next five return 0, -COR_ENOTFOUND (there is no value), -COR_EINVAL (the value has another
 * type, for example null), or -COR_ETOOBIG (the value does not fit). */

/* A string as it is written between its quotes. */
COR_API int cor_view_raw(struct cor_view view, struct cor_str *ret);
/* A string's text: borrowed when it has no escapes, otherwise decoded into `buf`. A buffer as long
 * as the raw string is always large enough. */
COR_API int cor_view_text(struct cor_view view, char *buf, size_t cap, struct cor_str *ret);
/* A number without a fraction and an exponent. */
COR_API int cor_view_int(struct cor_view view, int64_t *ret);
/* Any number; -COR_ETOOBIG when it is too large for a double. The locale has no influence. */
COR_API int cor_view_double(struct cor_view view, double *ret);
COR_API int cor_view_bool(struct cor_view view, bool *ret);

/* The same, with a value that is returned instead of a failure. A text is decoded as by
 * cor_view_text(), and `otherwise` is returned when it does not fit into `buf`. For names, phases
 * and addresses, which have no escapes, NULL and 0 are enough. */
COR_API struct cor_str cor_view_text_or(struct cor_view view, char *buf, size_t cap,
                                        const char *otherwise);
COR_API int64_t cor_view_int_or(struct cor_view view, int64_t otherwise);
COR_API double cor_view_double_or(struct cor_view view, double otherwise);
COR_API bool cor_view_bool_or(struct cor_view view, bool otherwise);

/* The number of elements of an array or of members of an object; 0 for any other value. */
COR_API size_t cor_view_len(struct cor_view view);

/* Iterates over an array or an object; for any other value there is nothing to iterate over.
 *
 *   struct cor_view_iter it = cor_view_iter(containers);
 *   while (cor_view_next(&it)) use(it.value); */
struct cor_view_iter {
    struct cor_view value;
    struct cor_str key;   /* of a member, as written; empty in an array */
    const char *at, *end; /* private to the library, as is the next member */
    bool is_object;
};

COR_API struct cor_view_iter cor_view_iter(struct cor_view view);
COR_API bool cor_view_next(struct cor_view_iter *it);

/* Several paths, read together in one pass over the bytes.
 * Thread: any (immutable).  Owner: whoever made it. */
struct cor_view_set;

#define COR_VIEW_SET_MAX 64 /* paths */

/* Returns as cor_json_path_new(); `reterr_index` (may be NULL) is the index of the wrong path.
 * -COR_ETOOBIG also for too many paths. */
COR_API int cor_view_set_new(const struct cor_str *paths, size_t n, struct cor_view_set **ret_set,
                             size_t *reterr_index, struct cor_json_error *reterr);
COR_API struct cor_view_set *cor_view_set_free(struct cor_view_set *set); /* NULL is fine */

/* What cor_view_at() would give for each path, in their order, into `ret[0 … n - 1]`. */
COR_API void cor_view_set_read(const struct cor_view_set *set, struct cor_view view,
                               struct cor_view *ret);

#ifdef __cplusplus
COR_STRUCT_NAMES_END
}
#endif

#endif
