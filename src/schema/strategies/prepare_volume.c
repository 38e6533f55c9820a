/* The hooks of PersistentVolume and PersistentVolumeClaim: when a volume's phase changed, and the
 * two forms in which a claim names its data source.
 * Failures: no memory, or a member that grows beyond the maximum. Thread: any. */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "meta/object/object.h"
#include "meta/value/time_text.h"
#include "schema/convert/conversion.h"
#include "schema/strategies/strategy_hooks.h"
#include "json/text/scan.h"
#include "json/write/edits.h"

/* A time as JSON; `out` has room for it. */
static struct cor_str volume_time(int64_t at_s, char out[COR_TIME_TEXT_MAX + 2])
{
    struct cor_str text = cor_time_print(at_s, out + 1);

    out[0] = out[text.n + 1] = '"';
    return cor_str(out, text.n + 2);
}

int cor_strategy_volume_birth(const struct cor_prepare *prepare, struct cor_str status,
                              struct cor_buf *out)
{
    char now[COR_TIME_TEXT_MAX + 2];
    int r;

    (void)status;
    r = cor_buf_addf(out, "{\"lastPhaseTransitionTime\":%.*s,\"phase\":\"Pending\"}",
                     COR_STR_ARG(volume_time(prepare->now_s, now)));
    return r < 0 ? r : 1;
}

/* The time is that of the old status while the phase stays, and now when the phase changes, unless
 * the client gives a time of its own. */
int cor_strategy_volume_phase_time(const struct cor_prepare *prepare, struct cor_str status,
                                   struct cor_buf *out)
{
    static const char key[] = "lastPhaseTransitionTime";
    struct cor_str before = cor_convert_member(prepare->old, "status");
    struct cor_str old_time = cor_convert_member(before, key);
    struct cor_str new_time = cor_convert_member(status, key), set = old_time;
    struct cor_str old_phase = cor_convert_member(before, "phase");
    struct cor_str new_phase = cor_convert_member(status, "phase");
    char now[COR_TIME_TEXT_MAX + 2];
    struct cor_edits edits = {.n = 0};
    int r;

    if (!cor_str_eq(old_phase, new_phase)) {
        if (new_time.p && !cor_str_eq(new_time, old_time))
            return 0;
        set = volume_time(prepare->now_s, now);
    } else if (new_time.p || !old_time.p) {
        return 0;
    }
    cor_edits_set(&edits, cor_strz(key), set);
    r = cor_edits_apply(&edits, status.p ? status : COR_STR("{}"), out);
    return r < 0 ? r : 1;
}

/* Does a dataSource name a claim or a snapshot? Only these may be there; anything else needs
 * dataSourceRef. */
static bool source_is_old_kind(struct cor_str source)
{
    struct cor_str group = cor_convert_member(source, "apiGroup");
    struct cor_str kind = cor_convert_member(source, "kind");

    if (cor_convert_is_text(kind, "PersistentVolumeClaim"))
        return group.n <= 2;
    return cor_convert_is_text(kind, "VolumeSnapshot") &&
           cor_convert_is_text(group, "snapshot.storage.k8s.io");
}

/* Appends apiGroup, kind and name of a source. */
static int source_copy(struct cor_str source, struct cor_buf *out)
{
    struct cor_edits edits = {.n = 0};

    cor_edits_drop(&edits, COR_STR("namespace"));
    return cor_edits_apply(&edits, source, out);
}

/* In this order, as upstream: a reference into another namespace is dropped, because the feature is
 * off; a dataSource of another kind is dropped when it stands alone; then each of the two is made
 * from the other. A claim that had a source keeps what its client sends. */
int cor_strategy_claim_sources(const struct cor_prepare *prepare, struct cor_str spec,
                               struct cor_buf *out)
{
    struct cor_str before = cor_convert_member(prepare->old, "spec");
    struct cor_str source = cor_convert_member(spec, "dataSource");
    struct cor_str ref = cor_convert_member(spec, "dataSourceRef");
    bool had_ref = cor_convert_member(before, "dataSourceRef").p != NULL;
    bool had_source = had_ref || cor_convert_member(before, "dataSource").p;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf made = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_edits edits = {.n = 0};
    int r = 0;

    if (!source.p && !ref.p)
        return 0;
    if (cor_convert_member(ref, "namespace").n > 2 && !had_ref) {
        cor_edits_drop(&edits, COR_STR("dataSourceRef"));
        ref = (struct cor_str){NULL, 0};
    }
    if (!had_source && !ref.p && source.p && !source_is_old_kind(source)) {
        cor_edits_drop(&edits, COR_STR("dataSource"));
        source = (struct cor_str){NULL, 0};
    }
    if (source.p && !ref.p) {
        r = source_copy(source, &made);
        cor_edits_set(&edits, COR_STR("dataSourceRef"), cor_buf_str(&made));
    } else if (ref.p && !source.p && cor_convert_member(ref, "namespace").n <= 2) {
        r = source_copy(ref, &made);
        cor_edits_set(&edits, COR_STR("dataSource"), cor_buf_str(&made));
    }
    if (r < 0 || edits.n == 0)
        return r;
    r = cor_edits_apply(&edits, spec, out);
    return r < 0 ? r : 1;
}
