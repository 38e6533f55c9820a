/* What a new Job's spec gets besides its defaults: labels by which the controller finds the Job's
 * pods, and the selector that goes with them. The Job's own values win over these; a Job that asks
 * for a manual selector gets nothing. */
#include <assert.h>

#include "base/cleanup.h"
#include "schema/conversion.h"
#include "schema/job.h"
#include "json/patch.h"

int cor_job_new_spec(struct cor_str spec, struct cor_str name, struct cor_str uid,
                     struct cor_buf *out)
{
    static const struct cor_json_limits limits = {COR_OBJECT_BYTES_MAX_DEFAULT, COR_JSON_DEPTH_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ours = {0};
    int r;

    assert(name.n >= 2 && uid.n >= 2);
    if (cor_str_eqz(cor_convert_member(spec, "manualSelector"), "true"))
        return cor_buf_add(out, spec.p, spec.n);
    cor_buf_init(&ours, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = cor_buf_addf(
        &ours,
        "{\"selector\":{\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":%.*s}},"
        "\"template\":{\"metadata\":{\"labels\":{"
        "\"batch.kubernetes.io/controller-uid\":%.*s,"
        "\"batch.kubernetes.io/job-name\":%.*s,"
        "\"controller-uid\":%.*s,\"job-name\":%.*s}}}}",
        COR_STR_ARG(uid), COR_STR_ARG(uid), COR_STR_ARG(name), COR_STR_ARG(uid), COR_STR_ARG(name));
    return r < 0 ? r : cor_json_merge_patch(cor_buf_str(&ours), spec, &limits, out, NULL, NULL);
}
