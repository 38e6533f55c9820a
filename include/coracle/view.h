/* A value inside JSON bytes, read where it stands: no tree, no allocation.
 *
 *   struct cor_view pod = cor_object_view(object);
 *   struct cor_view phase = cor_view_at(pod, phase_path);
 *   if (cor_str_eqz(cor_view_text_or(phase, NULL, 0, ""), "Running")) ...
 *
 * A view of nothing (no such field) is a valid view: it has the type COR_JSON_NONE, and what is
 * looked up in it is nothing again. Of equal keys in an object the first counts. On bytes that are
 * not JSON nothing outside of them is read, but what comes back is unspecified.
 * Thread: any (values).  Owner: of the bytes, whoever gave them; views borrow from them. */
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
    int order;           /* the library's: what is known of the keys' order */
};

/* The value at the start of `json`. For an object there is cor_object_view(). */
COR_API struct cor_view cor_view(struct cor_str json);

COR_API enum cor_json_type cor_view_type(struct cor_view view);

/* Is there a value? null is one. */
COR_API bool cor_view_exists(struct cor_view view);

/* The first match of a path, and the member of that name without one. */
COR_API struct cor_view cor_view_at(struct cor_view view, const struct cor_json_path *path);
COR_API struct cor_view cor_view_member(struct cor_view view, struct cor_str key);

/* Calls back for every match in the order of the bytes until a call returns false. */
COR_API void cor_view_each(struct cor_view view, const struct cor_json_path *path,
                           bool (*on_match)(void *arg, struct cor_view match), void *arg);

/* 0, -COR_ENOTFOUND (no value), -COR_EINVAL (of another type; null is one), -COR_ETOOBIG (does not
 * fit). */
/* A string as it is written, between its quotes. */
COR_API int cor_view_raw(struct cor_view view, struct cor_str *ret);
/* A string's text: borrowed when it has no escapes, else decoded into `buf`. As many bytes as it
 * has when raw are always enough. */
COR_API int cor_view_text(struct cor_view view, char *buf, size_t cap, struct cor_str *ret);
/* A number without fraction and exponent. */
COR_API int cor_view_int(struct cor_view view, int64_t *ret);
/* Any number; one that is too large for a double is -COR_ETOOBIG. The locale does not matter. */
COR_API int cor_view_double(struct cor_view view, double *ret);
COR_API int cor_view_bool(struct cor_view view, bool *ret);

/* The same with a value that is returned when there is none, or none of that type. A text is
 * decoded as by cor_view_text(); `otherwise` also takes the place of one that does not fit into
 * `buf`. Names, phases and addresses have no escapes: NULL and 0 are enough for them. */
COR_API struct cor_str cor_view_text_or(struct cor_view view, char *buf, size_t cap,
                                        const char *otherwise);
COR_API int64_t cor_view_int_or(struct cor_view view, int64_t otherwise);
COR_API double cor_view_double_or(struct cor_view view, double otherwise);
COR_API bool cor_view_bool_or(struct cor_view view, bool otherwise);

/* Elements of an array or members of an object; 0 for anything else. */
COR_API size_t cor_view_len(struct cor_view view);

/* Over an array or an object; over anything else it is empty.
 *
 *   struct cor_view_iter it = cor_view_iter(containers);
 *   while (cor_view_next(&it)) use(it.value); */
struct cor_view_iter {
    struct cor_view value;
    struct cor_str key;   /* of a member, as written; empty in an array */
    const char *at, *end; /* the library's, as is the next */
    bool is_object;
};

COR_API struct cor_view_iter cor_view_iter(struct cor_view view);
COR_API bool cor_view_next(struct cor_view_iter *it);

/* Several paths, read together in one pass over the bytes.
 * Thread: any (immutable).  Owner: whoever made it. */
struct cor_view_set;

#define COR_VIEW_SET_MAX 64 /* paths */

/* As cor_json_path_new(); `reterr_index` (may be NULL) tells whose text is wrong. -COR_ETOOBIG:
 * too many paths. */
COR_API int cor_view_set_new(const struct cor_str *paths, size_t n, struct cor_view_set **ret_set,
                             size_t *reterr_index, struct cor_json_error *reterr);
COR_API struct cor_view_set *cor_view_set_free(struct cor_view_set *set); /* NULL is fine */

/* What cor_view_at() would give for each path, in their order, into `ret[0 … n - 1]`. */
COR_API void cor_view_set_read(const struct cor_view_set *set, struct cor_view view,
                               struct cor_view *ret);

#ifdef __cplusplus
}
#endif

#endif
