#include "meta/select/predicate.h"

#include "meta/value/fingerprint.h"

int cor_predicate_parse(struct cor_str label_selector, struct cor_str field_selector,
                        const struct cor_field_labels *field_labels,
                        struct cor_predicate *ret_predicate, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *labels = NULL;
    COR_CLEANUP(cor_field_selector_freep) struct cor_field_selector *fields = NULL;
    int r;

    r = cor_label_selector_parse(label_selector, &labels, reterr_status);
    if (r < 0)
        return r;
    r = cor_field_selector_parse(field_selector, field_labels, &fields, reterr_status);
    if (r < 0)
        return r;
    *ret_predicate = (struct cor_predicate){
        .labels = labels->n > 0 ? COR_STEAL(labels) : NULL,
        .fields = fields->n > 0 ? COR_STEAL(fields) : NULL,
    };
    return 0;
}

void cor_predicate_deinit(struct cor_predicate *predicate)
{
    predicate->labels = cor_label_selector_free(predicate->labels);
    predicate->fields = cor_field_selector_free(predicate->fields);
}

bool cor_predicate_matches_noted(const struct cor_predicate *predicate,
                                 const struct cor_object *object, struct cor_field_notes *notes,
                                 const struct cor_field_places *places)
{
    struct cor_field_source source;

    if (predicate->labels &&
        (!cor_fingerprint_may_match(object->fingerprint, predicate->labels->mask) ||
         !cor_label_selector_matches(predicate->labels, cor_object_labels(object))))
        return false;
    if (!predicate->fields)
        return true;
    source = (struct cor_field_source){cor_object_json(object), 0, notes, places};
    if (!object->has_wire)
        source.meta_at = object->meta_at;
    return cor_field_selector_matches_source(predicate->fields, &source);
}

bool cor_predicate_matches(const struct cor_predicate *predicate, const struct cor_object *object)
{
    return cor_predicate_matches_noted(predicate, object, NULL, NULL);
}

/* Labels are walked once beside the requirements, and the object once for each field. */
size_t cor_predicate_cost(const struct cor_predicate *predicate, const struct cor_object *object)
{
    size_t cost = 1;

    if (predicate->labels)
        cost += predicate->labels->n / 16 + cor_object_labels(object).n / 512;
    if (predicate->fields)
        cost += predicate->fields->n / 16 +
                predicate->fields->nfields * (cor_object_json(object).n / 512);
    return cost;
}

bool cor_predicate_requires(const struct cor_predicate *predicate, struct cor_str field,
                            struct cor_str *ret_value)
{
    return predicate->fields && cor_field_selector_requires(predicate->fields, field, ret_value);
}
