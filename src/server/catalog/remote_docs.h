/* What other API servers have published about the group versions that APIServices assign to them:
 * the resources of each version, and its OpenAPI documents. A set of it belongs to a snapshot of
 * what is served (server/catalog/served.h), so that the documents of a snapshot never change; new
 * knowledge makes another set and another snapshot.
 *
 * The bytes are JSON that was checked and reduced to what may be served
 * (server/aggregation/discovery_parse.h, openapi_parse.h): a reader of a set trusts their form.
 * Thread: any (immutable).  Owner: whoever holds a reference. */
#ifndef COR_SERVER_REMOTE_DOCS_H
#define COR_SERVER_REMOTE_DOCS_H

#include <stdbool.h>

#include "base/ref.h"
#include "base/str.h"

/* Of a text's hash, with its terminating zero. */
#define COR_REMOTE_HASH_MAX 33
/* Versions in a set. */
#define COR_REMOTE_VERSIONS_MAX 1024

/* Bytes with their hash. */
struct cor_remote_text {
    struct cor_ref refs;
    char hash[COR_REMOTE_HASH_MAX]; /* of the bytes, in hexadecimal digits */
    size_t n;
    char bytes[];
};

/* A copy. 0, -COR_ENOMEM. */
int cor_remote_text_new(struct cor_str bytes, struct cor_remote_text **ret_text);
struct cor_remote_text *cor_remote_text_ref(struct cor_remote_text *text); /* NULL is fine */
struct cor_remote_text *
cor_remote_text_unref(struct cor_remote_text *text); /* NULL; NULL is fine */

static inline struct cor_str cor_remote_text_str(const struct cor_remote_text *text)
{
    return text ? cor_str(text->bytes, text->n) : (struct cor_str){0};
}

/* One group version of another server. A text that is not known is NULL. */
struct cor_remote_version {
    struct cor_str group, version;
    bool is_current;                   /* the last question about its resources was answered */
    struct cor_remote_text *resources; /* an array of APIResourceDiscovery */
    struct cor_remote_text *openapi_2; /* the document of version 2, of this version alone */
    struct cor_remote_text *openapi_3; /* the document of version 3 */
    struct cor_remote_text *openapi_3_group; /* that of the group, `apis/GROUP` */
};

struct cor_remote_docs;

/* Copies names and takes a reference to each text. No two versions are the same. 0, -COR_ENOMEM,
 * -COR_ETOOBIG (more than COR_REMOTE_VERSIONS_MAX). */
int cor_remote_docs_new(const struct cor_remote_version *versions, size_t n,
                        struct cor_remote_docs **ret_docs);
struct cor_remote_docs *cor_remote_docs_ref(struct cor_remote_docs *docs); /* NULL is fine */
struct cor_remote_docs *
cor_remote_docs_unref(struct cor_remote_docs *docs); /* NULL; NULL is fine */

/* All versions in the order in which they were given; NULL has none. */
const struct cor_remote_version *cor_remote_docs_all(const struct cor_remote_docs *docs,
                                                     size_t *ret_n);

/* Borrowed from the set; NULL: nothing was told about this version, or `docs` is NULL. */
const struct cor_remote_version *cor_remote_docs_find(const struct cor_remote_docs *docs,
                                                      struct cor_str group, struct cor_str version);

#endif
