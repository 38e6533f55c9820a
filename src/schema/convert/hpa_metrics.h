/* The metrics and the behavior of a HorizontalPodAutoscaler: as autoscaling/v2 has them, and as
 * autoscaling/v1's annotations do. What v1 has no place for is there as "v2", which it ignores.
 * Version 2 is read as canonical JSON, the texts of annotations with their members in any order.
 * What is made has upstream's order in annotations, and none in version 2, where a key may be twice
 * and the last counts: it is made canonical, or decoded. Each appends to `out`, nothing when there
 * is nothing (metrics: to an empty one): 0, -COR_ENOMEM, -COR_ETOOBIG.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_CONVERT_HPA_METRICS_H
#define COR_SCHEMA_CONVERT_HPA_METRICS_H

#include "base/buf.h"
#include "base/str.h"

/* The annotations of version 1. The last two are removed when seen, and made by no one. */
#define COR_HPA_PREFIX     "autoscaling.alpha.kubernetes.io/"
#define COR_HPA_METRICS    COR_HPA_PREFIX "metrics"
#define COR_HPA_STATUSES   COR_HPA_PREFIX "current-metrics"
#define COR_HPA_CONDITIONS COR_HPA_PREFIX "conditions"
#define COR_HPA_BEHAVIOR   COR_HPA_PREFIX "behavior"
extern const struct cor_str cor_hpa_annotations[6];

/* The metrics of a spec without any. */
#define COR_HPA_CPU_DEFAULT                                                                        \
    "[{\"resource\":{\"name\":\"cpu\",\"target\":{\"averageUtilization\":80,\"type\":"             \
    "\"Utilization\"}},\"type\":\"Resource\"}]"

/* Metrics have a target in the spec, and a current value in the status. */
enum cor_hpa_side { COR_HPA_SPEC, COR_HPA_STATUS };

/* The CPU's average utilization among v2 metrics, as JSON; p == NULL: they have none. */
struct cor_str cor_hpa_cpu(struct cor_str metrics, enum cor_hpa_side side);

/* An array; of a spec without those for the CPU that cor_hpa_cpu() looks at. */
int cor_hpa_metrics_to_v1(struct cor_str metrics, enum cor_hpa_side side, struct cor_buf *out);
/* `metrics` is an array or empty. `cpu` (p == NULL: none) is added in a spec, and in a status when
 * `metrics` is empty. */
int cor_hpa_metrics_to_v2(struct cor_str metrics, enum cor_hpa_side side, struct cor_str cpu,
                          struct cor_buf *out);

/* An object; empty for none. */
int cor_hpa_behavior_to_v1(struct cor_str behavior, struct cor_buf *out);
int cor_hpa_behavior_to_v2(struct cor_str behavior, struct cor_buf *out);

#endif
