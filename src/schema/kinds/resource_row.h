/* The API model: what resources there are, and which of the rules that differ between resources
 * each of them follows. The built-in resources of Kubernetes 1.34 are a table of these.
 * Thread: any (immutable). */
#ifndef COR_SCHEMA_KINDS_RESOURCE_ROW_H
#define COR_SCHEMA_KINDS_RESOURCE_ROW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/ref.h"
#include "meta/names/api_verb.h"
#include "meta/names/validation.h"
#include "meta/select/field_selector.h"
#include "meta/status/gvk.h"
#include "schema/convert/conversion.h"
#include "schema/kinds/creation_gate.h"
#include "schema/types/types.h"

struct cor_custom_cache;
struct cor_custom_row;
struct cor_resource_row;

/* Which resource the server itself works with, whatever the client asked for. */
enum cor_api_role {
    COR_ROLE_NONE,
    COR_ROLE_NAMESPACES,  /* its objects hold the objects of namespaced resources */
    COR_ROLE_PODS,        /* what a Binding binds and an Eviction deletes */
    COR_ROLE_BUDGETS,     /* what limits evictions */
    COR_ROLE_SERVICES,    /* its objects get addresses and node ports (server/alloc/) */
    COR_ROLE_ENDPOINTS,   /* an object of it goes with the Service of its name */
    COR_ROLE_ADDRESSES,   /* an object of it reserves an address */
    COR_ROLE_RANGES,      /* its objects say which addresses there are */
    COR_ROLE_NODES,       /* where pods run */
    COR_ROLE_DEFINITIONS, /* its objects define resources, whose instances go first */
};

/* What the server does with an object that is created and not stored, or asked for and not stored.
 * The functions are in a table of server/api/route.c. */
enum cor_api_action {
    COR_ACTION_NONE, /* its objects are stored */
    COR_ACTION_BINDING,
    COR_ACTION_COMPONENT_STATUS,
    COR_ACTION_EVICTION,
    COR_ACTION_TOKEN_REVIEW,
    COR_ACTION_ACCESS_REVIEW,      /* of the user whom the question names */
    COR_ACTION_SELF_ACCESS_REVIEW, /* of the user who asks */
    COR_ACTION_SELF_REVIEW,
    COR_ACTION_RULES_REVIEW,
    COR_ACTION_COUNT,
};

/* Which part of an object a subresource writes. The rules are in server/strategy/. */
enum cor_api_part {
    COR_PART_ALL, /* no part: the subresource is not written, or it does something else */
    COR_PART_STATUS,
    COR_PART_FINALIZERS, /* those in the spec */
    COR_PART_APPROVAL,
    COR_PART_EPHEMERAL_CONTAINERS,
    COR_PART_RESOURCES, /* of containers */
    COR_PART_SCALE,
    COR_PART_COUNT,
};

/* What a subresource connects the client with (server/verbs/connect.c). */
enum cor_api_connect {
    COR_CONNECT_NONE,
    COR_CONNECT_LOG,       /* the log of a pod's container */
    COR_CONNECT_CONTAINER, /* the streams of a pod's container */
    COR_CONNECT_POD,       /* the ports of a pod */
    COR_CONNECT_POD_PROXY, /* a path of a pod's HTTP server; likewise the next two */
    COR_CONNECT_SERVICE_PROXY,
    COR_CONNECT_NODE_PROXY,
};

/* Members whose values together may not be larger than upstream allows. */
struct cor_data_limit {
    const char *text, *base64; /* the members: of texts, of base64 */
    bool text_replaces;        /* a key that both members have is counted once, as text */
    const char *path;          /* which field the refusal names */
};

struct cor_api_subresource {
    const char *name;
    unsigned verbs;
    enum cor_api_part part;
    const char *group, *version, *kind; /* of what it speaks; NULL: as its resource */
    const struct cor_resource_row
        *type; /* the same for bodies and answers; NULL: as its resource */
    const struct cor_conversion
        *conversion; /* from the object to what it shows; NULL: the object */
    enum cor_api_connect connect;
    const char *options; /* of a connection: the kind whose members its query has; NULL: `kind` */
    bool takes_path;     /* segments may follow it in the URL */
    bool is_served;      /* this server has it; discovery shows no other */
};

enum cor_api_flag {
    COR_API_NAMESPACED = 1 << 0,
    COR_API_VIRTUAL = 1 << 1,       /* nothing is stored */
    COR_API_UNCONDITIONAL = 1 << 2, /* an update may leave out resourceVersion */
    COR_API_CREATE_ON_UPDATE = 1 << 3,
    COR_API_RETURN_DELETED = 1 << 4, /* a deletion answers with the object */
    COR_API_ORPHAN = 1 << 5,         /* dependents are orphaned unless the request says not */
    COR_API_NO_GC = 1 << 6,          /* propagation policies are ignored */
    COR_API_GRACEFUL = 1 << 7,       /* pods: deletion takes a grace period */
    COR_API_TTL = 1 << 8,            /* events: they expire */
    COR_API_NO_CACHE = 1 << 9,       /* served from the store unless told otherwise */
    COR_API_ANY_FINALIZER = 1 << 10, /* finalizers need no domain */
    COR_API_STRING_DATA = 1 << 11,   /* secrets: stringData goes into data */
};

/* The life of rows that are made while the server runs; the rows of one definition share one.
 * Places are numbered after those of the table; a number is used again when the life is over. */
struct cor_row_life {
    struct cor_ref refs;
    size_t place;
    /* The first generation of the catalog without it, because another definition has taken its
     * place, or none; 0: it is served. A loop releases its stores, and ends its watches, when it
     * takes a snapshot of that generation or a later one: one before it still routes to them. Set
     * once. */
    _Atomic uint64_t retired_at;
    /* The store's revision of what retired it, set before that: its watches end when they have
     * delivered everything up to there. 0: it is not known. */
    uint64_t retired_rev;
    struct cor_creation_gate *gate; /* a reference; closed while the definition is being deleted */
    struct cor_custom_cache *cache; /* server/api/api_cachers.h; NULL: it is read from the store */
    void (*free_row)(const struct cor_resource_row *row); /* after the last reference */
};

struct cor_resource_row {
    struct cor_row_life *life;           /* NULL: a constant of the table, which is never freed */
    const struct cor_type *schema;       /* of a row made at run time; see cor_row_schema() */
    const struct cor_custom_row *custom; /* schema/kinds/custom_row.h; NULL: a built-in resource */
    struct cor_str group, version, kind, plural, singular;
    struct cor_str api_version; /* "v1", "apps/v1" */
    struct cor_str list_kind;
    const char *short_names[2];
    const char *category; /* NULL: none */
    const char *hash;     /* of the storage version, as discovery shows it; NULL: none */
    unsigned flags;       /* enum cor_api_flag */
    unsigned verbs;
    enum cor_name_rule name_rule;
    enum cor_api_role role;
    enum cor_api_action action;
    const struct cor_field_labels *field_labels; /* NULL: metadata.name and metadata.namespace */
    const char *const *trigger_fields; /* that watches and lists are indexed by, with NULL after the
                                          last; NULL: none */
    const struct cor_api_subresource *subresources;
    size_t nsubresources;
    const struct cor_conversion *conversion; /* NULL: stored as it is served */
    struct cor_str stored_as;                /* the api_version that is stored, of a conversion */
    struct cor_str kept_as; /* the api_version in which kube-apiserver 1.34 keeps objects; empty: as
                               here */
    cor_convert_fn from_kept;                /* of that version; NULL: there is none */
    const struct cor_data_limit *data_limit; /* NULL: none beside that of all objects */
    const char *in_use_finalizer; /* a new object gets it, so that it stays while it is used; NULL:
                                   * none */
    const char *deprecation;      /* sent with every answer; NULL: the kind is not deprecated */
    const char *orphan_warning;   /* sent when a deletion orphans by default; NULL: none */
    const char
        *inert; /* objects are stored and do nothing: what the server lacks; NULL: they work */
};

/* A new reference to a row. What a row points to (its subresources, its stored version) lives as
 * long as the row. */
static inline const struct cor_resource_row *cor_row_ref(const struct cor_resource_row *row)
{
    if (row->life)
        cor_ref_get(&row->life->refs);
    return row;
}

/* NULL is fine. */
static inline void cor_row_unref(const struct cor_resource_row *row)
{
    if (row && row->life && cor_ref_put(&row->life->refs))
        row->life->free_row(row);
}

/* Has another definition taken the place of the row's, or none? Nothing keeps such a row any longer
 * than a request that has it. */
static inline bool cor_row_is_retired(const struct cor_resource_row *row)
{
    return row->life && atomic_load(&row->life->retired_at) != 0;
}

/* The same as of this generation of the catalog. */
static inline bool cor_row_is_retired_in(const struct cor_resource_row *row, uint64_t generation)
{
    uint64_t retired_at = row->life ? atomic_load(&row->life->retired_at) : 0;

    return retired_at != 0 && retired_at <= generation;
}

/* Is the definition of the row being deleted? */
static inline bool cor_row_is_terminating(const struct cor_resource_row *row)
{
    return row->life && atomic_load(&row->life->gate->is_closed);
}

/* The type of the kind's objects: of a constant it is looked up by name. NULL: it has none. */
const struct cor_type *cor_row_schema(const struct cor_resource_row *row);

/* The number of a row, which stays the same while the row lives: what belongs to a resource beside
 * its row (stores, caches) is found by it. Of a constant it is its index in the table. */
size_t cor_row_place(const struct cor_resource_row *row);

/* The built-in resources, groups in discovery's order, a group's versions by preference, and within
 * a version by plural. */
const struct cor_resource_row *cor_api_builtins(size_t *ret_n);

/* NULL: there is none. */
const struct cor_resource_row *cor_api_builtin(struct cor_str group, struct cor_str version,
                                               struct cor_str plural);
/* The resource whose objects kube-apiserver keeps in this version, which is not the one that is
 * served. NULL: there is none. */
const struct cor_resource_row *cor_api_kept(struct cor_str api_version, struct cor_str kind);
/* The apiVersion in which kube-apiserver keeps a kind of a served version; empty: as here. */
struct cor_str cor_api_kept_as(struct cor_str api_version, struct cor_str kind);
/* The version that holds the objects of a resource: itself, unless it is converted. */
const struct cor_resource_row *cor_api_stored(const struct cor_resource_row *resource);
const struct cor_api_subresource *cor_api_subresource(const struct cor_resource_row *resource,
                                                      struct cor_str name);

/* What the subresource scale of any resource shows: autoscaling/v1, Scale. */
const struct cor_resource_row *cor_api_scale_type(void);

/* The stored resource of this role, which is not COR_ROLE_NONE. */
const struct cor_resource_row *cor_api_of_role(enum cor_api_role role);

/* Has the resource a subresource that writes this part? */
bool cor_api_has_part(const struct cor_resource_row *resource, enum cor_api_part part);

static inline bool cor_api_is_namespaced(const struct cor_resource_row *resource)
{
    return resource->flags & COR_API_NAMESPACED;
}

static inline struct cor_gr cor_api_gr(const struct cor_resource_row *resource)
{
    return (struct cor_gr){resource->group, resource->plural};
}

static inline struct cor_gk cor_api_gk(const struct cor_resource_row *resource)
{
    return (struct cor_gk){resource->group, resource->kind};
}

#endif
