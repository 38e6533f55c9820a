/* One pass over the bytes that decides both whether they are JSON and whether they are canonical.
 * Each on_… function reads one construct at `p` and returns the byte after it, or NULL after noting
 * the failure. `levels` remembers the last key of every open object for the order of keys. */
#include "json/text/json_int.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"

/* A number of at most so many bytes has no more digits than the largest double, and without an
 * exponent it is finite. */
#define PLAIN_MAX  308
#define HUGE_SHOWN 32

struct level {
    uint32_t key_at;
    uint32_t key_n;
    bool object;
    bool has_key;
    bool escaped; /* the key's raw text is not its text */
};

struct checker {
    const char *begin, *end;
    struct cor_json_traits traits;
    unsigned depth, depth_max;
    const char *failed_at;
    const char *context; /* completes "invalid character 'x' …"; or the whole message */
    bool whole;
    bool any_number;
    struct cor_str huge;  /* the number that no double holds, and that was refused */
    struct level *levels; /* COR_JSON_DEPTH_MAX + 1, by depth */
};

__attribute__((cold, noinline)) static const char *fail_at(struct checker *ck, const char *p,
                                                           const char *context)
{
    ck->failed_at = p;
    ck->context = context;
    ck->whole = false;
    if (p >= ck->end) {
        ck->context = "unexpected end of JSON input";
        ck->whole = true;
    }
    return NULL;
}

__attribute__((cold, noinline)) static const char *fail_whole(struct checker *ck, const char *p,
                                                              const char *message)
{
    ck->failed_at = p;
    ck->context = message;
    ck->whole = true;
    return NULL;
}

static inline const char *skip_space(struct checker *ck, const char *p)
{
    if (p < ck->end && (unsigned char)*p > ' ')
        return p;
    while (p < ck->end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) {
        ck->traits.canonical = false;
        p++;
    }
    return p;
}

static bool is_minimal_escape(const char *hex, int u)
{
    if (u >= 0x20 || u == '\b' || u == '\t' || u == '\n' || u == '\f' || u == '\r')
        return false;
    return hex[3] < 'A' || hex[3] > 'F';
}

/* `p` is at the backslash of \uXXXX. */
static const char *on_unicode_escape(struct checker *ck, const char *p)
{
    int u, low;

    for (int i = 2; i < 6; i++) {
        if (p + i >= ck->end || cor_str_find(COR_STR("0123456789abcdefABCDEF"), p[i]) < 0)
            return fail_at(ck, p + i, "in \\u hexadecimal character escape");
    }
    u = cor_json_hex4(p + 2);
    if (!is_minimal_escape(p + 2, u))
        ck->traits.canonical = false;
    p += 6;
    if (!cor_json_is_high_surrogate(u)) {
        ck->traits.lone_surrogate |= cor_json_is_low_surrogate(u);
        return p;
    }
    if (ck->end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
        low = cor_json_hex4(p + 2);
        if (cor_json_is_low_surrogate(low))
            return p + 6;
    }
    ck->traits.lone_surrogate = true;
    return p;
}

static const char *on_escape(struct checker *ck, const char *p)
{
    if (p + 1 >= ck->end)
        return fail_at(ck, p + 1, "");
    switch (p[1]) {
    case '"':
    case '\\':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't':
        return p + 2;
    case '/':
        ck->traits.canonical = false;
        return p + 2;
    case 'u':
        return on_unicode_escape(ck, p);
    default:
        return fail_at(ck, p + 1, "in string escape code");
    }
}

/* `p` is after the opening quote; returns the closing one. */
static inline const char *on_string(struct checker *ck, const char *p, bool *ret_escaped)
{
    *ret_escaped = false;
    for (;;) {
        p = cor_json_find_special_or_high(p, ck->end);
        if (p == ck->end)
            return fail_at(ck, p, "");
        if (*p == '"')
            return p;
        if (*p == '\\') {
            *ret_escaped = true;
            p = on_escape(ck, p);
            if (!p)
                return NULL;
        } else if ((unsigned char)*p < 0x20) {
            return fail_at(ck, p, "in string literal");
        } else {
            size_t n = cor_json_utf8_len((const unsigned char *)p, (const unsigned char *)ck->end);

            if (n == 0)
                return fail_whole(ck, p, "invalid UTF-8 in string literal");
            p += n;
        }
    }
}

static inline bool is_digit(const struct checker *ck, const char *p)
{
    return p < ck->end && *p >= '0' && *p <= '9';
}

/* `p` is behind a number that is long or has an exponent. */
__attribute__((cold, noinline)) static const char *check_range(struct checker *ck,
                                                               const char *begin, const char *p)
{
    struct cor_str number = cor_str(begin, (size_t)(p - begin));

    if (ck->any_number || cor_json_number_is_finite(number))
        return p;
    ck->huge = number;
    return fail_whole(ck, begin, "");
}

static const char *on_number(struct checker *ck, const char *p)
{
    const char *begin = p;

    if (*p == '-' && !is_digit(ck, ++p))
        return fail_at(ck, p, "in numeric literal");
    if (*p == '0') {
        p++;
    } else {
        while (is_digit(ck, p))
            p++;
    }
    if (p < ck->end && *p == '.') {
        if (!is_digit(ck, ++p))
            return fail_at(ck, p, "after decimal point in numeric literal");
        while (is_digit(ck, p))
            p++;
    }
    if (p < ck->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < ck->end && (*p == '+' || *p == '-'))
            p++;
        if (!is_digit(ck, p))
            return fail_at(ck, p, "in exponent of numeric literal");
        while (is_digit(ck, p))
            p++;
        return check_range(ck, begin, p);
    }
    return p - begin > PLAIN_MAX ? check_range(ck, begin, p) : p;
}

static const char *on_literal(struct checker *ck, const char *p)
{
    static const char *const contexts[3][4] = {
        {"in literal true (expecting 'r')", "in literal true (expecting 'u')",
         "in literal true (expecting 'e')", NULL},
        {"in literal false (expecting 'a')", "in literal false (expecting 'l')",
         "in literal false (expecting 's')", "in literal false (expecting 'e')"},
        {"in literal null (expecting 'u')", "in literal null (expecting 'l')",
         "in literal null (expecting 'l')", NULL},
    };
    int which = *p == 't' ? 0 : *p == 'f' ? 1 : 2;
    const char *word = which == 0 ? "true" : which == 1 ? "false" : "null";

    for (size_t i = 1; word[i]; i++) {
        if (p + i >= ck->end || p[i] != word[i])
            return fail_at(ck, p + i, contexts[which][i - 1]);
    }
    return p + strlen(word);
}

/* As cor_str_cmp(a, b) < 0. Keys that are beside each other differ in one of their first bytes, so
 * most are compared without a call. */
static inline bool is_less(struct cor_str a, struct cor_str b)
{
    size_t n = a.n < b.n ? a.n : b.n, i = 0;

    while (i < n && i < 8 && a.p[i] == b.p[i])
        i++;
    return i < n && i < 8 ? (unsigned char)a.p[i] < (unsigned char)b.p[i] : cor_str_cmp(a, b) < 0;
}

/* Returns whether `key` comes after the previous key in canonical order. */
static inline bool in_order(const struct checker *ck, const struct level *last, struct cor_str key,
                            bool escaped)
{
    struct cor_str before = cor_str(ck->begin + last->key_at, last->key_n);

    if (ck->depth == 1)
        return cor_json_outermost_cmp(before, key) < 0;
    if (escaped || last->escaped)
        return cor_json_raw_cmp(before, key) < 0;
    return is_less(before, key);
}

/* `p` is where a key must begin; returns the byte after its colon. */
static inline const char *on_key(struct checker *ck, const char *p)
{
    struct level *level = &ck->levels[ck->depth];
    const char *close;
    bool escaped;

    if (p >= ck->end || *p != '"')
        return fail_at(ck, p, "looking for beginning of object key string");
    close = on_string(ck, ++p, &escaped);
    if (!close)
        return NULL;
    if (ck->traits.canonical) {
        struct cor_str key = cor_str(p, (size_t)(close - p));

        if (level->has_key && !in_order(ck, level, key, escaped))
            ck->traits.canonical = false;
        level->key_at = (uint32_t)(p - ck->begin);
        level->key_n = (uint32_t)key.n;
        level->has_key = true;
        level->escaped = escaped;
    }
    p = skip_space(ck, close + 1);
    if (p >= ck->end || *p != ':')
        return fail_at(ck, p, "after object key");
    return p + 1;
}

/* `p` is at an opening brace or bracket. An empty container is read whole; else a value comes next.
 */
static inline const char *on_open(struct checker *ck, const char *p, bool *ret_empty)
{
    struct level *level;
    bool object = *p == '{';

    if (ck->depth == ck->depth_max)
        return fail_at(ck, p, "exceeded max depth");
    p = skip_space(ck, p + 1);
    *ret_empty = p < ck->end && *p == (object ? '}' : ']');
    if (*ret_empty)
        return p + 1;
    level = &ck->levels[++ck->depth];
    level->object = object;
    level->has_key = false;
    return object ? on_key(ck, p) : p;
}

/* Reads one value, or the opening of one; `ret_done` tells which. */
static inline const char *on_value(struct checker *ck, const char *p, bool *ret_done)
{
    bool escaped;

    p = skip_space(ck, p);
    *ret_done = true;
    if (p >= ck->end)
        return fail_at(ck, p, "");
    switch (*p) {
    case '"':
        p = on_string(ck, p + 1, &escaped);
        return p ? p + 1 : NULL;
    case '{':
    case '[':
        return on_open(ck, p, ret_done);
    case '-':
    case '0' ... '9':
        return on_number(ck, p);
    case 't':
    case 'f':
    case 'n':
        return on_literal(ck, p);
    default:
        return fail_at(ck, p, "looking for beginning of value");
    }
}

/* After a value: closes what ends here and returns where the next value begins, or the end. */
static inline const char *after_value(struct checker *ck, const char *p)
{
    while (ck->depth > 0) {
        bool object = ck->levels[ck->depth].object;

        p = skip_space(ck, p);
        if (p < ck->end && *p == ',')
            return object ? on_key(ck, skip_space(ck, p + 1)) : p + 1;
        if (p >= ck->end || *p != (object ? '}' : ']'))
            return fail_at(ck, p, object ? "after object key:value pair" : "after array element");
        ck->depth--;
        p++;
    }
    return p;
}

/* Reads one value and returns the byte after it. */
static inline const char *run_first(struct checker *ck)
{
    const char *p = ck->begin;
    bool done;

    do {
        p = on_value(ck, p, &done);
        if (p && done)
            p = after_value(ck, p);
    } while (p && ck->depth > 0);
    return p;
}

static const char *run(struct checker *ck)
{
    const char *p = run_first(ck);

    if (!p)
        return NULL;
    p = skip_space(ck, p);
    return p == ck->end ? p : fail_at(ck, p, "after top-level value");
}

/* The character as Go quotes it in its messages. */
static void quote_char(unsigned char c, char *dst, size_t n)
{
    static const char named[] = "abtnvfr";

    if (c == '\'' || c == '\\')
        snprintf(dst, n, "'\\%c'", c);
    else if (c >= 7 && c <= 13)
        snprintf(dst, n, "'\\%c'", named[c - 7]);
    else if (c < 0x20 || c == 0x7f)
        snprintf(dst, n, "'\\x%02x'", c);
    else if (c < 0x7f)
        snprintf(dst, n, "'%c'", c);
    else if (c < 0xa1 || c == 0xad)
        snprintf(dst, n, "'\\u00%02x'", c);
    else
        snprintf(dst, n, "'%c%c'", 0xc0 | c >> 6, 0x80 | (c & 0x3f));
}

static void describe(const struct checker *ck, struct cor_json_error *err)
{
    char quoted[16];

    *err = (struct cor_json_error){.line = 1, .column = 1};
    err->offset = (size_t)(ck->failed_at - ck->begin);
    for (const char *p = ck->begin; p < ck->failed_at; p++) {
        err->column++;
        if (*p == '\n') {
            err->line++;
            err->column = 1;
        }
    }
    if (ck->huge.p) {
        size_t n = ck->huge.n < HUGE_SHOWN ? ck->huge.n : HUGE_SHOWN;

        snprintf(err->message, sizeof(err->message),
                 "json: cannot unmarshal number %.*s%s into Go value of type float64", (int)n,
                 ck->huge.p, n < ck->huge.n ? "..." : "");
        return;
    }
    if (ck->whole) {
        snprintf(err->message, sizeof(err->message), "%s", ck->context);
        return;
    }
    quote_char((unsigned char)*ck->failed_at, quoted, sizeof(quoted));
    snprintf(err->message, sizeof(err->message), "invalid character %s %s", quoted, ck->context);
}

int cor_json_check_traits(struct cor_str in, const struct cor_json_limits *limits,
                          struct cor_json_traits *ret, struct cor_json_error *reterr)
{
    struct level levels[COR_JSON_DEPTH_MAX + 1];
    struct checker ck = {.traits = {.canonical = true}, .levels = levels};

    assert(limits->depth_max <= COR_JSON_DEPTH_MAX && limits->bytes_max < UINT32_MAX);
    if (in.n > limits->bytes_max) {
        if (reterr) {
            *reterr = (struct cor_json_error){.offset = limits->bytes_max};
            snprintf(reterr->message, sizeof(reterr->message),
                     "%zu bytes of JSON exceed the limit of %zu", in.n, limits->bytes_max);
        }
        return -COR_ETOOBIG;
    }
    ck.begin = in.n ? in.p : "";
    ck.end = ck.begin + in.n;
    ck.depth_max = limits->depth_max;
    ck.any_number = limits->any_number;
    if (!run(&ck)) {
        if (reterr)
            describe(&ck, reterr);
        return -COR_EINVAL;
    }
    *ret = ck.traits;
    return 0;
}

int cor_json_check(struct cor_str in, const struct cor_json_limits *limits, bool *ret_canonical,
                   struct cor_json_error *reterr)
{
    struct cor_json_traits traits;
    int r = cor_json_check_traits(in, limits, &traits, reterr);

    if (r < 0)
        return r;
    *ret_canonical = traits.canonical;
    return 0;
}

int cor_json_check_first(struct cor_str in, const struct cor_json_limits *limits,
                         bool *ret_canonical, size_t *ret_n)
{
    struct level levels[COR_JSON_DEPTH_MAX + 1];
    struct checker ck = {.traits = {.canonical = true},
                         .depth_max = limits->depth_max,
                         .any_number = limits->any_number,
                         .levels = levels};
    const char *stop;

    assert(limits->depth_max <= COR_JSON_DEPTH_MAX && limits->bytes_max < UINT32_MAX);
    assert(in.n > 0 && (in.p[0] == '{' || in.p[0] == '['));
    ck.begin = in.p;
    ck.end = in.p + (in.n < limits->bytes_max ? in.n : limits->bytes_max);
    stop = run_first(&ck);
    if (!stop)
        return -COR_EINVAL;
    *ret_canonical = ck.traits.canonical;
    *ret_n = (size_t)(stop - in.p);
    return 0;
}

int cor_json_find_huge(struct cor_str in, struct cor_str *ret_number)
{
    struct level levels[COR_JSON_DEPTH_MAX + 1];
    struct checker ck = {
        .traits = {.canonical = false}, .depth_max = COR_JSON_DEPTH_MAX, .levels = levels};

    assert(in.n < UINT32_MAX);
    ck.begin = in.n ? in.p : "";
    ck.end = ck.begin + in.n;
    if (run(&ck))
        return -COR_ENOTFOUND;
    if (!ck.huge.p)
        return -COR_EINVAL;
    *ret_number = ck.huge;
    return 0;
}
