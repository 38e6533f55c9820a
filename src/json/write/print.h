/* clang-format off */
/* Writes JSON of a fixed shape by a template that looks like it:
 *
 *   cor_json_print(&w, "{kind:'Lease',metadata:{name:%s,labels?:%j},spec:{seconds:%d}}", name,
 *                  labels, seconds);
 *
 * A template is a run of calls of the writer, whose commas and depth go on: it may be a part of an
 * object ("kind:%s,apiVersion:%s"), and may end inside one ("{items:[") that calls or another
 * template end ("]}"). Without blanks there stand in it
 *
 *   { } [ ] ,       as in JSON
 *   key:            letters, digits and -._/ without quotes
 *   'text'          a text that needs no escapes
 *   true null 12    as they are
 *   %s              a text: struct cor_str, or a string that ends with 0 (NULL: none)
 *   %j              one JSON value, copied as it is: struct cor_str
 *   %d              an integer, signed or not
 *   %b              a bool, or what a comparison gives
 *   key?:%s         the member is left out when its value is empty: no text, no JSON, 0 or false
 *
 * The types of the values are seen by the compiler; what does not fit its letter, and a template
 * that is wrong, is an assertion. tools/check_templates.py looks at each use before it runs.
 * Failures are the writer's, and stick. Thread: one at a time. */
/* clang-format on */
#ifndef COR_JSON_WRITE_PRINT_H
#define COR_JSON_WRITE_PRINT_H

#include <stddef.h>

#include "json/write/writer.h"

enum cor_json_arg_type { COR_JSON_ARG_TEXT, COR_JSON_ARG_I64, COR_JSON_ARG_U64, COR_JSON_ARG_BOOL };

/* A value of a template. */
struct cor_json_arg {
    enum cor_json_arg_type type;
    struct cor_str text;
    uint64_t number; /* of the other types */
};

void cor_json_print_args(struct cor_json_writer *w, const char *template,
                         const struct cor_json_arg *args, size_t nargs);

static inline struct cor_json_arg cor_json_arg_str(struct cor_str text)
{
    return (struct cor_json_arg){COR_JSON_ARG_TEXT, text, 0};
}

static inline struct cor_json_arg cor_json_arg_z(const char *text)
{
    return cor_json_arg_str(text ? cor_strz(text) : COR_STR(""));
}

static inline struct cor_json_arg cor_json_arg_i64(int64_t number)
{
    return (struct cor_json_arg){COR_JSON_ARG_I64, {NULL, 0}, (uint64_t)number};
}

static inline struct cor_json_arg cor_json_arg_u64(uint64_t number)
{
    return (struct cor_json_arg){COR_JSON_ARG_U64, {NULL, 0}, number};
}

static inline struct cor_json_arg cor_json_arg_bool(bool is_true)
{
    return (struct cor_json_arg){COR_JSON_ARG_BOOL, {NULL, 0}, is_true};
}

/* clang-format off */
#define COR_JSON_ARG(x)                                                                            \
    _Generic((x),                                                                                  \
        struct cor_str: cor_json_arg_str, const char *: cor_json_arg_z, char *: cor_json_arg_z,    \
        bool: cor_json_arg_bool, int: cor_json_arg_i64, long: cor_json_arg_i64,                    \
        long long: cor_json_arg_i64, unsigned short: cor_json_arg_u64, unsigned: cor_json_arg_u64, \
        unsigned long: cor_json_arg_u64, unsigned long long: cor_json_arg_u64)(x)

#define COR_JSON_PRINT(w, t, n, ...)                                                               \
    cor_json_print_args((w), "" t, (const struct cor_json_arg[]){__VA_ARGS__}, (n))
#define COR_JSON_PRINT_0(w, t) cor_json_print_args((w), "" t, NULL, 0)
#define COR_JSON_PRINT_1(w, t, a) COR_JSON_PRINT(w, t, 1, COR_JSON_ARG(a))
#define COR_JSON_PRINT_2(w, t, a, b) COR_JSON_PRINT(w, t, 2, COR_JSON_ARG(a), COR_JSON_ARG(b))
#define COR_JSON_PRINT_3(w, t, a, b, c)                                                            \
    COR_JSON_PRINT(w, t, 3, COR_JSON_ARG(a), COR_JSON_ARG(b), COR_JSON_ARG(c))
#define COR_JSON_PRINT_4(w, t, a, b, c, d)                                                         \
    COR_JSON_PRINT(w, t, 4, COR_JSON_ARG(a), COR_JSON_ARG(b), COR_JSON_ARG(c), COR_JSON_ARG(d))
#define COR_JSON_PRINT_5(w, t, a, b, c, d, e)                                                      \
    COR_JSON_PRINT(w, t, 5, COR_JSON_ARG(a), COR_JSON_ARG(b), COR_JSON_ARG(c), COR_JSON_ARG(d),    \
                   COR_JSON_ARG(e))
#define COR_JSON_PRINT_6(w, t, a, b, c, d, e, f)                                                   \
    COR_JSON_PRINT(w, t, 6, COR_JSON_ARG(a), COR_JSON_ARG(b), COR_JSON_ARG(c), COR_JSON_ARG(d),    \
                   COR_JSON_ARG(e), COR_JSON_ARG(f))
#define COR_JSON_PRINT_7(w, t, a, b, c, d, e, f, g)                                                \
    COR_JSON_PRINT(w, t, 7, COR_JSON_ARG(a), COR_JSON_ARG(b), COR_JSON_ARG(c), COR_JSON_ARG(d),    \
                   COR_JSON_ARG(e), COR_JSON_ARG(f), COR_JSON_ARG(g))
#define COR_JSON_PRINT_8(w, t, a, b, c, d, e, f, g, h)                                             \
    COR_JSON_PRINT(w, t, 8, COR_JSON_ARG(a), COR_JSON_ARG(b), COR_JSON_ARG(c), COR_JSON_ARG(d),    \
                   COR_JSON_ARG(e), COR_JSON_ARG(f), COR_JSON_ARG(g), COR_JSON_ARG(h))

#define COR_JSON_PICK(t, a, b, c, d, e, f, g, h, n, ...) n
#define COR_JSON_COUNT(...) COR_JSON_PICK(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, )
#define COR_JSON_PASTE(a, n) a##n
#define COR_JSON_OF(a, n) COR_JSON_PASTE(a, n)

/* cor_json_print(w, template, values...): at most eight values. */
#define cor_json_print(w, ...)                                                                     \
    COR_JSON_OF(COR_JSON_PRINT_, COR_JSON_COUNT(__VA_ARGS__))(w, __VA_ARGS__)
/* clang-format on */

#endif
