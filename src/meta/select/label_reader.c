/* The LabelSelector of an API object to label selector. A value of the wrong type reads as absent
 * and is reported; all errors are reported, in the order of upstream's ValidateLabelSelector. */
#include "meta/select/label_selector.h"

#include "meta/names/field_error.h"
#include "meta/names/validation.h"
#include "meta/select/label_draft.h"
#include "json/text/scan.h"

struct reader {
    struct cor_label_draft draft;
    struct cor_field_errors *errs;
};

/* `value` when it has this type, else nothing; another type than null is a mistake. */
static struct cor_str typed(struct reader *rd, const struct cor_field_path *path,
                            struct cor_str value, enum cor_json_type want)
{
    enum cor_json_type type = cor_json_type(value);

    if (type == want)
        return value;
    if (type != COR_JSON_NULL && type != COR_JSON_NONE)
        cor_field_errors_add(rd->errs, COR_FIELD_TYPE_INVALID, path, cor_field_json(value),
                             want == COR_JSON_OBJECT  ? "must be an object"
                             : want == COR_JSON_ARRAY ? "must be a list"
                                                      : "must be a string");
    return COR_STR("");
}

static struct cor_str member(struct cor_str object, const char *key)
{
    struct cor_str value;

    if (cor_json_get(object, cor_strz(key), COR_JSON_SORTED, &value) < 0)
        return COR_STR("");
    return value;
}

/* The text of a string, kept in the draft; "" for any other value. */
static struct cor_str keep(struct reader *rd, struct cor_str value)
{
    char *to = rd->draft.text;
    struct cor_str raw, text;

    if (cor_json_to_raw(value, &raw) < 0 || cor_json_unescape(raw, to, raw.n, &text) < 0)
        return COR_STR("");
    if (text.p != to && text.n > 0)
        memcpy(to, text.p, text.n);
    rd->draft.text += text.n;
    return cor_str(to, text.n);
}

static void check_name(struct reader *rd, enum cor_name_rule rule,
                       const struct cor_field_path *path, struct cor_str name)
{
    struct cor_complaints complaints = cor_name_check(rule, name);

    for (size_t i = 0; i < complaints.n; i++)
        cor_field_errors_add(rd->errs, COR_FIELD_INVALID, path, cor_field_string(name),
                             complaints.text[i]);
}

static void read_match_labels(struct reader *rd, const struct cor_field_path *path,
                              struct cor_str labels)
{
    struct cor_json_iter it = cor_json_iter(labels);
    struct cor_str raw;

    while (cor_json_iter_member(&it, &raw)) {
        struct cor_str json = cor_json_iter_value(&it);
        struct cor_str key = keep(rd, cor_str(raw.p - 1, raw.n + 2));
        struct cor_field_path at = cor_field_key(path, key);
        struct cor_str value = keep(rd, typed(rd, &at, json, COR_JSON_STRING));

        check_name(rd, COR_NAME_QUALIFIED, path, key);
        check_name(rd, COR_NAME_LABEL_VALUE, path, value);
        if (cor_label_draft_add(&rd->draft, key, COR_LABEL_EQUALS))
            cor_label_draft_add_value(&rd->draft, value);
    }
}

static bool find_operator(struct cor_str text, enum cor_label_op *ret_op)
{
    static const struct {
        const char *text;
        enum cor_label_op op;
    } operators[] = {
        {"In", COR_LABEL_IN},
        {"NotIn", COR_LABEL_NOT_IN},
        {"Exists", COR_LABEL_EXISTS},
        {"DoesNotExist", COR_LABEL_NOT_EXISTS},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(operators); i++) {
        if (cor_str_eqz(text, operators[i].text)) {
            *ret_op = operators[i].op;
            return true;
        }
    }
    return false;
}

static void check_operator(struct reader *rd, const struct cor_field_path *path,
                           struct cor_str op_text, bool has_values, enum cor_label_op *ret_op)
{
    struct cor_field_path values = cor_field_child(path, COR_STR("values"));
    struct cor_field_path at = cor_field_child(path, COR_STR("operator"));
    bool set;

    if (!find_operator(op_text, ret_op)) {
        cor_field_errors_add(rd->errs, COR_FIELD_INVALID, &at, cor_field_string(op_text),
                             "not a valid selector operator");
        return;
    }
    set = *ret_op == COR_LABEL_IN || *ret_op == COR_LABEL_NOT_IN;
    if (set && !has_values)
        cor_field_errors_add(rd->errs, COR_FIELD_REQUIRED, &values, cor_field_none(),
                             "must be specified when `operator` is 'In' or 'NotIn'");
    if (!set && has_values)
        cor_field_errors_add(rd->errs, COR_FIELD_FORBIDDEN, &values, cor_field_none(),
                             "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
}

static void read_values(struct reader *rd, const struct cor_field_path *path, struct cor_str values)
{
    struct cor_json_iter it = cor_json_iter(values);

    for (size_t i = 0; cor_json_iter_elem(&it); i++) {
        struct cor_field_path at = cor_field_index(path, i);
        struct cor_str json = cor_json_iter_value(&it);
        struct cor_str value = keep(rd, typed(rd, &at, json, COR_JSON_STRING));

        check_name(rd, COR_NAME_LABEL_VALUE, &at, value);
        cor_label_draft_add_value(&rd->draft, value);
    }
    cor_label_draft_sort_values(&rd->draft);
}

static void read_expression(struct reader *rd, const struct cor_field_path *path,
                            struct cor_str json)
{
    struct cor_str expression = typed(rd, path, json, COR_JSON_OBJECT);
    struct cor_field_path key_path = cor_field_child(path, COR_STR("key"));
    struct cor_field_path op_path = cor_field_child(path, COR_STR("operator"));
    struct cor_field_path values_path = cor_field_child(path, COR_STR("values"));
    struct cor_str values = typed(rd, &values_path, member(expression, "values"), COR_JSON_ARRAY);
    struct cor_json_iter it = cor_json_iter(values);
    enum cor_label_op op = COR_LABEL_EXISTS;
    struct cor_str key, op_text;

    key = keep(rd, typed(rd, &key_path, member(expression, "key"), COR_JSON_STRING));
    op_text = keep(rd, typed(rd, &op_path, member(expression, "operator"), COR_JSON_STRING));
    check_operator(rd, path, op_text, cor_json_iter_elem(&it), &op);
    check_name(rd, COR_NAME_QUALIFIED, &key_path, key);
    if (cor_label_draft_add(&rd->draft, key, op))
        read_values(rd, &values_path, values);
}

/* How many requirements and values `labels` and `expressions` make; exceeding the maxima is
 * reported. */
static int prepare(struct reader *rd, const struct cor_field_path *path, struct cor_str json,
                   struct cor_str labels, struct cor_str expressions)
{
    struct cor_json_iter it = cor_json_iter(labels);
    struct cor_str key;
    size_t requirements = 0, values = 0;

    for (; cor_json_iter_member(&it, &key); values++)
        requirements++;
    it = cor_json_iter(expressions);
    for (; cor_json_iter_elem(&it); requirements++) {
        struct cor_json_iter each = cor_json_iter(member(cor_json_iter_open_value(&it), "values"));

        while (cor_json_iter_elem(&each))
            values++;
    }
    if (requirements > COR_LABEL_SELECTOR_REQUIREMENTS_MAX)
        cor_field_errors_add_too_many(rd->errs, path, requirements,
                                      COR_LABEL_SELECTOR_REQUIREMENTS_MAX);
    if (values > COR_LABEL_SELECTOR_VALUES_MAX)
        cor_field_errors_add_too_many(rd->errs, path, values, COR_LABEL_SELECTOR_VALUES_MAX);
    return cor_label_draft_init(&rd->draft, requirements, values, json.n);
}

static void read_expressions(struct reader *rd, const struct cor_field_path *path,
                             struct cor_str expressions)
{
    struct cor_json_iter it = cor_json_iter(expressions);

    for (size_t i = 0; cor_json_iter_elem(&it); i++) {
        struct cor_field_path at = cor_field_index(path, i);

        read_expression(rd, &at, cor_json_iter_value(&it));
    }
}

int cor_label_selector_read(struct cor_str json, const struct cor_field_path *path,
                            struct cor_field_errors *errs, struct cor_label_selector **ret_selector)
{
    struct cor_field_path labels_path = cor_field_child(path, COR_STR("matchLabels"));
    struct cor_field_path expressions_path = cor_field_child(path, COR_STR("matchExpressions"));
    struct reader rd = {.errs = errs};
    struct cor_str selector, labels, expressions;
    size_t before = errs->n;
    int r;

    selector = typed(&rd, path, json, COR_JSON_OBJECT);
    labels = typed(&rd, &labels_path, member(selector, "matchLabels"), COR_JSON_OBJECT);
    expressions =
        typed(&rd, &expressions_path, member(selector, "matchExpressions"), COR_JSON_ARRAY);
    r = prepare(&rd, path, json, labels, expressions);
    if (r < 0)
        return r;
    rd.draft.selector->nothing = selector.n == 0;
    read_match_labels(&rd, &labels_path, labels);
    read_expressions(&rd, &expressions_path, expressions);
    if (errs->error < 0)
        r = errs->error;
    else if (errs->n > before)
        r = -COR_EINVALID;
    else
        *ret_selector = cor_label_draft_steal(&rd.draft);
    cor_label_draft_deinit(&rd.draft);
    return r;
}
