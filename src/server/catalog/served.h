/* The catalog: what the server serves at one time, as an immutable snapshot with a generation. The
 * rows of built-in resources are constants; a resource that is defined while the server runs has a
 * row of its own, which the snapshot keeps alive (schema/kinds/resource_row.h).
 *
 * A request is routed by the snapshot that its loop has, takes a reference to its row, and does not
 * need the snapshot any more. Documents about the snapshot (discovery) are made when they are first
 * asked for, once, and live as long as the snapshot.
 * Thread: any (immutable; documents are published atomically).  Owner: whoever holds a reference.
 */
#ifndef COR_SERVER_SERVED_H
#define COR_SERVER_SERVED_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "schema/kinds/resource_row.h"
#include "server/catalog/api_service.h"
#include "server/catalog/remote_docs.h"

#define COR_SERVED_DOC_BYTES (16u << 20) /* maximum of one document */
#define COR_ETAG_MAX         40

struct cor_served;

struct cor_served_opts {
    const struct cor_resource_row *const *rows; /* of a version: sorted by plural name */
    size_t nrows;
    /* The APIServices, in any order; none: they are not known (yet), and all rows are listed. */
    struct cor_api_service *const *services;
    size_t nservices;
    struct cor_remote_docs *remote_docs; /* of the remote services; NULL: nothing is known (yet) */
    uint64_t generation;                 /* greater than 0 */
};

/* The snapshot takes a reference to each row, to each service and to the remote documents. A row
 * whose group version has a remote service is left out: that service answers for it. 0,
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_served_new(const struct cor_served_opts *opts, struct cor_served **ret_served);

/* The first generation: the built-in resources. 0, -COR_ENOMEM. */
int cor_served_new_builtins(struct cor_served **ret_served);

struct cor_served *cor_served_ref(struct cor_served *served);
struct cor_served *cor_served_unref(struct cor_served *served); /* NULL; NULL is fine */

uint64_t cor_served_generation(const struct cor_served *served);

/* All rows, in the order of cor_served_versions(), and within a version as they were given. */
const struct cor_resource_row *const *cor_served_rows(const struct cor_served *served,
                                                      size_t *ret_n);

/* The row, borrowed from the snapshot; NULL: it is not served. `ret_schema` (may be NULL) gets the
 * row's cor_row_schema(), which lives as long as the row and was looked up when the snapshot was
 * made. */
const struct cor_resource_row *cor_served_find(const struct cor_served *served,
                                               struct cor_str group, struct cor_str version,
                                               struct cor_str plural,
                                               const struct cor_type **ret_schema);

/* A group version, as discovery has it. */
struct cor_served_version {
    struct cor_str group, version, api_version; /* live as long as the snapshot */
    struct cor_api_service *service; /* borrowed; NULL: it has none (yet), or it needs none */
    size_t first_row, nrows;         /* its rows in cor_served_rows(); none of a remote service's */
    bool is_listed; /* discovery's lists of groups have it; not: a built-in version whose
                       APIService was deleted, which is served all the same */
};

/* Does another server answer for this version? Nobody takes the APIServices themselves away. */
bool cor_served_version_is_remote(const struct cor_served_version *version);

/* All group versions in discovery's order: the core group, that of the APIServices, then groups by
 * the priority of their highest service, descending, and its name; a group's versions by priority,
 * descending, then as Kubernetes prefers versions; those that are not listed at the end. */
const struct cor_served_version *cor_served_versions(const struct cor_served *served,
                                                     size_t *ret_n);

/* The remote service that answers for this group version, borrowed from the snapshot; NULL: there
 * is none. For a request that has found no row: rows and remote services exclude each other. */
struct cor_api_service *cor_served_service(const struct cor_served *served, struct cor_str group,
                                           struct cor_str version);

/* All APIServices, local and remote, in discovery's order; borrowed. */
struct cor_api_service *const *cor_served_services(const struct cor_served *served, size_t *ret_n);

/* What remote services have told about themselves, borrowed; NULL: nothing. It may have versions
 * that the snapshot does not serve. */
const struct cor_remote_docs *cor_served_remote_docs(const struct cor_served *served);

/* What was told about this group version, which a remote service of the snapshot answers for; NULL:
 * nothing, or there is no such service. */
const struct cor_remote_version *cor_served_remote(const struct cor_served *served,
                                                   struct cor_str group, struct cor_str version);

/* Is there a resource in this group, in this version of it? */
bool cor_served_has_group(const struct cor_served *served, struct cor_str group);
/* Returns whether the group is served and has custom resources only. */
bool cor_served_is_custom(const struct cor_served *served, struct cor_str group);
bool cor_served_has_version(const struct cor_served *served, struct cor_str group,
                            struct cor_str version);

/* The documents that a snapshot keeps. */
enum cor_served_doc_id {
    COR_DOC_VERSIONS,   /* /api */
    COR_DOC_GROUPS,     /* /apis */
    COR_DOC_CORE_ALL,   /* /api, aggregated */
    COR_DOC_GROUPS_ALL, /* /apis, aggregated */
    COR_DOC_COUNT,
};

struct cor_served_doc {
    struct cor_buf json;
    char etag[COR_ETAG_MAX]; /* of the bytes; quoted */
};

/* Appends the document. 0, -COR_ENOMEM, -COR_ETOOBIG. */
typedef int (*cor_served_make)(const struct cor_served *served, const void *arg,
                               struct cor_buf *out);

/* The document, borrowed from the snapshot; `make` is called unless the snapshot has it already. 0,
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_served_doc(struct cor_served *served, enum cor_served_doc_id id, cor_served_make make,
                   const void *arg, const struct cor_served_doc **ret_doc);

#endif
