/* Makes the table of a custom resource's selectable fields: the table, its rows and their texts are
 * one block. Failures: no memory. */
#include "schema/kinds/custom_fields.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "schema/convert/conversion.h"
#include "json/text/scan.h"

static size_t nmetadata(bool is_namespaced)
{
    return is_namespaced ? 2 : 1;
}

int cor_custom_fields_new(struct cor_str list, bool is_namespaced,
                          struct cor_field_labels **ret_labels)
{
    struct cor_json_iter it = cor_json_iter(list.p ? list : COR_STR("[]"));
    size_t n = nmetadata(is_namespaced), max = n;
    struct cor_field_labels *labels;
    struct cor_field_label *rows;
    char *at;

    while (cor_json_iter_elem(&it))
        max++;
    /* A path with its NUL is shorter than the JSON that has it. */
    labels = cor_calloc(1, sizeof(*labels) + max * sizeof(*rows) + list.n);
    if (!labels)
        return -COR_ENOMEM;
    rows = (struct cor_field_label *)(labels + 1);
    at = (char *)(rows + max);
    rows[0].label = "metadata.name";
    if (is_namespaced)
        rows[1].label = "metadata.namespace";
    it = cor_json_iter(list.p ? list : COR_STR("[]"));
    while (n < max && cor_json_iter_elem(&it)) {
        struct cor_str path = cor_convert_member(cor_json_iter_value(&it), "jsonPath"), raw, text;

        if (cor_json_to_raw(path, &raw) < 0 || raw.n < 2 || raw.p[0] != '.' ||
            cor_json_unescape(cor_str_from(raw, 1), at, raw.n - 1, &text) < 0)
            continue;
        memmove(at, text.p, text.n);
        at[text.n] = '\0';
        rows[n++].label = at;
        at += text.n + 1;
    }
    *labels = (struct cor_field_labels){.v = rows, .n = n};
    *ret_labels = labels;
    return 0;
}

void cor_custom_fields_triggers(const struct cor_field_labels *labels, bool is_namespaced,
                                const char *ret_fields[COR_CUSTOM_FIELDS_MAX + 1])
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    size_t n = 0;

    for (size_t i = nmetadata(is_namespaced); i < labels->n && n < COR_CUSTOM_FIELDS_MAX; i++) {
        const char *label = labels->v[i].label;

        if (label[strspn(label, plain)] == '\0')
            ret_fields[n++] = label;
    }
    ret_fields[n] = NULL;
}
