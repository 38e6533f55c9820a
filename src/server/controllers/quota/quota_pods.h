/* What a pod uses of a quota: upstream's evaluator of pods with its helpers for requests and
 * limits. Contract controllers 3.3.7. Thread: any (pure). */
#ifndef COR_SERVER_CONTROLLERS_QUOTA_QUOTA_PODS_H
#define COR_SERVER_CONTROLLERS_QUOTA_QUOTA_PODS_H

#include <stdbool.h>
#include <stdint.h>

#include "meta/object/object.h"
#include "server/controllers/quota/quota_rules.h"

/* What quotas ask of a pod, found in one walk over it. */
struct cor_quota_pod;

/* Returns as cor_quota_facts_find(). The pod must stay valid. */
int cor_quota_pod_new(const struct cor_object *pod, int64_t now_ms, struct cor_quota_pod **ret_pod);
struct cor_quota_pod *cor_quota_pod_free(struct cor_quota_pod *pod); /* NULL; NULL is fine */

/* Does the pod use anything but its place in the store? It does not when it has succeeded or
 * failed, nor when its deletion is late by its grace period. */
bool cor_quota_pod_is_live(const struct cor_quota_pod *pod);

/* Adds what the pod requests of a resource, or its limit; nothing for a pod that is not live.
 * Returns as cor_quota_add(). */
int cor_quota_pod_add(const struct cor_quota_pod *pod, bool is_limit, struct cor_str resource,
                      struct cor_quota_amount *sum);

/* Is the pod in the scope of `requirement`: an element of matchExpressions? */
bool cor_quota_pod_is_in(const struct cor_quota_pod *pod, struct cor_str scope,
                         struct cor_view requirement);

/* As cor_quota_fingerprint(). */
uint64_t cor_quota_pod_fingerprint(const struct cor_object *pod, int64_t now_ms);

#endif
