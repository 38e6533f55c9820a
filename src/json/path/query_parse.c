/* clang-format off */
/* Compiles the text of a query. The order in which alternatives are tried is that of client-go's
 * parser, because what is a mistake there must be one here: a bracket ends at the first `]`
 * whatever is in it, a filter at the first `)` outside its one quoted text, and what is in a
 * bracket or on a side of a comparison is then parsed as an expression of its own.
 *
 *   query_template()    {…} and the texts between them: a list for each pair of braces
 *     query_inside()    the nodes between two braces, up to the closing one
 *       query_field(), query_bracket(), query_filter(), query_quote(), query_number(), query_word()
 *
 * An inner expression is copied, with braces around it, and given to query_template() again. Inner
 * texts are shorter than what they are in, and DEPTH_MAX bounds how deep they go. Everything that
 * is made lies in the arena, also what a text that is refused has left there. */
/* clang-format on */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "json/path/query_int.h"

/* A filter, a bracket in it, a branch of that, and its key: no text needs more. */
#define DEPTH_MAX       8
#define NUMBER_TEXT_MAX 512

struct parser {
    struct cor_arena *arena;
    struct cor_str in; /* with its braces */
    size_t at;
    unsigned depth;
    const char *why;
};

static int query_template(struct parser *ps, struct query_list **ret_lists);

static int query_refuse(struct parser *ps, const char *why)
{
    if (!ps->why)
        ps->why = why;
    return -COR_EINVAL;
}

/* The byte at the cursor, or -1. */
static int peek(const struct parser *ps)
{
    return ps->at < ps->in.n ? (unsigned char)ps->in.p[ps->at] : -1;
}

static bool at_word(const struct parser *ps, const char *word)
{
    return cor_str_starts(cor_str_from(ps->in, ps->at), cor_strz(word));
}

/* The text from `start` to the cursor. */
static struct cor_str since(const struct parser *ps, size_t start)
{
    return cor_str(ps->in.p + start, ps->at - start);
}

/* Letters outside ASCII are not looked up: no name that begins so has a meaning. */
static bool is_alphanumeric(int c)
{
    return c == '_' || cor_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           c >= 0x80;
}

static bool ends_name(int c)
{
    return c < 0 || cor_str_find(COR_STR(" \t\r\n.,[]$@{}"), (char)c) >= 0;
}

static struct query_node *query_add(struct parser *ps, struct query_list *list,
                                    enum query_kind kind)
{
    struct query_node *node = cor_arena_alloc(ps->arena, sizeof(*node));

    if (!node)
        return NULL;
    *node = (struct query_node){.kind = kind};
    if (list->last)
        list->last->next = node;
    else
        list->first = node;
    list->last = node;
    return node;
}

/* Parses an expression that is in another one: head, `text` and `tail` between braces. Of several
 * expressions in it the first counts. */
static int query_inner(struct parser *ps, const char *head, struct cor_str text, const char *tail,
                       struct query_list *ret_list)
{
    size_t nhead = strlen(head), ntail = strlen(tail), n = nhead + text.n + ntail + 2;
    char *copy = cor_arena_alloc(ps->arena, n);
    struct parser inner = {.arena = ps->arena, .depth = ps->depth + 1};
    struct query_list *lists = NULL;
    int r;

    if (!copy)
        return ps->arena->error;
    if (inner.depth > DEPTH_MAX)
        return query_refuse(ps, "expressions are nested too deep");
    copy[0] = '{';
    memcpy(copy + 1, head, nhead);
    if (text.n > 0)
        memcpy(copy + 1 + nhead, text.p, text.n);
    memcpy(copy + 1 + nhead + text.n, tail, ntail);
    copy[n - 1] = '}';
    inner.in = cor_str(copy, n);
    r = query_template(&inner, &lists);
    if (r < 0)
        return inner.why ? query_refuse(ps, inner.why) : r;
    *ret_list = *lists;
    return 0;
}

/* At the first byte of the name. */
static int query_field(struct parser *ps, struct query_list *list)
{
    size_t start = ps->at, n = 0;
    struct cor_str name;
    struct query_node *node;
    char *copy;

    while (!ends_name(peek(ps)))
        ps->at += peek(ps) == '\\' && ps->at + 1 < ps->in.n ? 2 : 1;
    name = since(ps, start);
    if (cor_str_eq(name, COR_STR("*")))
        return query_add(ps, list, QUERY_ALL) ? 0 : ps->arena->error;
    node = query_add(ps, list, QUERY_FIELD);
    copy = node ? cor_arena_alloc(ps->arena, name.n) : NULL;
    if (!copy)
        return ps->arena->error;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] != '\\')
            copy[n++] = name.p[i];
    }
    node->text = cor_str(copy, n);
    return 0;
}

/* `[0]`, `[1:3]`, `[:]`, `[::2]`. A lone index takes the elements up to the next one. */
static int query_slice(struct parser *ps, struct query_list *list, struct cor_str text)
{
    struct query_node *node = query_add(ps, list, QUERY_SLICE);
    struct cor_str rest = text;

    if (!node)
        return ps->arena->error;
    for (size_t i = 0; i < 3; i++) {
        struct query_bound *bound = &node->bounds[i];
        bool is_there = i == 0 || rest.p;
        struct cor_str part = is_there ? cor_str_cut(&rest, ':') : (struct cor_str){NULL, 0};

        if (part.n > 0) {
            bound->is_known = true;
            if (cor_str_to_i64(part, &bound->value) < 0)
                return query_refuse(ps, "invalid array index");
        } else if (i == 1 && !is_there) {
            /* Behind the last number there is none: such an index is outside every array. */
            *bound =
                (struct query_bound){true, true, (int64_t)((uint64_t)node->bounds[0].value + 1)};
        }
    }
    return rest.p ? query_refuse(ps, "invalid array index") : 0;
}

static int query_union(struct parser *ps, struct query_list *list, struct cor_str text)
{
    struct query_node *node = query_add(ps, list, QUERY_UNION);
    struct query_list **end;
    int r;

    if (!node)
        return ps->arena->error;
    end = &node->branches;
    while (text.p) {
        struct cor_str part = cor_str_cut(&text, ',');
        struct query_list *branch = cor_arena_alloc(ps->arena, sizeof(*branch));

        if (!branch)
            return ps->arena->error;
        while (part.n > 0 && part.p[0] == ' ')
            part = cor_str_from(part, 1);
        while (part.n > 0 && part.p[part.n - 1] == ' ')
            part.n--;
        r = query_inner(ps, "[", part, "]", branch);
        if (r < 0)
            return r;
        branch->next = NULL;
        *end = branch;
        end = &branch->next;
    }
    return 0;
}

/* At the bracket. */
static int query_bracket(struct parser *ps, struct query_list *list)
{
    struct query_list inner;
    struct cor_str text;
    size_t start = ++ps->at;
    int r;

    while (peek(ps) != ']') {
        if (peek(ps) < 0 || peek(ps) == '\n')
            return query_refuse(ps, "unterminated array");
        ps->at++;
    }
    text = since(ps, start);
    ps->at++;
    if (cor_str_eq(text, COR_STR("*")))
        text = COR_STR(":");
    if (cor_str_find(text, ',') >= 0)
        return query_union(ps, list, text);
    if (text.n < 2 || text.p[0] != '\'' ||
        cor_str_find(cor_str_from(text, 1), '\'') != (ptrdiff_t)text.n - 2)
        return query_slice(ps, list, text);
    r = query_inner(ps, ".", cor_str(text.p + 1, text.n - 2), "", &inner);
    if (r < 0)
        return r;
    if (list->last)
        list->last->next = inner.first;
    else
        list->first = inner.first;
    if (inner.last)
        list->last = inner.last;
    return 0;
}

static enum query_op query_op_of(struct cor_str text)
{
    static const struct {
        struct cor_str text;
        enum query_op op;
    } ops[] = {{COR_STR("=="), QUERY_OP_EQ}, {COR_STR("!="), QUERY_OP_NE},
               {COR_STR("<"), QUERY_OP_LT},  {COR_STR("<="), QUERY_OP_LE},
               {COR_STR(">"), QUERY_OP_GT},  {COR_STR(">="), QUERY_OP_GE}};

    for (size_t i = 0; i < COR_ARRAY_LEN(ops); i++) {
        if (cor_str_eq(ops[i].text, text))
            return ops[i].op;
    }
    return QUERY_OP_UNKNOWN;
}

/* Moves behind the filter's `)`. A quoted text may have parentheses; after its end, quotes mean
 * nothing any more. */
static int query_filter_end(struct parser *ps)
{
    bool is_begun = false, is_ended = false;
    int pair = 0;

    for (;; ps->at++) {
        int c = peek(ps);

        if (c < 0 || c == '\n')
            return query_refuse(ps, "unterminated filter");
        if (c == ')' && is_begun == is_ended)
            break;
        if (c != '"' && c != '\'')
            continue;
        if (!is_begun) {
            is_begun = true;
            pair = c;
        } else if (c == pair && ps->in.p[ps->at - 1] != '\\') {
            is_ended = true;
        }
    }
    ps->at++;
    return 0;
}

/* At "[?(". */
static int query_filter(struct parser *ps, struct query_list *list)
{
    static const struct cor_str signs = COR_STR("!<>=");
    struct query_node *node = query_add(ps, list, QUERY_FILTER);
    size_t start = ps->at += 3, begin = 0, end;
    struct cor_str text;
    int r;

    if (!node)
        return ps->arena->error;
    r = query_filter_end(ps);
    if (r < 0)
        return r;
    text = cor_str(ps->in.p + start, ps->at - 1 - start);
    if (peek(ps) != ']')
        return query_refuse(ps, "unclosed array expect ]");
    ps->at++;
    while (begin < text.n && cor_str_find(signs, text.p[begin]) < 0)
        begin++;
    end = begin;
    while (end < text.n && cor_str_find(signs, text.p[end]) >= 0)
        end++;
    /* Something must follow the operator, if it is the last byte of it. */
    if (end == text.n)
        end--;
    if (begin == 0 || end <= begin || begin >= text.n)
        return query_inner(ps, "", text, "", &node->left);
    node->op = query_op_of(cor_str(text.p + begin, end - begin));
    r = query_inner(ps, "", cor_str(text.p, begin), "", &node->left);
    return r < 0 ? r : query_inner(ps, "", cor_str_from(text, end), "", &node->right);
}

static size_t put_utf8(uint32_t cp, char *out)
{
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xc0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3f));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xe0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3f));
        out[2] = (char)(0x80 | (cp & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3f));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3f));
    out[3] = (char)(0x80 | (cp & 0x3f));
    return 4;
}

/* Digits of this base at the beginning of `text`; false when there are fewer than `n`. */
static bool digits_value(struct cor_str text, size_t n, unsigned base, uint32_t *ret)
{
    uint32_t value = 0;

    if (text.n < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        unsigned digit = 99;

        if (cor_is_digit(c))
            digit = c - (unsigned)'0';
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (c | 32u) - 'a' + 10;
        if (digit >= base)
            return false;
        value = value * base + digit;
    }
    *ret = value;
    return true;
}

/* One of Go's escapes, at the byte behind the backslash. Returns how many bytes of `text` it has,
 * and appends what it means; 0: it is not an escape. */
static size_t unescape_one(struct cor_str text, char quote, char *out, size_t *n)
{
    static const char plain[] = "abfnrtv\\", meant[] = "\a\b\f\n\r\t\v\\";
    const char *found = text.n > 0 && text.p[0] ? strchr(plain, text.p[0]) : NULL;
    uint32_t value = 0;

    if (text.n == 0)
        return 0;
    if (found || text.p[0] == quote) {
        out[(*n)++] = found ? meant[found - plain] : quote;
        return 1;
    }
    if (text.p[0] == 'x' && digits_value(cor_str_from(text, 1), 2, 16, &value)) {
        out[(*n)++] = (char)value;
        return 3;
    }
    if (cor_is_digit((unsigned char)text.p[0]) && digits_value(text, 3, 8, &value) && value < 256) {
        out[(*n)++] = (char)value;
        return 3;
    }
    if (((text.p[0] == 'u' && digits_value(cor_str_from(text, 1), 4, 16, &value)) ||
         (text.p[0] == 'U' && digits_value(cor_str_from(text, 1), 8, 16, &value))) &&
        value <= 0x10ffff && (value < 0xd800 || value > 0xdfff)) {
        *n += put_utf8(value, out + *n);
        return text.p[0] == 'u' ? 5 : 9;
    }
    return 0;
}

/* At the quote. The text ends at the next quote without a backslash before it. */
static int query_quote(struct parser *ps, struct query_list *list)
{
    char quote = ps->in.p[ps->at];
    size_t start = ++ps->at, n = 0, used;
    struct query_node *node;
    struct cor_str raw;
    char *copy;

    for (;; ps->at++) {
        if (peek(ps) < 0 || peek(ps) == '\n')
            return query_refuse(ps, "unterminated quoted string");
        if (peek(ps) == quote && ps->in.p[ps->at - 1] != '\\')
            break;
    }
    raw = since(ps, start);
    ps->at++;
    node = query_add(ps, list, QUERY_TEXT);
    copy = node ? cor_arena_alloc(ps->arena, raw.n) : NULL;
    if (!copy)
        return ps->arena->error;
    for (size_t i = 0; i < raw.n; i += used) {
        used = 1;
        if (raw.p[i] != '\\') {
            copy[n++] = raw.p[i];
            continue;
        }
        used = unescape_one(cor_str_from(raw, i + 1), quote, copy, &n);
        if (used++ == 0)
            return query_refuse(ps, "invalid escape in a quoted string");
    }
    node->text = cor_str(copy, n);
    return 0;
}

static int query_number(struct parser *ps, struct query_list *list)
{
    char text[NUMBER_TEXT_MAX];
    size_t start = ps->at;
    struct query_node *node;
    struct cor_str number;
    char *end;

    if (peek(ps) == '+' || peek(ps) == '-')
        ps->at++;
    while (peek(ps) == '.' || cor_is_digit(peek(ps)))
        ps->at++;
    number = since(ps, start);
    node = query_add(ps, list, QUERY_INT);
    if (!node)
        return ps->arena->error;
    if (cor_str_to_i64(number.p[0] == '+' ? cor_str_from(number, 1) : number, &node->integer) == 0)
        return 0;
    if (number.n >= sizeof(text))
        return query_refuse(ps, "cannot parse number");
    memcpy(text, number.p, number.n);
    text[number.n] = '\0';
    node->kind = QUERY_FLOAT;
    node->real = strtod(text, &end);
    if (end == text || *end || !isfinite(node->real))
        return query_refuse(ps, "cannot parse number");
    return 0;
}

static int query_word(struct parser *ps, struct query_list *list)
{
    size_t start = ps->at;
    struct query_node *node;
    struct cor_str word;

    while (!ends_name(peek(ps)))
        ps->at++;
    word = since(ps, start);
    node = query_add(ps, list, QUERY_WORD);
    if (!node)
        return ps->arena->error;
    if (cor_str_eq(word, COR_STR("true")) || cor_str_eq(word, COR_STR("false"))) {
        node->kind = QUERY_BOOL;
        node->integer = word.p[0] == 't';
    }
    return 0;
}

/* At "..". */
static int query_recursive(struct parser *ps, struct query_list *list)
{
    if (list->last && list->last->kind == QUERY_RECURSIVE)
        return query_refuse(ps, "invalid multiple recursive descent");
    ps->at += 2;
    if (!query_add(ps, list, QUERY_RECURSIVE))
        return ps->arena->error;
    return is_alphanumeric(peek(ps)) ? query_field(ps, list) : 0;
}

/* Behind the opening brace, up to and with the closing one. */
static int query_inside(struct parser *ps, struct query_list *list)
{
    int r = 0;

    while (r == 0) {
        int c = peek(ps);

        if (c == '}') {
            ps->at++;
            return 0;
        }
        if (c < 0 || c == '\n' || c == '\r') {
            return query_refuse(ps, "unclosed action");
        } else if (at_word(ps, "[?(")) {
            r = query_filter(ps, list);
        } else if (at_word(ps, "..")) {
            r = query_recursive(ps, list);
        } else if (c == ' ' || c == '@' || c == '$') {
            ps->at++;
        } else if (c == '[') {
            r = query_bracket(ps, list);
        } else if (c == '"' || c == '\'') {
            r = query_quote(ps, list);
        } else if (c == '.') {
            ps->at++;
            r = query_field(ps, list);
        } else if (c == '+' || c == '-' || cor_is_digit(c)) {
            r = query_number(ps, list);
        } else if (is_alphanumeric(c)) {
            r = query_word(ps, list);
        } else {
            return query_refuse(ps, "unrecognized character in action");
        }
    }
    return r;
}

/* The text begins with a brace, so that there is at least one list. */
static int query_template(struct parser *ps, struct query_list **ret_lists)
{
    struct query_list **end = ret_lists;

    while (ps->at < ps->in.n) {
        struct query_list *list;
        int r;

        if (ps->in.p[ps->at] != '{') {
            ps->at++;
            continue;
        }
        ps->at++;
        list = cor_arena_alloc(ps->arena, sizeof(*list));
        if (!list)
            return ps->arena->error;
        *list = (struct query_list){0};
        r = query_inside(ps, list);
        if (r < 0)
            return r;
        *end = list;
        end = &list->next;
    }
    return 0;
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

int cor_json_query_new(struct cor_arena *arena, struct cor_str text,
                       const struct cor_json_query **ret_query, struct cor_json_error *reterr)
{
    char whole[COR_JSON_QUERY_BYTES_MAX + 2];
    struct parser ps = {.arena = arena, .in = cor_str(whole, text.n + 2)};
    struct cor_json_query *query;
    size_t offset;
    int r;

    if (text.n > COR_JSON_QUERY_BYTES_MAX)
        return report(reterr, -COR_ETOOBIG, COR_JSON_QUERY_BYTES_MAX, "path is too long");
    query = cor_arena_alloc(arena, sizeof(*query));
    if (!query)
        return arena->error;
    *query = (struct cor_json_query){0};
    whole[0] = '{';
    if (text.n > 0)
        memcpy(whole + 1, text.p, text.n);
    whole[text.n + 1] = '}';
    r = query_template(&ps, &query->expressions);
    if (r == 0) {
        *ret_query = query;
        return 0;
    }
    offset = ps.at > text.n ? text.n : ps.at > 0 ? ps.at - 1 : 0;
    return r == -COR_ENOMEM ? r : report(reterr, r, offset, ps.why ? ps.why : "the arena is full");
}
