/* JSON into generated structs.
 *
 * Flow: the input is checked as a whole (json/text/json.h), then copied into the pool once. The
 * copy is read from front to back by the table of the type. Texts stay where they are in the copy:
 * escapes are decoded in place, and the closing quote becomes the NUL behind the text. So a decoded
 * object needs one piece of memory for all its texts, and one for each list, map and struct that is
 * pointed to.
 *
 * After the check nothing can be wrong but a value of another type than its member, a number that
 * does not fit, a quantity, a time or base64 that cannot be read, or a member that is refused. The
 * first failure ends the walk, and each level puts its part before the path on the way out.
 * Recursion is as deep as the input, which the check has limited. Linear in the bytes of the input,
 * except for maps whose keys are not sorted (n log n). Thread: one at a time. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/sized.h"
#include "coracle/quantity.h"
#include "coracle/time.h"
#include "own/own_int.h"
#include "json/text/bytes.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define INPUT_BYTES_MAX (64u << 20)
#define NUMBER_SHOWN    COR_OWN_SHOWN
#define SEEN_WORDS      4 /* of 64 fields each */

struct reader {
    char *p, *end; /* of the copy; the next byte to read */
    struct cor_pool *pool;
    enum cor_own_unknown unknown;
    struct cor_own_error *why; /* may be NULL */
};

static int read_struct(struct reader *rd, const struct cor_own_type *type, void *own);

static inline void skip_space(struct reader *rd)
{
    while (cor_json_is_space(*rd->p))
        rd->p++;
}

static int __attribute__((cold, noinline)) refuse_type(struct reader *rd, const char *expected)
{
    return cor_own_refuse(rd->why, "%s was expected, but there is %s", expected,
                          cor_own_json_words(cor_str(rd->p, (size_t)(rd->end - rd->p))));
}

/* The string at `p`, which is a quote: decoded in place and terminated. */
static struct cor_str take_text(struct reader *rd)
{
    char *begin = rd->p + 1;
    char *stop = (char *)cor_json_find_quote_or_escape(begin, rd->end);
    struct cor_str text;

    if (*stop == '"') {
        text = cor_str(begin, (size_t)(stop - begin));
    } else {
        while (*stop != '"')
            stop = (char *)cor_json_find_quote_or_escape(stop + 2, rd->end);
        cor_json_unescape(cor_str(begin, (size_t)(stop - begin)), begin, (size_t)(stop - begin),
                          &text);
        begin[text.n] = '\0';
    }
    *stop = '\0';
    rd->p = stop + 1;
    return text;
}

static struct cor_str take_value(struct reader *rd)
{
    struct cor_str value = cor_json_first_value(cor_str(rd->p, (size_t)(rd->end - rd->p)));

    rd->p += value.n;
    return value;
}

/* The JSON itself, without the space between its words: the copy is changed in place. */
static struct cor_str take_json(struct reader *rd)
{
    struct cor_str value = take_value(rd);

    return cor_str(value.p, cor_own_compact((char *)value.p, value));
}

/* Goes on behind a comma; false: the object or list ends, and so is passed. */
static inline bool take_comma(struct reader *rd)
{
    char c;

    skip_space(rd);
    c = *rd->p++;
    skip_space(rd);
    return c == ',';
}

/* Passes the opening bracket; false: it is empty, and its end is passed as well. */
static inline bool enter(struct reader *rd, char closing)
{
    rd->p++;
    skip_space(rd);
    if (*rd->p != closing)
        return true;
    rd->p++;
    return false;
}

static int read_text(struct reader *rd, struct cor_str *ret)
{
    if (*rd->p != '"')
        return refuse_type(rd, "a text");
    *ret = take_text(rd);
    return 0;
}

static int read_int(struct reader *rd, int64_t min, int64_t max, int64_t *ret)
{
    struct cor_str number;
    int r;

    if (*rd->p != '-' && !(*rd->p >= '0' && *rd->p <= '9'))
        return refuse_type(rd, "a number");
    number = take_value(rd);
    r = cor_json_to_i64(number, ret);
    if (r == -COR_EINVAL)
        return cor_own_refuse(rd->why, "a whole number was expected, but it is %.*s",
                              number.n < NUMBER_SHOWN ? (int)number.n : NUMBER_SHOWN, number.p);
    if (r < 0 || *ret < min || *ret > max)
        return cor_own_refuse(rd->why,
                              "a number that fits into %d bits was expected, but it is %.*s",
                              max == INT32_MAX ? 32 : 64,
                              number.n < NUMBER_SHOWN ? (int)number.n : NUMBER_SHOWN, number.p);
    return 0;
}

static int read_double(struct reader *rd, double *ret)
{
    struct cor_str number;

    if (*rd->p != '-' && !(*rd->p >= '0' && *rd->p <= '9'))
        return refuse_type(rd, "a number");
    number = take_value(rd);
    return cor_view_double(cor_view(number), ret) == 0
               ? 0
               : cor_own_refuse(rd->why, "a number that a double holds was expected");
}

static int read_bool(struct reader *rd, bool *ret)
{
    if (*rd->p != 't' && *rd->p != 'f')
        return refuse_type(rd, "true or false");
    *ret = *rd->p == 't';
    rd->p += *ret ? 4 : 5;
    return 0;
}

static int read_bytes(struct reader *rd, struct cor_str *ret)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf bytes;
    struct cor_str text;
    int r = read_text(rd, &text);

    cor_buf_init(&bytes, INPUT_BYTES_MAX);
    if (r == 0)
        r = cor_base64_decode(COR_BASE64_STD, text, &bytes, NULL);
    if (r == -COR_EINVAL && text.p)
        return cor_own_refuse(rd->why, "base64 was expected");
    if (r < 0)
        return r;
    /* The bytes are shorter than their base64. */
    memcpy((char *)text.p, cor_buf_z(&bytes), bytes.n + 1);
    *ret = cor_str(text.p, bytes.n);
    return 0;
}

static int read_time(struct reader *rd, bool is_micro, bool *ret_is_set, int64_t *ret)
{
    struct cor_str text;
    int r = read_text(rd, &text);

    if (r < 0)
        return r;
    if ((is_micro ? cor_micro_time_parse(text, ret) : cor_time_parse(text, ret)) < 0)
        return cor_own_refuse(rd->why,
                              "a time as 2006-01-02T15:04:05Z was expected, but it is \"%.*s\"",
                              text.n < NUMBER_SHOWN ? (int)text.n : NUMBER_SHOWN, text.p);
    *ret_is_set = true;
    return 0;
}

/* A quantity is written as a text or a number; what is stored is canonical, as upstream has it. */
static int read_quantity(struct reader *rd, struct cor_str *ret)
{
    char canonical[COR_QUANTITY_TEXT_MAX];
    struct cor_str text;
    int r;

    if (*rd->p == '"')
        text = take_text(rd);
    else if (*rd->p == '-' || (*rd->p >= '0' && *rd->p <= '9'))
        text = take_value(rd);
    else
        return refuse_type(rd, "a quantity");
    r = cor_quantity_canonical(text, canonical);
    if (r == -COR_ENOMEM)
        return r;
    if (r < 0)
        return cor_own_refuse(rd->why, "a quantity was expected, but it is \"%.*s\"",
                              text.n < NUMBER_SHOWN ? (int)text.n : NUMBER_SHOWN, text.p);
    *ret = text;
    if (!cor_str_eqz(text, canonical) || text.p[text.n] != '\0')
        *ret = cor_pool_copy(rd->pool, cor_strz(canonical));
    return ret->p ? 0 : cor_pool_error(rd->pool);
}

static int read_int_or_str(struct reader *rd, bool is_narrow, struct cor_int_or_str *ret)
{
    if (*rd->p == '"') {
        *ret = cor_int_or_str_text(take_text(rd));
        return 0;
    }
    *ret = cor_int_or_str_int(0);
    return read_int(rd, is_narrow ? INT32_MIN : INT64_MIN, is_narrow ? INT32_MAX : INT64_MAX,
                    &ret->number);
}

/* One value that is not a container, into memory of an element: a list has plain numbers, where a
 * member has ones that may be absent. */
static int read_element(struct reader *rd, const struct cor_own_field *field, void *to)
{
    int64_t number;
    int r;

    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        return read_struct(rd, field->type, to);
    case COR_OWN_BOOL:
        return read_bool(rd, to);
    case COR_OWN_INT32:
        r = read_int(rd, INT32_MIN, INT32_MAX, &number);
        if (r == 0)
            *(int32_t *)to = (int32_t)number;
        return r;
    case COR_OWN_INT64:
        return read_int(rd, INT64_MIN, INT64_MAX, to);
    case COR_OWN_DOUBLE:
        return read_double(rd, to);
    case COR_OWN_BYTES:
        return read_bytes(rd, to);
    case COR_OWN_QUANTITY:
        return read_quantity(rd, to);
    case COR_OWN_INT_OR_STR:
        return read_int_or_str(rd, field->flags & COR_OWN_NARROW, to);
    case COR_OWN_RAW:
        *(struct cor_str *)to = take_json(rd);
        return 0;
    case COR_OWN_TEXT:
    case COR_OWN_TIME:
    case COR_OWN_MICRO_TIME:
        break;
    }
    return read_text(rd, to);
}

static bool take_null(struct reader *rd)
{
    if (*rd->p != 'n')
        return false;
    rd->p += 4;
    return true;
}

static int read_list(struct reader *rd, const struct cor_own_field *field, struct cor_own_run *list)
{
    size_t size = cor_own_entry_size(field);
    struct cor_own_run made = {.p = (char *)"", .n = 0};

    if (*rd->p != '[')
        return refuse_type(rd, "a list");
    if (enter(rd, ']')) {
        do {
            void *to = cor_own_add(rd->pool, &made, size);
            int r;

            if (!to)
                return cor_pool_error(rd->pool);
            /* null is an element like any other, and an empty one, except for raw JSON. */
            if (field->kind != COR_OWN_RAW && take_null(rd))
                continue;
            r = read_element(rd, field, to);
            if (r < 0)
                return cor_own_in_element(rd->why, made.n - 1, r);
        } while (take_comma(rd));
    }
    *list = made;
    return 0;
}

static int read_map(struct reader *rd, const struct cor_own_field *field, struct cor_own_run *map)
{
    size_t size = cor_own_entry_size(field);
    struct cor_own_run made = {.p = (char *)"", .n = 0};

    if (*rd->p != '{')
        return refuse_type(rd, "an object");
    if (enter(rd, '}')) {
        do {
            struct cor_own_key *entry = cor_own_add(rd->pool, &made, size);
            int r;

            if (!entry)
                return cor_pool_error(rd->pool);
            entry->key = take_text(rd);
            skip_space(rd);
            rd->p++;
            skip_space(rd);
            if (field->kind != COR_OWN_RAW && take_null(rd))
                continue;
            r = read_element(rd, field, (char *)entry + cor_own_value_at(field));
            if (r < 0)
                return cor_own_in_member(rd->why, entry->key, r);
        } while (take_comma(rd));
    }
    if (!cor_own_is_sorted(&made, size)) {
        size_t n = made.n;
        int r = cor_own_sort(rd->pool, &made, size);

        if (r < 0)
            return r;
        if (made.n < n && rd->unknown == COR_OWN_UNKNOWN_REFUSE)
            return cor_own_refuse(rd->why, "each key was expected once");
    }
    *map = made;
    return 0;
}

static int read_pointer(struct reader *rd, const struct cor_own_type *type, void **to)
{
    void *made = cor_pool_alloc(rd->pool, type->size);
    int r;

    if (!made)
        return cor_pool_error(rd->pool);
    r = read_struct(rd, type, made);
    if (r == 0)
        *to = made;
    return r;
}

static int read_member(struct reader *rd, const struct cor_own_field *field, void *to)
{
    bool is_set = false;
    int r;

    if (field->form == COR_OWN_LIST)
        return read_list(rd, field, to);
    if (field->form == COR_OWN_MAP)
        return read_map(rd, field, to);
    switch ((enum cor_own_kind)field->kind) {
    case COR_OWN_STRUCT:
        return field->flags & COR_OWN_POINTER ? read_pointer(rd, field->type, to)
                                              : read_struct(rd, field->type, to);
    case COR_OWN_BOOL: {
        struct cor_opt_bool *opt = to;

        r = read_bool(rd, &opt->value);
        opt->is_set = r == 0;
        return r;
    }
    case COR_OWN_INT32: {
        struct cor_opt_int32 *opt = to;

        r = read_element(rd, field, &opt->value);
        opt->is_set = r == 0;
        return r;
    }
    case COR_OWN_INT64: {
        struct cor_opt_int64 *opt = to;

        r = read_element(rd, field, &opt->value);
        opt->is_set = r == 0;
        return r;
    }
    case COR_OWN_DOUBLE: {
        struct cor_opt_double *opt = to;

        r = read_double(rd, &opt->value);
        opt->is_set = r == 0;
        return r;
    }
    case COR_OWN_TIME: {
        struct cor_opt_time *opt = to;

        r = read_time(rd, false, &is_set, &opt->unix_s);
        opt->is_set = is_set;
        return r;
    }
    case COR_OWN_MICRO_TIME: {
        struct cor_opt_micro_time *opt = to;

        r = read_time(rd, true, &is_set, &opt->unix_us);
        opt->is_set = is_set;
        return r;
    }
    case COR_OWN_TEXT:
    case COR_OWN_BYTES:
    case COR_OWN_QUANTITY:
    case COR_OWN_INT_OR_STR:
    case COR_OWN_RAW:
        break;
    }
    return read_element(rd, field, to);
}

static int read_unknown(struct reader *rd, char *member, struct cor_str key,
                        struct cor_own_grown *unknown)
{
    size_t n;

    take_value(rd);
    switch (rd->unknown) {
    case COR_OWN_UNKNOWN_KEEP:
        n = cor_own_compact(member, cor_str(member, (size_t)(rd->p - member)));
        return cor_own_grow(rd->pool, unknown, cor_str(member, n));
    case COR_OWN_UNKNOWN_REFUSE:
        return cor_own_in_member(
            rd->why, key, cor_own_refuse(rd->why, "a member that the type has was expected"));
    case COR_OWN_UNKNOWN_DROP:
        break;
    }
    return 0;
}

/* The field of a key. Keys mostly come in the order of the table, so the one behind the last is
 * tried first. */
static inline const struct cor_own_field *
field_of(const struct cor_own_type *type, const struct cor_own_field *guess, struct cor_str key)
{
    if (guess < type->fields + type->nfields && guess->name_n == key.n &&
        memcmp(guess->name, key.p, key.n) == 0)
        return guess;
    return cor_own_find(type, key);
}

/* Notes a member in `seen`; true when it is there already. Of the fields beyond those that fit,
 * only one that is set counts. */
static bool is_repeated(const struct cor_own_type *type, const struct cor_own_field *field,
                        const void *value, uint64_t seen[SEEN_WORDS])
{
    size_t place = (size_t)(field - type->fields);
    uint64_t bit = UINT64_C(1) << place % 64;
    bool is_seen;

    if (place >= SEEN_WORDS * 64)
        return field->kind != COR_OWN_STRUCT && cor_own_is_set(field, value);
    is_seen = seen[place / 64] & bit;
    seen[place / 64] |= bit;
    return is_seen;
}

static int read_struct(struct reader *rd, const struct cor_own_type *type, void *own)
{
    const struct cor_own_field *guess = type->fields;
    struct cor_own_grown unknown = {NULL, 0, 0};
    uint64_t seen[SEEN_WORDS] = {0};
    int r = 0;

    if (*rd->p != '{')
        return refuse_type(rd, "an object");
    if (!enter(rd, '}'))
        return 0;
    do {
        char *member = rd->p;
        const char *quote = cor_json_find_quote_or_escape(member + 1, rd->end);
        struct cor_str key = cor_str(member + 1, (size_t)(quote - member - 1));
        const struct cor_own_field *field = NULL;

        /* No field has a name that needs an escape, but its letters may be written as escapes. */
        if (*quote == '\\') {
            struct cor_str raw;
            char *copy;

            while (*quote != '"')
                quote = cor_json_find_quote_or_escape(quote + 2, rd->end);
            raw = cor_str(member + 1, (size_t)(quote - member - 1));
            copy = cor_pool_alloc(rd->pool, raw.n + 1);
            if (!copy)
                return cor_pool_error(rd->pool);
            cor_json_unescape(raw, copy, raw.n, &key);
        }
        field = field_of(type, guess, key);
        rd->p = (char *)quote + 1;
        skip_space(rd);
        rd->p++;
        skip_space(rd);
        if (!field) {
            r = read_unknown(rd, member, key, &unknown);
        } else {
            void *to = cor_own_at(own, field);

            guess = field + 1;
            if (rd->unknown == COR_OWN_UNKNOWN_REFUSE && is_repeated(type, field, to, seen))
                return cor_own_in_member(rd->why, key,
                                         cor_own_refuse(rd->why, "the member was expected once"));
            if (!take_null(rd))
                r = read_member(rd, field, to);
            if (r < 0)
                return cor_own_in_member(rd->why, key, r);
        }
    } while (r == 0 && take_comma(rd));
    if (unknown.n > 0)
        *(struct cor_str *)(void *)((char *)own + type->unknown_fields_at) =
            cor_str(unknown.p, unknown.n);
    return r;
}

static int check_input(struct cor_str json, const struct cor_own_opts *opts,
                       struct cor_own_error *reterr)
{
    struct cor_json_limits limits = {.bytes_max =
                                         opts->bytes_max > 0 ? opts->bytes_max : INPUT_BYTES_MAX,
                                     .depth_max = COR_OWN_DEPTH_MAX};
    struct cor_json_error where;
    bool is_canonical;
    int r;

    if (opts->depth_max > 0 && opts->depth_max < limits.depth_max)
        limits.depth_max = opts->depth_max;
    r = cor_json_check(json, &limits, &is_canonical, &where);
    if (r == -COR_EINVAL && reterr)
        snprintf(reterr->message, sizeof(reterr->message), "line %u, column %u: %s", where.line,
                 where.column, where.message);
    return r;
}

int cor_own_decode(const struct cor_own_type *type, struct cor_pool *pool, struct cor_str json,
                   const struct cor_own_opts *opts, void *ret, struct cor_own_error *reterr)
{
    struct cor_own_opts known;
    struct reader rd = {.pool = pool, .why = reterr};
    struct cor_str copy;
    int r = cor_sized_copy(&known, sizeof(known), opts);

    memset(ret, 0, type->size);
    if (reterr)
        *reterr = (struct cor_own_error){.path = ""};
    if (r == 0)
        r = check_input(json, &known, reterr);
    if (r < 0)
        return r;
    copy = cor_pool_copy(pool, json);
    if (!copy.p)
        return cor_pool_error(pool);
    rd.unknown = known.unknown;
    rd.p = (char *)copy.p;
    rd.end = rd.p + copy.n;
    skip_space(&rd);
    r = read_struct(&rd, type, ret);
    if (r == 0)
        r = cor_own_check_kind(type, ret, reterr);
    if (r < 0)
        memset(ret, 0, type->size);
    return r;
}

int cor_own_decode_member(const struct cor_own_field *field, struct cor_pool *pool,
                          struct cor_str json, void *to)
{
    const struct cor_own_opts opts = {COR_OWN_OPTS};
    struct reader rd = {.pool = pool};
    struct cor_str copy;
    int r = check_input(json, &opts, NULL);

    if (r < 0)
        return r;
    copy = cor_pool_copy(pool, json);
    if (!copy.p)
        return cor_pool_error(pool);
    rd.p = (char *)copy.p;
    rd.end = rd.p + copy.n;
    skip_space(&rd);
    return take_null(&rd) ? 0 : read_member(&rd, field, to);
}
