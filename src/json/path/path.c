/* Evaluation: a walk over the steps. Values on the way are open spans (they reach to the end of the
 * bytes), so that only the match itself is skipped over to find its end. */
#include "json/path/path.h"

#include <stdlib.h>

#include "base/err.h"
#include "json/path/path_int.h"
#include "json/text/json_int.h"

#define NUMBER_TEXT_MAX 64

struct walk {
    enum cor_json_order order;
    cor_json_match_cb on_match;
    void *arg;
};

static bool walk(const struct walk *w, const struct step *step, const struct step *end,
                 struct cor_str value);

/* The element at `index`; an empty span when there is none. */
static struct cor_str element(struct cor_str array, int64_t index)
{
    struct cor_json_iter it = cor_json_iter(array);
    int64_t n = 0;

    if (cor_json_type(array) != COR_JSON_ARRAY)
        return cor_str(NULL, 0);
    if (index < 0) {
        while (cor_json_iter_elem(&it))
            n++;
        index += n;
        if (index < 0)
            return cor_str(NULL, 0);
        it = cor_json_iter(array);
    }
    for (n = 0; cor_json_iter_elem(&it); n++) {
        if (n == index)
            return cor_json_iter_open_value(&it);
    }
    return cor_str(NULL, 0);
}

static bool next_child(struct cor_json_iter *it, bool object)
{
    struct cor_str raw;

    return object ? cor_json_iter_member(it, &raw) : cor_json_iter_elem(it);
}

static bool numbers_equal(struct cor_str a, struct cor_str b)
{
    char za[NUMBER_TEXT_MAX], zb[NUMBER_TEXT_MAX];

    if (cor_str_eq(a, b))
        return true;
    if (a.n >= sizeof(za) || b.n >= sizeof(zb))
        return false;
    memcpy(za, a.p, a.n);
    za[a.n] = '\0';
    memcpy(zb, b.p, b.n);
    zb[b.n] = '\0';
    return strtod(za, NULL) == strtod(zb, NULL);
}

static bool equals_literal(const struct step *filter, struct cor_str value)
{
    struct cor_str raw;

    if (cor_json_type(value) != filter->literal)
        return false;
    if (filter->literal == COR_JSON_NUMBER)
        return numbers_equal(value, filter->text);
    if (filter->literal == COR_JSON_BOOL)
        return cor_str_eq(value, filter->text);
    return cor_json_to_raw(value, &raw) == 0 && cor_json_raw_eq(raw, filter->text);
}

static bool keep_first(struct cor_str value, void *arg)
{
    *(struct cor_str *)arg = value;
    return false;
}

static bool passes(const struct walk *w, const struct step *filter, struct cor_str value)
{
    struct cor_str operand = {NULL, 0};
    struct walk inner = {w->order, keep_first, &operand};

    walk(&inner, filter + 1, filter + 1 + filter->operand_n, value);
    if (!operand.p)
        return false;
    return filter->op == FILTER_EXISTS ||
           equals_literal(filter, operand) == (filter->op == FILTER_EQ);
}

/* Walks on from every child that `step` takes; false when the callback wants no more. */
static bool fan_out(const struct walk *w, const struct step *step, const struct step *end,
                    struct cor_str value)
{
    bool object = cor_json_type(value) == COR_JSON_OBJECT;
    bool filter = step->kind == STEP_FILTER;
    struct cor_json_iter it = cor_json_iter(value);

    if (filter && object)
        return true;
    while (next_child(&it, object)) {
        struct cor_str child = cor_json_iter_open_value(&it);

        if (filter && !passes(w, step, child))
            continue;
        if (!walk(w, step + 1 + step->operand_n, end, child))
            return false;
    }
    return true;
}

static bool walk(const struct walk *w, const struct step *step, const struct step *end,
                 struct cor_str value)
{
    for (; step < end && value.n; step++) {
        switch (step->kind) {
        case STEP_KEY:
            value = cor_json_find(value, step->text, w->order);
            break;
        case STEP_INDEX:
            value = element(value, step->index);
            break;
        case STEP_ALL:
        case STEP_FILTER:
            return fan_out(w, step, end, value);
        }
    }
    return value.n ? w->on_match(cor_json_first_value(value), w->arg) : true;
}

void cor_json_path_each(const struct cor_json_path *path, struct cor_str json,
                        enum cor_json_order order, cor_json_match_cb on_match, void *arg)
{
    struct walk w = {order, on_match, arg};

    walk(&w, path->steps, path->steps + path->n, cor_json_skip_space(json));
}

int cor_json_path_first_from(const struct cor_json_path *path, size_t nsteps, struct cor_str json,
                             enum cor_json_order order, struct cor_str *ret_value)
{
    struct cor_str found = {NULL, 0};
    struct walk w = {order, keep_first, &found};

    walk(&w, path->steps + nsteps, path->steps + path->n, cor_json_skip_space(json));
    if (!found.p)
        return -COR_ENOTFOUND;
    *ret_value = found;
    return 0;
}

bool cor_json_path_begins(const struct cor_json_path *path, struct cor_str key)
{
    return path->n > 0 && path->steps[0].kind == STEP_KEY && cor_str_eq(path->steps[0].text, key);
}

int cor_json_path_first(const struct cor_json_path *path, struct cor_str json,
                        enum cor_json_order order, struct cor_str *ret_value)
{
    return cor_json_path_first_from(path, 0, json, order, ret_value);
}
