/* The catalog: what the server serves at one time, as an immutable snapshot with a generation. The
 * rows of built-in resources are constants; a resource that is defined while the server runs has a
 * row of its own, which the snapshot keeps alive (schema/resource_row.h).
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
#include "schema/resource_row.h"

#define COR_SERVED_ROWS_MAX  16384
#define COR_SERVED_DOC_BYTES (16u << 20) /* maximum of one document */
#define COR_ETAG_MAX         40

struct cor_served;

/* `rows` have discovery's order: groups as they are listed, a group's versions by preference, the
 * resources of a version by name. The snapshot takes a reference to each. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_served_new(const struct cor_resource_row *const *rows, size_t nrows, uint64_t generation,
                   struct cor_served **ret_served);

/* The first generation: the built-in resources. 0, -COR_ENOMEM. */
int cor_served_new_builtins(struct cor_served **ret_served);

struct cor_served *cor_served_ref(struct cor_served *served);
struct cor_served *cor_served_unref(struct cor_served *served); /* NULL; NULL is fine */

uint64_t cor_served_generation(const struct cor_served *served);

/* All rows, in discovery's order. */
const struct cor_resource_row *const *cor_served_rows(const struct cor_served *served,
                                                      size_t *ret_n);

/* The row, borrowed from the snapshot; NULL: it is not served. `ret_schema` (may be NULL) gets the
 * row's cor_row_schema(), which lives as long as the row and was looked up when the snapshot was
 * made. */
const struct cor_resource_row *cor_served_find(const struct cor_served *served,
                                               struct cor_str group, struct cor_str version,
                                               struct cor_str plural,
                                               const struct cor_type **ret_schema);

/* Is there a resource in this group, in this version of it? */
bool cor_served_has_group(const struct cor_served *served, struct cor_str group);
/* Is the group served, and has it no resource but custom ones? */
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
