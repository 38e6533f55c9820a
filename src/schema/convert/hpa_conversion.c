/* HorizontalPodAutoscalers in autoscaling/v2 and v1. Version 1 has one number for the CPU; the
 * other metrics, the conditions and the behavior travel in annotations, as JSON in the words of
 * version 1 (schema/convert/hpa_metrics.h). An annotation that cannot be read counts as absent. */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "schema/convert/conversion.h"
#include "schema/convert/hpa_metrics.h"
#include "schema/types/conversion_data.h"
#include "schema/walk/read.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/edits.h"

#define TEXT_MAX (4u * COR_OBJECT_BYTES_MAX_DEFAULT)
/* Of the JSON in an annotation. In the object of version 2 it is at most NESTING levels deeper:
 * below the object, its spec or status, and the members around a metric. */
#define NESTING   8
#define DEPTH_MAX (COR_JSON_DEPTH_MAX - NESTING)
/* api/all.conversions: what of the two versions is converted here. */
#define DECLARED (&cor_declared_autoscaling_v2_horizontal_pod_autoscaler)

enum { V2, V1 };

/* The parts of the object that is made; each is empty or one JSON value. */
struct parts {
    struct cor_buf metadata, annotations, spec, status;
    struct cor_buf metrics, behavior, statuses, conditions;
};

static void parts_init(struct parts *p)
{
    struct cor_buf *bufs[] = {&p->metadata, &p->annotations, &p->spec,     &p->status,
                              &p->metrics,  &p->behavior,    &p->statuses, &p->conditions};

    for (size_t i = 0; i < COR_ARRAY_LEN(bufs); i++)
        cor_buf_init(bufs[i], TEXT_MAX);
}

static void parts_deinit(struct parts *p)
{
    cor_buf_deinit(&p->metadata);
    cor_buf_deinit(&p->annotations);
    cor_buf_deinit(&p->spec);
    cor_buf_deinit(&p->status);
    cor_buf_deinit(&p->metrics);
    cor_buf_deinit(&p->behavior);
    cor_buf_deinit(&p->statuses);
    cor_buf_deinit(&p->conditions);
}

static struct cor_str value_or_none(const struct cor_buf *buf)
{
    return buf->n > 0 ? cor_buf_str(buf) : (struct cor_str){NULL, 0};
}

/* The object with what was made of its parts; a part that is not an object stays as it is. */
static int write_whole(struct cor_str json, const struct parts *p, struct cor_json_writer *w)
{
    struct cor_edits edits = {.n = 0};

    cor_edits_set(&edits, COR_STR("metadata"), cor_buf_str(&p->metadata));
    if (p->spec.n > 0)
        cor_edits_set(&edits, COR_STR("spec"), cor_buf_str(&p->spec));
    if (p->status.n > 0)
        cor_edits_set(&edits, COR_STR("status"), cor_buf_str(&p->status));
    cor_edits_write(&edits, json, true, w);
    return w->error;
}

static bool is_object_or_absent(struct cor_str value)
{
    return !value.p || cor_json_type(value) == COR_JSON_OBJECT;
}

static struct cor_str or_empty(struct cor_str object)
{
    return object.p ? object : COR_STR("{}");
}

/* metadata with `edits` of its annotations; without any the member goes. */
static int make_metadata(struct cor_str json, const struct cor_edits *edits, struct parts *p)
{
    struct cor_str metadata = cor_convert_member(json, "metadata");
    struct cor_str old = cor_convert_member(metadata, "annotations");
    struct cor_edits meta = {.n = 0};
    int r;

    if (!is_object_or_absent(old))
        return cor_buf_adds(&p->metadata, metadata);
    r = cor_edits_apply(edits, or_empty(old), &p->annotations);
    if (r < 0)
        return r;
    cor_edits_set(&meta, COR_STR("annotations"),
                  p->annotations.n > 2 ? cor_buf_str(&p->annotations) : (struct cor_str){NULL, 0});
    return cor_edits_apply(&meta, or_empty(metadata), &p->metadata);
}

static void drop_made(struct cor_edits *edits)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(cor_hpa_annotations); i++)
        cor_edits_drop(edits, cor_hpa_annotations[i]);
}

/* The members of spec or status that the other version does not have. */
static void drop_by_hand(struct cor_edits *edits, int version, const char *part)
{
    for (size_t i = 0; i < DECLARED->by_hand[version].n; i++) {
        if (cor_str_eqz(DECLARED->by_hand[version].v[i].parent, part))
            cor_edits_drop(edits, DECLARED->by_hand[version].v[i].name);
    }
}

/* What was made as JSON becomes the text of an annotation. */
static int annotate(struct cor_edits *edits, const char *name, struct cor_buf *value)
{
    struct cor_buf text;
    int r;

    if (value->n == 0)
        return 0;
    cor_buf_init(&text, TEXT_MAX);
    r = cor_json_quote(&text, cor_buf_str(value));
    if (r < 0) {
        cor_buf_deinit(&text);
        return r;
    }
    cor_buf_deinit(value);
    *value = text;
    cor_edits_set(edits, cor_strz(name), cor_buf_str(value));
    return 0;
}

static int make_annotations(struct cor_str json, struct parts *p)
{
    struct cor_str conditions =
        cor_convert_member(cor_convert_member(json, "status"), "conditions");
    struct cor_edits edits = {.n = 0};
    int r = 0;

    drop_made(&edits);
    if (conditions.n > 2)
        r = cor_buf_adds(&p->conditions, conditions);
    if (r == 0)
        r = annotate(&edits, COR_HPA_METRICS, &p->metrics);
    if (r == 0)
        r = annotate(&edits, COR_HPA_STATUSES, &p->statuses);
    if (r == 0)
        r = annotate(&edits, COR_HPA_CONDITIONS, &p->conditions);
    if (r == 0)
        r = annotate(&edits, COR_HPA_BEHAVIOR, &p->behavior);
    return r < 0 ? r : make_metadata(json, &edits, p);
}

static int make_v1_spec(struct cor_str spec, struct parts *p)
{
    struct cor_edits edits = {.n = 0};

    drop_by_hand(&edits, V2, "spec");
    cor_edits_set(&edits, COR_STR("targetCPUUtilizationPercentage"),
                  cor_hpa_cpu(cor_convert_member(spec, "metrics"), COR_HPA_SPEC));
    return cor_edits_apply(&edits, spec, &p->spec);
}

static int make_v1_status(struct cor_str status, struct parts *p)
{
    struct cor_edits edits = {.n = 0};

    drop_by_hand(&edits, V2, "status");
    cor_edits_set(&edits, COR_STR("currentCPUUtilizationPercentage"),
                  cor_hpa_cpu(cor_convert_member(status, "currentMetrics"), COR_HPA_STATUS));
    if (!cor_convert_member(status, "currentReplicas").p)
        cor_edits_set(&edits, COR_STR("currentReplicas"), COR_STR("0"));
    return cor_edits_apply(&edits, status, &p->status);
}

static int from_stored(struct cor_str json, struct cor_json_writer *w)
{
    COR_CLEANUP(parts_deinit) struct parts p;
    struct cor_str spec = cor_convert_member(json, "spec");
    struct cor_str status = cor_convert_member(json, "status");
    int r = 0;

    parts_init(&p);
    if (spec.p && cor_json_type(spec) == COR_JSON_OBJECT) {
        r = cor_hpa_metrics_to_v1(cor_convert_member(spec, "metrics"), COR_HPA_SPEC, &p.metrics);
        if (r == 0)
            r = cor_hpa_behavior_to_v1(cor_convert_member(spec, "behavior"), &p.behavior);
        if (r == 0)
            r = make_v1_spec(spec, &p);
    }
    if (r == 0 && status.p && cor_json_type(status) == COR_JSON_OBJECT) {
        r = cor_hpa_metrics_to_v1(cor_convert_member(status, "currentMetrics"), COR_HPA_STATUS,
                                  &p.statuses);
        if (r == 0)
            r = make_v1_status(status, &p);
    }
    if (r == 0)
        r = make_annotations(json, &p);
    return r < 0 ? r : write_whole(json, &p, w);
}

/* The JSON that an annotation holds, canonical and of `type`; `out` stays empty when it has none.
 * 0, -COR_ENOMEM, -COR_ETOOBIG. */
static int read_annotation(struct cor_str annotations, const char *name, enum cor_json_type type,
                           struct cor_buf *out)
{
    const struct cor_json_limits limits = {TEXT_MAX, DEPTH_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_str raw, decoded;
    int r;

    if (cor_json_to_raw(cor_convert_member(annotations, name), &raw) < 0)
        return 0;
    cor_buf_init(&text, TEXT_MAX);
    r = cor_buf_reserve(&text, raw.n);
    if (r < 0)
        return r;
    r = cor_json_unescape(raw, text.p, raw.n, &decoded);
    if (r == 0)
        r = cor_json_canonicalize(decoded, &limits, out, NULL, NULL);
    if (r == -COR_EINVAL)
        return 0;
    if (r == 0 && cor_json_type(cor_buf_str(out)) != type)
        cor_buf_reset(out);
    return r;
}

/* Empties `made`, which an annotation became, when the type of version 2 cannot hold it: an object,
 * or a list of them. 0, -COR_ENOMEM. */
static int drop_unless_held(struct cor_buf *made, const char *type_name)
{
    const struct cor_type *type = cor_type_named(cor_strz(type_name));
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
    struct cor_json_iter it = cor_json_iter(cor_buf_str(made));
    int r = 0;

    if (!report)
        return -COR_ENOMEM;
    if (cor_json_type(cor_buf_str(made)) == COR_JSON_OBJECT)
        r = cor_read(cor_buf_str(made), type, report);
    while (r == 0 && cor_json_type(cor_buf_str(made)) == COR_JSON_ARRAY && cor_json_iter_elem(&it))
        r = cor_read(cor_json_iter_value(&it), type, report);
    if (r == -COR_EINVAL)
        cor_buf_reset(made);
    return r == -COR_EINVAL ? 0 : r;
}

static int canonicalize(const struct cor_buf *text, struct cor_buf *out)
{
    const struct cor_json_limits limits = {TEXT_MAX, COR_JSON_DEPTH_MAX, true};

    return cor_json_canonicalize(cor_buf_str(text), &limits, out, NULL, NULL);
}

static int metrics_to_v2(struct cor_str metrics, enum cor_hpa_side side, struct cor_str cpu,
                         struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    cor_buf_init(&text, TEXT_MAX);
    r = cor_hpa_metrics_to_v2(metrics, side, cpu, &text);
    return r < 0 || text.n == 0 ? r : canonicalize(&text, out);
}

/* In an array while it is made canonical: only the outermost object has its kind first. */
static int behavior_to_v2(struct cor_str behavior, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0}, canonical = {0};
    int r;

    if (behavior.n == 0)
        return 0;
    cor_buf_init(&text, TEXT_MAX);
    cor_buf_init(&canonical, TEXT_MAX);
    r = cor_buf_addc(&text, '[');
    if (r == 0)
        r = cor_hpa_behavior_to_v2(behavior, &text);
    if (r == 0)
        r = cor_buf_addc(&text, ']');
    if (r == 0)
        r = canonicalize(&text, &canonical);
    if (r < 0 || canonical.n <= 4)
        return r;
    return cor_buf_add(out, canonical.p + 1, canonical.n - 2);
}

/* Spec and status of version 2 from the annotations' metrics and the numbers for the CPU. */
static int make_metrics(struct cor_str annotations, const char *name, enum cor_hpa_side side,
                        struct cor_str cpu, struct cor_buf *out)
{
    const char *type =
        side == COR_HPA_SPEC ? "autoscaling_v2.MetricSpec" : "autoscaling_v2.MetricStatus";
    COR_CLEANUP(cor_buf_deinit) struct cor_buf others = {0};
    int r;

    cor_buf_init(&others, TEXT_MAX);
    r = read_annotation(annotations, name, COR_JSON_ARRAY, &others);
    if (r == 0)
        r = metrics_to_v2(cor_buf_str(&others), side, cpu, out);
    if (r < 0 || others.n == 0 || out->n == 0)
        return r;
    r = drop_unless_held(out, type);
    return r < 0 || out->n > 0 ? r : metrics_to_v2(COR_STR(""), side, cpu, out);
}

static int make_v2_spec(struct cor_str spec, struct cor_str annotations, struct parts *p)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf behavior = {0};
    struct cor_edits edits = {.n = 0};
    int r = make_metrics(annotations, COR_HPA_METRICS, COR_HPA_SPEC,
                         cor_convert_member(spec, "targetCPUUtilizationPercentage"), &p->metrics);

    cor_buf_init(&behavior, TEXT_MAX);
    if (r == 0 && p->metrics.n == 0)
        r = cor_buf_addz(&p->metrics, COR_HPA_CPU_DEFAULT);
    if (r == 0)
        r = read_annotation(annotations, COR_HPA_BEHAVIOR, COR_JSON_OBJECT, &behavior);
    if (r == 0)
        r = behavior_to_v2(cor_buf_str(&behavior), &p->behavior);
    if (r == 0 && p->behavior.n > 0)
        r = drop_unless_held(&p->behavior, "autoscaling_v2.HorizontalPodAutoscalerBehavior");
    if (r < 0)
        return r;
    drop_by_hand(&edits, V1, "spec");
    cor_edits_set(&edits, COR_STR("metrics"), cor_buf_str(&p->metrics));
    cor_edits_set(&edits, COR_STR("behavior"), value_or_none(&p->behavior));
    return cor_edits_apply(&edits, spec, &p->spec);
}

static int make_v2_status(struct cor_str status, struct cor_str annotations, struct parts *p)
{
    struct cor_edits edits = {.n = 0};
    int r =
        make_metrics(annotations, COR_HPA_STATUSES, COR_HPA_STATUS,
                     cor_convert_member(status, "currentCPUUtilizationPercentage"), &p->statuses);

    if (r == 0)
        r = read_annotation(annotations, COR_HPA_CONDITIONS, COR_JSON_ARRAY, &p->conditions);
    if (r == 0 && p->conditions.n > 0)
        r = drop_unless_held(&p->conditions, "autoscaling_v2.HorizontalPodAutoscalerCondition");
    if (r < 0 || (!status.p && p->statuses.n == 0 && p->conditions.n == 0))
        return r;
    drop_by_hand(&edits, V1, "status");
    cor_edits_set(&edits, COR_STR("currentMetrics"), value_or_none(&p->statuses));
    cor_edits_set(&edits, COR_STR("conditions"), value_or_none(&p->conditions));
    if (cor_str_eq(cor_convert_member(status, "currentReplicas"), COR_STR("0")))
        cor_edits_drop(&edits, COR_STR("currentReplicas"));
    return cor_edits_apply(&edits, or_empty(status), &p->status);
}

static int to_stored(struct cor_str json, struct cor_json_writer *w)
{
    COR_CLEANUP(parts_deinit) struct parts p;
    struct cor_str spec = cor_convert_member(json, "spec");
    struct cor_str status = cor_convert_member(json, "status");
    struct cor_str annotations =
        cor_convert_member(cor_convert_member(json, "metadata"), "annotations");
    struct cor_edits edits = {.n = 0};
    int r = 0;

    parts_init(&p);
    if (is_object_or_absent(spec))
        r = make_v2_spec(or_empty(spec), annotations, &p);
    if (r == 0 && is_object_or_absent(status))
        r = make_v2_status(status, annotations, &p);
    drop_made(&edits);
    if (r == 0)
        r = make_metadata(json, &edits, &p);
    return r < 0 ? r : write_whole(json, &p, w);
}

const struct cor_conversion cor_hpa_conversion = {from_stored, to_stored};
