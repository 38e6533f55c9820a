/* The hooks of validation for Namespace, Node, Event, ResourceQuota, LimitRange and the like: what
 * no line of a rule file can say. X(name) ( what it checks ). A hook is cor_hook_NAME() in
 * check_cluster.c, a test of a condition is cor_when_NAME() there; both are declared by hooks.h.
 * tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_CLUSTER_H
#define COR_SCHEMA_HOOKS_CHECK_CLUSTER_H

/* clang-format off */
#define COR_CLUSTER_HOOKS(X)                                                                       \
    X(namespace_finalizers) /* finalizers of a Namespace, reported at the "list" or the "element" */\
    X(node_taints) /* []Taint, reported at metadata.taints */                                      \
    X(node_resources) /* ResourceList of a Node's status: the field that the argument names */     \
    X(pod_cidr_families) /* podCIDRs: at most one of each IP family */                             \
    X(pod_cidrs_stay) /* podCIDRs: what the old Node has stays */                                  \
    X(quota_resources) /* ResourceList: names that quotas know, and their quantities */            \
    X(quota_scopes) /* ResourceQuotaSpec: its scopes beside its resources */                       \
    X(quota_scope_selector) /* ResourceQuotaSpec: its scopeSelector beside its resources */        \
    X(quota_scopes_stay) /* scopes: the same set as in the old object */                           \
    X(limit_range_items) /* []LimitRangeItem: each item, and no two of one type */                 \
    X(event_namespace) /* Event: its namespace is that of its involvedObject */

#define COR_CLUSTER_WHENS(X)                                                                       \
    X(is_events_request) /* the client has sent the Event as one of events.k8s.io */
/* clang-format on */

#endif
