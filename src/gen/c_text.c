/* Texts of C: what the writers of code share. Failures stick: those of names to the model's arena,
 * those of lines to the file that is written. */
#include "gen/c_text.h"

#include <stdarg.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "gen/c_name.h"

#define NAME_MAX 1024

void cor_gen_put(struct cor_gen_lines *l, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    if (l->error == 0)
        l->error = cor_buf_addv(l->out, fmt, ap);
    va_end(ap);
}

/* Do two characters end a comment, or begin one, which compilers warn of inside another? */
static bool is_mark(char a, char b)
{
    return (a == '*' && b == '/') || (a == '/' && b == '*');
}

void cor_gen_put_in_comment(struct cor_gen_lines *l, struct cor_str text)
{
    size_t from = 0;

    for (size_t i = 0; i + 1 < text.n; i++) {
        if (!is_mark(text.p[i], text.p[i + 1]))
            continue;
        cor_gen_put(l, "%.*s ", (int)(i + 1 - from), text.p + from);
        from = i + 1;
    }
    cor_gen_put(l, "%.*s", (int)(text.n - from), text.p + from);
}

void cor_gen_put_inner_comment(struct cor_gen_lines *l, unsigned indent, struct cor_str text)
{
    size_t start = indent + 2, column = start;

    cor_gen_put(l, "%*s/*", (int)indent, "");
    while (text.n > 0) {
        size_t n = 0;

        while (n < text.n && text.p[n] > ' ')
            n++;
        if (n > 0) {
            if (column + 1 + n + 3 > COR_GEN_COLUMNS_MAX && column > start) {
                cor_gen_put(l, "\n%*s *", (int)indent, "");
                column = start;
            }
            cor_gen_put(l, " ");
            cor_gen_put_in_comment(l, cor_str(text.p, n));
            column += 1 + n;
        }
        text = cor_str_from(text, n < text.n ? n + 1 : n);
    }
    cor_gen_put(l, " */\n");
}

void cor_gen_put_comment(struct cor_gen_lines *l, struct cor_str text)
{
    cor_gen_put_inner_comment(l, 0, text);
}

struct cor_str cor_gen_snake_of(struct cor_gen_model *model, struct cor_str name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, NAME_MAX);
    r = cor_gen_snake(name, &text);
    if (r < 0)
        model->arena.error = r;
    return cor_arena_copy(&model->arena, cor_buf_str(&text));
}

struct cor_str cor_gen_upper_of(struct cor_gen_model *model, struct cor_str name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, NAME_MAX);
    r = cor_gen_upper(name, &text);
    if (r < 0)
        model->arena.error = r;
    return cor_arena_copy(&model->arena, cor_buf_str(&text));
}

struct cor_str cor_gen_literal(struct cor_gen_model *model, struct cor_str text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf made;
    int r;

    cor_buf_init(&made, 4 * text.n + 2); /* each byte as an escape, and the quotes */
    r = cor_buf_addz(&made, "\"");
    for (size_t i = 0; r == 0 && i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '?')
            r = cor_buf_addf(&made, "\\%03o", c);
        else
            r = cor_buf_add(&made, text.p + i, 1);
    }
    if (r == 0)
        r = cor_buf_addz(&made, "\"");
    if (r < 0)
        model->arena.error = r;
    return cor_arena_copy(&model->arena, cor_buf_str(&made));
}

struct cor_str cor_gen_api_version(struct cor_gen_model *m, const struct cor_gen_package *p)
{
    return p->group.n > 0
               ? cor_gen_printf(m, "%.*s/%.*s", COR_STR_ARG(p->group), COR_STR_ARG(p->version))
               : p->version;
}
