/* The warnings of an answer. A text becomes a header's value at once: `299 - "text"`, with
 * backslashes before quotes and backslashes. One with control characters or bytes that are not
 * UTF-8 cannot be the value of a header, and is left out.
 *
 * The limits are those of upstream's recorder, in code points: the texts may have 4,096 together.
 * The first one that does not fit makes all texts be cut after 256, those before it too, and from
 * then on cut texts are added until their sum has reached 4,096.
 * Without memory a warning is not added, and those before it stay. */
#include "server/request/request_warnings.h"

#include <assert.h>

#include "base/array.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/utf8.h"

#define PREFIX   "299 - \""
#define PREFIX_N (sizeof(PREFIX) - 1)

void cor_warnings_init(struct cor_warnings *warnings)
{
    *warnings = (struct cor_warnings){0};
    cor_buf_init(&warnings->text, COR_WARNINGS_BYTES_MAX);
}

void cor_warnings_deinit(struct cor_warnings *warnings)
{
    cor_buf_deinit(&warnings->text);
    cor_free(warnings->v);
    warnings->v = NULL;
    warnings->n = warnings->cap = 0;
}

struct cor_str cor_warnings_at(const struct cor_warnings *warnings, size_t i)
{
    size_t from = i > 0 ? warnings->v[i - 1].end : 0;

    assert(i < warnings->n);
    return cor_str(warnings->text.p + from, warnings->v[i].end - from);
}

/* The number of bytes that the first `max` code points of `text` have, and how many these are. A
 * backslash and what it escapes count as one when `is_escaped`. */
static size_t warning_cut(struct cor_str text, size_t max, bool is_escaped, size_t *ret_runes)
{
    size_t at = 0, runes = 0;
    uint32_t cp;

    for (; at < text.n && runes < max; runes++) {
        at += is_escaped && text.p[at] == '\\' && at + 1 < text.n ? 1 : 0;
        at += cor_utf8_first(cor_str_from(text, at), &cp);
    }
    *ret_runes = runes;
    return at;
}

/* Can the text be the value of a header? */
static bool warning_is_printable(struct cor_str text)
{
    while (text.n > 0) {
        uint32_t cp;

        text = cor_str_from(text, cor_utf8_first(text, &cp));
        if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == COR_UTF8_INVALID)
            return false;
    }
    return true;
}

static int warning_write(struct cor_buf *out, struct cor_str text)
{
    int r = cor_buf_addz(out, PREFIX);

    for (size_t i = 0; i < text.n && r == 0; i++) {
        char c = text.p[i];

        if (c == '"' || c == '\\')
            r = cor_buf_addc(out, '\\');
        if (r == 0)
            r = cor_buf_addc(out, c);
    }
    return r < 0 ? r : cor_buf_addc(out, '"');
}

/* Cuts the texts that are there already, in place. */
static void warnings_cut_all(struct cor_warnings *warnings)
{
    char *bytes = warnings->text.p;
    size_t to = 0, from = 0;

    warnings->is_cut = true;
    warnings->runes = 0;
    for (size_t i = 0; i < warnings->n; i++) {
        struct cor_str text =
            cor_str(bytes + from + PREFIX_N, warnings->v[i].end - from - PREFIX_N - 1);
        size_t runes, n = warning_cut(text, COR_WARNING_CUT, true, &runes);

        memmove(bytes + to, bytes + from, PREFIX_N + n);
        from = warnings->v[i].end;
        to += PREFIX_N + n;
        bytes[to++] = '"';
        warnings->v[i].end = to;
        warnings->runes += runes;
    }
    cor_buf_truncate(&warnings->text, to);
}

int cor_warnings_add(struct cor_warnings *warnings, struct cor_str text)
{
    size_t mark, runes, n;
    uint64_t id = cor_str_hash(text);
    int r;

    if (text.n == 0 || warnings->n == COR_WARNING_HEADERS_MAX ||
        (warnings->is_cut && warnings->runes >= COR_WARNINGS_RUNES_MAX))
        return 0;
    for (size_t i = 0; i < warnings->n; i++) {
        if (warnings->v[i].id == id)
            return 0;
    }
    r = COR_ARRAY_RESERVE(&warnings->v, warnings->n, &warnings->cap, COR_WARNING_HEADERS_MAX);
    if (r < 0)
        return r;
    n = warning_cut(text, warnings->is_cut ? COR_WARNING_CUT : COR_WARNINGS_RUNES_MAX + 1, false,
                    &runes);
    if (!warning_is_printable(cor_str(text.p, n)))
        return 0;
    if (!warnings->is_cut && warnings->runes + runes > COR_WARNINGS_RUNES_MAX) {
        warnings_cut_all(warnings);
        n = warning_cut(text, COR_WARNING_CUT, false, &runes);
    }
    mark = warnings->text.n;
    r = warning_write(&warnings->text, cor_str(text.p, n));
    if (r < 0) {
        cor_buf_truncate(&warnings->text, mark);
        return r == -COR_ETOOBIG ? 0 : r;
    }
    warnings->runes += runes;
    warnings->v[warnings->n++] = (struct cor_warning){id, warnings->text.n};
    return 0;
}
