/* The families of metrics about requests, with upstream's names and labels.
 * Owner: the server.  Thread: the shard's loop. */
#ifndef COR_SERVER_REQUEST_METRICS_H
#define COR_SERVER_REQUEST_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/kinds/resource_row.h"
#include "server/metrics/metrics.h"
#include "server/request/request_info.h"

/* The labels of a request's series, as places in tables. */
struct cor_request_labels {
    struct cor_str verb, scope;
    const struct cor_resource_row *res; /* of the catalog, a reference in a memo; NULL: none */
    const struct cor_api_subresource *sub;
    bool is_dry_run;
    int code;
};

/* The series of an earlier request, so that the next one with the same labels needs no label text.
 */
#define COR_REQUEST_MEMOS 32
struct cor_request_memo {
    struct cor_request_labels labels;
    struct cor_series *duration, *total; /* NULL: not used yet */
    struct cor_series *sizes;            /* of a GET or LIST; else NULL */
};

struct cor_request_metrics {
    struct cor_metric *total, *duration, *sizes, *long_running, *terminations, *aborts;
    struct cor_request_memo (*memos)[COR_REQUEST_MEMOS]; /* by shard */
    size_t nshards;
};

/* Adds the families to `metrics`, which have `nshards`. 0, -COR_ENOMEM. */
int cor_request_metrics_init(struct cor_request_metrics *rm, struct cor_metrics *metrics,
                             size_t nshards);
void cor_request_metrics_deinit(struct cor_request_metrics *rm);

/* In all of these `res` is the row that the catalog had for the request when it came; NULL: none,
 * and no name that the client made up becomes a label. */

/* A request has been answered with `code`; 0: its client went away first. `method` is the HTTP
 * method, the verb of what is not a resource; `bytes` are the body's, which count for GET and LIST
 * of resources, as upstream's do. */
void cor_request_metrics_done(struct cor_request_metrics *rm, size_t shard,
                              const struct cor_request_info *info,
                              const struct cor_resource_row *res, struct cor_str method,
                              bool is_dry_run, int code, uint64_t duration_us, uint64_t bytes);

/* A watch begins (1) or has ended (-1). */
void cor_request_metrics_long(struct cor_request_metrics *rm, size_t shard,
                              const struct cor_request_info *info,
                              const struct cor_resource_row *res, int delta);

/* A request was refused in self-defence. */
void cor_request_metrics_refused(struct cor_request_metrics *rm, size_t shard,
                                 const struct cor_request_info *info,
                                 const struct cor_resource_row *res, struct cor_str method,
                                 int code);

#endif
