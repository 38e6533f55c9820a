/* clang-format off */
/* What generated structs are made of (coracle-gen --structs, coracle/types/core_v1_structs.h): API
 * objects as C structs, whose members a program reads and sets as it likes.
 *
 *   cor_pool_new(0, &pool);
 *   r = cor_core_v1_pod_own_decode(pool, json, NULL, &pod, &why);
 *   pod.metadata.name = COR_STR("web-2");
 *   pod.spec.termination_grace_period_seconds = cor_opt_int64(5);
 *   r = cor_core_v1_pod_own_encode(pool, &pod, &json);
 *   cor_pool_free(pool);
 *
 * Memory: a struct owns nothing. What decoding, copying and the functions that add entries make is
 * in the pool and lives as long as the pool; a member may as well point to a literal or to a
 * variable of the program. Nothing is freed when a member is set to something else.
 *
 * Presence: a struct of zeros is an empty object, and encoding writes what is set and nothing else,
 * which makes the structs apply configurations, too:
 *
 *   text, bytes, quantity, raw JSON  | struct cor_str         | set when p is not NULL; "" is set
 *   number, bool, time               | struct cor_opt_...     | set when is_set; the value of an absent one is 0
 *   number or text                   | struct cor_int_or_str  | set when type is not COR_INT_OR_STR_NONE
 *   struct that may be missing       | a pointer              | set when it is not NULL
 *   struct that upstream always has  | the struct itself      | set when anything in it is
 *   list, map                        | struct ..._list, ..._map | set when p is not NULL; n of 0 is an empty one
 *
 * Members that the type does not have are kept in `unknown_fields`, so that an update does not drop
 * them. Names that C or C++ reserves have an underscore behind them: metadata.namespace_.
 * Thread: one at a time for what is written; any for what is read. */
/* clang-format on */
#ifndef CORACLE_TYPES_OWN_H
#define CORACLE_TYPES_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/str.h"
#include "coracle/types/pool.h"

#ifdef __cplusplus
extern "C" {
COR_STRUCT_NAMES_BEGIN
#endif

struct cor_opt_bool {
    bool is_set;
    bool value;
};
struct cor_opt_int32 {
    bool is_set;
    int32_t value;
};
struct cor_opt_int64 {
    bool is_set;
    int64_t value;
};
struct cor_opt_double {
    bool is_set;
    double value;
};
/* Seconds since 1970, as cor_time_print() has them. */
struct cor_opt_time {
    bool is_set;
    int64_t unix_s;
};
/* Microseconds since 1970, as cor_micro_time_print() has them. */
struct cor_opt_micro_time {
    bool is_set;
    int64_t unix_us;
};

enum cor_int_or_str_type { COR_INT_OR_STR_NONE, COR_INT_OR_STR_INT, COR_INT_OR_STR_TEXT };

struct cor_int_or_str {
    enum cor_int_or_str_type type;
    int64_t number;
    struct cor_str text;
};

/* Lists and maps. The program may point `p` to an array of its own and leave `cap` 0. A map has
 * each key once, in any order; decoded ones are sorted. */
struct cor_str_list {
    struct cor_str *p;
    size_t n, cap;
};
struct cor_bool_list {
    bool *p;
    size_t n, cap;
};
struct cor_int32_list {
    int32_t *p;
    size_t n, cap;
};
struct cor_int64_list {
    int64_t *p;
    size_t n, cap;
};
struct cor_double_list {
    double *p;
    size_t n, cap;
};
struct cor_int_or_str_list {
    struct cor_int_or_str *p;
    size_t n, cap;
};

struct cor_str_entry {
    struct cor_str key, value;
};
struct cor_str_map {
    struct cor_str_entry *p;
    size_t n, cap;
};
struct cor_bool_entry {
    struct cor_str key;
    bool value;
};
struct cor_bool_map {
    struct cor_bool_entry *p;
    size_t n, cap;
};
struct cor_int32_entry {
    struct cor_str key;
    int32_t value;
};
struct cor_int32_map {
    struct cor_int32_entry *p;
    size_t n, cap;
};
struct cor_int64_entry {
    struct cor_str key;
    int64_t value;
};
struct cor_int64_map {
    struct cor_int64_entry *p;
    size_t n, cap;
};
struct cor_double_entry {
    struct cor_str key;
    double value;
};
struct cor_double_map {
    struct cor_double_entry *p;
    size_t n, cap;
};
struct cor_int_or_str_entry {
    struct cor_str key;
    struct cor_int_or_str value;
};
struct cor_int_or_str_map {
    struct cor_int_or_str_entry *p;
    size_t n, cap;
};

static inline struct cor_opt_bool cor_opt_bool(bool value)
{
    struct cor_opt_bool opt = {true, value};

    return opt;
}

static inline struct cor_opt_int32 cor_opt_int32(int32_t value)
{
    struct cor_opt_int32 opt = {true, value};

    return opt;
}

static inline struct cor_opt_int64 cor_opt_int64(int64_t value)
{
    struct cor_opt_int64 opt = {true, value};

    return opt;
}

static inline struct cor_opt_double cor_opt_double(double value)
{
    struct cor_opt_double opt = {true, value};

    return opt;
}

static inline struct cor_opt_time cor_opt_time(int64_t unix_s)
{
    struct cor_opt_time opt = {true, unix_s};

    return opt;
}

static inline struct cor_opt_micro_time cor_opt_micro_time(int64_t unix_us)
{
    struct cor_opt_micro_time opt = {true, unix_us};

    return opt;
}

static inline struct cor_int_or_str cor_int_or_str_int(int64_t number)
{
    struct cor_int_or_str value = {COR_INT_OR_STR_INT, number, {NULL, 0}};

    return value;
}

static inline struct cor_int_or_str cor_int_or_str_text(struct cor_str text)
{
    struct cor_int_or_str value = {COR_INT_OR_STR_TEXT, 0, {NULL, 0}};

    value.text = text;
    return value;
}

/* What happens to members that a type does not have. */
enum cor_own_unknown {
    COR_OWN_UNKNOWN_KEEP,
    COR_OWN_UNKNOWN_DROP,
    COR_OWN_UNKNOWN_REFUSE, /* -COR_EINVAL, also for a member that an object has twice */
};

struct cor_own_opts {
    size_t size;
    enum cor_own_unknown unknown;
    size_t bytes_max;   /* of the input; 0: 64 MB */
    unsigned depth_max; /* nested objects and lists; 0: 1,000, which is the most */
};
#define COR_OWN_OPTS .size = sizeof(struct cor_own_opts)

/* Why bytes were refused: the path of the value, as spec.containers[0].image, and what was expected
 * there. */
struct cor_own_error {
    char path[256]; /* its end, when it is longer */
    char message[256];
};

/* How a type lies in memory; generated. The functions below take a value of the type as void
 * pointers, and generated functions call them with the right ones. */
enum cor_own_kind {
    COR_OWN_TEXT,
    COR_OWN_BOOL,
    COR_OWN_INT32,
    COR_OWN_INT64,
    COR_OWN_DOUBLE,
    COR_OWN_BYTES, /* base64 in JSON */
    COR_OWN_TIME,
    COR_OWN_MICRO_TIME,
    COR_OWN_QUANTITY,
    COR_OWN_INT_OR_STR,
    COR_OWN_RAW, /* any JSON */
    COR_OWN_STRUCT,
};

enum cor_own_form { COR_OWN_ONE, COR_OWN_LIST, COR_OWN_MAP };

enum cor_own_flag {
    /* A struct is pointed to; a scalar that is 0 differs from an absent one. */
    COR_OWN_POINTER = 1 << 0,
    COR_OWN_NARROW = 1 << 1, /* the number of COR_OWN_INT_OR_STR has 32 bits */
    /* A list of texts, or one as the raw JSON of an element, that is a message in protobuf. */
    COR_OWN_WRAPPED = 1 << 2,
};

struct cor_own_type;

struct cor_own_field {
    const char *name;                /* in JSON */
    const struct cor_own_type *type; /* of COR_OWN_STRUCT */
    uint32_t offset;
    uint16_t name_n;
    uint8_t kind;  /* enum cor_own_kind: of the value, or of the elements */
    uint8_t form;  /* enum cor_own_form */
    uint8_t flags; /* enum cor_own_flag */
    /* In protobuf: the numbers of the messages around it, as far as they are not 0, and its own; 0:
     * none. */
    uint8_t via[2];
    uint16_t number;
};

/* The path to a field: its index in the table of the type, then in that of the type of that field,
 * and so on. */
#define COR_OWN_PATH_MAX 8
struct cor_own_path {
    uint16_t n, steps[COR_OWN_PATH_MAX];
};

enum cor_own_test { COR_OWN_IS, COR_OWN_IS_SET, COR_OWN_IS_UNSET };

struct cor_own_condition {
    struct cor_own_path path;
    uint16_t test;      /* enum cor_own_test */
    const char *values; /* of COR_OWN_IS: texts with | between them */
};

/* A field gets a value when it has none and all conditions hold. */
#define COR_OWN_WHEN_MAX 2
struct cor_own_default {
    struct cor_own_path path, from; /* `from` is empty, or the field whose value it gets */
    const char *value;              /* JSON; NULL: there is a `from` */
    uint32_t nwhen;
    struct cor_own_condition when[COR_OWN_WHEN_MAX];
};

struct cor_own_type {
    const char *kind;                   /* NULL: it is not a kind */
    const char *api_version;            /* of a kind */
    const struct cor_own_field *fields; /* sorted by name */
    uint32_t nfields;
    uint32_t size;              /* of the struct */
    uint32_t unknown_fields_at; /* offset of its unknown_fields */
    /* Protobuf: the places of fields in the order of their numbers (via, then number). NULL: it has
     * none. */
    uint32_t nnumbers;
    const uint16_t *by_number;
    const struct cor_own_default *defaults; /* in the order in which they apply */
    uint32_t ndefaults;
};

/* Makes an empty object; one of a kind gets its apiVersion and kind. */
COR_API void cor_own_init(const struct cor_own_type *type, void *own);

/* Decodes JSON. `opts` may be NULL. An object of another kind is refused; one that does not say its
 * kind is not. null is as good as absent, and of equal keys the last counts. 0, or -COR_EINVAL (not
 * JSON, or a value that does not fit its member: `reterr`, which may be NULL, says where),
 * -COR_ETOOBIG (the input or the pool), -COR_ENOMEM, -COR_ENOTSUP (opts of a newer version). After
 * a failure `ret` is empty. */
COR_API int cor_own_decode(const struct cor_own_type *type, struct cor_pool *pool,
                           struct cor_str json, const struct cor_own_opts *opts, void *ret,
                           struct cor_own_error *reterr);

/* Encodes what is set, in canonical form: kind and apiVersion first, then keys in the order of
 * their bytes; unknown fields come last in their object. The text is in the pool, with a NUL after
 * it. 0, -COR_EINVAL (a text of raw JSON or of unknown fields that is not JSON, or a number that is
 * not finite), -COR_ETOOBIG, -COR_ENOMEM. */
COR_API int cor_own_encode(const struct cor_own_type *type, struct cor_pool *pool, const void *own,
                           struct cor_str *ret_json);

/* The same in Kubernetes' protobuf, with its envelope, as application/vnd.kubernetes.protobuf has
 * it. Fields that the type does not have are skipped, as every reader does: they are not kept and
 * not refused. A scalar that upstream has no pointer for is not set when it is 0. Also
 * -COR_ENOTSUP: the type was not made from field numbers (a custom resource). `unknown_fields` are
 * not encoded; times, numbers and quantities are what upstream writes, so that the bytes are those
 * of Go's encoder. */
COR_API int cor_own_decode_protobuf(const struct cor_own_type *type, struct cor_pool *pool,
                                    struct cor_str bytes, const struct cor_own_opts *opts,
                                    void *ret, struct cor_own_error *reterr);
COR_API int cor_own_encode_protobuf(const struct cor_own_type *type, struct cor_pool *pool,
                                    const void *own, struct cor_str *ret_bytes);

/* Copies everything, also what the program set, into the pool. What is absent stays absent and what
 * is empty stays empty. 0, -COR_ENOMEM, -COR_ETOOBIG; after a failure `ret` is empty. */
COR_API int cor_own_copy(const struct cor_own_type *type, struct cor_pool *pool, const void *from,
                         void *ret);

/* Returns whether the two are the same to Kubernetes. Quantities are compared by value; an absent
 * list or map is the same as an empty one, and 0, false and "" are the same as absent where
 * upstream has no pointer. */
COR_API bool cor_own_equal(const struct cor_own_type *type, const void *a, const void *b);

/* Fills in the defaults that the data of the type has: those of a CustomResourceDefinition's
 * schema, or of Kubernetes for a built-in type. The defaults of a struct come before those of what
 * it holds. The server knows more of them: what it computes, such as imagePullPolicy from the tag
 * of an image, stays absent. 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL (a default of the schema
 * that its member cannot have). */
COR_API int cor_own_fill(const struct cor_own_type *type, struct cor_pool *pool, void *own);

/* Makes an object of another version of a kind from what the two types agree on: members of the
 * same name and kind. The rest stays absent: coracle-gen --convert writes functions that call one
 * of the program for it. 0, -COR_ENOMEM, -COR_ETOOBIG; after a failure `ret` is empty. */
COR_API int cor_own_convert(const struct cor_own_type *from_type,
                            const struct cor_own_type *to_type, struct cor_pool *pool,
                            const void *from, void *ret);

/* A member that two structs have under different names. */
struct cor_own_rename {
    const struct cor_own_type *a;
    const char *a_name; /* in JSON */
    const struct cor_own_type *b;
    const char *b_name;
};

/* As cor_own_convert(), and the members of `renames` go to their other name, in either direction. A
 * member that has the name which another one is renamed to stays absent. */
COR_API int cor_own_convert_renamed(const struct cor_own_type *from_type,
                                    const struct cor_own_type *to_type,
                                    const struct cor_own_rename *renames, size_t nrenames,
                                    struct cor_pool *pool, const void *from, void *ret);

/* An object for tests, in which every member is set, to values that differ. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
COR_API int cor_own_sample(const struct cor_own_type *type, struct cor_pool *pool, void *ret);

/* Adds an empty entry of `size` bytes at the end of a list or a map and returns it. NULL: the pool
 * has failed. `list` is any struct …_list or …_map. */
COR_API void *cor_own_add(struct cor_pool *pool, void *list, size_t size);

/* Add a text; a key that the map has gets the new value. The texts are not copied. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
COR_API int cor_str_list_add(struct cor_pool *pool, struct cor_str_list *list, struct cor_str text);
COR_API int cor_str_map_set(struct cor_pool *pool, struct cor_str_map *map, struct cor_str key,
                            struct cor_str value);
/* NULL: the map does not have the key. */
COR_API const struct cor_str *cor_str_map_get(const struct cor_str_map *map, struct cor_str key);

/* The functions of the type `struct name`, whose table is name_type; for a list of it see
 * COR_OWN_LIST_OF. */
#define COR_OWN_FUNCTIONS(name)                                                                    \
    static inline void name##_init(struct name *own)                                               \
    {                                                                                              \
        cor_own_init(&name##_type, own);                                                           \
    }                                                                                              \
    static inline int name##_decode(struct cor_pool *pool, struct cor_str json,                    \
                                    const struct cor_own_opts *opts, struct name *ret,             \
                                    struct cor_own_error *reterr)                                  \
    {                                                                                              \
        return cor_own_decode(&name##_type, pool, json, opts, ret, reterr);                        \
    }                                                                                              \
    static inline int name##_encode(struct cor_pool *pool, const struct name *own,                 \
                                    struct cor_str *ret_json)                                      \
    {                                                                                              \
        return cor_own_encode(&name##_type, pool, own, ret_json);                                  \
    }                                                                                              \
    static inline int name##_copy(struct cor_pool *pool, const struct name *from,                  \
                                  struct name *ret)                                                \
    {                                                                                              \
        return cor_own_copy(&name##_type, pool, from, ret);                                        \
    }                                                                                              \
    static inline int name##_fill(struct cor_pool *pool, struct name *own)                         \
    {                                                                                              \
        return cor_own_fill(&name##_type, pool, own);                                              \
    }                                                                                              \
    static inline bool name##_equal(const struct name *a, const struct name *b)                    \
    {                                                                                              \
        return cor_own_equal(&name##_type, a, b);                                                  \
    }

/* The functions of a kind that has field numbers. */
#define COR_OWN_PROTOBUF_FUNCTIONS(name)                                                           \
    static inline int name##_decode_protobuf(struct cor_pool *pool, struct cor_str bytes,          \
                                             const struct cor_own_opts *opts, struct name *ret,    \
                                             struct cor_own_error *reterr)                         \
    {                                                                                              \
        return cor_own_decode_protobuf(&name##_type, pool, bytes, opts, ret, reterr);              \
    }                                                                                              \
    static inline int name##_encode_protobuf(struct cor_pool *pool, const struct name *own,        \
                                             struct cor_str *ret_bytes)                            \
    {                                                                                              \
        return cor_own_encode_protobuf(&name##_type, pool, own, ret_bytes);                        \
    }

/* Adds an empty element to a list; NULL: the pool has failed. */
#define COR_OWN_LIST_FUNCTIONS(name)                                                               \
    static inline struct name *name##_list_add(struct cor_pool *pool, struct name##_list *list)    \
    {                                                                                              \
        return (struct name *)cor_own_add(pool, list, sizeof(struct name));                        \
    }

/* Adds an empty value to a map; the key is not copied, and the map does not have it yet. NULL: the
 * pool has failed. */
#define COR_OWN_MAP_FUNCTIONS(name)                                                                \
    static inline struct name *name##_map_add(struct cor_pool *pool, struct name##_map *map,       \
                                              struct cor_str key)                                  \
    {                                                                                              \
        struct name##_entry *entry =                                                               \
            (struct name##_entry *)cor_own_add(pool, map, sizeof(struct name##_entry));            \
                                                                                                   \
        if (!entry)                                                                                \
            return NULL;                                                                           \
        entry->key = key;                                                                          \
        return &entry->value;                                                                      \
    }

#ifdef __cplusplus
COR_STRUCT_NAMES_END
}
#endif

#endif
