/* What a new Job's spec gets besides its defaults: labels by which the controller finds the Job's
 * pods, and the selector that goes with them. The Job's own values win over these; a Job that asks
 * for a manual selector gets nothing. Only the selector and the labels of the template are merged:
 * a merge drops nulls, which other members need (podFailurePolicy.rules). */
#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "schema/conversion.h"
#include "schema/job.h"
#include "json/edits.h"
#include "json/patch.h"

/* The object `key` of an object; {} when there is none. */
static struct cor_str job_member(struct cor_str object, const char *key)
{
    struct cor_str value = cor_convert_member(object, key);

    return value.n > 0 && value.p[0] == '{' ? value : COR_STR("{}");
}

/* Appends `ours`, an object, under the members of `theirs`. */
static int job_merge(const struct cor_buf *ours, struct cor_str theirs, struct cor_buf *out)
{
    static const struct cor_json_limits limits = {COR_OBJECT_BYTES_MAX_DEFAULT, COR_JSON_DEPTH_MAX};

    return cor_json_merge_patch(cor_buf_str(ours), theirs, &limits, out, NULL, NULL);
}

/* Appends `object` with its member `key` replaced. */
static int job_replace(struct cor_str object, const char *key, const struct cor_buf *value,
                       struct cor_buf *out)
{
    struct cor_edits edits = {.n = 0};

    cor_edits_set(&edits, cor_strz(key), cor_buf_str(value));
    return cor_edits_apply(&edits, object, out);
}

/* Appends the template with the four labels. */
static int job_template(struct cor_str template, struct cor_str name, struct cor_str uid,
                        struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ours = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf labels = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf metadata = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str old = job_member(template, "metadata");
    int r = cor_buf_addf(
        &ours,
        "{\"batch.kubernetes.io/controller-uid\":%.*s,\"batch.kubernetes.io/job-name\":%.*s,"
        "\"controller-uid\":%.*s,\"job-name\":%.*s}",
        COR_STR_ARG(uid), COR_STR_ARG(name), COR_STR_ARG(uid), COR_STR_ARG(name));

    if (r == 0)
        r = job_merge(&ours, job_member(old, "labels"), &labels);
    if (r == 0)
        r = job_replace(old, "labels", &labels, &metadata);
    return r < 0 ? r : job_replace(template, "metadata", &metadata, out);
}

int cor_job_new_spec(struct cor_str spec, struct cor_str name, struct cor_str uid,
                     struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ours = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf selector = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf template = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_edits edits = {.n = 0};
    int r;

    assert(name.n >= 2 && uid.n >= 2);
    if (cor_str_eqz(cor_convert_member(spec, "manualSelector"), "true"))
        return cor_buf_add(out, spec.p, spec.n);
    r = cor_buf_addf(&ours, "{\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":%.*s}}",
                     COR_STR_ARG(uid));
    if (r == 0)
        r = job_merge(&ours, job_member(spec, "selector"), &selector);
    if (r == 0)
        r = job_template(job_member(spec, "template"), name, uid, &template);
    if (r < 0)
        return r;
    cor_edits_set(&edits, COR_STR("selector"), cor_buf_str(&selector));
    cor_edits_set(&edits, COR_STR("template"), cor_buf_str(&template));
    return cor_edits_apply(&edits, spec, out);
}
