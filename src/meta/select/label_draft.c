#include "meta/select/label_draft.h"

#include <stdlib.h>

#include "base/mem.h"
#include "meta/value/fingerprint.h"

static size_t at_most(size_t n, size_t max)
{
    return n < max ? n : max;
}

int cor_label_draft_init(struct cor_label_draft *draft, size_t requirements, size_t values,
                         size_t text_bytes)
{
    struct cor_label_selector *selector;

    requirements = at_most(requirements, COR_LABEL_SELECTOR_REQUIREMENTS_MAX);
    values = at_most(values, COR_LABEL_SELECTOR_VALUES_MAX);
    selector = cor_alloc(sizeof(*selector) + requirements * sizeof(*selector->requirements) +
                         values * sizeof(*draft->values) + text_bytes);
    if (!selector)
        return -COR_ENOMEM;
    *selector = (struct cor_label_selector){
        .requirements = (struct cor_label_requirement *)(selector + 1),
    };
    *draft = (struct cor_label_draft){
        .selector = selector,
        .requirements_max = requirements,
        .values = (struct cor_str *)(selector->requirements + requirements),
        .values_max = values,
    };
    draft->text = (char *)(draft->values + values);
    return 0;
}

void cor_label_draft_deinit(struct cor_label_draft *draft)
{
    draft->selector = cor_label_selector_free(draft->selector);
}

struct cor_label_requirement *cor_label_draft_add(struct cor_label_draft *draft, struct cor_str key,
                                                  enum cor_label_op op)
{
    struct cor_label_requirement *req;

    if (draft->selector->n == draft->requirements_max)
        return NULL;
    req = &draft->selector->requirements[draft->selector->n++];
    *req = (struct cor_label_requirement){
        .key = key, .values = draft->values + draft->nvalues, .op = op};
    return req;
}

static struct cor_label_requirement *last(const struct cor_label_draft *draft)
{
    return &draft->selector->requirements[draft->selector->n - 1];
}

bool cor_label_draft_add_value(struct cor_label_draft *draft, struct cor_str value)
{
    struct cor_label_requirement *req = last(draft);

    if (draft->nvalues == draft->values_max)
        return false;
    draft->nvalues++;
    req->values[req->nvalues++] = value;
    return true;
}

static int compare_values(const void *a, const void *b)
{
    return cor_str_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

void cor_label_draft_sort_values(struct cor_label_draft *draft)
{
    struct cor_label_requirement *req = last(draft);
    size_t kept = 0;

    if (req->nvalues > 1)
        qsort(req->values, req->nvalues, sizeof(*req->values), compare_values);
    for (size_t i = 0; i < req->nvalues; i++) {
        if (kept == 0 || !cor_str_eq(req->values[kept - 1], req->values[i]))
            req->values[kept++] = req->values[i];
    }
    draft->nvalues -= req->nvalues - kept;
    req->nvalues = kept;
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

struct cor_label_selector *cor_label_draft_steal(struct cor_label_draft *draft)
{
    struct cor_label_selector *selector = COR_STEAL(draft->selector);

    qsort(selector->requirements, selector->n, sizeof(*selector->requirements),
          compare_requirements);
    for (size_t i = 0; i < selector->n; i++)
        selector->mask |= requirement_mask(&selector->requirements[i]);
    return selector;
}
