/* Publishes what is served. The snapshot is made here of what others know: custom resources give
 * rows (server/crd/), registration gives APIServices, and their servers documents
 * (server/aggregation/). Each tells when
 * its part has changed; the parts are collected when the snapshot is made, so that a row which its
 * maker has retired is in no later snapshot.
 * Thread: the first loop of the API.  Owner: the API, which embeds it. */
#ifndef COR_SERVER_PUBLISHER_H
#define COR_SERVER_PUBLISHER_H

#include <stddef.h>
#include <stdint.h>

#include "schema/kinds/resource_row.h"

struct cor_api;
struct cor_api_service;
struct cor_publisher;
struct cor_remote_docs;

/* Who makes rows beside the built-in ones. */
struct cor_row_maker {
    /* Appends its rows to `rows`, of which there are nrows_max() at most, sorted by group, version
     * and name. Returns how many there are. */
    size_t (*nrows_max)(struct cor_row_maker *maker);
    size_t (*add_rows)(struct cor_row_maker *maker, const struct cor_resource_row **rows);
    /* A snapshot with these rows was published, whoever asked for it. */
    void (*on_published)(struct cor_row_maker *maker);
};

struct cor_publisher {
    struct cor_api *api;
    uint64_t generation;               /* of the last snapshot that was published */
    struct cor_row_maker *maker;       /* NULL: built-in rows only */
    struct cor_api_service **services; /* one reference each */
    size_t nservices;
    struct cor_remote_docs *remote_docs; /* a reference; NULL: none */
};

void cor_publisher_init(struct cor_publisher *p, struct cor_api *api, uint64_t generation);
void cor_publisher_deinit(struct cor_publisher *p);

/* The API's publisher. */
struct cor_publisher *cor_api_publisher(struct cor_api *api);

/* At most one maker at a time; NULL when it goes. What it has published stays. */
void cor_publisher_set_maker(struct cor_publisher *p, struct cor_row_maker *maker);

/* Takes a reference to each service, for the next snapshot. 0, -COR_ENOMEM. */
int cor_publisher_set_services(struct cor_publisher *p, struct cor_api_service *const *services,
                               size_t nservices);

/* What remote services have told about themselves (server/aggregation/remote_follower.h), for the
 * next snapshots. Takes a reference; NULL: nothing. */
void cor_publisher_set_remote_docs(struct cor_publisher *p, struct cor_remote_docs *docs);

/* The rows that the maker has at this time, borrowed from it; also those that a remote service
 * hides. cor_free() the array; NULL and 0: there are none. 0, -COR_ENOMEM. */
int cor_publisher_custom_rows(struct cor_publisher *p, const struct cor_resource_row ***ret_rows,
                              size_t *ret_n);

/* Makes and publishes the next snapshot. 0, -COR_ENOMEM, -COR_ETOOBIG: what was published stays. */
int cor_publisher_publish(struct cor_publisher *p);

#endif
