/* Looking into JSON text without decoding it. The text is valid (cor_json_check() said so); on
 * other text nothing is read outside it, and a walk ends.
 *
 * Most of the work is to find where a value ends. A string is passed 16 bytes at a time; a
 * container by its strings, and, when it has more than a few of them, by blocks of 64 bytes: the
 * brackets outside strings are bits of a number, and only those that change the depth are looked
 * at. Thread: any (pure). */
#include "json/text/scan.h"

#include "base/err.h"
#include "json/text/json_int.h"

enum cor_json_type cor_json_type(struct cor_str value)
{
    if (value.n == 0)
        return COR_JSON_NONE;
    switch (value.p[0]) {
    case '{':
        return COR_JSON_OBJECT;
    case '[':
        return COR_JSON_ARRAY;
    case '"':
        return COR_JSON_STRING;
    case 't':
    case 'f':
        return COR_JSON_BOOL;
    case 'n':
        return COR_JSON_NULL;
    default:
        return COR_JSON_NUMBER;
    }
}

static inline const char *skip_space(const char *p, const char *end)
{
    while (p < end && cor_json_is_space(*p))
        p++;
    return p;
}

/* `p` is after the opening quote; returns the closing one, or the end. */
static inline const char *find_quote(const char *p, const char *end)
{
    for (;;) {
        p = cor_json_find_quote_or_escape(p, end);
        if (p >= end || *p == '"')
            return p;
        if (end - p < 2)
            return end;
        p += 2;
    }
}

static inline const char *skip_string(const char *p, const char *end)
{
    p = find_quote(p + 1, end);
    return p < end ? p + 1 : end;
}

#ifdef __SSE2__
/* How many strings of a container are passed one by one before it counts as a long one. */
#define STRINGS_OF_SHORT 4

/* Which of 64 bytes are quotes, backslashes, opening and closing bytes: one bit for each. */
struct marks {
    uint64_t quotes, escapes, opens, closes;
};

static inline struct marks read_marks(const char *p)
{
    struct marks marks = {0};

    for (int i = 0; i < 64; i += 16) {
        __m128i x = _mm_loadu_si128((const void *)(p + i));
        __m128i both = _mm_or_si128(x, _mm_set1_epi8(0x20)); /* [ as {, and ] as } */
        uint64_t quotes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
        uint64_t escapes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
        uint64_t opens = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(both, _mm_set1_epi8('{')));
        uint64_t closes = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(both, _mm_set1_epi8('}')));

        marks.quotes |= quotes << i;
        marks.escapes |= escapes << i;
        marks.opens |= opens << i;
        marks.closes |= closes << i;
    }
    return marks;
}

/* Each bit becomes the parity of itself and the bits below it: from an opening quote up to the byte
 * before the closing one the bits are set. */
static inline uint64_t parity_below(uint64_t x)
{
    for (int shift = 1; shift < 64; shift *= 2)
        x ^= x << shift;
    return x;
}

/* Which of 64 bytes follow an odd number of backslashes, and so are not an end of a string. The
 * byte before them is not a backslash. A run of backslashes that begins at an odd place is added to
 * its own start: the carry moves the bit behind the run, and by its place the length is known to be
 * even or odd. *ret_is_open: the byte behind the 64 is escaped. */
static inline uint64_t find_escaped(uint64_t escapes, bool *ret_is_open)
{
    const uint64_t even = 0x5555555555555555ull;
    uint64_t behind = escapes << 1, odd_starts = escapes & ~even & ~behind, runs;

    *ret_is_open = __builtin_add_overflow(odd_starts, escapes, &runs);
    return (even ^ (runs << 1)) & behind;
}

/* Goes on in a container from a place that is in no string, 64 bytes at a time, until it ends
 * (*depth is 0 then), or few bytes are left. */
static const char *skip_blocks(const char *p, const char *end, size_t *depth)
{
    while (end - p >= 64) {
        struct marks marks = read_marks(p);
        uint64_t in_string, empty, rest;
        bool is_open = false;

        if (marks.escapes)
            marks.quotes &= ~find_escaped(marks.escapes, &is_open);
        in_string = parity_below(marks.quotes);
        marks.opens &= ~in_string;
        marks.closes &= ~in_string;
        /* Most containers of FieldsV1 are empty, and change no depth. */
        empty = marks.opens & (marks.closes >> 1);
        rest = (marks.opens ^ empty) | (marks.closes ^ (empty << 1));
        for (; rest; rest &= rest - 1) {
            int bit = __builtin_ctzll(rest);

            if (marks.opens >> bit & 1)
                ++*depth;
            else if (--*depth == 0)
                return p + bit + 1;
        }
        p += 64;
        if (in_string >> 63) {
            p = find_quote(p + (is_open && p < end), end);
            if (p < end)
                p++;
        }
    }
    return p;
}
#endif

/* The byte after the container that `p` is inside at this depth; depth 0: `p` is at its opening. */
static const char *skip_container(const char *p, const char *end, size_t depth)
{
#ifdef __SSE2__
    unsigned strings = 0;
#endif

    while (p < end) {
        char c = *p;

        if (c == '"') {
            p = skip_string(p, end);
#ifdef __SSE2__
            if (++strings == STRINGS_OF_SHORT && depth > 0) {
                p = skip_blocks(p, end, &depth);
                if (depth == 0)
                    return p;
                strings = 0;
            }
#endif
            /* Canonical text has one of these here, unless a container ends. */
            if (p < end && (*p == ',' || *p == ':'))
                p++;
            continue;
        }
        p++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return p;
    }
    return end;
}

static const char *skip_value(const char *p, const char *end)
{
    if (p >= end)
        return end;
    if (*p == '"')
        return skip_string(p, end);
    if (*p == '{' || *p == '[')
        return skip_container(p, end, 0);
    while (p < end && *p != ',' && *p != '}' && *p != ']' && !cor_json_is_space(*p))
        p++;
    return p;
}

struct cor_json_iter cor_json_iter(struct cor_str value)
{
    const char *end = value.n > 0 ? value.p + value.n : value.p;

    if (value.n == 0 || (value.p[0] != '{' && value.p[0] != '['))
        return (struct cor_json_iter){end, end, NULL};
    return (struct cor_json_iter){value.p + 1, end, NULL};
}

/* Moves to the first byte of the next member or element; false at the closing byte. */
static inline bool next(struct cor_json_iter *it)
{
    if (it->value) {
        it->p = skip_value(it->value, it->end);
        it->value = NULL;
    }
    it->p = skip_space(it->p, it->end);
    if (it->p < it->end && *it->p == ',')
        it->p = skip_space(it->p + 1, it->end);
    return it->p < it->end && *it->p != '}' && *it->p != ']';
}

bool cor_json_iter_member(struct cor_json_iter *it, struct cor_str *ret_raw_key)
{
    const char *key, *close;

    if (!next(it) || *it->p != '"')
        return false;
    key = it->p + 1;
    close = find_quote(key, it->end);
    it->p = skip_space(close < it->end ? close + 1 : close, it->end);
    if (it->p >= it->end || *it->p != ':')
        return false;
    it->value = skip_space(it->p + 1, it->end);
    *ret_raw_key = cor_str(key, (size_t)(close - key));
    return true;
}

bool cor_json_iter_elem(struct cor_json_iter *it)
{
    if (!next(it))
        return false;
    it->value = it->p;
    return true;
}

struct cor_str cor_json_iter_value(struct cor_json_iter *it)
{
    const char *start = it->value;

    it->p = skip_value(start, it->end);
    it->value = NULL;
    return cor_str(start, (size_t)(it->p - start));
}

struct cor_str cor_json_iter_open_value(const struct cor_json_iter *it)
{
    return cor_str(it->value, (size_t)(it->end - it->value));
}

void cor_json_iter_leave(struct cor_json_iter *it, const struct cor_json_iter *inner)
{
    it->p = skip_container(inner->value ? inner->value : inner->p, it->end, 1);
    it->value = NULL;
}

bool cor_json_iter_skip_texts(struct cor_json_iter *it)
{
    const char *p = it->value, *end = it->end;
    bool is_object = p < end && *p == '{';

    if (p >= end || (!is_object && *p != '['))
        return false;
    if (end - p >= 2 && p[1] == (is_object ? '}' : ']')) {
        it->p = p + 2;
        it->value = NULL;
        return true;
    }
    /* `p` is at the opening byte, and later at each comma. */
    do {
        p++;
        if (is_object) {
            if (p >= end || *p != '"')
                return false;
            p = skip_string(p, end);
            if (p >= end || *p++ != ':')
                return false;
        }
        if (p >= end || *p != '"')
            return false;
        p = skip_string(p, end);
    } while (p < end && *p == ',');
    if (p >= end || *p != (is_object ? '}' : ']'))
        return false;
    it->p = p + 1;
    it->value = NULL;
    return true;
}

struct cor_str cor_json_skip_space(struct cor_str bytes)
{
    const char *end = bytes.p + bytes.n, *start = skip_space(bytes.p, end);

    return cor_str(start, (size_t)(end - start));
}

struct cor_str cor_json_first_value(struct cor_str bytes)
{
    struct cor_str rest = cor_json_skip_space(bytes);

    return cor_str(rest.p, (size_t)(skip_value(rest.p, rest.p + rest.n) - rest.p));
}

/* The outermost object begins with these two, so they do not show where other keys are. */
static bool is_type_key(struct cor_str raw)
{
    return cor_str_eq(raw, COR_STR("kind")) || cor_str_eq(raw, COR_STR("apiVersion"));
}

struct cor_str cor_json_find(struct cor_str object, struct cor_str key, enum cor_json_order order)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str raw, found = {NULL, 0};

    if (cor_json_type(object) != COR_JSON_OBJECT)
        return found;
    while (cor_json_iter_member(&it, &raw)) {
        int c =
            order == COR_JSON_SORTED ? cor_json_raw_cmp_text(raw, key) : !cor_json_raw_eq(raw, key);

        if (c == 0)
            found = cor_json_iter_open_value(&it);
        if ((c == 0 && order != COR_JSON_ANY_ORDER) ||
            (c > 0 && order == COR_JSON_SORTED && !is_type_key(raw)))
            break;
    }
    return found;
}

int cor_json_get(struct cor_str object, struct cor_str key, enum cor_json_order order,
                 struct cor_str *ret_value)
{
    struct cor_str found = cor_json_find(object, key, order);

    if (!found.p)
        return -COR_ENOTFOUND;
    *ret_value = cor_json_first_value(found);
    return 0;
}

void cor_json_iter_each(struct cor_json_iter *it, const struct cor_str *keys, size_t n,
                        struct cor_str *ret_values)
{
    struct cor_str raw;
    size_t i = 0;

    for (size_t j = 0; j < n; j++)
        ret_values[j] = (struct cor_str){NULL, 0};
    while (i < n && cor_json_iter_member(it, &raw)) {
        int c = cor_json_raw_cmp_text(raw, keys[i]);

        while (c > 0 && ++i < n)
            c = cor_json_raw_cmp_text(raw, keys[i]);
        if (c == 0)
            ret_values[i++] = cor_json_iter_value(it);
    }
}

void cor_json_get_each(struct cor_str object, const struct cor_str *keys, size_t n,
                       struct cor_str *ret_values)
{
    struct cor_json_iter it =
        cor_json_iter(cor_json_type(object) == COR_JSON_OBJECT ? object : COR_STR(""));

    cor_json_iter_each(&it, keys, n, ret_values);
}

int cor_json_to_raw(struct cor_str value, struct cor_str *ret_raw)
{
    if (cor_json_type(value) != COR_JSON_STRING || value.n < 2)
        return -COR_EINVAL;
    *ret_raw = cor_str(value.p + 1, value.n - 2);
    return 0;
}

int cor_json_to_bool(struct cor_str value, bool *ret)
{
    if (cor_json_type(value) != COR_JSON_BOOL)
        return -COR_EINVAL;
    *ret = value.p[0] == 't';
    return 0;
}

int cor_json_to_i64(struct cor_str value, int64_t *ret)
{
    if (cor_json_type(value) != COR_JSON_NUMBER)
        return -COR_EINVAL;
    return cor_str_to_i64(value, ret);
}

const char *cor_json_go_type(enum cor_json_type type)
{
    static const char *const names[] = {
        [COR_JSON_NONE] = "nothing",  [COR_JSON_NULL] = "null",     [COR_JSON_BOOL] = "bool",
        [COR_JSON_NUMBER] = "number", [COR_JSON_STRING] = "string", [COR_JSON_ARRAY] = "array",
        [COR_JSON_OBJECT] = "object",
    };

    return names[type];
}
