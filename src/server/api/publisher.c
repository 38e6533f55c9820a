/* Makes the next snapshot of what is served, of the built-in rows, the rows of custom resources and
 * the APIServices, and gives it to all loops.
 * Failures: no memory, too many rows or services; nothing is published then, and the caller tries
 * again.
 * Thread: the first loop of the API. */
#include "server/api/publisher.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "server/api/api.h"
#include "server/api/api_int.h"

void cor_publisher_init(struct cor_publisher *p, struct cor_api *api, uint64_t generation)
{
    *p = (struct cor_publisher){.api = api, .generation = generation};
}

static void publisher_drop_services(struct cor_publisher *p)
{
    for (size_t i = 0; i < p->nservices; i++)
        cor_api_service_unref(p->services[i]);
    p->services = cor_free(p->services);
    p->nservices = 0;
}

void cor_publisher_deinit(struct cor_publisher *p)
{
    publisher_drop_services(p);
    p->remote_docs = cor_remote_docs_unref(p->remote_docs);
}

struct cor_publisher *cor_api_publisher(struct cor_api *api)
{
    return &api->publisher;
}

void cor_publisher_set_maker(struct cor_publisher *p, struct cor_row_maker *maker)
{
    assert(!maker || !p->maker);
    p->maker = maker;
}

int cor_publisher_set_services(struct cor_publisher *p, struct cor_api_service *const *services,
                               size_t nservices)
{
    struct cor_api_service **copies = NULL;

    if (nservices > 0) {
        copies = cor_calloc(nservices, sizeof(struct cor_api_service *));
        if (!copies)
            return -COR_ENOMEM;
    }
    for (size_t i = 0; i < nservices; i++)
        copies[i] = cor_api_service_ref(services[i]);
    publisher_drop_services(p);
    p->services = copies;
    p->nservices = nservices;
    return 0;
}

void cor_publisher_set_remote_docs(struct cor_publisher *p, struct cor_remote_docs *docs)
{
    struct cor_remote_docs *old = p->remote_docs;

    p->remote_docs = cor_remote_docs_ref(docs);
    cor_remote_docs_unref(old);
}

int cor_publisher_custom_rows(struct cor_publisher *p, const struct cor_resource_row ***ret_rows,
                              size_t *ret_n)
{
    size_t max = p->maker ? p->maker->nrows_max(p->maker) : 0;
    const struct cor_resource_row **rows = NULL;

    if (max > 0) {
        rows = cor_calloc(max, sizeof(rows[0]));
        if (!rows)
            return -COR_ENOMEM;
        max = p->maker->add_rows(p->maker, rows);
    }
    *ret_rows = rows;
    *ret_n = max;
    return 0;
}

int cor_publisher_publish(struct cor_publisher *p)
{
    const struct cor_resource_row *builtins, **rows;
    struct cor_served_opts opts = {.services = p->services,
                                   .nservices = p->nservices,
                                   .remote_docs = p->remote_docs,
                                   .generation = p->generation + 1};
    struct cor_served *served;
    size_t nbuiltins, max;
    int r;

    assert(cor_loop_is_current(cor_api_home(p->api)->loop));
    builtins = cor_api_builtins(&nbuiltins);
    max = nbuiltins + (p->maker ? p->maker->nrows_max(p->maker) : 0);
    rows = cor_calloc(max, sizeof(rows[0]));
    if (!rows)
        return -COR_ENOMEM;
    for (size_t i = 0; i < nbuiltins; i++)
        rows[i] = &builtins[i];
    opts.rows = rows;
    opts.nrows = nbuiltins + (p->maker ? p->maker->add_rows(p->maker, rows + nbuiltins) : 0);
    assert(opts.nrows <= max);
    r = cor_served_new(&opts, &served);
    cor_free(rows);
    if (r < 0)
        return r;
    p->generation++;
    cor_api_publish(p->api, served);
    cor_served_unref(served);
    if (p->maker)
        p->maker->on_published(p->maker);
    return 0;
}
