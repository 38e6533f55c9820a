/* A list of names that grows up to its maximum. What fails: a copy of a name; its field then has no
 * place in this selection. */
#include "storage/cacher/noted_fields.h"

#include <string.h>

#include "base/mem.h"

void cor_noted_fields_deinit(struct cor_noted_fields *fields)
{
    for (size_t i = 0; i < fields->n; i++)
        cor_free((char *)(uintptr_t)fields->names[i].p);
    *fields = (struct cor_noted_fields){0};
}

static int place(struct cor_noted_fields *fields, struct cor_str name)
{
    char *copy;

    for (size_t i = 0; i < fields->n; i++)
        if (cor_str_eq(fields->names[i], name))
            return (int)i;
    if (fields->n == COR_FIELD_NOTES_MAX)
        return -1;
    copy = cor_strndup(name.p, name.n);
    if (!copy)
        return -1;
    fields->names[fields->n] = cor_str(copy, name.n);
    return (int)fields->n++;
}

void cor_noted_fields_place(struct cor_noted_fields *fields, const struct cor_predicate *predicate,
                            struct cor_field_places *ret_places)
{
    const struct cor_field_selector *selector = predicate ? predicate->fields : NULL;
    size_t k = 0;

    memset(ret_places->at, -1, sizeof(ret_places->at));
    for (size_t i = 0; selector && i < selector->n && k < COR_FIELD_NOTES_MAX; i++)
        if (selector->terms[i].has_field)
            ret_places->at[k++] = (int8_t)place(fields, selector->terms[i].field);
}
