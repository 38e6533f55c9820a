/* The bytes of JSON strings: where one ends or needs care, many bytes at a time; UTF-8 and the
 * parts of escapes. Nothing reads outside [p, end). Thread: any (pure). */
#ifndef COR_JSON_TEXT_BYTES_H
#define COR_JSON_TEXT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define COR_JSON_EACH_BYTE(b) (0x0101010101010101ull * (b))

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
