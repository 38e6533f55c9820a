/* Reads Warning headers, `299 - "text" "date", 299 …`, and reports their texts. A value that is
 * malformed loses what follows in it; without memory a text is reported but not remembered, so that
 * it may be reported again. Thread: one at a time. */
#include "kit/rest/warning.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/utf8.h"

#define CODE_OF_API_SERVERS 299

/* Cuts the text up to the next space, and the space. */
static bool cut_word(struct cor_str *rest, struct cor_str *ret)
{
    ptrdiff_t n = cor_str_find(*rest, ' ');

    if (n <= 0)
        return false;
    *ret = cor_str(rest->p, (size_t)n);
    *rest = cor_str_from(*rest, (size_t)n + 1);
    return true;
}

static int cut_quoted(struct cor_str *rest, struct cor_buf *text)
{
    size_t i = 1;
    int r = 0;

    cor_buf_reset(text);
    if (rest->n == 0 || rest->p[0] != '"')
        return -COR_EINVAL;
    for (; r == 0 && i < rest->n && rest->p[i] != '"'; i++) {
        if (rest->p[i] == '\\' && ++i == rest->n)
            return -COR_EINVAL;
        r = cor_buf_addc(text, rest->p[i]);
    }
    if (r < 0)
        return r;
    if (i == rest->n)
        return -COR_EINVAL;
    *rest = cor_str_trim(cor_str_from(*rest, i + 1));
    return 0;
}

static bool is_printable(struct cor_str s)
{
    uint32_t cp;

    for (size_t i = 0; i < s.n; i += cor_utf8_first(cor_str_from(s, i), &cp)) {
        cor_utf8_first(cor_str_from(s, i), &cp);
        if (cp == COR_UTF8_INVALID || cp < 0x20 || (cp >= 0x7f && cp < 0xa0))
            return false;
    }
    return true;
}

/* Cuts the date, if there is one, and the comma before another warning. */
static bool cut_tail(struct cor_str *rest)
{
    if (rest->n > 0 && rest->p[0] == '"') {
        ptrdiff_t n = cor_str_find(cor_str_from(*rest, 1), '"');

        if (n < 0)
            return false;
        *rest = cor_str_trim(cor_str_from(*rest, (size_t)n + 2));
    }
    if (rest->n == 0)
        return true;
    if (rest->p[0] != ',')
        return false;
    *rest = cor_str_trim(cor_str_from(*rest, 1));
    return true;
}

int cor_warning_next(struct cor_str *rest, int *ret_code, struct cor_buf *text)
{
    struct cor_str code, agent;
    uint64_t n;
    int r;

    *rest = cor_str_trim(*rest);
    if (rest->n == 0)
        return 0;
    if (!cut_word(rest, &code) || code.n != 3 || cor_str_to_u64(code, &n) < 0 ||
        !cut_word(rest, &agent) || !is_printable(agent))
        return -COR_EINVAL;
    r = cut_quoted(rest, text);
    if (r < 0)
        return r;
    if (!is_printable(cor_buf_str(text)) || !cut_tail(rest))
        return -COR_EINVAL;
    *ret_code = (int)n;
    return 1;
}

void cor_warner_init(struct cor_warner *w, cor_warning_cb on_warning, void *arg, bool once)
{
    *w = (struct cor_warner){.on_warning = on_warning, .arg = arg, .once = once};
    cor_map_init(&w->told, COR_WARNINGS_MAX);
}

void cor_warner_deinit(struct cor_warner *w)
{
    COR_MAP_FOREACH(it, &w->told)
        cor_free(it.value);
    cor_map_deinit(&w->told);
}

/* Is the text to be reported? Remembers it when each text is reported once. */
static bool warner_is_new(struct cor_warner *w, struct cor_str text)
{
    char *copy;

    if (!w->once)
        return true;
    if (cor_map_peek(&w->told, text))
        return false;
    copy = cor_strndup(text.p, text.n);
    if (copy && cor_map_put(&w->told, cor_str(copy, text.n), copy, NULL) < 0)
        cor_free(copy);
    return true;
}

static void warner_read_value(struct cor_warner *w, struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int code;

    cor_buf_init(&text, COR_WARNING_TEXT_MAX);
    while (cor_warning_next(&value, &code, &text) > 0)
        if (code == CODE_OF_API_SERVERS && text.n > 0 && warner_is_new(w, cor_buf_str(&text)))
            w->on_warning(w->arg, cor_buf_str(&text));
}

void cor_warner_read(struct cor_warner *w, const struct cor_http_header *headers, size_t n)
{
    for (size_t i = 0; w->on_warning && i < n; i++)
        if (cor_header_name_eq(headers[i].name, COR_STR("Warning")))
            warner_read_value(w, headers[i].value);
}
