#include "schema/go_value.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/utf8.h"

#define LINE_SEPARATOR      0x2028
#define PARAGRAPH_SEPARATOR 0x2029

/* The escape of a code point, in `room` or a literal; NULL: it is written as it is. */
static const char *json_escape(uint32_t cp, char room[8])
{
    static const char hex[] = "0123456789abcdef";

    switch (cp) {
    case '"':
        return "\\\"";
    case '\\':
        return "\\\\";
    case '\b':
        return "\\b";
    case '\f':
        return "\\f";
    case '\n':
        return "\\n";
    case '\r':
        return "\\r";
    case '\t':
        return "\\t";
    case COR_UTF8_INVALID:
        return "\\ufffd";
    case LINE_SEPARATOR:
        return "\\u2028";
    case PARAGRAPH_SEPARATOR:
        return "\\u2029";
    default:
        if (cp >= 0x20 && cp != '<' && cp != '>' && cp != '&')
            return NULL;
        memcpy(room, "\\u00xx", 7);
        room[4] = hex[cp >> 4];
        room[5] = hex[cp & 15];
        return room;
    }
}

int cor_go_json_string(struct cor_str text, struct cor_buf *out)
{
    char room[8];
    int r = cor_buf_addc(out, '"');

    while (r == 0 && text.n > 0) {
        uint32_t cp;
        size_t n = cor_utf8_first(text, &cp);
        const char *escape = json_escape(cp, room);

        r = escape ? cor_buf_addz(out, escape) : cor_buf_add(out, text.p, n);
        text = cor_str_from(text, n);
    }
    return r < 0 ? r : cor_buf_addc(out, '"');
}
