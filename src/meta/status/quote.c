#include "meta/status/quote.h"

#include "base/cleanup.h"
#include "base/utf8.h"

/* Control, format, private-use and space characters beyond ASCII, and noncharacters of plane 0. */
static const struct {
    uint32_t first, last;
} unprintable[] = {
    {0x7f, 0xa0},       {0xad, 0xad},        {0x600, 0x605},     {0x61c, 0x61c},
    {0x6dd, 0x6dd},     {0x70f, 0x70f},      {0x890, 0x891},     {0x8e2, 0x8e2},
    {0x1680, 0x1680},   {0x180e, 0x180e},    {0x2000, 0x200f},   {0x2028, 0x202f},
    {0x205f, 0x206f},   {0x3000, 0x3000},    {0xd800, 0xf8ff},   {0xfdd0, 0xfdef},
    {0xfeff, 0xfeff},   {0xfff0, 0xfffb},    {0xfffe, 0xffff},   {0x110bd, 0x110bd},
    {0x110cd, 0x110cd}, {0x13430, 0x1343f},  {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe00ff}, {0xe01f0, 0x10ffff},
};

bool cor_quote_prints(uint32_t c)
{
    size_t lo = 0, hi = COR_ARRAY_LEN(unprintable);

    if (c < 0x7f)
        return c >= ' ';
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (c > unprintable[mid].last)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == COR_ARRAY_LEN(unprintable) || c < unprintable[lo].first;
}

static int add_escape(struct cor_buf *out, uint32_t c)
{
    static const char short_form[] = "abtnvfr"; /* 7 to 13 */

    if (c == '"' || c == '\\')
        return cor_buf_addf(out, "\\%c", (char)c);
    if (c >= 7 && c <= 13)
        return cor_buf_addf(out, "\\%c", short_form[c - 7]);
    if (c < ' ' || c == 0x7f)
        return cor_buf_addf(out, "\\x%02x", c);
    if (c < 0x10000)
        return cor_buf_addf(out, "\\u%04x", c);
    return cor_buf_addf(out, "\\U%08x", c);
}

static int add_quoted(struct cor_str s, struct cor_buf *out)
{
    int r = cor_buf_addc(out, '"');

    while (r == 0 && s.n > 0) {
        uint32_t c;
        size_t len = cor_utf8_first(s, &c);

        if (c == COR_UTF8_INVALID) {
            r = cor_buf_addf(out, "\\x%02x", (unsigned char)s.p[0]);
        } else if (!cor_quote_prints(c) || c == '"' || c == '\\') {
            r = add_escape(out, c);
        } else {
            r = cor_buf_add(out, s.p, len);
        }
        s = cor_str_from(s, len);
    }
    return r < 0 ? r : cor_buf_addc(out, '"');
}

int cor_quote(struct cor_str s, struct cor_buf *out)
{
    size_t mark = out->n;
    int r = add_quoted(s, out);

    if (r < 0)
        cor_buf_truncate(out, mark);
    return r;
}

size_t cor_quote_bytes(struct cor_str s)
{
    size_t n = 2;

    while (s.n > 0) {
        uint32_t c;
        size_t len = cor_utf8_first(s, &c);

        if (c == COR_UTF8_INVALID)
            n += 4;
        else if (c == '"' || c == '\\' || (c >= 7 && c <= 13))
            n += 2;
        else if (c < ' ' || c == 0x7f)
            n += 4;
        else if (!cor_quote_prints(c))
            n += c < 0x10000 ? 6 : 10;
        else
            n += len;
        s = cor_str_from(s, len);
    }
    return n;
}

int cor_quote_html(struct cor_str s, struct cor_buf *out)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < s.n; i++) {
        char c = s.p[i];

        if (c == '&')
            r = cor_buf_addz(out, "&amp;");
        else if (c == '<')
            r = cor_buf_addz(out, "&lt;");
        else if (c == '>')
            r = cor_buf_addz(out, "&gt;");
        else
            r = cor_buf_addc(out, c);
    }
    return r;
}
