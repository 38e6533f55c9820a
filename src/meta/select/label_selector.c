#include "meta/select/label_selector.h"

#include "base/mem.h"
#include "json/text/scan.h"

/* A place in the labels, moved forward only: labels and requirements are both sorted. */
struct cursor {
    struct cor_json_iter it;
    struct cor_str key, value; /* raw text of the current label */
    bool live;
};

static void cursor_next(struct cursor *c)
{
    while ((c->live = cor_json_iter_member(&c->it, &c->key))) {
        if (cor_json_to_raw(cor_json_iter_value(&c->it), &c->value) == 0)
            return;
    }
}

static bool cursor_seek(struct cursor *c, struct cor_str key)
{
    int order = -1;

    while (c->live && (order = cor_json_raw_cmp_text(c->key, key)) < 0)
        cursor_next(c);
    return c->live && order == 0;
}

static bool has_value(const struct cor_label_requirement *req, struct cor_str raw)
{
    size_t low = 0, high = req->nvalues;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = cor_json_raw_cmp_text(raw, req->values[mid]);

        if (order == 0)
            return true;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return false;
}

static bool requirement_matches(const struct cor_label_requirement *req, bool present,
                                struct cor_str raw)
{
    int64_t number;

    switch (req->op) {
    case COR_LABEL_EXISTS:
        return present;
    case COR_LABEL_NOT_EXISTS:
        return !present;
    case COR_LABEL_EQUALS:
    case COR_LABEL_DOUBLE_EQUALS:
    case COR_LABEL_IN:
        return present && has_value(req, raw);
    case COR_LABEL_NOT_EQUALS:
    case COR_LABEL_NOT_IN:
        return !present || !has_value(req, raw);
    case COR_LABEL_GREATER:
        return present && cor_str_to_i64(raw, &number) == 0 && number > req->number;
    case COR_LABEL_LESS:
        return present && cor_str_to_i64(raw, &number) == 0 && number < req->number;
    }
    return false;
}

bool cor_label_selector_matches(const struct cor_label_selector *selector, struct cor_str labels)
{
    struct cursor c = {.it = cor_json_iter(labels)};

    if (selector->nothing)
        return false;
    cursor_next(&c);
    for (size_t i = 0; i < selector->n; i++) {
        const struct cor_label_requirement *req = &selector->requirements[i];

        if (!requirement_matches(req, cursor_seek(&c, req->key), c.value))
            return false;
    }
    return true;
}

static int print_requirement(const struct cor_label_requirement *req, struct cor_buf *out)
{
    static const char *const infix[] = {
        [COR_LABEL_EXISTS] = "",          [COR_LABEL_NOT_EXISTS] = "",   [COR_LABEL_EQUALS] = "=",
        [COR_LABEL_DOUBLE_EQUALS] = "==", [COR_LABEL_NOT_EQUALS] = "!=", [COR_LABEL_IN] = " in (",
        [COR_LABEL_NOT_IN] = " notin (",  [COR_LABEL_GREATER] = ">",     [COR_LABEL_LESS] = "<",
    };
    bool set = req->op == COR_LABEL_IN || req->op == COR_LABEL_NOT_IN;
    int r;

    r = cor_buf_addf(out, "%s%.*s%s", req->op == COR_LABEL_NOT_EXISTS ? "!" : "",
                     COR_STR_ARG(req->key), infix[req->op]);
    for (size_t i = 0; i < req->nvalues && r == 0; i++) {
        if (i > 0)
            r = cor_buf_addc(out, ',');
        if (r == 0)
            r = cor_buf_adds(out, req->values[i]);
    }
    if (r == 0 && set)
        r = cor_buf_addc(out, ')');
    return r;
}

int cor_label_selector_print(const struct cor_label_selector *selector, struct cor_buf *out)
{
    size_t start = out->n;
    int r = 0;

    for (size_t i = 0; i < selector->n && r == 0; i++) {
        if (i > 0)
            r = cor_buf_addc(out, ',');
        if (r == 0)
            r = print_requirement(&selector->requirements[i], out);
    }
    if (r < 0)
        cor_buf_truncate(out, start);
    return r;
}

struct cor_label_selector *cor_label_selector_free(struct cor_label_selector *selector)
{
    return cor_free(selector);
}
