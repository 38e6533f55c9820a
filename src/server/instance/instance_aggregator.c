/* How the server reaches aggregated API servers, by its flags: --aggregator-resolve, the front
 * proxy's certificate, redirections. The headers of --requestheader-… never go to an aggregated
 * server from a client, because that server may believe them. Thread: home, before the loops run
 * and after them. */
#include "base/err.h"
#include "server/instance/instance_int.h"

int cor_instance_open_aggregator(struct cor_instance *in, struct cor_status *st)
{
    const struct cor_instance_opts *o = &in->opts;
    const struct cor_aggregator_opts opts = {
        .api = in->api,
        .nloops = in->nworkers,
        .config = &in->target_config,
        .names = {.names = {o->requestheader_lists[COR_PROXY_USERNAMES],
                            o->requestheader_lists[COR_PROXY_UIDS],
                            o->requestheader_lists[COR_PROXY_GROUPS]},
                  .prefixes = o->requestheader_lists[COR_PROXY_EXTRA_PREFIXES]},
        .forwards_redirects = !o->rejects_redirects};
    int r = 0;

    in->target_config.cert_file = in->credentials.front_proxy.cert;
    in->target_config.key_file = in->credentials.front_proxy.key;
    if (o->aggregator_resolve)
        r = cor_resolve_overrides_add(&in->target_config.overrides, cor_strz(o->aggregator_resolve),
                                      st);
    if (r == 0)
        r = cor_aggregator_new(&opts, &in->aggregator);
    if (r == 0)
        cor_api_set_remote(in->api, cor_aggregator_answer, in->aggregator);
    return r;
}

void cor_instance_free_aggregator(struct cor_instance *in)
{
    in->aggregator = cor_aggregator_free(in->aggregator);
    cor_resolve_overrides_deinit(&in->target_config.overrides);
}
