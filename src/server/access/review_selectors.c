/* clang-format off */
/* Reads the two selectors of a query, and writes them as the requirements of a SubjectAccessReview:
 *
 *   fieldSelector=a=b,c!=d ──► {"key":"a","operator":"In","values":["b"]}, … "NotIn" …
 *   labelSelector=x,y in (a,b) ──► {"key":"x","operator":"Exists"}, …
 *
 * Which fields a resource has does not matter here. Requirements that a review cannot express (>
 * and <) are omitted: the question is then wider, never narrower. Without memory nothing is asked.
 */
/* clang-format on */
#include "server/access/review_selectors.h"

#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "http/url.h"
#include "meta/select/field_selector.h"
#include "meta/select/label_selector.h"
#include "json/write/print.h"

static bool has_selectors(const struct cor_request_info *info)
{
    return info->is_resource && !info->is_watch_path &&
           (info->verb == COR_API_VERB_LIST || info->verb == COR_API_VERB_WATCH ||
            info->verb == COR_API_VERB_DELETECOLLECTION);
}

/* May a path have it as one of its segments? */
static bool is_segment(struct cor_str name)
{
    return name.n > 0 && !cor_str_eqz(name, ".") && !cor_str_eqz(name, "..") &&
           !memchr(name.p, '/', name.n) && !memchr(name.p, '%', name.n);
}

/* The parameter, decoded, in `text`; empty when it cannot be decoded. 0, -COR_ENOMEM. */
static int get_parameter(struct cor_str query, const char *name, struct cor_buf *text)
{
    int r;

    cor_buf_reset(text);
    r = cor_url_query_get(query, cor_strz(name), text);
    if (r < 0)
        cor_buf_reset(text);
    return r == -COR_ENOMEM ? r : 0;
}

int cor_review_selectors_read(const struct cor_request_info *info, struct cor_str query,
                              struct cor_review_selectors *ret)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    *ret = (struct cor_review_selectors){.name = COR_STR("")};
    cor_buf_init(&text, COR_FIELD_SELECTOR_BYTES_MAX);
    if (!has_selectors(info) || query.n == 0)
        return 0;
    r = get_parameter(query, "fieldSelector", &text);
    if (r == 0 && text.n > 0)
        r = cor_field_selector_parse(cor_buf_str(&text), &cor_field_labels_any, &ret->fields, NULL);
    if (r != -COR_ENOMEM)
        r = get_parameter(query, "labelSelector", &text);
    if (r == 0 && text.n > 0)
        r = cor_label_selector_parse(cor_buf_str(&text), &ret->labels, NULL);
    if (r == -COR_ENOMEM) {
        cor_review_selectors_deinit(ret);
        return r;
    }
    if (ret->fields && info->verb != COR_API_VERB_DELETECOLLECTION &&
        !(cor_field_selector_requires(ret->fields, COR_STR("metadata.name"), &ret->name) &&
          is_segment(ret->name)))
        ret->name = COR_STR("");
    return 0;
}

void cor_review_selectors_deinit(struct cor_review_selectors *s)
{
    s->fields = cor_field_selector_free(s->fields);
    s->labels = cor_label_selector_free(s->labels);
}

static void write_requirement(struct cor_json_writer *w, struct cor_str key, const char *op,
                              const struct cor_str *values, size_t nvalues)
{
    cor_json_print(w, "{key:%s,operator:%s", key, op);
    if (nvalues > 0) {
        cor_json_key(w, COR_STR("values"));
        cor_json_begin_array(w);
        for (size_t i = 0; i < nvalues; i++)
            cor_json_string(w, values[i]);
        cor_json_end_array(w);
    }
    cor_json_end_object(w);
}

static void begin_requirements(struct cor_json_writer *w, const char *selector)
{
    cor_json_key(w, cor_strz(selector));
    cor_json_print(w, "{requirements:[");
}

static void end_requirements(struct cor_json_writer *w)
{
    cor_json_end_array(w);
    cor_json_end_object(w);
}

static const char *name_of(enum cor_label_op op)
{
    static const char *const names[] = {
        [COR_LABEL_EXISTS] = "Exists",    [COR_LABEL_NOT_EXISTS] = "DoesNotExist",
        [COR_LABEL_EQUALS] = "In",        [COR_LABEL_DOUBLE_EQUALS] = "In",
        [COR_LABEL_NOT_EQUALS] = "NotIn", [COR_LABEL_IN] = "In",
        [COR_LABEL_NOT_IN] = "NotIn",     [COR_LABEL_GREATER] = NULL,
        [COR_LABEL_LESS] = NULL};

    return names[op];
}

static bool says_labels(const struct cor_label_selector *labels)
{
    for (size_t i = 0; labels && i < labels->n; i++)
        if (name_of(labels->requirements[i].op))
            return true;
    return false;
}

void cor_review_selectors_write(const struct cor_review_selectors *s, struct cor_json_writer *w)
{
    if (s->fields && s->fields->n > 0) {
        begin_requirements(w, "fieldSelector");
        for (size_t i = 0; i < s->fields->n; i++) {
            const struct cor_field_term *term = &s->fields->terms[i];

            write_requirement(w, term->field, term->equal ? "In" : "NotIn", &term->value, 1);
        }
        end_requirements(w);
    }
    if (says_labels(s->labels)) {
        begin_requirements(w, "labelSelector");
        for (size_t i = 0; i < s->labels->n; i++) {
            const struct cor_label_requirement *one = &s->labels->requirements[i];

            if (name_of(one->op))
                write_requirement(w, one->key, name_of(one->op), one->values, one->nvalues);
        }
        end_requirements(w);
    }
}
