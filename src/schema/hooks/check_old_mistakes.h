/* What the object before an update has done wrong. Rules that are younger than stored objects let a
 * mistake pass that the old object has in the same or another place, so that the object can still
 * be changed (contract validation 1.2.11). Thread: one at a time, as the check. */
#ifndef COR_SCHEMA_HOOKS_CHECK_OLD_MISTAKES_H
#define COR_SCHEMA_HOOKS_CHECK_OLD_MISTAKES_H

#include "schema/check/check.h"

/* clang-format off */
/* X(enumerator, name in rule files, the type of the struct that is looked through). */
#define COR_OLD_MISTAKES(X)                                                                        \
    X(PAGES,              "pages",              "PodSpec")      /* a part of a huge page */        \
    X(AFFINITY_SELECTORS, "affinity selectors", "PodSpec")      /* a label selector is wrong */    \
    X(NODE_VALUES,        "node values",        "NodeSelector") /* a value that no label has */    \
    X(SPREAD_SELECTORS,   "spread selectors",   "PodSpec")      /* a label selector is wrong */    \
    X(SYSCTLS,            "sysctls",            "PodSpec")      /* of a namespace of the host */   \
    X(VOLUME_DEVICES,     "volume devices",     "PodSpec")      /* with users of its own */        \
    X(SIDE_EFFECTS,       "side effects",       "")             /* a webhook has some */           \
    X(REVIEW_VERSIONS,    "review versions",    "")             /* a webhook knows none of ours */ \
    X(WEBHOOK_NAMES,      "webhook names",      "")             /* two webhooks share one */       \
    X(WEBHOOK_SELECTORS,  "webhook selectors",  "")             /* a label selector is wrong */
/* clang-format on */

enum cor_old_mistake {
#define X(symbol, name, type) COR_OLD_##symbol,
    COR_OLD_MISTAKES(X)
#undef X
        COR_OLD_MISTAKES_N
};

/* Has the old object that mistake? `inside` is a place of the new one, in the struct that the list
 * names ("": anywhere). False without an old object, and outside such a struct. The old object is
 * looked through once for each mistake. */
bool cor_old_has(struct cor_check *check, const struct cor_place *inside,
                 enum cor_old_mistake mistake);

/* What is wrong with a sysctl of a spec that shares a namespace with its host; NULL: nothing
 * (check_pod.c). */
const char *cor_sysctl_mistake(struct cor_check *check, const struct cor_place *spec,
                               struct cor_str name);

/* Returns whether it is a version of AdmissionReview that servers use (check_admission.c). */
bool cor_is_review_version(struct cor_str version);

#endif
