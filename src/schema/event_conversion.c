/* Events in core/v1 and in events.k8s.io/v1 have the same content under other names. The names of
 * each pair are exchanged: one version's unknown member may bear the name that the other knows, and
 * must come back as what it was. So both directions are one function. */
#include "base/cleanup.h"
#include "schema/conversion.h"
#include "json/edits.h"
#include "json/scan.h"

static const struct cor_str pairs[][2] = {
    {COR_STR("count"), COR_STR("deprecatedCount")},
    {COR_STR("firstTimestamp"), COR_STR("deprecatedFirstTimestamp")},
    {COR_STR("involvedObject"), COR_STR("regarding")},
    {COR_STR("lastTimestamp"), COR_STR("deprecatedLastTimestamp")},
    {COR_STR("message"), COR_STR("note")},
    {COR_STR("reportingComponent"), COR_STR("reportingController")},
    {COR_STR("source"), COR_STR("deprecatedSource")},
};

static void rename_member(struct cor_edits *edits, struct cor_str raw_key, struct cor_str value)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(pairs); i++) {
        for (size_t side = 0; side < 2; side++) {
            if (cor_json_raw_eq(raw_key, pairs[i][side])) {
                cor_edits_set(edits, pairs[i][!side], value);
                return;
            }
        }
    }
}

static int exchange_names(struct cor_str json, struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_edits edits = {.n = 0};
    struct cor_str key;

    for (size_t i = 0; i < COR_ARRAY_LEN(pairs); i++) {
        cor_edits_drop(&edits, pairs[i][0]);
        cor_edits_drop(&edits, pairs[i][1]);
    }
    while (cor_json_iter_member(&it, &key))
        rename_member(&edits, key, cor_json_iter_value(&it));
    cor_edits_write(&edits, json, true, w);
    return w->error;
}

const struct cor_conversion cor_event_conversion = {exchange_names, exchange_names};
