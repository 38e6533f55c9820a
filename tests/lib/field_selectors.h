/* What tests ask of field selectors: whether they match an object that nothing is known of, and how
 * they read. */
#ifndef COR_TEST_FIELD_SELECTORS_H
#define COR_TEST_FIELD_SELECTORS_H

#include "base/buf.h"
#include "meta/select/field_selector.h"

/* `object` is canonical JSON. */
static inline bool field_selector_matches(const struct cor_field_selector *selector,
                                          struct cor_str object)
{
    return cor_field_selector_matches_source(selector, &(struct cor_field_source){.json = object});
}

/* Appends the canonical text. 0, -COR_ENOMEM, -COR_ETOOBIG. */
static inline int field_selector_print(const struct cor_field_selector *selector,
                                       struct cor_buf *out)
{
    int r = 0;

    for (size_t i = 0; i < selector->n && r == 0; i++) {
        const struct cor_field_term *term = &selector->terms[i];

        r = cor_buf_addf(out, "%s%.*s%s", i > 0 ? "," : "", (int)term->field.n, term->field.p,
                         term->equal ? "=" : "!=");
        for (size_t k = 0; k < term->value.n && r == 0; k++) {
            char c = term->value.p[k];

            r = cor_buf_addf(out, "%s%c", c == '\\' || c == ',' || c == '=' ? "\\" : "", c);
        }
    }
    return r;
}

#endif
