/* The hooks of validation for HorizontalPodAutoscaler and Scale: what no line of a rule file can
 * say. X(name) ( what it checks ). A hook is cor_hook_NAME() in check_autoscaling.c, a test of a
 * condition is cor_when_NAME() there; both are declared by hooks.h. tools/compile_validation.py
 * reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_AUTOSCALING_H
#define COR_SCHEMA_HOOKS_CHECK_AUTOSCALING_H

/* clang-format off */
#define COR_AUTOSCALING_HOOKS(X)                                                                   \
    X(target_api_version) /* apiVersion of spec.scaleTargetRef: it has a group */                  \
    X(object_api_version) /* apiVersion of what an Object metric describes */                      \
    X(other_sources)      /* MetricSpec: no source is set beside that of its type */

#define COR_AUTOSCALING_WHENS(X)                                                                   \
    X(was_sent_empty)   /* a list: the request had an empty one, whatever its default is */        \
    X(scales_from_zero) /* []MetricSpec: a metric can be measured without a pod */
/* clang-format on */

#endif
