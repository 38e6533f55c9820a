#include "json/write/writer.h"

#include <assert.h>

#include "json/text/json_int.h"

void cor_json_writer_init(struct cor_json_writer *w, struct cor_buf *out)
{
    *w = (struct cor_json_writer){.out = out};
}

int cor_json_writer_finish(struct cor_json_writer *w)
{
    assert(w->depth == 0);
    return w->error;
}

static void put(struct cor_json_writer *w, struct cor_str s)
{
    if (!w->error)
        w->error = cor_buf_adds(w->out, s);
}

static void before_value(struct cor_json_writer *w)
{
    if (w->need_comma)
        put(w, COR_STR(","));
    w->need_comma = true;
}

static void begin(struct cor_json_writer *w, struct cor_str open)
{
    before_value(w);
    put(w, open);
    w->need_comma = false;
    w->depth++;
}

static void end(struct cor_json_writer *w, struct cor_str close)
{
    assert(w->depth > 0);
    put(w, close);
    w->need_comma = true;
    w->depth--;
}

void cor_json_begin_object(struct cor_json_writer *w)
{
    begin(w, COR_STR("{"));
}

void cor_json_end_object(struct cor_json_writer *w)
{
    end(w, COR_STR("}"));
}

void cor_json_begin_array(struct cor_json_writer *w)
{
    begin(w, COR_STR("["));
}

void cor_json_end_array(struct cor_json_writer *w)
{
    end(w, COR_STR("]"));
}

void cor_json_key(struct cor_json_writer *w, struct cor_str key)
{
    cor_json_string(w, key);
    put(w, COR_STR(":"));
    w->need_comma = false;
}

void cor_json_raw_key(struct cor_json_writer *w, struct cor_str raw)
{
    before_value(w);
    put(w, COR_STR("\""));
    put(w, raw);
    put(w, COR_STR("\":"));
    w->need_comma = false;
}

void cor_json_string(struct cor_json_writer *w, struct cor_str text)
{
    before_value(w);
    if (!w->error)
        w->error = cor_json_quote(w->out, text);
}

void cor_json_raw(struct cor_json_writer *w, struct cor_str value)
{
    before_value(w);
    put(w, value);
}

void cor_json_u64(struct cor_json_writer *w, uint64_t v)
{
    before_value(w);
    if (!w->error)
        w->error = cor_buf_addu64(w->out, v);
}

void cor_json_add_i64(struct cor_json_writer *w, int64_t v)
{
    if (v < 0)
        put(w, COR_STR("-"));
    if (!w->error)
        w->error = cor_buf_addu64(w->out, v < 0 ? -(uint64_t)v : (uint64_t)v);
}

void cor_json_i64(struct cor_json_writer *w, int64_t v)
{
    before_value(w);
    cor_json_add_i64(w, v);
}

void cor_json_bool(struct cor_json_writer *w, bool v)
{
    cor_json_raw(w, v ? COR_STR("true") : COR_STR("false"));
}

void cor_json_null(struct cor_json_writer *w)
{
    cor_json_raw(w, COR_STR("null"));
}

void cor_json_member(struct cor_json_writer *w, struct cor_str key, struct cor_str text)
{
    cor_json_key(w, key);
    cor_json_string(w, text);
}

char *cor_json_put_escape(char *dst, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    static const char named[256] = {['"'] = '"',  ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
                                    ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};

    *dst++ = '\\';
    if (named[c]) {
        *dst++ = named[c];
        return dst;
    }
    *dst++ = 'u';
    *dst++ = '0';
    *dst++ = '0';
    *dst++ = hex[c >> 4];
    *dst++ = hex[c & 15];
    return dst;
}

/* Adds what stands for the bytes at `p` that cannot be copied; returns how many they are, or an
 * error. */
static int add_special(struct cor_buf *out, const char *p, const char *end)
{
    char escape[6];
    size_t n;
    int r;

    if ((unsigned char)*p < 0x80) {
        n = (size_t)(cor_json_put_escape(escape, (unsigned char)*p) - escape);
        r = cor_buf_add(out, escape, n);
        return r < 0 ? r : 1;
    }
    n = cor_json_utf8_len((const unsigned char *)p, (const unsigned char *)end);
    r = n ? cor_buf_add(out, p, n) : cor_buf_addz(out, "\xef\xbf\xbd");
    return r < 0 ? r : n ? (int)n : 1;
}

/* Appends the text with its escapes. 0 or an error; then some of the text may be appended. */
static int add_escaped(struct cor_buf *out, struct cor_str text)
{
    const char *p = text.p, *end = text.n ? text.p + text.n : text.p;
    int r = 0;

    while (r >= 0 && p < end) {
        const char *stop = cor_json_find_special_or_high(p, end);

        r = cor_buf_add(out, p, (size_t)(stop - p));
        p = stop;
        if (r >= 0 && p < end) {
            r = add_special(out, p, end);
            p += r > 0 ? r : 0;
        }
    }
    return r < 0 ? r : 0;
}

int cor_json_quote(struct cor_buf *out, struct cor_str text)
{
    size_t before = out->n;
    int r = cor_buf_addc(out, '"');

    if (r >= 0)
        r = add_escaped(out, text);
    if (r >= 0)
        r = cor_buf_addc(out, '"');
    if (r < 0) {
        cor_buf_truncate(out, before);
        return r;
    }
    return 0;
}

void cor_json_begin_string(struct cor_json_writer *w)
{
    before_value(w);
    put(w, COR_STR("\""));
}

void cor_json_add_text(struct cor_json_writer *w, struct cor_str text)
{
    if (!w->error)
        w->error = add_escaped(w->out, text);
}

void cor_json_add_raw_text(struct cor_json_writer *w, struct cor_str raw)
{
    put(w, raw);
}

void cor_json_end_string(struct cor_json_writer *w)
{
    put(w, COR_STR("\""));
}
