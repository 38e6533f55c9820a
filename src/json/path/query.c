/* clang-format off */
/* Evaluates queries. Like client-go's, the evaluation goes node by node: a node turns the list of
 * all values that were found so far into the next list. (Going value by value would find the same
 * first result in most cases, but not the failures behind it, which leave no result at all, and not
 * the order of unions.)
 *
 *   run_list()      the nodes of an expression, one after the other
 *     run_node()    one node: member, slice, all, everything below, filter, union, literal
 *
 * A failure (-COR_EINVAL) leaves in the list what upstream's functions return beside their error:
 * `[?(…)]` asks only whether that list is empty.
 *
 * Cost: everything that is read, every value that is noted and every node that is applied (a filter
 * applies its nodes to each element) is charged to a budget, which is a multiple of the size of the
 * JSON. Lists have room for a few values on the stack; longer ones are
 * allocated, and bounded by the budget. Recursion is bounded by the depth of the query, and that of
 * RECURSIVE by the depth of the JSON. Thread: any. */
/* clang-format on */
#include "json/path/query.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "json/path/query_int.h"
#include "json/text/scan.h"

#define FEW             8
#define NUMBER_TEXT_MAX 64
#define VALUE_CHARGE    16          /* bytes that noting a value counts for */
#define NODE_CHARGE     4           /* the same of applying a node, also to no value */
#define BUDGET_PER_BYTE 16          /* how often all of the JSON may be read */
#define BUDGET_LEAST    (64 * 1024) /* even of a small object */
#define QUERY_DEPTH_MAX 1024        /* of JSON below which RECURSIVE does not go */

struct values {
    struct cor_json_result *v; /* `few`, or allocated */
    size_t n, cap;
    struct cor_json_result few[FEW];
};

struct run {
    size_t budget; /* bytes that may still be read */
    int error;     /* -COR_ENOMEM, or -COR_ETOOBIG when the budget is used up: ends everything */
};

static int run_list(struct run *run, const struct query_list *list, struct values *values);

static void values_init(struct values *values)
{
    values->v = values->few;
    values->n = 0;
    values->cap = FEW;
}

static void values_deinit(struct values *values)
{
    if (values->v != values->few)
        cor_free(values->v);
}

static int charge(struct run *run, size_t bytes)
{
    if (bytes > run->budget)
        run->error = -COR_ETOOBIG;
    else
        run->budget -= bytes;
    return run->error;
}

static int values_add(struct run *run, struct values *values, struct cor_json_result value)
{
    int r = charge(run, VALUE_CHARGE);

    if (r < 0)
        return r;
    if (values->n == values->cap) {
        bool is_few = values->v == values->few;
        struct cor_json_result *grown = is_few ? NULL : values->v;
        size_t cap = is_few ? 0 : values->cap;

        r = COR_ARRAY_RESERVE_MORE(&grown, is_few ? 0 : values->n, is_few ? 2 * FEW : 1, &cap,
                                   COR_ARRAY_NO_MAX);
        if (r < 0)
            return run->error = r;
        if (is_few)
            memcpy(grown, values->few, sizeof(values->few));
        values->v = grown;
        values->cap = cap;
    }
    values->v[values->n++] = value;
    return 0;
}

static int values_add_json(struct run *run, struct values *values, struct cor_str open)
{
    return values_add(run, values, (struct cor_json_result){COR_JSON_RESULT_JSON, open, 0, 0});
}

static int values_add_all(struct run *run, struct values *values, const struct values *more)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < more->n; i++)
        r = values_add(run, values, more->v[i]);
    return r;
}

/* Ends with a failure of the evaluation; what is left in the list is `in`. */
static int fail_with(struct run *run, const struct values *in, struct values *out)
{
    int r;

    out->n = 0;
    r = values_add_all(run, out, in);
    return r < 0 ? r : -COR_EINVAL;
}

/* The type of a value's bytes; that of a literal has no members. */
static enum cor_json_type type_of(const struct cor_json_result *value)
{
    return value->kind == COR_JSON_RESULT_JSON   ? cor_json_type(value->text)
           : value->kind == COR_JSON_RESULT_TEXT ? COR_JSON_STRING
                                                 : COR_JSON_NUMBER;
}

static int run_field(struct run *run, const struct query_node *node, const struct values *in,
                     struct values *out)
{
    for (size_t i = 0; i < in->n; i++) {
        struct cor_json_iter it;
        struct cor_str raw;
        int r = 0;

        if (type_of(&in->v[i]) != COR_JSON_OBJECT)
            continue;
        it = cor_json_iter(in->v[i].text);
        while (r == 0 && cor_json_iter_member(&it, &raw)) {
            if (!cor_json_raw_eq(raw, node->text))
                continue;
            r = values_add_json(run, out, cor_json_iter_open_value(&it));
            break;
        }
        if (r == 0)
            r = charge(run, (size_t)(it.p - in->v[i].text.p));
        if (r < 0)
            return r;
    }
    return 0;
}

static int64_t count_elements(struct cor_str array)
{
    struct cor_json_iter it = cor_json_iter(array);
    int64_t n = 0;

    while (cor_json_iter_elem(&it))
        n++;
    return n;
}

/* Which elements of an array of `n` a slice takes. 1: from *ret_begin to *ret_end; 0: none, and
 * upstream looks at no further array; -COR_EINVAL: they are outside the array. */
static int slice_bounds(const struct query_node *node, int64_t n, int64_t *ret_begin,
                        int64_t *ret_end)
{
    const struct query_bound *bounds = node->bounds;
    int64_t begin = bounds[0].is_known ? bounds[0].value : 0;
    int64_t end = bounds[1].is_known ? bounds[1].value : n;

    if (begin < 0)
        begin += n;
    if (end < 0 || (end == 0 && bounds[1].is_derived))
        end += n;
    if (begin == end)
        return 0;
    if (begin < 0 || begin >= n || end < 0 || end > n || begin > end ||
        (bounds[2].is_known && bounds[2].value <= 0))
        return -COR_EINVAL;
    *ret_begin = begin;
    *ret_end = end;
    return 1;
}

static int run_slice(struct run *run, const struct query_node *node, const struct values *in,
                     struct values *out)
{
    int64_t step = node->bounds[2].is_known ? node->bounds[2].value : 1;

    for (size_t i = 0; i < in->n; i++) {
        struct cor_str array = in->v[i].text;
        struct cor_json_iter it;
        int64_t begin, end;
        int r;

        if (type_of(&in->v[i]) == COR_JSON_NULL)
            continue;
        if (type_of(&in->v[i]) != COR_JSON_ARRAY)
            return fail_with(run, in, out);
        r = slice_bounds(node, count_elements(array), &begin, &end);
        if (r < 0)
            return fail_with(run, in, out);
        if (r == 0)
            return 0;
        it = cor_json_iter(array);
        r = 0;
        for (int64_t at = 0; r == 0 && at < end && cor_json_iter_elem(&it); at++) {
            if (at >= begin && (at - begin) % step == 0)
                r = values_add_json(run, out, cor_json_iter_open_value(&it));
        }
        /* The elements were counted first, so that the array was read twice. */
        if (r == 0)
            r = charge(run, 2 * cor_json_first_value(array).n);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The bytes of a text, each a value of its own. */
static int add_bytes(struct run *run, const struct cor_json_result *value, struct values *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf room = {0};
    struct cor_str text = value->text, raw;
    int r = 0;

    if (value->kind == COR_JSON_RESULT_JSON) {
        r = cor_json_to_raw(cor_json_first_value(value->text), &raw);
        if (r < 0)
            return 0;
        cor_buf_init(&room, raw.n);
        r = cor_buf_reserve(&room, raw.n);
        if (r < 0)
            return run->error = r;
        r = cor_json_unescape(raw, room.p, raw.n, &text);
    }
    for (size_t i = 0; r == 0 && i < text.n; i++)
        r = values_add(run, out,
                       (struct cor_json_result){.kind = COR_JSON_RESULT_BYTE,
                                                .integer = (unsigned char)text.p[i]});
    return r;
}

static bool next_child(struct cor_json_iter *it, bool is_object)
{
    struct cor_str raw;

    return is_object ? cor_json_iter_member(it, &raw) : cor_json_iter_elem(it);
}

static int run_all(struct run *run, const struct values *in, struct values *out)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < in->n; i++) {
        enum cor_json_type type = type_of(&in->v[i]);
        struct cor_json_iter it;

        if (type == COR_JSON_STRING) {
            r = add_bytes(run, &in->v[i], out);
            continue;
        }
        if (type != COR_JSON_OBJECT && type != COR_JSON_ARRAY)
            continue;
        it = cor_json_iter(in->v[i].text);
        while (r == 0 && next_child(&it, type == COR_JSON_OBJECT))
            r = values_add_json(run, out, cor_json_iter_open_value(&it));
        if (r == 0)
            r = charge(run, (size_t)(it.p - in->v[i].text.p));
    }
    return r;
}

/* Adds what has something in it, and all such values below: a text counts as the bytes in it. The
 * walk goes through the bytes once. */
static int add_below(struct run *run, struct cor_json_iter *at, unsigned depth, struct values *out)
{
    struct cor_str open = cor_json_iter_open_value(at);
    enum cor_json_type type = cor_json_type(open);
    struct cor_json_iter it;
    size_t place = out->n;
    bool is_empty = true;
    int r;

    if (depth > QUERY_DEPTH_MAX)
        return run->error = -COR_ETOOBIG;
    if (type != COR_JSON_OBJECT && type != COR_JSON_ARRAY) {
        struct cor_str value = cor_json_iter_value(at);

        return type == COR_JSON_STRING && value.n > 2 ? values_add_json(run, out, value) : 0;
    }
    r = values_add_json(run, out, open);
    it = cor_json_iter(open);
    while (r == 0 && next_child(&it, type == COR_JSON_OBJECT)) {
        is_empty = false;
        r = add_below(run, &it, depth + 1, out);
    }
    if (r == 0)
        cor_json_iter_leave(at, &it);
    if (r == 0 && is_empty)
        out->n = place;
    return r;
}

static int run_recursive(struct run *run, const struct values *in, struct values *out)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < in->n; i++) {
        struct cor_str open = in->v[i].text;
        struct cor_json_iter it;

        if (in->v[i].kind == COR_JSON_RESULT_TEXT && open.n > 0)
            r = values_add(run, out, in->v[i]);
        if (in->v[i].kind != COR_JSON_RESULT_JSON)
            continue;
        it = (struct cor_json_iter){open.p, open.p + open.n, open.p};
        r = add_below(run, &it, 0, out);
        if (r == 0)
            r = charge(run, (size_t)(it.p - open.p));
    }
    return r;
}

/* A value as comparisons see it. */
struct operand {
    enum { OPERAND_NONE, OPERAND_BOOL, OPERAND_INT, OPERAND_FLOAT, OPERAND_TEXT } kind;
    int64_t integer;
    double real;
    struct cor_str text;
    bool is_raw; /* the text is raw, with its escapes */
};

static struct operand operand_of_number(struct cor_str number)
{
    struct operand operand = {.kind = OPERAND_INT};
    char text[NUMBER_TEXT_MAX];

    if (cor_json_to_i64(number, &operand.integer) == 0)
        return operand;
    operand.kind = OPERAND_NONE;
    if (number.n < sizeof(text)) {
        memcpy(text, number.p, number.n);
        text[number.n] = '\0';
        operand.kind = OPERAND_FLOAT;
        operand.real = strtod(text, NULL);
    }
    return operand;
}

static struct operand operand_of(const struct cor_json_result *value)
{
    struct operand operand = {.integer = value->integer, .real = value->real, .text = value->text};
    struct cor_str json;

    switch (value->kind) {
    case COR_JSON_RESULT_TEXT:
        operand.kind = OPERAND_TEXT;
        return operand;
    case COR_JSON_RESULT_INT:
    case COR_JSON_RESULT_BYTE:
        operand.kind = OPERAND_INT;
        return operand;
    case COR_JSON_RESULT_FLOAT:
        operand.kind = OPERAND_FLOAT;
        return operand;
    case COR_JSON_RESULT_BOOL:
        operand.kind = OPERAND_BOOL;
        return operand;
    case COR_JSON_RESULT_JSON:
        break;
    }
    switch (cor_json_type(value->text)) {
    case COR_JSON_STRING:
        json = cor_json_first_value(value->text);
        operand.is_raw = true;
        operand.kind = cor_json_to_raw(json, &operand.text) < 0 ? OPERAND_NONE : OPERAND_TEXT;
        break;
    case COR_JSON_NUMBER:
        return operand_of_number(cor_json_first_value(value->text));
    case COR_JSON_BOOL:
        operand.kind = OPERAND_BOOL;
        operand.integer = value->text.p[0] == 't';
        break;
    default:
        operand.kind = OPERAND_NONE;
        break;
    }
    return operand;
}

static int compare_texts(const struct operand *a, const struct operand *b)
{
    if (a->is_raw && b->is_raw)
        return cor_json_raw_cmp(a->text, b->text);
    if (a->is_raw)
        return cor_json_raw_cmp_text(a->text, b->text);
    return b->is_raw ? -cor_json_raw_cmp_text(b->text, a->text) : cor_str_cmp(a->text, b->text);
}

/* 0 with the verdict, or -COR_EINVAL: the two cannot be compared. */
static int compare(enum query_op op, const struct cor_json_result *left,
                   const struct cor_json_result *right, bool *ret_passes)
{
    struct operand a = operand_of(left), b = operand_of(right);
    bool is_less, is_equal;

    if (a.kind == OPERAND_NONE || a.kind != b.kind || op == QUERY_OP_UNKNOWN ||
        (a.kind == OPERAND_BOOL && op != QUERY_OP_EQ && op != QUERY_OP_NE))
        return -COR_EINVAL;
    if (a.kind == OPERAND_FLOAT) {
        is_less = a.real < b.real;
        is_equal = a.real == b.real;
    } else if (a.kind == OPERAND_TEXT) {
        int c = compare_texts(&a, &b);

        is_less = c < 0;
        is_equal = c == 0;
    } else {
        is_less = a.integer < b.integer;
        is_equal = a.integer == b.integer;
    }
    *ret_passes = op == QUERY_OP_EQ   ? is_equal
                  : op == QUERY_OP_NE ? !is_equal
                  : op == QUERY_OP_LT ? is_less
                  : op == QUERY_OP_LE ? is_less || is_equal
                  : op == QUERY_OP_GT ? !is_less && !is_equal
                                      : !is_less;
    return 0;
}

/* Does an element pass? 1, 0, -COR_EINVAL; `ret_is_late`: the failure is one of the comparison,
 * after which upstream keeps the elements that passed before. */
static int run_test(struct run *run, const struct query_node *node, struct cor_str element,
                    bool *ret_is_late)
{
    struct values left, right;
    bool passes = false;
    int r;

    values_init(&left);
    values_init(&right);
    *ret_is_late = false;
    r = values_add_json(run, &left, element);
    if (r == 0)
        r = run_list(run, &node->left, &left);
    if (run->error == 0 && node->op == QUERY_OP_EXISTS) {
        r = 0;
        passes = left.n > 0;
    } else if (r == 0 && left.n > 1) {
        r = -COR_EINVAL;
    } else if (r == 0 && left.n == 1) {
        r = values_add_json(run, &right, element);
        if (r == 0)
            r = run_list(run, &node->right, &right);
        if (r == 0 && right.n > 1)
            r = -COR_EINVAL;
        if (r == 0 && right.n == 1) {
            r = compare(node->op, left.v, right.v, &passes);
            *ret_is_late = r < 0;
        }
    }
    values_deinit(&left);
    values_deinit(&right);
    return r < 0 ? r : passes;
}

static int run_filter(struct run *run, const struct query_node *node, const struct values *in,
                      struct values *out)
{
    for (size_t i = 0; i < in->n; i++) {
        struct cor_json_iter it;

        if (type_of(&in->v[i]) != COR_JSON_ARRAY)
            return fail_with(run, in, out);
        it = cor_json_iter(in->v[i].text);
        while (cor_json_iter_elem(&it)) {
            struct cor_str element = cor_json_iter_open_value(&it);
            bool is_late;
            int r = run_test(run, node, element, &is_late);

            if (run->error < 0)
                return run->error;
            if (r < 0)
                return is_late ? r : fail_with(run, in, out);
            if (r > 0 && values_add_json(run, out, element) < 0)
                return run->error;
        }
        if (charge(run, (size_t)(it.p - in->v[i].text.p)) < 0)
            return run->error;
    }
    return 0;
}

static int run_union(struct run *run, const struct query_node *node, const struct values *in,
                     struct values *out)
{
    for (const struct query_list *branch = node->branches; branch; branch = branch->next) {
        struct values found;
        int r;

        values_init(&found);
        r = values_add_all(run, &found, in);
        if (r == 0)
            r = run_list(run, branch, &found);
        if (r == 0)
            r = values_add_all(run, out, &found);
        values_deinit(&found);
        if (r < 0)
            return run->error < 0 ? r : fail_with(run, in, out);
    }
    return 0;
}

/* A text is there once, whatever there was before; numbers and truths once for each value. */
static int run_literal(struct run *run, const struct query_node *node, const struct values *in,
                       struct values *out)
{
    struct cor_json_result value = {
        .text = node->text, .integer = node->integer, .real = node->real};
    size_t n = node->kind == QUERY_TEXT ? 1 : in->n;
    int r = 0;

    value.kind = node->kind == QUERY_TEXT    ? COR_JSON_RESULT_TEXT
                 : node->kind == QUERY_INT   ? COR_JSON_RESULT_INT
                 : node->kind == QUERY_FLOAT ? COR_JSON_RESULT_FLOAT
                                             : COR_JSON_RESULT_BOOL;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = values_add(run, out, value);
    return r;
}

static int run_node(struct run *run, const struct query_node *node, const struct values *in,
                    struct values *out)
{
    switch (node->kind) {
    case QUERY_FIELD:
        return run_field(run, node, in, out);
    case QUERY_SLICE:
        return run_slice(run, node, in, out);
    case QUERY_ALL:
        return run_all(run, in, out);
    case QUERY_RECURSIVE:
        return run_recursive(run, in, out);
    case QUERY_FILTER:
        return run_filter(run, node, in, out);
    case QUERY_UNION:
        return run_union(run, node, in, out);
    case QUERY_TEXT:
    case QUERY_INT:
    case QUERY_FLOAT:
    case QUERY_BOOL:
        return run_literal(run, node, in, out);
    case QUERY_WORD:
        return fail_with(run, in, out);
    }
    return -COR_EINVAL;
}

/* Applies all nodes; `values` has the first values before, and the results afterwards. 0,
 * -COR_EINVAL (the evaluation failed), or run->error. */
static int run_list(struct run *run, const struct query_list *list, struct values *values)
{
    struct values other;
    int r = 0;

    values_init(&other);
    for (const struct query_node *node = list->first; node && r == 0; node = node->next) {
        other.n = 0;
        r = charge(run, NODE_CHARGE);
        if (r == 0)
            r = run_node(run, node, values, &other);
        values->n = 0;
        if (run->error == 0 && values_add_all(run, values, &other) < 0)
            r = run->error;
    }
    values_deinit(&other);
    return r;
}

/* What a query may read: a multiple of the JSON, and no more than `work` has left. */
static size_t budget_of(struct cor_str json, const struct cor_work *work)
{
    uint64_t own = BUDGET_LEAST + BUDGET_PER_BYTE * (uint64_t)json.n;
    uint64_t end = work->slice < work->max ? work->slice : work->max;
    uint64_t left = end > work->steps ? end - work->steps : 0;

    return (size_t)(own / COR_WORK_STEP_BYTES < left ? own : left * COR_WORK_STEP_BYTES);
}

int cor_json_query_first(const struct cor_json_query *query, struct cor_str json,
                         struct cor_work *work, struct cor_json_result *ret_result)
{
    size_t budget = budget_of(json, work);
    bool is_short = budget < BUDGET_LEAST + BUDGET_PER_BYTE * json.n;
    struct run run = {.budget = budget};
    struct cor_json_result first = {0};
    bool is_found = false;
    int r = 0;

    assert(query && query->expressions && json.p);
    for (const struct query_list *list = query->expressions; list && r == 0; list = list->next) {
        struct values values;

        values_init(&values);
        r = values_add_json(&run, &values, json);
        if (r == 0)
            r = run_list(&run, list, &values);
        if (r == 0 && list == query->expressions && values.n > 0) {
            first = values.v[0];
            is_found = true;
        }
        values_deinit(&values);
    }
    (void)cor_work_charge(work, 1 + (budget - run.budget) / COR_WORK_STEP_BYTES);
    if (r == -COR_ENOMEM)
        return r;
    /* The budget was that of the work, of which less than the next step needs may be left. */
    if (r == -COR_ETOOBIG && is_short)
        return cor_work_use_up(work);
    if (r < 0 || !is_found)
        return -COR_ENOTFOUND;
    if (first.kind == COR_JSON_RESULT_JSON)
        first.text = cor_json_first_value(first.text);
    *ret_result = first;
    return 0;
}
