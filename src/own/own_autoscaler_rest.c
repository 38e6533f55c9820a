/* The part of the conversion between two versions of HorizontalPodAutoscaler that is not generated
 * (api/all.conversions): version 1 has a number for the CPU, and the other metrics, the conditions
 * and the behavior in annotations. The texts of the annotations are those of the server: both use
 * schema/convert/hpa_metrics.h.
 *
 * Flow: members of version 2 are encoded as JSON, converted as JSON, and become annotations; the
 * JSON of annotations is converted and decoded. An annotation that cannot be read, or that
 * version 2 cannot hold, counts as absent. Failures: no memory, a text that is too long.
 * Thread: one at a time. */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "coracle/types/autoscaling_v2_horizontal_pod_autoscaler_conversion.h"
#include "own/own_int.h"
#include "schema/convert/hpa_metrics.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define TEXT_MAX   (4u << 20)
#define DEPTH_MAX  (COR_JSON_DEPTH_MAX - 8) /* as the server's: what it becomes is deeper */
#define NUMBER_MAX 32
#define V2_SPEC    (&cor_autoscaling_v2_horizontal_pod_autoscaler_spec_own_type)
#define V2_STATUS  (&cor_autoscaling_v2_horizontal_pod_autoscaler_status_own_type)

static bool is_made(struct cor_str key)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(cor_hpa_annotations); i++) {
        if (cor_str_eq(key, cor_hpa_annotations[i]))
            return true;
    }
    return false;
}

/* What was copied from the other version goes. */
static void drop_made(struct cor_str_map *annotations)
{
    size_t n = 0;

    for (size_t i = 0; i < annotations->n; i++) {
        if (!is_made(annotations->p[i].key))
            annotations->p[n++] = annotations->p[i];
    }
    if (annotations->n > 0 && n == 0)
        *annotations = (struct cor_str_map){0};
    annotations->n = n;
}

static int annotate(struct cor_pool *pool, struct cor_str_map *annotations, const char *name,
                    struct cor_str text)
{
    struct cor_str copy = text.n > 0 ? cor_pool_copy(pool, text) : text;

    if (text.n == 0)
        return 0;
    return copy.p ? cor_str_map_set(pool, annotations, cor_strz(name), copy) : cor_pool_error(pool);
}

/* A member of version 2 as JSON; empty when it is not set. */
static int encode(struct cor_pool *pool, const struct cor_own_type *type, const char *name,
                  const void *own, struct cor_str *ret)
{
    const struct cor_own_field *field = cor_own_find(type, cor_strz(name));
    const void *value = cor_own_at_const(own, field);

    *ret = (struct cor_str){NULL, 0};
    return cor_own_is_set(field, value) ? cor_own_encode_member(field, pool, value, ret) : 0;
}

static struct cor_opt_int32 number_of(struct cor_str json)
{
    int64_t value;

    if (!json.p || cor_json_to_i64(json, &value) < 0 || value < INT32_MIN || value > INT32_MAX)
        return (struct cor_opt_int32){0};
    return cor_opt_int32((int32_t)value);
}

typedef int (*to_v1_fn)(struct cor_str json, struct cor_buf *out);

static int spec_metrics_to_v1(struct cor_str json, struct cor_buf *out)
{
    return cor_hpa_metrics_to_v1(json, COR_HPA_SPEC, out);
}

static int status_metrics_to_v1(struct cor_str json, struct cor_buf *out)
{
    return cor_hpa_metrics_to_v1(json, COR_HPA_STATUS, out);
}

static int conditions_to_v1(struct cor_str json, struct cor_buf *out)
{
    return json.n > 2 ? cor_buf_adds(out, json) : 0;
}

static int annotate_converted(struct cor_pool *pool, struct cor_str_map *annotations,
                              const char *name, struct cor_str json, to_v1_fn convert)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    cor_buf_init(&text, TEXT_MAX);
    r = convert(json, &text);
    return r < 0 ? r : annotate(pool, annotations, name, cor_buf_str(&text));
}

int cor_autoscaling_v2_horizontal_pod_autoscaler_own_to_autoscaling_v1_rest(
    struct cor_pool *pool, const struct cor_autoscaling_v2_horizontal_pod_autoscaler_own *from,
    struct cor_autoscaling_v1_horizontal_pod_autoscaler_own *ret)
{
    struct cor_str_map *annotations = &ret->metadata.annotations;
    struct cor_str metrics, behavior, statuses, conditions;
    int r = encode(pool, V2_SPEC, "metrics", &from->spec, &metrics);

    if (r == 0)
        r = encode(pool, V2_SPEC, "behavior", &from->spec, &behavior);
    if (r == 0)
        r = encode(pool, V2_STATUS, "currentMetrics", &from->status, &statuses);
    if (r == 0)
        r = encode(pool, V2_STATUS, "conditions", &from->status, &conditions);
    if (r < 0)
        return r;
    drop_made(annotations);
    ret->spec.target_cpu_utilization_percentage = number_of(cor_hpa_cpu(metrics, COR_HPA_SPEC));
    ret->status.current_cpu_utilization_percentage =
        number_of(cor_hpa_cpu(statuses, COR_HPA_STATUS));
    r = annotate_converted(pool, annotations, COR_HPA_METRICS, metrics, spec_metrics_to_v1);
    if (r == 0)
        r = annotate_converted(pool, annotations, COR_HPA_STATUSES, statuses, status_metrics_to_v1);
    if (r == 0)
        r = annotate_converted(pool, annotations, COR_HPA_CONDITIONS, conditions, conditions_to_v1);
    if (r == 0)
        r = annotate_converted(pool, annotations, COR_HPA_BEHAVIOR, behavior,
                               cor_hpa_behavior_to_v1);
    return r;
}

/* The JSON that an annotation holds, if it is of this type. */
static struct cor_str annotated(const struct cor_str_map *annotations, const char *name,
                                enum cor_json_type type)
{
    const struct cor_json_limits limits = {TEXT_MAX, DEPTH_MAX};
    const struct cor_str *text = cor_str_map_get(annotations, cor_strz(name));
    struct cor_str value;
    bool is_canonical;

    if (!text || cor_json_check(*text, &limits, &is_canonical, NULL) < 0)
        return (struct cor_str){NULL, 0};
    value = cor_json_first_value(*text);
    return cor_json_type(value) == type ? value : (struct cor_str){NULL, 0};
}

/* A member of version 2 from JSON. -COR_EINVAL: it cannot be that, and stays absent. */
static int decode(struct cor_pool *pool, const struct cor_own_type *type, const char *name,
                  struct cor_str json, void *own)
{
    const struct cor_own_field *field = cor_own_find(type, cor_strz(name));
    void *value = cor_own_at(own, field);
    int r = json.n > 0 ? cor_own_decode_member(field, pool, json, value) : 0;

    if (r < 0)
        memset(value, 0, cor_own_member_size(field));
    return r;
}

static int none_if_invalid(int r)
{
    return r == -COR_EINVAL ? 0 : r;
}

static int decode_metrics_of(struct cor_pool *pool, enum cor_hpa_side side,
                             struct cor_str annotation, struct cor_str cpu, void *own)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    cor_buf_init(&text, TEXT_MAX);
    r = cor_hpa_metrics_to_v2(annotation, side, cpu, &text);
    if (r < 0)
        return r;
    return side == COR_HPA_SPEC
               ? decode(pool, V2_SPEC, "metrics", cor_buf_str(&text), own)
               : decode(pool, V2_STATUS, "currentMetrics", cor_buf_str(&text), own);
}

/* The metrics of version 2: those of the annotation, if they can be, and the CPU's. */
static int decode_metrics(struct cor_pool *pool, enum cor_hpa_side side, struct cor_str annotation,
                          struct cor_opt_int32 percent, void *own)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf number = {0};
    struct cor_str cpu = {NULL, 0};
    int r;

    cor_buf_init(&number, NUMBER_MAX);
    r = percent.is_set ? cor_buf_addf(&number, "%d", percent.value) : 0;
    if (r < 0)
        return r;
    if (percent.is_set)
        cpu = cor_buf_str(&number);
    r = decode_metrics_of(pool, side, annotation, cpu, own);
    if (r == -COR_EINVAL)
        r = decode_metrics_of(pool, side, (struct cor_str){NULL, 0}, cpu, own);
    return r;
}

static int decode_behavior(struct cor_pool *pool, struct cor_str annotation, void *own)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    cor_buf_init(&text, TEXT_MAX);
    r = cor_hpa_behavior_to_v2(annotation, &text);
    if (r < 0 || text.n <= 2)
        return r;
    return none_if_invalid(decode(pool, V2_SPEC, "behavior", cor_buf_str(&text), own));
}

int cor_autoscaling_v1_horizontal_pod_autoscaler_own_to_autoscaling_v2_rest(
    struct cor_pool *pool, const struct cor_autoscaling_v1_horizontal_pod_autoscaler_own *from,
    struct cor_autoscaling_v2_horizontal_pod_autoscaler_own *ret)
{
    const struct cor_str_map *annotations = &from->metadata.annotations;
    int r;

    drop_made(&ret->metadata.annotations);
    /* Unknown members of version 1 may bear these names. */
    memset(&ret->spec.metrics, 0, sizeof(ret->spec.metrics));
    memset(&ret->status.current_metrics, 0, sizeof(ret->status.current_metrics));
    memset(&ret->status.conditions, 0, sizeof(ret->status.conditions));
    ret->spec.behavior = NULL;
    r = decode_metrics(pool, COR_HPA_SPEC, annotated(annotations, COR_HPA_METRICS, COR_JSON_ARRAY),
                       from->spec.target_cpu_utilization_percentage, &ret->spec);
    if (r == 0 && !ret->spec.metrics.p)
        r = decode(pool, V2_SPEC, "metrics", COR_STR(COR_HPA_CPU_DEFAULT), &ret->spec);
    if (r == 0)
        r = decode_behavior(pool, annotated(annotations, COR_HPA_BEHAVIOR, COR_JSON_OBJECT),
                            &ret->spec);
    if (r == 0)
        r = decode_metrics(pool, COR_HPA_STATUS,
                           annotated(annotations, COR_HPA_STATUSES, COR_JSON_ARRAY),
                           from->status.current_cpu_utilization_percentage, &ret->status);
    if (r == 0)
        r = none_if_invalid(decode(pool, V2_STATUS, "conditions",
                                   annotated(annotations, COR_HPA_CONDITIONS, COR_JSON_ARRAY),
                                   &ret->status));
    return r;
}
