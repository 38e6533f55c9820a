/* Decoding of raw text, at once or byte by byte for comparisons. */
#include "base/err.h"
#include "json/text/json_int.h"
#include "json/text/scan.h"

static size_t encode_utf8(int u, char *dst)
{
    if (u < 0x80) {
        dst[0] = (char)u;
        return 1;
    }
    if (u < 0x800) {
        dst[0] = (char)(0xc0 | u >> 6);
        dst[1] = (char)(0x80 | (u & 0x3f));
        return 2;
    }
    if (u < 0x10000) {
        dst[0] = (char)(0xe0 | u >> 12);
        dst[1] = (char)(0x80 | (u >> 6 & 0x3f));
        dst[2] = (char)(0x80 | (u & 0x3f));
        return 3;
    }
    dst[0] = (char)(0xf0 | u >> 18);
    dst[1] = (char)(0x80 | (u >> 12 & 0x3f));
    dst[2] = (char)(0x80 | (u >> 6 & 0x3f));
    dst[3] = (char)(0x80 | (u & 0x3f));
    return 4;
}

static size_t decode_unicode(const char *p, const char *end, char *dst, size_t *ret_n)
{
    int u = end - p >= 6 ? cor_json_hex4(p + 2) : -1;
    int low = end - p >= 12 && p[6] == '\\' && p[7] == 'u' ? cor_json_hex4(p + 8) : -1;

    *ret_n = end - p >= 6 ? 6 : (size_t)(end - p);
    if (cor_json_is_high_surrogate(u) && cor_json_is_low_surrogate(low)) {
        *ret_n = 12;
        return encode_utf8(0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00), dst);
    }
    if (u < 0 || cor_json_is_high_surrogate(u) || cor_json_is_low_surrogate(u))
        u = 0xfffd;
    return encode_utf8(u, dst);
}

/* Decodes the escape at `p` into at most 4 bytes; returns their number and the escape's length. */
static size_t decode_escape(const char *p, const char *end, char *dst, size_t *ret_n)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *hit;

    if (end - p < 2) {
        dst[0] = *p;
        *ret_n = 1;
        return 1;
    }
    if (p[1] == 'u')
        return decode_unicode(p, end, dst, ret_n);
    hit = memchr(from, p[1], sizeof(from) - 1);
    dst[0] = hit ? to[hit - from] : p[1];
    *ret_n = 2;
    return 1;
}

int cor_json_unescape(struct cor_str raw, char *buf, size_t cap, struct cor_str *ret_text)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    size_t n = 0;

    if (raw.n == 0 || !memchr(raw.p, '\\', raw.n)) {
        *ret_text = raw;
        return 0;
    }
    while (p < end) {
        const char *stop = memchr(p, '\\', (size_t)(end - p));
        size_t run = (size_t)((stop ? stop : end) - p), took;
        char piece[4];

        if (run > cap - n)
            return -COR_ETOOBIG;
        /* Without a buffer there is nothing to copy before the first escape. */
        if (run > 0)
            memmove(buf + n, p, run);
        n += run;
        p += run;
        if (p == end)
            break;
        run = decode_escape(p, end, piece, &took);
        if (run > cap - n)
            return -COR_ETOOBIG;
        memcpy(buf + n, piece, run);
        n += run;
        p += took;
    }
    *ret_text = cor_str(buf, n);
    return 0;
}

/* Gives the bytes of a text one at a time. */
struct reader {
    const char *p, *end;
    size_t at, n; /* of `piece`, the current escape decoded */
    char piece[4];
    bool escapes;
};

static struct reader reader(struct cor_str s, bool escapes)
{
    return (struct reader){.p = s.p, .end = s.n ? s.p + s.n : s.p, .escapes = escapes};
}

/* The next byte, or -1 at the end. */
static int read_byte(struct reader *rd)
{
    size_t took;

    if (rd->at < rd->n)
        return (unsigned char)rd->piece[rd->at++];
    if (rd->p == rd->end)
        return -1;
    if (*rd->p != '\\' || !rd->escapes)
        return (unsigned char)*rd->p++;
    rd->n = decode_escape(rd->p, rd->end, rd->piece, &took);
    rd->p += took;
    rd->at = 1;
    return (unsigned char)rd->piece[0];
}

static int compare(struct reader a, struct reader b)
{
    int ca, cb;

    do {
        ca = read_byte(&a);
        cb = read_byte(&b);
    } while (ca == cb && ca >= 0);
    return ca < cb ? -1 : ca > cb;
}

static bool has_escape(struct cor_str raw)
{
    return raw.n && memchr(raw.p, '\\', raw.n);
}

int cor_json_raw_cmp(struct cor_str raw_a, struct cor_str raw_b)
{
    if (!has_escape(raw_a) && !has_escape(raw_b))
        return cor_str_cmp(raw_a, raw_b);
    return compare(reader(raw_a, true), reader(raw_b, true));
}

/* Nearly all keys differ in their first byte. */
int cor_json_raw_cmp_text(struct cor_str raw, struct cor_str text)
{
    if (raw.n > 0 && text.n > 0 && raw.p[0] != text.p[0] && raw.p[0] != '\\')
        return (unsigned char)raw.p[0] - (unsigned char)text.p[0];
    if (!has_escape(raw))
        return cor_str_cmp(raw, text);
    return compare(reader(raw, true), reader(text, false));
}

bool cor_json_raw_eq(struct cor_str raw, struct cor_str text)
{
    return raw.n >= text.n && cor_json_raw_cmp_text(raw, text) == 0;
}

static int outermost_rank(struct cor_str raw)
{
    if (cor_str_eq(raw, COR_STR("kind")))
        return 0;
    return cor_str_eq(raw, COR_STR("apiVersion")) ? 1 : 2;
}

int cor_json_outermost_cmp(struct cor_str raw_a, struct cor_str raw_b)
{
    int a = outermost_rank(raw_a), b = outermost_rank(raw_b);

    return a != b ? a - b : cor_json_raw_cmp(raw_a, raw_b);
}
