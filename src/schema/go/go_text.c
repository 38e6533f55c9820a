/* A recursive walk, which goes into a value without looking for its end first: the time is linear
 * in the bytes, however deep they are. Canonical JSON has sorted keys except for kind and
 * apiVersion, which come first in the outermost object; there they are printed when a key comes
 * that is greater. Failures: no memory, and out's maximum, which end the walk. Thread: any. */
#include "schema/go/go_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "meta/status/quote.h"
#include "json/text/scan.h"

#define DIGITS_MAX 17 /* of a double's shortest text */
#define NUMBER_MAX 64

/* strconv's 'g' with the shortest digits: an exponent below 1e-4 and from 1e6 on. */
static int print_double(double value, struct cor_buf *out)
{
    char text[NUMBER_MAX];
    int digits = 0, exponent;

    do
        snprintf(text, sizeof(text), "%.*e", digits++, value);
    while (digits < DIGITS_MAX && strtod(text, NULL) != value);
    exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 6)
        snprintf(text, sizeof(text), "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 0,
                 value);
    return cor_buf_addz(out, text);
}

static int print_number(struct cor_str json, struct cor_buf *out)
{
    char text[NUMBER_MAX];
    int64_t integer;
    double value;

    if (cor_json_to_i64(json, &integer) == 0)
        return cor_buf_addf(out, "%lld", (long long)integer);
    if (json.n >= sizeof(text))
        return cor_buf_adds(out, json);
    snprintf(text, sizeof(text), "%.*s", COR_STR_ARG(json));
    value = strtod(text, NULL);
    /* No client can send a number that no double holds, but a store may have one. */
    return isfinite(value) ? print_double(value, out) : cor_buf_adds(out, json);
}

/* A string between its quotes, as it is written. */
static int print_raw(struct cor_str raw, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf room = {0};
    struct cor_str text = raw;
    int r = 0;

    if (raw.n > 0 && memchr(raw.p, '\\', raw.n)) {
        cor_buf_init(&room, raw.n);
        r = cor_buf_reserve(&room, raw.n);
        if (r == 0)
            r = cor_json_unescape(raw, room.p, raw.n, &text);
    }
    return r < 0 ? r : cor_buf_adds(out, text);
}

static int print_value(struct cor_json_iter *it, bool is_outermost, struct cor_buf *out);

/* Prints a value whose bytes are known. */
static int print_span(struct cor_str json, bool is_outermost, struct cor_buf *out)
{
    struct cor_json_iter it = {json.p, json.p + json.n, json.p};

    return print_value(&it, is_outermost, out);
}

static int print_key(struct cor_str key, size_t *n, struct cor_buf *out)
{
    int r = (*n)++ > 0 ? cor_buf_addc(out, ' ') : 0;

    if (r == 0)
        r = print_raw(key, out);
    return r < 0 ? r : cor_buf_addc(out, ':');
}

/* The two members that come first in the outermost object, in the order in which Go prints them. */
struct early {
    struct cor_str key, value; /* value.p == NULL: there is none, or it is printed */
};

/* Prints those that come before `key`; key.p == NULL: all. */
static int print_early(struct early *early, struct cor_str key, size_t *n, struct cor_buf *out)
{
    int r = 0;

    for (size_t i = 0; i < 2 && r == 0; i++) {
        if (!early[i].value.p || (key.p && cor_json_raw_cmp(early[i].key, key) > 0))
            continue;
        r = print_key(early[i].key, n, out);
        if (r == 0)
            r = print_span(early[i].value, false, out);
        early[i].value.p = NULL;
    }
    return r;
}

static int print_map(struct cor_json_iter *it, bool is_outermost, struct cor_buf *out)
{
    struct early early[] = {{COR_STR("apiVersion"), {NULL, 0}}, {COR_STR("kind"), {NULL, 0}}};
    struct cor_str key;
    size_t n = 0;
    int r = cor_buf_addz(out, "map[");

    while (r == 0 && cor_json_iter_member(it, &key)) {
        if (is_outermost && (cor_str_eq(key, early[0].key) || cor_str_eq(key, early[1].key))) {
            early[cor_str_eq(key, early[1].key)].value = cor_json_iter_value(it);
            continue;
        }
        r = print_early(early, key, &n, out);
        if (r == 0)
            r = print_key(key, &n, out);
        if (r == 0)
            r = print_value(it, false, out);
    }
    if (r == 0)
        r = print_early(early, cor_str(NULL, 0), &n, out);
    return r < 0 ? r : cor_buf_addc(out, ']');
}

static int print_list(struct cor_json_iter *it, struct cor_buf *out)
{
    int r = cor_buf_addc(out, '[');

    for (size_t i = 0; r == 0 && cor_json_iter_elem(it); i++) {
        if (i > 0)
            r = cor_buf_addc(out, ' ');
        if (r == 0)
            r = print_value(it, false, out);
    }
    return r < 0 ? r : cor_buf_addc(out, ']');
}

static int print_scalar(struct cor_str json, struct cor_buf *out)
{
    struct cor_str raw;

    switch (cor_json_type(json)) {
    case COR_JSON_NUMBER:
        return print_number(json, out);
    case COR_JSON_STRING:
        return cor_json_to_raw(json, &raw) < 0 ? -COR_EINVAL : print_raw(raw, out);
    case COR_JSON_NULL:
        return cor_buf_addz(out, "<nil>");
    default:
        return cor_buf_adds(out, json);
    }
}

/* Prints the iterator's current value and moves behind it. */
static int print_value(struct cor_json_iter *it, bool is_outermost, struct cor_buf *out)
{
    struct cor_str open = cor_json_iter_open_value(it);
    enum cor_json_type type = cor_json_type(open);
    struct cor_json_iter inner;
    int r;

    if (type != COR_JSON_OBJECT && type != COR_JSON_ARRAY)
        return print_scalar(cor_json_iter_value(it), out);
    inner = cor_json_iter(open);
    r = type == COR_JSON_OBJECT ? print_map(&inner, is_outermost, out) : print_list(&inner, out);
    if (r == 0)
        cor_json_iter_leave(it, &inner);
    return r;
}

int cor_go_text(struct cor_str json, struct cor_buf *out)
{
    return print_span(json, true, out);
}

static int syntax_scalar(struct cor_str json, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = json.n + 1};
    int r;

    switch (cor_json_type(json)) {
    case COR_JSON_STRING:
        r = print_scalar(json, &text);
        return r < 0 ? r : cor_quote(cor_buf_str(&text), out);
    case COR_JSON_NULL:
        return cor_buf_addz(out, "interface {}(nil)");
    default:
        return print_scalar(json, out);
    }
}

static int syntax_value(struct cor_json_iter *it, struct cor_buf *out)
{
    struct cor_str open = cor_json_iter_open_value(it), key;
    enum cor_json_type type = cor_json_type(open);
    struct cor_json_iter inner;
    int r;

    if (type != COR_JSON_OBJECT && type != COR_JSON_ARRAY)
        return syntax_scalar(cor_json_iter_value(it), out);
    inner = cor_json_iter(open);
    r = cor_buf_addf(out, "%s{", cor_go_type_of(open));
    for (size_t i = 0; r == 0; i++) {
        if (type == COR_JSON_OBJECT ? !cor_json_iter_member(&inner, &key)
                                    : !cor_json_iter_elem(&inner))
            break;
        if (i > 0)
            r = cor_buf_addz(out, ", ");
        if (r == 0 && type == COR_JSON_OBJECT)
            r = syntax_scalar(cor_str(key.p - 1, key.n + 2), out); /* with its quotes */
        if (r == 0 && type == COR_JSON_OBJECT)
            r = cor_buf_addc(out, ':');
        if (r == 0)
            r = syntax_value(&inner, out);
    }
    if (r == 0)
        cor_json_iter_leave(it, &inner);
    return r < 0 ? r : cor_buf_addc(out, '}');
}

int cor_go_syntax(struct cor_str json, struct cor_buf *out)
{
    struct cor_json_iter it = {json.p, json.p + json.n, json.p};

    return syntax_value(&it, out);
}

const char *cor_go_type_of(struct cor_str value)
{
    int64_t integer;

    switch (cor_json_type(value)) {
    case COR_JSON_OBJECT:
        return "map[string]interface {}";
    case COR_JSON_ARRAY:
        return "[]interface {}";
    case COR_JSON_STRING:
        return "string";
    case COR_JSON_BOOL:
        return "bool";
    case COR_JSON_NUMBER:
        return cor_json_to_i64(value, &integer) == 0 ? "int64" : "float64";
    default:
        return "<nil>";
    }
}
