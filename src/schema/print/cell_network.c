/* The cells of Services, Endpoints, EndpointSlices, Ingresses, IngressClasses and IPAddresses. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/print/cell_hooks.h"

/* A cell shows at most this many endpoints, ports or hosts, and then the number of the others. */
#define SHOWN_MAX 3

/* Adds a comma unless the text is the first one. */
static void add_comma(struct cor_cells *cells, bool *is_begun)
{
    if (*is_begun)
        cor_json_add_text(cells->w, COR_STR(","));
    *is_begun = true;
}

static void add_more(struct cor_cells *cells, size_t n)
{
    cor_json_add_text(cells->w, COR_STR(" + "));
    cor_json_add_i64(cells->w, (int64_t)n);
    cor_json_add_text(cells->w, COR_STR(" more..."));
}

/* --- load balancers -------------------------------------------------------------------------- */

static int raw_cmp(const void *a, const void *b)
{
    return cor_json_raw_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

/* Adds the addresses or names of a load balancer, sorted, each once. */
static void add_balancer(struct cor_cells *cells, bool *is_begun)
{
    struct cor_str ingress =
        cor_cell_member(cor_cells_at(cells, "status", "loadBalancer"), "ingress");
    struct cor_json_iter it = cor_json_iter(ingress);
    size_t max = cor_cell_count(ingress), n = 0;
    struct cor_str *all;

    if (max == 0)
        return;
    all = cor_calloc(max, sizeof(*all));
    if (!all) {
        if (!cells->w->error)
            cells->w->error = -COR_ENOMEM;
        return;
    }
    while (n < max && cor_json_iter_elem(&it)) {
        struct cor_str one = cor_json_iter_open_value(&it);

        all[n] = cor_cell_raw(cor_cell_member(one, "ip"));
        if (all[n].n == 0)
            all[n] = cor_cell_raw(cor_cell_member(one, "hostname"));
        n += all[n].n > 0;
    }
    qsort(all, n, sizeof(*all), raw_cmp);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && raw_cmp(&all[i - 1], &all[i]) == 0)
            continue;
        add_comma(cells, is_begun);
        cor_json_add_raw_text(cells->w, all[i]);
    }
    cor_free(all);
}

void cor_cell_ingress_addresses(struct cor_cells *cells)
{
    bool is_begun = false;

    cor_json_begin_string(cells->w);
    add_balancer(cells, &is_begun);
    cor_json_end_string(cells->w);
}

/* --- Services -------------------------------------------------------------------------------- */

void cor_cell_service_cluster_ip(struct cor_cells *cells)
{
    struct cor_json_iter it = cor_json_iter(cor_cells_at(cells, "spec", "clusterIPs"));

    if (cor_json_iter_elem(&it))
        cor_cells_put_raw(cells, cor_cell_raw(cor_json_iter_open_value(&it)), "");
    else
        cor_cells_put(cells, "<none>");
}

void cor_cell_service_external_ip(struct cor_cells *cells)
{
    struct cor_str spec = cor_cells_top(cells, "spec"), type = cor_cell_member(spec, "type");
    struct cor_json_iter it = cor_json_iter(cor_cell_member(spec, "externalIPs"));
    bool is_balancer = cor_cell_is(type, "LoadBalancer"), is_begun = false;

    if (cor_cell_is(type, "ExternalName")) {
        cor_cells_put_raw(cells, cor_cell_raw(cor_cell_member(spec, "externalName")), "");
        return;
    }
    if (!is_balancer && !cor_cell_is(type, "ClusterIP") && !cor_cell_is(type, "NodePort")) {
        cor_cells_put(cells, "<unknown>");
        return;
    }
    cor_json_begin_string(cells->w);
    if (is_balancer)
        add_balancer(cells, &is_begun);
    while (cor_json_iter_elem(&it)) {
        add_comma(cells, &is_begun);
        cor_json_add_raw_text(cells->w, cor_cell_raw(cor_json_iter_open_value(&it)));
    }
    if (!is_begun)
        cor_json_add_text(cells->w, is_balancer ? COR_STR("<pending>") : COR_STR("<none>"));
    cor_json_end_string(cells->w);
}

void cor_cell_service_ports(struct cor_cells *cells)
{
    struct cor_json_iter it = cor_json_iter(cor_cells_at(cells, "spec", "ports"));
    bool is_begun = false;

    cor_json_begin_string(cells->w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str one = cor_json_iter_open_value(&it);
        int64_t node_port = cor_cell_number(cor_cell_member(one, "nodePort"));

        add_comma(cells, &is_begun);
        cor_json_add_i64(cells->w, cor_cell_number(cor_cell_member(one, "port")));
        if (node_port > 0) {
            cor_json_add_text(cells->w, COR_STR(":"));
            cor_json_add_i64(cells->w, node_port);
        }
        cor_json_add_text(cells->w, COR_STR("/"));
        cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(one, "protocol")));
    }
    if (!is_begun)
        cor_json_add_text(cells->w, COR_STR("<none>"));
    cor_json_end_string(cells->w);
}

/* --- Endpoints and EndpointSlices ------------------------------------------------------------ */

/* An address, and a port unless it is NULL; an address of IPv6 is in brackets. */
static void add_endpoint(struct cor_cells *cells, struct cor_str ip, const int64_t *port)
{
    bool has_brackets = port && (cor_str_find(ip, ':') >= 0 || cor_str_find(ip, '%') >= 0);

    if (has_brackets)
        cor_json_add_text(cells->w, COR_STR("["));
    cor_json_add_raw_text(cells->w, ip);
    if (has_brackets)
        cor_json_add_text(cells->w, COR_STR("]"));
    if (!port)
        return;
    cor_json_add_text(cells->w, COR_STR(":"));
    cor_json_add_i64(cells->w, *port);
}

/* Adds the addresses of a subset for one of its ports, as far as there is room; counts them all. */
static void add_endpoints(struct cor_cells *cells, struct cor_str addresses, const int64_t *port,
                          size_t *n)
{
    struct cor_json_iter it = cor_json_iter(addresses);

    for (; cor_json_iter_elem(&it); ++*n) {
        bool is_begun = *n > 0;

        if (*n >= SHOWN_MAX)
            continue;
        add_comma(cells, &is_begun);
        add_endpoint(cells, cor_cell_raw(cor_cell_member(cor_json_iter_open_value(&it), "ip")),
                     port);
    }
}

void cor_cell_endpoints(struct cor_cells *cells)
{
    struct cor_str subsets = cor_cells_top(cells, "subsets");
    struct cor_json_iter it = cor_json_iter(subsets);
    size_t n = 0, nsubsets = 0;

    cor_json_begin_string(cells->w);
    for (; cor_json_iter_elem(&it); nsubsets++) {
        struct cor_str one = cor_json_iter_open_value(&it);
        struct cor_str addresses = cor_cell_member(one, "addresses");
        struct cor_str ports = cor_cell_member(one, "ports");
        struct cor_json_iter port_it = cor_json_iter(ports);
        size_t naddresses = 0, nports = 0;

        for (; cor_json_iter_elem(&port_it); nports++) {
            int64_t port =
                cor_cell_number(cor_cell_member(cor_json_iter_open_value(&port_it), "port"));

            /* When no more are shown, the addresses of the other ports are only counted. */
            if (n < SHOWN_MAX) {
                size_t before = n;

                add_endpoints(cells, addresses, &port, &n);
                naddresses = n - before;
            } else {
                if (naddresses == 0)
                    naddresses = cor_cell_count(addresses);
                n += naddresses;
            }
        }
        if (nports == 0)
            add_endpoints(cells, addresses, NULL, &n);
    }
    if (nsubsets == 0)
        cor_json_add_text(cells->w, COR_STR("<none>"));
    if (n > SHOWN_MAX)
        add_more(cells, n - SHOWN_MAX);
    cor_json_end_string(cells->w);
}

/* Ends a list of which `n` are there: "<unset>" stands for an empty text. */
static void end_list(struct cor_cells *cells, size_t n, size_t start)
{
    if (n > SHOWN_MAX)
        add_more(cells, n - SHOWN_MAX);
    else if (cells->w->out->n == start)
        cor_json_add_text(cells->w, COR_STR("<unset>"));
    cor_json_end_string(cells->w);
}

void cor_cell_slice_ports(struct cor_cells *cells)
{
    struct cor_json_iter it = cor_json_iter(cor_cells_top(cells, "ports"));
    bool is_begun = false;
    size_t n = 0, start;

    cor_json_begin_string(cells->w);
    start = cells->w->out->n;
    for (; cor_json_iter_elem(&it); n++) {
        struct cor_str one = cor_json_iter_open_value(&it);
        struct cor_str port = cor_cell_member(one, "port"), name = cor_cell_member(one, "name");

        if (n >= SHOWN_MAX)
            continue;
        add_comma(cells, &is_begun);
        if (port.p)
            cor_json_add_i64(cells->w, cor_cell_number(port));
        else if (name.p)
            cor_json_add_raw_text(cells->w, cor_cell_raw(name));
        else
            cor_json_add_text(cells->w, COR_STR("*"));
    }
    end_list(cells, n, start);
}

void cor_cell_slice_endpoints(struct cor_cells *cells)
{
    struct cor_json_iter it = cor_json_iter(cor_cells_top(cells, "endpoints"));
    bool is_begun = false;
    size_t n = 0, start;

    cor_json_begin_string(cells->w);
    start = cells->w->out->n;
    while (cor_json_iter_elem(&it)) {
        struct cor_json_iter addresses =
            cor_json_iter(cor_cell_member(cor_json_iter_open_value(&it), "addresses"));

        for (; cor_json_iter_elem(&addresses); n++) {
            if (n >= SHOWN_MAX)
                continue;
            add_comma(cells, &is_begun);
            cor_json_add_raw_text(cells->w, cor_cell_raw(cor_json_iter_open_value(&addresses)));
        }
    }
    end_list(cells, n, start);
}

/* --- Ingresses ------------------------------------------------------------------------------- */

/* Rules without a host are not shown; those behind the last host that is shown are counted. */
void cor_cell_ingress_hosts(struct cor_cells *cells)
{
    struct cor_json_iter it = cor_json_iter(cor_cells_at(cells, "spec", "rules"));
    size_t nshown = 0, n = 0;
    bool is_begun = false, has_more = false;

    cor_json_begin_string(cells->w);
    for (; cor_json_iter_elem(&it); n++) {
        struct cor_str host = cor_cell_raw(cor_cell_member(cor_json_iter_open_value(&it), "host"));

        has_more = has_more || nshown == SHOWN_MAX;
        if (has_more || host.n == 0)
            continue;
        add_comma(cells, &is_begun);
        cor_json_add_raw_text(cells->w, host);
        nshown++;
    }
    if (nshown == 0)
        cor_json_add_text(cells->w, COR_STR("*"));
    else if (has_more)
        add_more(cells, n - SHOWN_MAX);
    cor_json_end_string(cells->w);
}

void cor_cell_ingress_ports(struct cor_cells *cells)
{
    struct cor_json_iter tls = cor_json_iter(cor_cells_at(cells, "spec", "tls"));

    cor_cells_put(cells, cor_json_iter_elem(&tls) ? "80, 443" : "80");
}

void cor_cell_ingress_parameters(struct cor_cells *cells)
{
    struct cor_str parameters = cor_cells_at(cells, "spec", "parameters");
    struct cor_str group = cor_cell_member(parameters, "apiGroup");

    if (!parameters.p) {
        cor_cells_put(cells, "<none>");
        return;
    }
    cor_json_begin_string(cells->w);
    cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(parameters, "kind")));
    if (group.p) {
        cor_json_add_text(cells->w, COR_STR("."));
        cor_json_add_raw_text(cells->w, cor_cell_raw(group));
    }
    cor_json_add_text(cells->w, COR_STR("/"));
    cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(parameters, "name")));
    cor_json_end_string(cells->w);
}

void cor_cell_address_parent(struct cor_cells *cells)
{
    struct cor_str parent = cor_cells_at(cells, "spec", "parentRef");
    struct cor_str group = cor_cell_raw(cor_cell_member(parent, "group"));
    struct cor_str ns = cor_cell_raw(cor_cell_member(parent, "namespace"));

    if (!parent.p) {
        cor_cells_put(cells, "<none>");
        return;
    }
    cor_json_begin_string(cells->w);
    cor_cells_add_lower(cells, cor_cell_raw(cor_cell_member(parent, "resource")));
    if (group.n > 0) {
        cor_json_add_text(cells->w, COR_STR("."));
        cor_cells_add_lower(cells, group);
    }
    cor_json_add_text(cells->w, COR_STR("/"));
    if (ns.n > 0) {
        cor_json_add_raw_text(cells->w, ns);
        cor_json_add_text(cells->w, COR_STR("/"));
    }
    cor_json_add_raw_text(cells->w, cor_cell_raw(cor_cell_member(parent, "name")));
    cor_json_end_string(cells->w);
}
