/* Text to label selector: a reader of one word ahead over meta/label_lexer.h. The selector, its
 * requirements, their values and the text they borrow from are one block of memory, sized by a
 * first pass over the words: a word makes at most one value, a comma or the end one requirement. */
#include "meta/label_selector.h"

#include <stdlib.h>

#include "base/mem.h"
#include "meta/field_error.h"
#include "meta/fingerprint.h"
#include "meta/label_lexer.h"
#include "meta/validation.h"

#define IN_REQUIREMENT "unable to parse requirement: "
/* More than the errors of one selector can need, every byte quoted. */
#define MESSAGE_MAX (16u * COR_LABEL_SELECTOR_BYTES_MAX)

struct parser {
    struct cor_label_lexer lexer;
    enum cor_label_token token; /* the word ahead */
    struct cor_str text;
    struct cor_label_selector *selector;
    size_t requirements_max;
    struct cor_str *values; /* room for all requirements' values */
    size_t nvalues, values_max;
    struct cor_status *status;
};

static void advance(struct parser *p)
{
    p->token = cor_label_lexer_next(&p->lexer, &p->text);
}

/* Where an identifier is wanted, keywords are identifiers. */
static bool at_identifier(const struct parser *p)
{
    return p->token == COR_LABEL_TOKEN_IDENTIFIER || p->token == COR_LABEL_TOKEN_IN ||
           p->token == COR_LABEL_TOKEN_NOT_IN;
}

static int fail_found(struct parser *p, const char *context, const char *expected)
{
    return cor_status_bad_request(p->status, "%sfound '%.*s'%s", context, COR_STR_ARG(p->text),
                                  expected);
}

static int no_memory(struct cor_status *status)
{
    return cor_status_set(status, -COR_ENOMEM, "no memory for a label selector");
}

static int add_value(struct parser *p, struct cor_label_requirement *req, struct cor_str value)
{
    if (p->nvalues == p->values_max)
        return cor_status_bad_request(p->status, "a label selector has at most %d values",
                                      COR_LABEL_SELECTOR_VALUES_MAX);
    p->nvalues++;
    req->values[req->nvalues++] = value;
    return 0;
}

static int compare_values(const void *a, const void *b)
{
    return cor_str_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

static void sort_values(struct parser *p, struct cor_label_requirement *req)
{
    size_t kept = 0;

    qsort(req->values, req->nvalues, sizeof(*req->values), compare_values);
    for (size_t i = 0; i < req->nvalues; i++) {
        if (kept == 0 || !cor_str_eq(req->values[kept - 1], req->values[i]))
            req->values[kept++] = req->values[i];
    }
    p->nvalues -= req->nvalues - kept;
    req->nvalues = kept;
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
    return r == -COR_ENOMEM ? no_memory(p->status) : r;
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

static int parse_operator(struct parser *p, struct cor_label_requirement *req)
{
    switch (p->token) {
    case COR_LABEL_TOKEN_IN:
        req->op = COR_LABEL_IN;
        break;
    case COR_LABEL_TOKEN_NOT_IN:
        req->op = COR_LABEL_NOT_IN;
        break;
    case COR_LABEL_TOKEN_EQUALS:
        req->op = COR_LABEL_EQUALS;
        break;
    case COR_LABEL_TOKEN_DOUBLE_EQUALS:
        req->op = COR_LABEL_DOUBLE_EQUALS;
        break;
    case COR_LABEL_TOKEN_NOT_EQUALS:
        req->op = COR_LABEL_NOT_EQUALS;
        break;
    case COR_LABEL_TOKEN_GREATER:
        req->op = COR_LABEL_GREATER;
        break;
    case COR_LABEL_TOKEN_LESS:
        req->op = COR_LABEL_LESS;
        break;
    default:
        return fail_found(p, IN_REQUIREMENT, ", expected: in, notin, =, ==, !=, gt, lt");
    }
    advance(p);
    return 0;
}

/* From the first member of a set up to its `)`. A comma adds an empty member when nothing stands
 * before it, or nothing after it. As in v1.34 two commas are read as one word, so that `(a,,)` is
 * an error while `(a,,,)` is none. */
static int parse_members(struct parser *p, struct cor_label_requirement *req)
{
    int r;

    for (;;) {
        if (at_identifier(p)) {
            r = add_value(p, req, p->text);
            if (r < 0)
                return r;
            advance(p);
            if (p->token == COR_LABEL_TOKEN_CLOSE)
                return 0;
            if (p->token != COR_LABEL_TOKEN_COMMA)
                return fail_found(p, IN_REQUIREMENT, ", expected: ',' or ')'");
        } else if (p->token == COR_LABEL_TOKEN_COMMA) {
            bool first = req->nvalues == 0;

            advance(p);
            if (first || p->token == COR_LABEL_TOKEN_CLOSE || p->token == COR_LABEL_TOKEN_COMMA) {
                r = add_value(p, req, COR_STR(""));
                if (r < 0)
                    return r;
            }
            if (p->token == COR_LABEL_TOKEN_CLOSE)
                return 0;
            if (p->token == COR_LABEL_TOKEN_COMMA)
                advance(p);
        } else {
            return fail_found(p, IN_REQUIREMENT, ", expected: ',', or identifier");
        }
    }
}

static int parse_set(struct parser *p, struct cor_label_requirement *req)
{
    int r;

    if (p->token != COR_LABEL_TOKEN_OPEN)
        return fail_found(p, IN_REQUIREMENT, " expected: '('");
    advance(p);
    if (p->token == COR_LABEL_TOKEN_CLOSE)
        r = add_value(p, req, COR_STR(""));
    else if (at_identifier(p) || p->token == COR_LABEL_TOKEN_COMMA)
        r = parse_members(p, req);
    else
        return fail_found(p, IN_REQUIREMENT, ", expected: ',', ')' or identifier");
    if (r < 0)
        return r;
    advance(p);
    sort_values(p, req);
    return 0;
}

static int parse_exact_value(struct parser *p, struct cor_label_requirement *req)
{
    int r;

    if (p->token == COR_LABEL_TOKEN_END || p->token == COR_LABEL_TOKEN_COMMA)
        return add_value(p, req, COR_STR(""));
    if (!at_identifier(p))
        return fail_found(p, IN_REQUIREMENT, ", expected: identifier");
    r = add_value(p, req, p->text);
    advance(p);
    return r;
}

static int parse_requirement(struct parser *p, struct cor_label_requirement *req)
{
    bool negated = p->token == COR_LABEL_TOKEN_NOT;
    int r;

    if (negated)
        advance(p);
    if (!at_identifier(p))
        return fail_found(p, IN_REQUIREMENT, ", expected: identifier");
    req->key = p->text;
    r = check_key(p, req->key);
    if (r < 0)
        return r;
    advance(p);
    if (negated || p->token == COR_LABEL_TOKEN_END || p->token == COR_LABEL_TOKEN_COMMA) {
        req->op = negated ? COR_LABEL_NOT_EXISTS : COR_LABEL_EXISTS;
        return 0;
    }
    r = parse_operator(p, req);
    if (r < 0)
        return r;
    if (req->op == COR_LABEL_IN || req->op == COR_LABEL_NOT_IN)
        return parse_set(p, req);
    return parse_exact_value(p, req);
}

static int next_requirement(struct parser *p)
{
    struct cor_label_requirement *req = &p->selector->requirements[p->selector->n];
    int r;

    if (p->selector->n == p->requirements_max)
        return cor_status_bad_request(p->status, "a label selector has at most %d requirements",
                                      COR_LABEL_SELECTOR_REQUIREMENTS_MAX);
    *req = (struct cor_label_requirement){.values = p->values + p->nvalues};
    r = parse_requirement(p, req);
    if (r == 0)
        r = check_values(p, req);
    if (r < 0)
        return r;
    p->selector->n++;
    return 0;
}

static int parse(struct parser *p)
{
    int r;

    advance(p);
    if (p->token == COR_LABEL_TOKEN_END)
        return 0;
    if (!at_identifier(p) && p->token != COR_LABEL_TOKEN_NOT)
        return fail_found(p, "", ", expected: !, identifier, or 'end of string'");
    for (;;) {
        r = next_requirement(p);
        if (r < 0)
            return r;
        if (p->token == COR_LABEL_TOKEN_END)
            return 0;
        if (p->token != COR_LABEL_TOKEN_COMMA)
            return fail_found(p, "", ", expected: ',' or 'end of string'");
        advance(p);
        if (!at_identifier(p) && p->token != COR_LABEL_TOKEN_NOT)
            return fail_found(p, "", ", expected: identifier after ','");
    }
}

/* Equal keys stay in the order of the text, which is the order of their bytes in memory. */
static int compare_requirements(const void *a, const void *b)
{
    const struct cor_label_requirement *x = a, *y = b;
    int order = cor_str_cmp(x->key, y->key);

    return order != 0 ? order : (x->key.p > y->key.p) - (x->key.p < y->key.p);
}

static uint64_t requirement_mask(const struct cor_label_requirement *req)
{
    switch (req->op) {
    case COR_LABEL_EQUALS:
    case COR_LABEL_DOUBLE_EQUALS:
    case COR_LABEL_IN:
        if (req->nvalues == 1)
            return cor_fingerprint_label(req->key, req->values[0]);
        return cor_fingerprint_key(req->key);
    case COR_LABEL_EXISTS:
    case COR_LABEL_GREATER:
    case COR_LABEL_LESS:
        return cor_fingerprint_key(req->key);
    case COR_LABEL_NOT_EXISTS:
    case COR_LABEL_NOT_EQUALS:
    case COR_LABEL_NOT_IN:
        return 0;
    }
    return 0;
}

/* The block for a selector of this text, with the parser set at its beginning; NULL: no memory. */
static struct cor_label_selector *prepare(struct parser *p, struct cor_str text)
{
    struct cor_label_lexer lexer = {text};
    struct cor_label_selector *selector;
    struct cor_str word;
    size_t requirements = 1, values = 0;
    enum cor_label_token token;
    char *copy;

    while ((token = cor_label_lexer_next(&lexer, &word)) != COR_LABEL_TOKEN_END) {
        requirements += token == COR_LABEL_TOKEN_COMMA;
        values++;
    }
    p->requirements_max = requirements < COR_LABEL_SELECTOR_REQUIREMENTS_MAX
                              ? requirements
                              : COR_LABEL_SELECTOR_REQUIREMENTS_MAX;
    p->values_max = values < COR_LABEL_SELECTOR_VALUES_MAX ? values : COR_LABEL_SELECTOR_VALUES_MAX;

    selector = cor_alloc(sizeof(*selector) + p->requirements_max * sizeof(*selector->requirements) +
                         p->values_max * sizeof(*p->values) + text.n);
    if (!selector)
        return NULL;
    selector->mask = 0;
    selector->n = 0;
    selector->requirements = (struct cor_label_requirement *)(selector + 1);
    p->values = (struct cor_str *)(selector->requirements + p->requirements_max);
    copy = (char *)(p->values + p->values_max);
    if (text.n > 0)
        memcpy(copy, text.p, text.n);
    p->lexer.rest = cor_str(copy, text.n);
    p->selector = selector;
    return selector;
}

int cor_label_selector_parse(struct cor_str text, struct cor_label_selector **ret_selector,
                             struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *selector = NULL;
    struct parser p = {.status = reterr_status};
    int r;

    if (text.n > COR_LABEL_SELECTOR_BYTES_MAX)
        return cor_status_bad_request(reterr_status, "a label selector has at most %u bytes",
                                      COR_LABEL_SELECTOR_BYTES_MAX);
    selector = prepare(&p, text);
    if (!selector)
        return no_memory(reterr_status);
    r = parse(&p);
    if (r < 0)
        return r;
    qsort(selector->requirements, selector->n, sizeof(*selector->requirements),
          compare_requirements);
    for (size_t i = 0; i < selector->n; i++)
        selector->mask |= requirement_mask(&selector->requirements[i]);
    *ret_selector = COR_STEAL(selector);
    return 0;
}
