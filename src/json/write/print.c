/* One pass over the template, which calls the writer for what stands in it. Nothing is allocated
 * but by the writer; the work is linear in the template and the values. Failures: the writer's.
 * What is wrong with a template is a mistake of ours, and an assertion. */
#include "json/write/print.h"

#include <assert.h>
#include <string.h>

static bool arg_is_empty(const struct cor_json_arg *arg)
{
    return arg->type == COR_JSON_ARG_TEXT ? arg->text.n == 0 : arg->number == 0;
}

static void print_arg(struct cor_json_writer *w, char letter, const struct cor_json_arg *arg)
{
    switch (letter) {
    case 's':
        assert(arg->type == COR_JSON_ARG_TEXT);
        cor_json_string(w, arg->text);
        return;
    case 'j':
        assert(arg->type == COR_JSON_ARG_TEXT);
        cor_json_raw(w, arg->text);
        return;
    case 'd':
        assert(arg->type == COR_JSON_ARG_I64 || arg->type == COR_JSON_ARG_U64);
        if (arg->type == COR_JSON_ARG_I64)
            cor_json_i64(w, (int64_t)arg->number);
        else
            cor_json_u64(w, arg->number);
        return;
    case 'b':
        assert(arg->type == COR_JSON_ARG_BOOL || arg->type == COR_JSON_ARG_I64);
        cor_json_bool(w, arg->number != 0);
        return;
    default:
        assert(0 && "no letter of a template");
    }
}

/* A key, or a value that is written as it stands. Returns where the template goes on; `*skips`: the
 * value that follows is left out with its key when it is empty. */
static const char *print_word(struct cor_json_writer *w, const char *p,
                              const struct cor_json_arg *next, bool *skips)
{
    struct cor_str word = cor_str(p, strcspn(p, ":?,{}[]'%"));

    p += word.n;
    assert(word.n > 0 && *p != '{' && *p != '[' && *p != '\'' && *p != '%');
    if (*p == '?') {
        assert(p[1] == ':' && p[2] == '%' && next);
        *skips = arg_is_empty(next);
        p++;
    }
    if (*p != ':') {
        cor_json_raw(w, word);
        return p;
    }
    if (!*skips)
        cor_json_key(w, word);
    return p + 1;
}

void cor_json_print_args(struct cor_json_writer *w, const char *template,
                         const struct cor_json_arg *args, size_t nargs)
{
    bool skips = false;
    size_t n = 0; /* values that have been taken */

    for (const char *p = template; *p;) {
        switch (*p) {
        case '{':
            cor_json_begin_object(w);
            break;
        case '}':
            cor_json_end_object(w);
            break;
        case '[':
            cor_json_begin_array(w);
            break;
        case ']':
            cor_json_end_array(w);
            break;
        case ',':
            break;
        case '\'': {
            struct cor_str text = cor_str(p + 1, strcspn(p + 1, "'"));

            p += 1 + text.n;
            assert(*p == '\'');
            cor_json_string(w, text);
            break;
        }
        case '%':
            p++;
            assert(n < nargs);
            if (!skips)
                print_arg(w, *p, &args[n]);
            skips = false;
            n++;
            break;
        default:
            p = print_word(w, p, n < nargs ? &args[n] : NULL, &skips);
            continue;
        }
        p++;
    }
    assert(n == nargs);
}
