/* clang-format off */
/* What a ResourceQuota counts: which names of spec.hard belong to which resource, and how much of
 * such a name one object uses. These are upstream's evaluators. Contract controllers 3.3.7.
 *
 *   cor_quota_kind_of(gvr) ──► for each name of spec.hard: cor_quota_rule_of(kind, name) ──► for each object of the
 *   namespace: cor_quota_facts_find() ──► cor_quota_matches_scopes() ──► for each name: cor_quota_add(rule, facts, sum)
 *
 * What the names and the scopes ask of an object is found once: a quota may have thousands of names, an object a
 * megabyte in front of what they ask for, and a pod thousands of containers.
 *
 * Sums are exact (coracle/quantity.h).
 * Thread: any (pure).  Owner: strings are borrowed from the arguments. */
/* clang-format on */
#ifndef COR_SERVER_CONTROLLERS_QUOTA_QUOTA_RULES_H
#define COR_SERVER_CONTROLLERS_QUOTA_QUOTA_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "coracle/quantity.h"
#include "kit/api_resources.h"
#include "meta/object/object.h"

/* Resources with an evaluator of their own; the objects of all others are only counted. */
enum cor_quota_kind {
    COR_QUOTA_COUNTED,
    COR_QUOTA_PODS,
    COR_QUOTA_SERVICES,
    COR_QUOTA_CLAIMS,        /* PersistentVolumeClaims */
    COR_QUOTA_DEVICE_CLAIMS, /* ResourceClaims */
};

/* What a name counts. */
enum cor_quota_counter {
    COR_QUOTA_NOTHING,
    COR_QUOTA_OBJECTS,
    COR_QUOTA_LIVE_PODS,
    COR_QUOTA_POD_REQUESTS, /* of the resource `of` */
    COR_QUOTA_POD_LIMITS,
    COR_QUOTA_NODE_PORTS,
    COR_QUOTA_LOAD_BALANCERS,
    COR_QUOTA_STORAGE,
    COR_QUOTA_CLASS_CLAIMS, /* of the storage class `of` */
    COR_QUOTA_CLASS_STORAGE,
    COR_QUOTA_DEVICES, /* of the device class `of` */
};

/* A quantity; {"0"} at the beginning. */
struct cor_quota_amount {
    char text[COR_QUANTITY_TEXT_MAX];
};

struct cor_quota_rule {
    enum cor_quota_counter counter;
    struct cor_str of; /* a part of the name; empty where it has no meaning */
};

/* Returns whether quotas can count the resource. Contract controllers 3.3.5: its version is the
 * preferred one, it is namespaced, has the verbs create, list, watch and delete, and is not an
 * Event or a virtual object. */
bool cor_quota_is_countable(const struct cor_port_resource *resource);

enum cor_quota_kind cor_quota_kind_of(const struct cor_gvr *gvr);

/* How objects of the resource are counted for a name of spec.hard. COR_QUOTA_NOTHING: the name does
 * not concern the resource. */
struct cor_quota_rule cor_quota_rule_of(const struct cor_gvr *gvr, struct cor_str name);

struct cor_quota_pod;

/* What quotas ask of one object. Borrowed from it. */
struct cor_quota_facts {
    enum cor_quota_kind kind;
    struct cor_quota_pod *pod; /* of a pod */
    int64_t node_ports;        /* of a Service */
    bool is_load_balancer;
    struct cor_str storage_class;             /* of a claim */
    struct cor_str attribute_classes[3];      /* wanted, present, being changed to; or empty */
    struct cor_view storage, storage_granted; /* what it asks for, what was allocated for it */
    struct cor_view device_requests;          /* of a resource claim */
};

/* `now_ms` is the time of the wall clock. 0, -COR_ENOMEM, -COR_ETOOBIG (a pod with more resources
 * than an object has room for). cor_quota_facts_deinit() in any case, or for zeroed facts. */
int cor_quota_facts_find(enum cor_quota_kind kind, const struct cor_object *object, int64_t now_ms,
                         struct cor_quota_facts *facts);
void cor_quota_facts_deinit(struct cor_quota_facts *facts);

/* Adds what the object uses to `sum`, a quantity. 0, or an error of coracle/quantity.h, when `sum`
 * is as before. */
int cor_quota_add(const struct cor_quota_rule *rule, const struct cor_quota_facts *facts,
                  struct cor_quota_amount *sum);

/* Is the object in every scope of a quota with this `spec`? An object of a resource that has no
 * scopes is in none. */
bool cor_quota_matches_scopes(const struct cor_quota_facts *facts, struct cor_view spec);

/* May an update of an object change what it uses? Only for pods, Services and claims. */
static inline bool cor_quota_follows_updates(enum cor_quota_kind kind)
{
    return kind == COR_QUOTA_PODS || kind == COR_QUOTA_SERVICES || kind == COR_QUOTA_CLAIMS;
}

/* A number for what the usage of the object is computed from: the number changes when that does.
 * For kinds that follow updates. */
uint64_t cor_quota_fingerprint(enum cor_quota_kind kind, const struct cor_object *object,
                               int64_t now_ms);

/* Returns whether an object with the value `value` for the scope meets the condition `operator
 * values`. Empty: it has none. */
bool cor_quota_selects(struct cor_view requirement, struct cor_str value);

int cor_quota_plus(struct cor_quota_amount *sum, const struct cor_quota_amount *amount);
/* Makes `value` the sum when it is greater. */
int cor_quota_max_value(struct cor_quota_amount *sum, struct cor_view value);
/* The field `key` in the section `section` (spec, status) of an object. */
struct cor_view cor_quota_part(const struct cor_object *object, const char *section,
                               const char *key);

/* The text of a quantity; empty: the value is not a quantity. */
struct cor_str cor_quota_text(struct cor_view value);

#endif
