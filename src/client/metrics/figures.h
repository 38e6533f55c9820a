/* The figures of clients and informers, gathered for one text of metrics. Sources with the same
 * labels become one.
 * Owner: the caller, who ends it by cor_figures_deinit().  Thread: the gathering functions run on
 * the loop of what they read, the others on any. */
#ifndef COR_CLIENT_METRICS_FIGURES_H
#define COR_CLIENT_METRICS_FIGURES_H

#include "base/buf.h"
#include "client/informers/informers_int.h"
#include "kit/rest/rest_metrics.h"

struct cor_client_figures {
    char *host; /* as the value of a label, quotes included */
    struct cor_rest_metrics metrics;
};

struct cor_informer_figures {
    char *labels; /* without braces */
    size_t nobjects;
    struct cor_reflector_stats stats;
};

/* Zeroed at the beginning. */
struct cor_figures {
    struct cor_client_figures *clients;
    size_t nclients;
    struct cor_informer_figures *informers;
    size_t ninformers;
};

/* Adds a client; on its loop. 0, -COR_ENOMEM. */
int cor_figures_add_client(struct cor_figures *figures, const struct cor_client *client);

/* Adds the informers of a set; on its loop. 0, -COR_ENOMEM. */
int cor_figures_add_informers(struct cor_figures *figures, const struct cor_informers *set);

/* Writes the families of clients and informers. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_figures_write(const struct cor_figures *figures, struct cor_buf *out);

void cor_figures_deinit(struct cor_figures *figures);

#endif
