/* Text to label selector: a reader of one word ahead over meta/select/selector_lexer.h. A first
 * pass over the words finds out how much room the selector needs: a word makes at most one value, a
 * comma or the end one requirement. */
#include "meta/select/label_selector.h"

#include "meta/names/field_error.h"
#include "meta/names/validation.h"
#include "meta/select/label_draft.h"
#include "meta/select/selector_lexer.h"

#define IN_REQUIREMENT "unable to parse requirement: "
/* More than the errors of one selector can need, every byte quoted. */
#define MESSAGE_MAX (16u * COR_LABEL_SELECTOR_BYTES_MAX)

struct parser {
    struct cor_selector_lexer lexer;
    enum cor_selector_token token; /* the word ahead */
    struct cor_str text;
    struct cor_label_draft draft;
    struct cor_status *status;
};

static void advance(struct parser *p)
{
    p->token = cor_selector_lexer_next(&p->lexer, &p->text);
}

/* Where an identifier is wanted, keywords are identifiers. */
static bool at_identifier(const struct parser *p)
{
    return p->token == COR_SELECTOR_TOKEN_IDENTIFIER || p->token == COR_SELECTOR_TOKEN_IN ||
           p->token == COR_SELECTOR_TOKEN_NOT_IN;
}

static int fail_found(struct parser *p, const char *context, const char *expected)
{
    return cor_status_bad_request(p->status, "%sfound '%.*s'%s", context, COR_STR_ARG(p->text),
                                  expected);
}

static int add_value(struct parser *p, struct cor_str value)
{
    if (cor_label_draft_add_value(&p->draft, value))
        return 0;
    return cor_status_bad_request(p->status, "a label selector has at most %d values",
                                  COR_LABEL_SELECTOR_VALUES_MAX);
}

/* As Go reads an int64: with a sign of either kind. */
static bool read_number(struct cor_str text, int64_t *ret)
{
    if (text.n > 1 && text.p[0] == '+' && text.p[1] != '-')
        text = cor_str_from(text, 1);
    return cor_str_to_i64(text, ret) == 0;
}

/* Adds what is wrong with `text`, if anything, as one error. */
static void check_text(struct cor_field_errors *errs, enum cor_name_rule rule,
                       const struct cor_field_path *path, struct cor_str text)
{
    struct cor_complaints complaints = cor_name_check(rule, text);
    struct cor_buf detail;
    int r = 0;

    if (complaints.n == 0)
        return;
    cor_buf_init(&detail, MESSAGE_MAX);
    for (size_t i = 0; i < complaints.n && r == 0; i++)
        r = cor_buf_addf(&detail, "%s%s", i > 0 ? "; " : "", complaints.text[i]);
    if (r < 0)
        errs->error = r;
    else
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, cor_field_string(text),
                             cor_buf_z(&detail));
    cor_buf_deinit(&detail);
}

static int take_errors(struct parser *p, struct cor_field_errors *errs)
{
    struct cor_buf message;
    int r = errs->error;

    cor_buf_init(&message, MESSAGE_MAX);
    if (r == 0 && errs->n > 0) {
        r = cor_field_errors_print(errs, &message);
        if (r == 0)
            r = cor_status_bad_request(p->status, IN_REQUIREMENT "%s", cor_buf_z(&message));
    }
    cor_buf_deinit(&message);
    cor_field_errors_deinit(errs);
    return r == -COR_ENOMEM ? cor_status_no_memory(p->status) : r;
}

static int check_key(struct parser *p, struct cor_str key)
{
    struct cor_field_path path = cor_field_root(COR_STR("<nil>"));
    struct cor_field_errors errs;

    cor_field_errors_init(&errs);
    check_text(&errs, COR_NAME_QUALIFIED, &path, key);
    return take_errors(p, &errs);
}

static int check_values(struct parser *p, struct cor_label_requirement *req)
{
    struct cor_field_path values = cor_field_root(COR_STR("values"));
    struct cor_field_errors errs;

    cor_field_errors_init(&errs);
    if (req->op == COR_LABEL_GREATER || req->op == COR_LABEL_LESS) {
        struct cor_field_path at = cor_field_index(&values, 0);

        if (!read_number(req->values[0], &req->number))
            cor_field_errors_add(&errs, COR_FIELD_INVALID, &at, cor_field_string(req->values[0]),
                                 "for 'Gt', 'Lt' operators, the value must be an integer");
    }
    for (size_t i = 0; i < req->nvalues; i++) {
        struct cor_field_path at = cor_field_index(&values, i);
        struct cor_field_path of_key = cor_field_key(&at, req->key);

        check_text(&errs, COR_NAME_LABEL_VALUE, &of_key, req->values[i]);
    }
    return take_errors(p, &errs);
}

static int parse_operator(struct parser *p, enum cor_label_op *ret_op)
{
    switch (p->token) {
    case COR_SELECTOR_TOKEN_IN:
        *ret_op = COR_LABEL_IN;
        break;
    case COR_SELECTOR_TOKEN_NOT_IN:
        *ret_op = COR_LABEL_NOT_IN;
        break;
    case COR_SELECTOR_TOKEN_EQUALS:
        *ret_op = COR_LABEL_EQUALS;
        break;
    case COR_SELECTOR_TOKEN_DOUBLE_EQUALS:
        *ret_op = COR_LABEL_DOUBLE_EQUALS;
        break;
    case COR_SELECTOR_TOKEN_NOT_EQUALS:
        *ret_op = COR_LABEL_NOT_EQUALS;
        break;
    case COR_SELECTOR_TOKEN_GREATER:
        *ret_op = COR_LABEL_GREATER;
        break;
    case COR_SELECTOR_TOKEN_LESS:
        *ret_op = COR_LABEL_LESS;
        break;
    default:
        return fail_found(p, IN_REQUIREMENT, ", expected: in, notin, =, ==, !=, gt, lt");
    }
    advance(p);
    return 0;
}

/* From the first member of a set up to its `)`. A comma adds an empty member when nothing precedes
 * it, or nothing after it. As in v1.34 two commas are read as one word, so that `(a,,)` is an error
 * while `(a,,,)` is none. */
static int parse_members(struct parser *p, const struct cor_label_requirement *req)
{
    int r;

    for (;;) {
        if (at_identifier(p)) {
            r = add_value(p, p->text);
            if (r < 0)
                return r;
            advance(p);
            if (p->token == COR_SELECTOR_TOKEN_CLOSE)
                return 0;
            if (p->token != COR_SELECTOR_TOKEN_COMMA)
                return fail_found(p, IN_REQUIREMENT, ", expected: ',' or ')'");
        } else if (p->token == COR_SELECTOR_TOKEN_COMMA) {
            bool first = req->nvalues == 0;

            advance(p);
            if (first || p->token == COR_SELECTOR_TOKEN_CLOSE ||
                p->token == COR_SELECTOR_TOKEN_COMMA) {
                r = add_value(p, COR_STR(""));
                if (r < 0)
                    return r;
            }
            if (p->token == COR_SELECTOR_TOKEN_CLOSE)
                return 0;
            if (p->token == COR_SELECTOR_TOKEN_COMMA)
                advance(p);
        } else {
            return fail_found(p, IN_REQUIREMENT, ", expected: ',', or identifier");
        }
    }
}

static int parse_set(struct parser *p, const struct cor_label_requirement *req)
{
    int r;

    if (p->token != COR_SELECTOR_TOKEN_OPEN)
        return fail_found(p, IN_REQUIREMENT, " expected: '('");
    advance(p);
    if (p->token == COR_SELECTOR_TOKEN_CLOSE)
        r = add_value(p, COR_STR(""));
    else if (at_identifier(p) || p->token == COR_SELECTOR_TOKEN_COMMA)
        r = parse_members(p, req);
    else
        return fail_found(p, IN_REQUIREMENT, ", expected: ',', ')' or identifier");
    if (r < 0)
        return r;
    advance(p);
    cor_label_draft_sort_values(&p->draft);
    return 0;
}

static int parse_exact_value(struct parser *p)
{
    int r;

    if (p->token == COR_SELECTOR_TOKEN_END || p->token == COR_SELECTOR_TOKEN_COMMA)
        return add_value(p, COR_STR(""));
    if (!at_identifier(p))
        return fail_found(p, IN_REQUIREMENT, ", expected: identifier");
    r = add_value(p, p->text);
    advance(p);
    return r;
}

static int parse_key(struct parser *p, bool *ret_negated, struct cor_str *ret_key)
{
    int r;

    *ret_negated = p->token == COR_SELECTOR_TOKEN_NOT;
    if (*ret_negated)
        advance(p);
    if (!at_identifier(p))
        return fail_found(p, IN_REQUIREMENT, ", expected: identifier");
    *ret_key = p->text;
    r = check_key(p, p->text);
    advance(p);
    return r;
}

static int parse_values(struct parser *p, struct cor_label_requirement *req)
{
    int r;

    if (req->op == COR_LABEL_EXISTS || req->op == COR_LABEL_NOT_EXISTS)
        return 0;
    if (req->op == COR_LABEL_IN || req->op == COR_LABEL_NOT_IN)
        r = parse_set(p, req);
    else
        r = parse_exact_value(p);
    return r < 0 ? r : check_values(p, req);
}

static int parse_requirement(struct parser *p)
{
    struct cor_label_requirement *req;
    enum cor_label_op op = COR_LABEL_EXISTS;
    struct cor_str key = {NULL, 0};
    bool negated = false;
    int r;

    r = parse_key(p, &negated, &key);
    if (r < 0)
        return r;
    if (negated)
        op = COR_LABEL_NOT_EXISTS;
    else if (p->token != COR_SELECTOR_TOKEN_END && p->token != COR_SELECTOR_TOKEN_COMMA)
        r = parse_operator(p, &op);
    if (r < 0)
        return r;
    req = cor_label_draft_add(&p->draft, key, op);
    if (!req)
        return cor_status_bad_request(p->status, "a label selector has at most %d requirements",
                                      COR_LABEL_SELECTOR_REQUIREMENTS_MAX);
    return parse_values(p, req);
}

static int parse(struct parser *p)
{
    int r;

    advance(p);
    if (p->token == COR_SELECTOR_TOKEN_END)
        return 0;
    if (!at_identifier(p) && p->token != COR_SELECTOR_TOKEN_NOT)
        return fail_found(p, "", ", expected: !, identifier, or 'end of string'");
    for (;;) {
        r = parse_requirement(p);
        if (r < 0)
            return r;
        if (p->token == COR_SELECTOR_TOKEN_END)
            return 0;
        if (p->token != COR_SELECTOR_TOKEN_COMMA)
            return fail_found(p, "", ", expected: ',' or 'end of string'");
        advance(p);
        if (!at_identifier(p) && p->token != COR_SELECTOR_TOKEN_NOT)
            return fail_found(p, "", ", expected: identifier after ','");
    }
}

static int prepare(struct parser *p, struct cor_str text)
{
    struct cor_selector_lexer lexer = {text};
    struct cor_str word;
    size_t requirements = 1, values = 0;
    enum cor_selector_token token;

    while ((token = cor_selector_lexer_next(&lexer, &word)) != COR_SELECTOR_TOKEN_END) {
        requirements += token == COR_SELECTOR_TOKEN_COMMA;
        values++;
    }
    if (cor_label_draft_init(&p->draft, requirements, values, text.n) < 0)
        return cor_status_no_memory(p->status);
    if (text.n > 0)
        memcpy(p->draft.text, text.p, text.n);
    p->lexer.rest = cor_str(p->draft.text, text.n);
    return 0;
}

int cor_label_selector_parse(struct cor_str text, struct cor_label_selector **ret_selector,
                             struct cor_status *reterr_status)
{
    struct parser p = {.status = reterr_status};
    int r;

    if (text.n > COR_LABEL_SELECTOR_BYTES_MAX)
        return cor_status_bad_request(reterr_status, "a label selector has at most %u bytes",
                                      COR_LABEL_SELECTOR_BYTES_MAX);
    r = prepare(&p, text);
    if (r == 0)
        r = parse(&p);
    if (r == 0)
        *ret_selector = cor_label_draft_steal(&p.draft);
    cor_label_draft_deinit(&p.draft);
    return r;
}
