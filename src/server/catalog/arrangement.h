/* Inside the catalog: rows and APIServices in discovery's order.
 * Thread: any.  Owner: its maker. */
#ifndef COR_SERVER_ARRANGEMENT_H
#define COR_SERVER_ARRANGEMENT_H

#include "server/catalog/served.h"

struct cor_arrangement {
    const struct cor_resource_row **rows; /* borrowed, in the order of the versions */
    size_t nrows;
    struct cor_served_version *versions;
    size_t nversions;
    size_t nremote; /* versions whose service is remote */
};

/* 0, -COR_ENOMEM. */
int cor_arrangement_init(struct cor_arrangement *a, const struct cor_served_opts *opts);
void cor_arrangement_deinit(struct cor_arrangement *a);

#endif
