/* What the files of this folder share: the byte classes of strings, UTF-8, and yyjson's trees,
 * whose types no other folder sees. */
#ifndef COR_JSON_INT_H
#define COR_JSON_INT_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <yyjson.h>

#include "json/json.h"
#include "json/scan.h"

#define COR_JSON_EACH_BYTE(b) (0x0101010101010101ull * (b))

/* What a check learns beside its verdict. */
struct cor_json_traits {
    bool canonical;
    bool lone_surrogate; /* some \ud800…\udfff has no partner */
};

int cor_json_check_traits(struct cor_str in, const struct cor_json_limits *limits,
                          struct cor_json_traits *ret, struct cor_json_error *reterr);

/* Inserts a path in the order of the offsets, unless it is there; the last one leaves when the list
 * is full. The text may be taken out of the buffer. 0, -COR_ENOMEM. */
int cor_json_dups_add(struct cor_json_dups *dups, size_t offset, bool is_unknown,
                      struct cor_buf *path);
/* Removes those whose keys are at `from` or behind it, and before `to`. */
void cor_json_dups_remove(struct cor_json_dups *dups, size_t from, size_t to);

/* cor_json_canonicalize() for bytes that were checked: always by way of a tree, never by a copy. */
int cor_json_rewrite(struct cor_str in, const struct cor_json_traits *traits,
                     const struct cor_json_limits *limits, struct cor_buf *out,
                     struct cor_json_dups *dups);

/* Does a double hold this number, at least rounded? False for a magnitude that rounds to infinity.
 * `number` is a valid JSON number. */
bool cor_json_number_is_finite(struct cor_str number);

/* The allocator seam for yyjson. */
extern const yyjson_alc cor_json_alc;

/* A tree that was read in place: its strings point into `text`, numbers are raw. */
struct cor_json_tree {
    char *text;
    yyjson_doc *doc;
};

/* Reads bytes that were checked. 0 or -COR_ENOMEM. */
int cor_json_tree_init(struct cor_json_tree *t, struct cor_str in,
                       const struct cor_json_traits *traits);
void cor_json_tree_deinit(struct cor_json_tree *t);

/* Writes the canonical form of `root` at `dst`, which has room for it: the source's length is
 * enough, since the form is never longer. `base` is the first byte of the buffer that `root` was
 * read from in place, and the origin of the offsets in `dups` (may be NULL). Returns the end, or
 * NULL when out of memory. */
char *cor_json_emit(yyjson_val *root, const char *base, char *dst, struct cor_json_dups *dups);

/* The member `key` of an object with everything after it, as cor_json_iter_open_value() has it; p
 * is NULL when there is none. */
struct cor_str cor_json_find(struct cor_str object, struct cor_str key, enum cor_json_order order);

/* What is left of `bytes` after white space. */
struct cor_str cor_json_skip_space(struct cor_str bytes);

/* The order of keys in the outermost object: kind, apiVersion, then by text. */
int cor_json_outermost_cmp(struct cor_str raw_a, struct cor_str raw_b);

/* Writes the escape of a control byte, a quote or a backslash, at most 6 bytes; returns its end. */
char *cor_json_put_escape(char *dst, unsigned char c);

/* Length of the UTF-8 sequence at `p` (its first byte is not ASCII), or 0 when it is not valid. */
static inline size_t cor_json_utf8_len(const unsigned char *p, const unsigned char *end)
{
    size_t left = (size_t)(end - p);

    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return left >= 2 && (p[1] & 0xc0) == 0x80 ? 2 : 0;
    if ((p[0] & 0xf0) == 0xe0) {
        if (left < 3 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80)
            return 0;
        if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))
            return 0;
        return 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        if (left < 4 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80 || (p[3] & 0xc0) != 0x80)
            return 0;
        if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
            return 0;
        return 4;
    }
    return 0;
}

/* The high bit of each byte of `x` that is a control byte, a quote or a backslash is set in the
 * result; bits above the lowest set one may be wrong. */
static inline uint64_t cor_json_special_mask(uint64_t x)
{
    return ((x - COR_JSON_EACH_BYTE(0x20)) |
            ((x ^ COR_JSON_EACH_BYTE('"')) - COR_JSON_EACH_BYTE(1)) |
            ((x ^ COR_JSON_EACH_BYTE('\\')) - COR_JSON_EACH_BYTE(1))) &
           ~x & COR_JSON_EACH_BYTE(0x80);
}

static inline uint64_t cor_json_load8(const void *p)
{
    uint64_t x;

    memcpy(&x, p, sizeof(x));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    x = __builtin_bswap64(x);
#endif
    return x;
}

static inline bool cor_json_is_special(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\';
}

#ifdef __SSE2__
/* One bit for each of the 16 bytes at `p` that is a control byte, a quote or a backslash; with
 * `high` also for those that are not ASCII, which are negative here. */
static inline unsigned cor_json_special_mask16(const char *p, bool high)
{
    __m128i x = _mm_loadu_si128((const void *)p);
    __m128i control = high ? _mm_cmplt_epi8(x, _mm_set1_epi8(0x20))
                           : _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);
    __m128i quote = _mm_cmpeq_epi8(x, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(x, _mm_set1_epi8('\\'));

    return (unsigned)_mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, backslash)));
}
#endif

static inline const char *cor_json_find_stop(const char *p, const char *end, bool high)
{
#ifdef __SSE2__
    for (; end - p >= 16; p += 16) {
        unsigned m = cor_json_special_mask16(p, high);

        if (m)
            return p + __builtin_ctz(m);
    }
#endif
    for (; end - p >= 8; p += 8) {
        uint64_t x = cor_json_load8(p);
        uint64_t m = cor_json_special_mask(x) | (high ? x & COR_JSON_EACH_BYTE(0x80) : 0);

        if (m)
            return p + __builtin_ctzll(m) / 8;
    }
    while (p < end && !cor_json_is_special((unsigned char)*p) &&
           !(high && (unsigned char)*p >= 0x80))
        p++;
    return p;
}

/* The first control byte, quote or backslash from `p` on, or `end`. */
static inline const char *cor_json_find_special(const char *p, const char *end)
{
    return cor_json_find_stop(p, end, false);
}

/* The same, but it stops at bytes that are not ASCII too. */
static inline const char *cor_json_find_special_or_high(const char *p, const char *end)
{
    return cor_json_find_stop(p, end, true);
}

/* The first quote or backslash from `p` on, or `end`: for bytes that were checked, where no string
 * has a control byte. Cheaper than cor_json_find_special(). */
static inline const char *cor_json_find_quote_or_escape(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');

    for (; end - p >= 16; p += 16) {
        __m128i x = _mm_loadu_si128((const void *)p);
        unsigned m = (unsigned)_mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(x, quote), _mm_cmpeq_epi8(x, backslash)));

        if (m)
            return p + __builtin_ctz(m);
    }
#else
    for (; end - p >= 8; p += 8) {
        uint64_t x = cor_json_load8(p);
        uint64_t m = (((x ^ COR_JSON_EACH_BYTE('"')) - COR_JSON_EACH_BYTE(1)) |
                      ((x ^ COR_JSON_EACH_BYTE('\\')) - COR_JSON_EACH_BYTE(1))) &
                     ~x & COR_JSON_EACH_BYTE(0x80);

        if (m)
            return p + __builtin_ctzll(m) / 8;
    }
#endif
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* The four hex digits at `p` as a number, or -1. */
static inline int cor_json_hex4(const char *p)
{
    int v = 0;

    for (int i = 0; i < 4; i++) {
        unsigned char c = (unsigned char)p[i], low = c | 0x20;

        if (c >= '0' && c <= '9')
            v = v * 16 + (c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v * 16 + (low - 'a' + 10);
        else
            return -1;
    }
    return v;
}

static inline bool cor_json_is_high_surrogate(int u)
{
    return u >= 0xd800 && u <= 0xdbff;
}

static inline bool cor_json_is_low_surrogate(int u)
{
    return u >= 0xdc00 && u <= 0xdfff;
}

#endif
