/* Events in core/v1 and in events.k8s.io/v1 have the same content under other names. The names of
 * each pair are exchanged: one version's unknown member may bear the name that the other knows, and
 * must come back as what it was. So both directions are one function. The pairs are declared in
 * api/all.conversions. */
#include "schema/convert/conversion.h"
#include "schema/types/conversion_data.h"
#include "json/text/scan.h"
#include "json/write/edits.h"

#define EVENTS (&cor_declared_core_v1_event)

static void rename_member(struct cor_edits *edits, struct cor_str raw_key, struct cor_str value)
{
    for (size_t i = 0; i < EVENTS->nrenamed; i++) {
        const struct cor_declared_rename *pair = &EVENTS->renamed[i];

        if (cor_json_raw_eq(raw_key, pair->a))
            cor_edits_set(edits, pair->b, value);
        else if (cor_json_raw_eq(raw_key, pair->b))
            cor_edits_set(edits, pair->a, value);
        else
            continue;
        return;
    }
}

static int exchange_names(struct cor_str json, struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_edits edits = {.n = 0};
    struct cor_str key;

    for (size_t i = 0; i < EVENTS->nrenamed; i++) {
        cor_edits_drop(&edits, EVENTS->renamed[i].a);
        cor_edits_drop(&edits, EVENTS->renamed[i].b);
    }
    while (cor_json_iter_member(&it, &key))
        rename_member(&edits, key, cor_json_iter_value(&it));
    cor_edits_write(&edits, json, true, w);
    return w->error;
}

const struct cor_conversion cor_event_conversion = {exchange_names, exchange_names};
