/* The hooks of kinds that own pods: Job and DaemonSet.
 *
 * A new Job's spec gets, besides its defaults, labels by which the controller finds the Job's pods,
 * and the selector that goes with them. The Job's own values win over these; a Job that asks for a
 * manual selector gets nothing. Only the selector and the labels of the template are merged: a
 * merge drops nulls, which other members need (podFailurePolicy.rules).
 *
 * The template of a DaemonSet has a generation of its own, which apps/v1 shows as an annotation: it
 * begins at 1 (or at what the client sends), grows when the template changes, and no client can
 * change it afterwards.
 * Failures: no memory, or a member that grows beyond the maximum. Thread: any. */
#include <assert.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "meta/object/object.h"
#include "schema/convert/conversion.h"
#include "schema/strategies/strategy_hooks.h"
#include "schema/walk/equal.h"
#include "json/patch/patch.h"
#include "json/text/scan.h"
#include "json/write/edits.h"

#define TEMPLATE_GENERATION "deprecated.daemonset.template.generation"

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

int cor_strategy_job_selector(const struct cor_prepare *prepare, struct cor_str sent,
                              struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ours = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf selector = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf template = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str spec = sent.p ? sent : COR_STR("{}");
    struct cor_edits edits = {.n = 0};
    int r;

    assert(prepare->name.n >= 2 && prepare->uid.n >= 2);
    if (cor_str_eqz(cor_convert_member(spec, "manualSelector"), "true"))
        return 0;
    r = cor_buf_addf(&ours, "{\"matchLabels\":{\"batch.kubernetes.io/controller-uid\":%.*s}}",
                     COR_STR_ARG(prepare->uid));
    if (r == 0)
        r = job_merge(&ours, job_member(spec, "selector"), &selector);
    if (r == 0)
        r = job_template(job_member(spec, "template"), prepare->name, prepare->uid, &template);
    if (r < 0)
        return r;
    cor_edits_set(&edits, COR_STR("selector"), cor_buf_str(&selector));
    cor_edits_set(&edits, COR_STR("template"), cor_buf_str(&template));
    r = cor_edits_apply(&edits, spec, out);
    return r < 0 ? r : 1;
}

/* The generation that annotations have; 0: none, or no number. */
static int64_t template_generation_of(struct cor_str annotations)
{
    struct cor_str raw;
    int64_t n = 0;

    if (cor_json_to_raw(cor_convert_member(annotations, TEMPLATE_GENERATION), &raw) < 0 ||
        cor_str_to_i64(raw, &n) < 0)
        return 0;
    return n;
}

static struct cor_str template_of(struct cor_str spec)
{
    return cor_convert_member(spec, "template");
}

int cor_strategy_template_generation(const struct cor_prepare *prepare, struct cor_str annotations,
                                     struct cor_buf *out)
{
    struct cor_str metadata = cor_convert_member(prepare->old, "metadata");
    int64_t n = template_generation_of(prepare->old.p ? cor_convert_member(metadata, "annotations")
                                                      : annotations);
    struct cor_edits edits = {.n = 0};
    bool is_same = true;
    char text[24];
    int r = 0;

    if (prepare->on == COR_ON_CREATE && n < 1)
        n = 1;
    if (prepare->on == COR_ON_UPDATE)
        r = cor_equal(cor_type_named(COR_STR("core_v1.PodTemplateSpec")),
                      template_of(cor_convert_member(prepare->old, "spec")),
                      template_of(prepare->spec), &is_same);
    if (r < 0)
        return r;
    if (!is_same && n < INT64_MAX)
        n++;
    snprintf(text, sizeof(text), "\"%lld\"", (long long)n);
    if (cor_str_eqz(cor_convert_member(annotations, TEMPLATE_GENERATION), text))
        return 0;
    cor_edits_set(&edits, COR_STR(TEMPLATE_GENERATION), cor_strz(text));
    r = cor_edits_apply(&edits, annotations.p ? annotations : COR_STR("{}"), out);
    return r < 0 ? r : 1;
}
