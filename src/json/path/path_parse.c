/* Parses the text of a JSONPath into steps. A cursor goes over the text once; names and quoted
 * texts are copied without their escapes into an arena as long as the text. An error names its
 * byte. Thread: any; a path does not change once it is parsed. */
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "json/path/path_int.h"

struct parser {
    struct cor_str in;
    size_t at;
    struct cor_json_path *path;
    char *arena; /* where the next key's text goes; in.n bytes are enough for all */
    bool filter; /* inside [?( … )] */
    const char *why;
};

static int refuse(struct parser *ps, const char *why)
{
    ps->why = why;
    return -COR_EINVAL;
}

/* The byte at the cursor, or -1. */
static int peek(const struct parser *ps)
{
    return ps->at < ps->in.n ? (unsigned char)ps->in.p[ps->at] : -1;
}

static bool take(struct parser *ps, const char *word)
{
    if (!cor_str_starts(cor_str_from(ps->in, ps->at), cor_strz(word)))
        return false;
    ps->at += strlen(word);
    return true;
}

static void skip_spaces(struct parser *ps)
{
    while (peek(ps) == ' ' || peek(ps) == '\t')
        ps->at++;
}

static int add_step(struct parser *ps, struct step step)
{
    if (ps->path->n == COR_JSON_PATH_STEPS_MAX) {
        ps->why = "too many steps";
        return -COR_ETOOBIG;
    }
    ps->path->steps[ps->path->n++] = step;
    return 0;
}

static bool ends_name(const struct parser *ps, int c)
{
    if (c < 0 || cor_str_find(COR_STR(" \t\r\n.,[]$@{}"), (char)c) >= 0)
        return true;
    return ps->filter && cor_str_find(COR_STR("!<>=)"), (char)c) >= 0;
}

/* Copies bytes to the arena up to `quote`, or to the end of a name when it is 0. */
static int take_text(struct parser *ps, int quote, struct cor_str *ret)
{
    char *start = ps->arena;
    int c;

    for (;; ps->at++) {
        c = peek(ps);
        if (quote ? c == quote : ends_name(ps, c))
            break;
        if (c == '\\') {
            ps->at++;
            c = peek(ps);
        }
        if (c < 0)
            return refuse(ps, quote ? "unterminated quoted string" : "nothing after the backslash");
        *ps->arena++ = (char)c;
    }
    if (quote)
        ps->at++;
    *ret = cor_str(start, (size_t)(ps->arena - start));
    return 0;
}

static int take_name(struct parser *ps)
{
    struct step step = {.kind = STEP_KEY};
    size_t start = ps->at;
    int r = take_text(ps, 0, &step.text);

    if (r < 0)
        return r;
    if (ps->at == start)
        return refuse(ps, "expected a field name");
    if (cor_str_eq(cor_str(ps->in.p + start, ps->at - start), COR_STR("*")))
        step.kind = STEP_ALL;
    return add_step(ps, step);
}

static int take_number(struct parser *ps, struct cor_str *ret)
{
    size_t start = ps->at;

    while (peek(ps) >= 0 && cor_str_find(COR_STR("+-.0123456789eE"), (char)peek(ps)) >= 0)
        ps->at++;
    *ret = cor_str(ps->in.p + start, ps->at - start);
    return ret->n ? 0 : refuse(ps, "expected a literal");
}

static int take_literal(struct parser *ps, struct step *step)
{
    int c = peek(ps), r;
    struct cor_str number;
    bool canonical;

    if (c == '"' || c == '\'') {
        ps->at++;
        step->literal = COR_JSON_STRING;
        return take_text(ps, c, &step->text);
    }
    step->literal = COR_JSON_BOOL;
    step->text = COR_STR("true");
    if (take(ps, "true"))
        return 0;
    step->text = COR_STR("false");
    if (take(ps, "false"))
        return 0;
    step->literal = COR_JSON_NUMBER;
    r = take_number(ps, &number);
    if (r < 0)
        return r;
    if (cor_json_check(number, &COR_JSON_LIMITS_DEFAULT, &canonical, NULL) < 0)
        return refuse(ps, "not a number");
    memcpy(ps->arena, number.p, number.n);
    step->text = cor_str(ps->arena, number.n);
    ps->arena += number.n;
    return 0;
}

static int take_steps(struct parser *ps);

/* After "[?(". */
static int take_filter(struct parser *ps)
{
    unsigned at = ps->path->n;
    struct step *step;
    int r = add_step(ps, (struct step){.kind = STEP_FILTER});

    if (r < 0)
        return r;
    if (ps->filter)
        return refuse(ps, "a filter inside a filter is not supported");
    skip_spaces(ps);
    if (!take(ps, "@"))
        return refuse(ps, "expected @ in a filter");
    ps->filter = true;
    r = take_steps(ps);
    ps->filter = false;
    if (r < 0)
        return r;
    step = &ps->path->steps[at];
    step->operand_n = ps->path->n - at - 1;
    skip_spaces(ps);
    if (take(ps, "=="))
        step->op = FILTER_EQ;
    else if (take(ps, "!="))
        step->op = FILTER_NE;
    else if (peek(ps) != ')')
        return refuse(ps, "expected ==, != or ) in a filter");
    if (step->op != FILTER_EXISTS) {
        skip_spaces(ps);
        r = take_literal(ps, step);
        if (r < 0)
            return r;
        skip_spaces(ps);
    }
    return take(ps, ")]") ? 0 : refuse(ps, "expected )] after a filter");
}

/* After "[". */
static int take_bracket(struct parser *ps)
{
    struct step step = {.kind = STEP_KEY};
    size_t start = ps->at;
    int c = peek(ps), r;

    if (take(ps, "?("))
        return take_filter(ps);
    if (take(ps, "*")) {
        step.kind = STEP_ALL;
    } else if (c == '\'' || c == '"') {
        ps->at++;
        r = take_text(ps, c, &step.text);
        if (r < 0)
            return r;
    } else {
        step.kind = STEP_INDEX;
        while (peek(ps) == '-' || (peek(ps) >= '0' && peek(ps) <= '9'))
            ps->at++;
        if (cor_str_to_i64(cor_str(ps->in.p + start, ps->at - start), &step.index) < 0) {
            ps->at = start;
            return refuse(ps, c == ':' ? "slices are not supported"
                                       : "expected an index, a quoted key or *");
        }
    }
    if (peek(ps) == ':')
        return refuse(ps, "slices are not supported");
    if (peek(ps) == ',')
        return refuse(ps, "unions are not supported");
    if (!take(ps, "]"))
        return refuse(ps, "expected ]");
    return add_step(ps, step);
}

/* Steps up to the first byte that begins none. */
static int take_steps(struct parser *ps)
{
    int r = 0;

    while (r == 0) {
        size_t start = ps->at;

        if (take(ps, "[")) {
            r = take_bracket(ps);
        } else if (take(ps, ".")) {
            if (peek(ps) == '.')
                return refuse(ps, "recursive descent is not supported");
            /* A lone dot is the value itself, and ".[" is as good as "[". */
            if (peek(ps) == '[' || (start == 0 && ps->in.n == 1))
                continue;
            r = take_name(ps);
        } else {
            break;
        }
    }
    return r;
}

static int parse(struct parser *ps)
{
    int c = peek(ps), r = 0;

    if (c < 0)
        return refuse(ps, "empty path");
    if (!take(ps, "$") && c != '.' && c != '[')
        r = take_name(ps);
    if (r == 0)
        r = take_steps(ps);
    if (r == 0 && ps->at < ps->in.n)
        return refuse(ps, "unexpected character");
    return r;
}

static int report(struct cor_json_error *reterr, int r, size_t offset, const char *why)
{
    if (reterr) {
        *reterr =
            (struct cor_json_error){.offset = offset, .line = 1, .column = (unsigned)offset + 1};
        snprintf(reterr->message, sizeof(reterr->message), "%s", why);
    }
    return r;
}

static unsigned count_steps(struct cor_str in)
{
    unsigned n = 2;

    for (size_t i = 0; i < in.n; i++)
        n += in.p[i] == '.' || in.p[i] == '[';
    return n < COR_JSON_PATH_STEPS_MAX ? n : COR_JSON_PATH_STEPS_MAX;
}

int cor_json_path_new(struct cor_str text, struct cor_json_path **ret_path,
                      struct cor_json_error *reterr)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *path = NULL;
    struct parser ps = {.in = text};
    bool braces = text.n >= 2 && text.p[0] == '{' && text.p[text.n - 1] == '}';
    size_t steps_bytes;
    int r;

    if (text.n > COR_JSON_PATH_BYTES_MAX)
        return report(reterr, -COR_ETOOBIG, COR_JSON_PATH_BYTES_MAX, "path is too long");
    steps_bytes = count_steps(text) * sizeof(struct step);
    path = cor_alloc(sizeof(*path) + steps_bytes + text.n);
    if (!path)
        return -COR_ENOMEM;
    path->n = 0;
    if (braces)
        ps.in = cor_str(text.p + 1, text.n - 2);
    ps.path = path;
    ps.arena = (char *)path->steps + steps_bytes;
    r = parse(&ps);
    if (r < 0)
        return report(reterr, r, ps.at + braces, ps.why);
    *ret_path = COR_STEAL(path);
    return 0;
}

struct cor_json_path *cor_json_path_free(struct cor_json_path *path)
{
    return cor_free(path);
}
