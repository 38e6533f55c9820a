/* How values of generated structs lie in memory (coracle/types/own.h), for the files of this
 * folder. Thread: any (pure). */
#ifndef COR_OWN_OWN_INT_H
#define COR_OWN_OWN_INT_H

#include "base/arena.h"
#include "base/cleanup.h"
#include "coracle/types/own.h"

/* Deepest nesting of structs that are copied, compared or encoded: a program may make a loop. */
#define COR_OWN_DEPTH_MAX 1000
/* Bytes of a wrong value that a message has. */
#define COR_OWN_SHOWN 40

struct cor_pool {
    struct cor_arena arena;
};

/* Any struct …_list or …_map. */
struct cor_own_run {
    char *p;
    size_t n, cap;
};

/* Any struct …_entry begins with its key; the value is aligned as the key is. */
struct cor_own_key {
    struct cor_str key;
};

static inline void *cor_own_at(void *own, const struct cor_own_field *field)
{
    return (char *)own + field->offset;
}

static inline const void *cor_own_at_const(const void *own, const struct cor_own_field *field)
{
    return (const char *)own + field->offset;
}

/* Bytes of an element of a list. */
static inline size_t cor_own_element_size(const struct cor_own_field *field)
{
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_BOOL:
        return sizeof(bool);
    case COR_OWN_INT32:
        return sizeof(int32_t);
    case COR_OWN_INT64:
        return sizeof(int64_t);
    case COR_OWN_DOUBLE:
        return sizeof(double);
    case COR_OWN_INT_OR_STR:
        return sizeof(struct cor_int_or_str);
    case COR_OWN_STRUCT:
        return field->type->size;
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_TIME:
    case COR_OWN_MICRO_TIME:
    case COR_OWN_QUANTITY:
    case COR_OWN_RAW:
        break;
    }
    return sizeof(struct cor_str);
}

/* Bytes of an entry of a list or a map, and where its value begins. */
static inline size_t cor_own_entry_size(const struct cor_own_field *field)
{
    const size_t align = sizeof(void *);
    size_t size = cor_own_element_size(field);

    return field->form == COR_OWN_MAP
               ? sizeof(struct cor_own_key) + (size + align - 1) / align * align
               : size;
}

static inline size_t cor_own_value_at(const struct cor_own_field *field)
{
    return field->form == COR_OWN_MAP ? sizeof(struct cor_own_key) : 0;
}

/* The field with this name; NULL: there is none. */
const struct cor_own_field *cor_own_find(const struct cor_own_type *type, struct cor_str name);

/* Does a map have its keys in order, each once? */
bool cor_own_is_sorted(const struct cor_own_run *map, size_t entry_size);

/* Sorts the entries of a map in the pool by their keys; of equal keys the last stays. 0,
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_own_sort(struct cor_pool *pool, struct cor_own_run *map, size_t entry_size);

/* The map itself when its keys are sorted, or a sorted copy in the pool. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_own_sorted(struct cor_pool *pool, const struct cor_own_run *map, size_t entry_size,
                   struct cor_own_run *ret);

/* One member from JSON that the library or a generator made, and to JSON in the pool. 0,
 * -COR_EINVAL (a value that it cannot have), -COR_ENOMEM, -COR_ETOOBIG. */
int cor_own_decode_member(const struct cor_own_field *field, struct cor_pool *pool,
                          struct cor_str json, void *to);
int cor_own_encode_member(const struct cor_own_field *field, struct cor_pool *pool,
                          const void *value, struct cor_str *ret_json);

/* Copies valid JSON without the space between its words, and returns how many bytes that are. The
 * two may be the same memory. */
size_t cor_own_compact(char *to, struct cor_str json);

/* Text that grows in the pool: the unknown members of an object, with commas between them. */
struct cor_own_grown {
    char *p;
    size_t n, cap;
};

/* 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_own_grow(struct cor_pool *pool, struct cor_own_grown *text, struct cor_str more);

/* What a value of JSON is, for a message: "an object". */
const char *cor_own_json_words(struct cor_str json) __attribute__((cold, noinline));

/* Writes the message, unless `why` is NULL. Returns -COR_EINVAL. */
int cor_own_refuse(struct cor_own_error *why, const char *fmt, ...) __attribute__((cold, noinline))
COR_PRINTF(2, 3);
/* Put a member or an element before the path of what was refused, and return `r`. */
int cor_own_in_member(struct cor_own_error *why, struct cor_str name, int r)
    __attribute__((cold, noinline));
int cor_own_in_element(struct cor_own_error *why, size_t i, int r) __attribute__((cold, noinline));
/* An object that says which kind it is has to be of the type's. 0, -COR_EINVAL. */
int cor_own_check_kind(const struct cor_own_type *type, const void *own, struct cor_own_error *why);

/* The number of a field in the message at this level: level 0 is the struct's own message, the
 * levels below are those of inlined structs. */
static inline uint32_t cor_own_number(const struct cor_own_field *field, unsigned level)
{
    return level < 2 && field->via[level] != 0 ? field->via[level] : field->number;
}

/* Is the field in a message below this level? */
static inline bool cor_own_is_below(const struct cor_own_field *field, unsigned level)
{
    return level < 2 && field->via[level] != 0;
}

/* Bytes of a member; of a struct that is pointed to, those of the pointer. */
static inline size_t cor_own_member_size(const struct cor_own_field *field)
{
    if (field->form != COR_OWN_ONE)
        return sizeof(struct cor_own_run);
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_BOOL:
        return sizeof(struct cor_opt_bool);
    case COR_OWN_INT32:
        return sizeof(struct cor_opt_int32);
    case COR_OWN_INT64:
        return sizeof(struct cor_opt_int64);
    case COR_OWN_DOUBLE:
        return sizeof(struct cor_opt_double);
    case COR_OWN_TIME:
        return sizeof(struct cor_opt_time);
    case COR_OWN_MICRO_TIME:
        return sizeof(struct cor_opt_micro_time);
    case COR_OWN_INT_OR_STR:
        return sizeof(struct cor_int_or_str);
    case COR_OWN_STRUCT:
        return field->flags & COR_OWN_POINTER ? sizeof(void *) : field->type->size;
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_QUANTITY:
    case COR_OWN_RAW:
        break;
    }
    return sizeof(struct cor_str);
}

/* Where the value of an optional number begins, which its flag comes before; of others 0. */
static inline size_t cor_own_opt_at(const struct cor_own_field *field)
{
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_BOOL:
        return offsetof(struct cor_opt_bool, value);
    case COR_OWN_INT32:
        return offsetof(struct cor_opt_int32, value);
    case COR_OWN_INT64:
        return offsetof(struct cor_opt_int64, value);
    case COR_OWN_DOUBLE:
        return offsetof(struct cor_opt_double, value);
    case COR_OWN_STRUCT:
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_TIME:
    case COR_OWN_MICRO_TIME:
    case COR_OWN_QUANTITY:
    case COR_OWN_INT_OR_STR:
    case COR_OWN_RAW:
        break;
    }
    return 0;
}

/* Replaces what a member, which was copied byte by byte, points to by copies in the pool. 0,
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_own_copy_member(struct cor_pool *pool, const struct cor_own_field *field, void *value);

/* Is it apiVersion or kind? */
bool cor_own_is_about_kind(const struct cor_own_field *field);

/* Is the value set? A struct that is not pointed to always is. */
bool cor_own_is_set(const struct cor_own_field *field, const void *value);

#endif
