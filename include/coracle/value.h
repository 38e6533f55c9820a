/* What generated views are made of (coracle-gen(1), coracle/types/): a value of an API object,
 * found in the object's bytes and read in place. Nothing is decoded ahead of time and nothing
 * allocates.
 *
 *   struct cor_core_v1_pod pod = cor_core_v1_pod(object);
 *   struct cor_core_v1_pod_spec spec = cor_core_v1_pod_spec(pod);
 *   struct cor_core_v1_container_array containers = cor_core_v1_pod_spec_containers(spec);
 *   struct cor_core_v1_container c;
 *
 *   printf("%.*s\n", COR_STR_ARG(cor_core_v1_pod_spec_node_name(spec).raw));
 *   while (cor_core_v1_container_array_next(&containers, &c))
 *       printf("%.*s\n", COR_STR_ARG(cor_core_v1_container_image(c).raw));
 *
 * A generated view is a struct of its own type around a struct cor_value, so a function of another
 * type does not accept it. Keep the view of a part (`spec`) when several of its fields are read:
 * each call looks for its field from the beginning of that part.
 *
 * A value that is absent, null or of another type than the field reads as nothing: a view of
 * nothing, an absent text, an empty list, 0 or false. When an object has two equal keys, the first
 * one is used.
 *
 * An object of a typed informer may be kept as protobuf (coracle/wire.h); its views read the same.
 * Times but those of the metadata, numbers or texts (IntOrString), bytes, raw values and texts with
 * a backslash have no text in it: the first of them that is read makes the JSON of the object,
 * which it keeps. Such a value reads as nothing when there is no memory for that;
 * cor_object_make_json() tells.
 * Thread: any (values).  Owner: views borrow the bytes of the object. */
#ifndef CORACLE_VALUE_H
#define CORACLE_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/str.h"
#include "coracle/view.h"
#include "coracle/wire.h"

#ifdef __cplusplus
extern "C" {
COR_STRUCT_NAMES_BEGIN
#endif

/* Where a value begins. Its end is not looked for until somebody asks for it. */
struct cor_value {
    const char *p; /* NULL: there is no value */
    uint32_t left; /* private to the library, as is the next member: bytes that may be read */
    uint32_t state;
};

/* A string with its escapes, if it has any. Names, phases and addresses contain none, so `raw` is
 * their text; for a text of people (a message, the data of a ConfigMap) use cor_text_get(). `raw`
 * is not JSON: quotes and line breaks of an object that came as protobuf are in it as they are. */
struct cor_text {
    struct cor_str raw; /* p is NULL: there is no string */
};

/* Lists and maps are their own iterators: each call of their `next` takes the first entry off. Copy
 * the struct to iterate again. The length is that of what remains. */
struct cor_text_array {
    struct cor_value at;
};
struct cor_int_array {
    struct cor_value at;
};
/* A view of an array whose elements have no generated type, such as a list of lists. */
struct cor_view_array {
    struct cor_value at;
};
struct cor_text_map {
    struct cor_value at;
};
struct cor_view_map {
    struct cor_value at;
};

/* The value that a view shows, and the reverse, which looks for the end of the value. */
COR_API struct cor_value cor_value(struct cor_view view);
COR_API struct cor_view cor_value_view(struct cor_value value);

/* The whole object, if it is of that kind or does not say of which kind it is, as an item of a list
 * may; otherwise nothing. */
COR_API struct cor_value cor_value_of_object(const struct cor_object *object,
                                             const char *api_version, const char *kind);

/* The same for views whose accessors have the numbers of protobuf. */
COR_API struct cor_value cor_value_of_wire_object(const struct cor_object *object,
                                                  const char *api_version, const char *kind);

static inline bool cor_value_exists(struct cor_value value)
{
    return value.p != NULL;
}

/* How many elements an array or members an object has. */
COR_API size_t cor_value_len(struct cor_value value);

/* How an accessor names a field beside its key: the key's length, and what protobuf has of it, its
 * number, the numbers of the messages around it that JSON does not have, and flags
 * (enum cor_wire_flag and the two below). The length alone is a field that is in JSON only. */
#define COR_VALUE_FIELD(n, number, via0, via1, flags)                                              \
    ((uint64_t)(n) | (uint64_t)(number) << 24 | (uint64_t)(via0) << 40 | (uint64_t)(via1) << 48 |  \
     (uint64_t)(flags) << 56)
#define COR_VALUE_JSON     (1 << 5) /* it has no text in protobuf */
#define COR_VALUE_QUANTITY (1 << 6)

/* The functions that generated accessors call: the member `key` of an object. */
COR_API struct cor_value cor_value_member(struct cor_value object, const char *key, uint64_t field);
COR_API struct cor_text cor_value_string(struct cor_value object, const char *key, uint64_t field);
COR_API bool cor_value_bool(struct cor_value object, const char *key, uint64_t field);
/* A number that does not fit reads as 0. */
COR_API int32_t cor_value_int32(struct cor_value object, const char *key, uint64_t field);
COR_API int64_t cor_value_int64(struct cor_value object, const char *key, uint64_t field);
COR_API double cor_value_double(struct cor_value object, const char *key, uint64_t field);
COR_API struct cor_view cor_value_any(struct cor_value object, const char *key, uint64_t field);
COR_API bool cor_value_has(struct cor_value object, const char *key, uint64_t field);

/* The first element of an array whose member `key` is the text `is`; nothing when there is none. */
COR_API struct cor_value cor_value_find(struct cor_value array, const char *key, uint64_t field,
                                        struct cor_str is);
/* The value of a map's key; nothing when there is none. */
COR_API struct cor_value cor_value_entry(struct cor_value map, struct cor_str key);

/* Takes the next entry off; false when there is none left. */
COR_API bool cor_value_next(struct cor_value *array, struct cor_value *ret);
COR_API bool cor_value_next_member(struct cor_value *map, struct cor_text *ret_key,
                                   struct cor_value *ret);

COR_API bool cor_text_array_next(struct cor_text_array *array, struct cor_text *ret);
COR_API bool cor_text_array_has(struct cor_text_array array, struct cor_str text);
COR_API bool cor_int_array_next(struct cor_int_array *array, int64_t *ret);
COR_API bool cor_view_array_next(struct cor_view_array *array, struct cor_view *ret);
COR_API bool cor_text_map_next(struct cor_text_map *map, struct cor_text *ret_key,
                               struct cor_text *ret);
COR_API struct cor_text cor_text_map_get(struct cor_text_map map, struct cor_str key);
COR_API bool cor_view_map_next(struct cor_view_map *map, struct cor_text *ret_key,
                               struct cor_view *ret);
COR_API struct cor_view cor_view_map_get(struct cor_view_map map, struct cor_str key);

static inline bool cor_text_exists(struct cor_text text)
{
    return text.raw.p != NULL;
}

/* Compares the text, its escapes decoded. An absent text is equal to "". */
COR_API bool cor_text_is(struct cor_text text, const char *is);
COR_API bool cor_text_eq(struct cor_text text, struct cor_str is);

/* The text: borrowed when it has no escapes, otherwise decoded into `buf`; raw.n bytes are always
 * enough. 0, -COR_ENOTFOUND (there is none), -COR_ETOOBIG. */
COR_API int cor_text_get(struct cor_text text, char *buf, size_t cap, struct cor_str *ret);

#ifdef __cplusplus
COR_STRUCT_NAMES_END
}
#endif

#endif
