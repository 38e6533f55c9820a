/* Parses --etcd-servers: URLs with commas between them, each "http://" or "https://", a host, and
 * optionally a port and a final slash. The first URL that is wrong, a mixture of http and https,
 * and too many members are refused with a status that names the flag; what was parsed before is
 * freed. Thread: any. */
#include "storage/etcd/etcd_endpoint.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/host/host.h"

#define PORT_DEFAULT 2379

static int bad_url(struct cor_str url, struct cor_status *reterr_status)
{
    return cor_status_set(reterr_status, -COR_EINVAL,
                          "--etcd-servers: \"%.*s\" is no URL such as https://127.0.0.1:2379",
                          COR_STR_ARG(url));
}

static int parse(struct cor_str url, struct etcd_endpoints *all, struct cor_status *reterr_status)
{
    struct etcd_endpoint *e = &all->at[all->n];
    bool is_tls = cor_str_starts(url, COR_STR("https://"));
    struct cor_str rest, host;

    if (!is_tls && !cor_str_starts(url, COR_STR("http://")))
        return bad_url(url, reterr_status);
    if (all->n > 0 && is_tls != all->is_tls)
        return cor_status_set(reterr_status, -COR_EINVAL,
                              "--etcd-servers: all must be https, or none");
    all->is_tls = is_tls;
    rest = cor_str_from(url, is_tls ? 8 : 7);
    if (cor_str_ends(rest, COR_STR("/")))
        rest.n--;
    if (cor_host_split(rest, PORT_DEFAULT, &host, &e->port) < 0 || cor_str_find(host, '/') >= 0)
        return bad_url(url, reterr_status);
    e->host = cor_strndup(host.p, host.n);
    if (!e->host)
        return cor_status_no_memory(reterr_status);
    all->n++;
    return 0;
}

int cor_etcd_endpoints_parse(const char *urls, struct etcd_endpoints *ret_endpoints,
                             struct cor_status *reterr_status)
{
    struct etcd_endpoints all = {.n = 0};
    struct cor_str rest = cor_strz(urls);
    int r = 0;

    while (rest.n > 0 && r == 0) {
        struct cor_str url = cor_str_trim(cor_str_cut(&rest, ','));

        if (all.n == ETCD_ENDPOINTS_MAX)
            r = cor_status_set(reterr_status, -COR_EINVAL, "--etcd-servers: at most %d members",
                               ETCD_ENDPOINTS_MAX);
        else
            r = parse(url, &all, reterr_status);
    }
    if (r == 0 && all.n == 0)
        r = cor_status_set(reterr_status, -COR_EINVAL, "--etcd-servers must be specified");
    if (r < 0)
        cor_etcd_endpoints_deinit(&all);
    else
        *ret_endpoints = all;
    return r;
}

void cor_etcd_endpoints_deinit(struct etcd_endpoints *endpoints)
{
    for (size_t i = 0; i < endpoints->n; i++)
        cor_free(endpoints->at[i].host);
    endpoints->n = 0;
}
