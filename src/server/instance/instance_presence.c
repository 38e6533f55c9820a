/* How this server makes itself known. In the store, for `coracle store status` and for operators: a
 * key that is unique to the process, with its version, address and start; the engine removes the
 * key at its end. In the API: its upkeep (server_upkeep.h) has the identity Lease. A failure is
 * logged and nothing more: serving does not depend on either. Thread: home. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rand.h"
#include "coracle/version.h"
#include "meta/value/time_text.h"
#include "server/instance/instance_int.h"
#include "server/instance/server_upkeep.h"
#include "json/write/print.h"

#define HOST_MAX  256
#define BYTES_MAX 2048

static struct cor_str presence_host(char host[HOST_MAX])
{
    host[0] = host[HOST_MAX - 1] = '\0';
    if (gethostname(host, HOST_MAX - 1) < 0 || !host[0])
        snprintf(host, HOST_MAX, "unknown");
    return cor_strz(host);
}

/* The host's name and a random number: a host may run several servers, at once or in turn. */
static int presence_write_key(struct cor_buf *out)
{
    char host[HOST_MAX];
    struct cor_rand rand;

    (void)presence_host(host);
    cor_rand_init(&rand);
    return cor_buf_addf(out, COR_SERVERS_PREFIX "%s-%08x", host, (unsigned)cor_rand_u64(&rand));
}

static int presence_write_value(const struct cor_instance *in, struct cor_buf *out)
{
    const char *prefix = in->opts.path_prefix;
    const char *bind = in->opts.bind_address;
    char since[COR_TIME_TEXT_MAX], address[COR_INSTANCE_TEXT_MAX];
    struct cor_json_writer w;

    /* The bind address and not the URL: for 0.0.0.0 the URL names the loopback address, which is of
     * no use on other hosts. */
    snprintf(address, sizeof(address), strchr(bind, ':') ? "https://[%s]%s" : "https://%s%s", bind,
             strrchr(in->url, ':'));
    cor_json_writer_init(&w, out);
    cor_json_print(&w, "{version:%s,pid:%d,address:%s,since:%s,prefix:%s}", COR_VERSION, getpid(),
                   address, cor_time_print(cor_clock_wall_ms(cor_clock_real()) / 1000, since),
                   prefix ? prefix : COR_STORE_PATH_PREFIX_DEFAULT);
    return cor_json_writer_finish(&w);
}

void cor_instance_announce(struct cor_instance *instance)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key, value;
    int r;

    assert(instance->engine && instance->url[0]);
    cor_buf_init(&key, BYTES_MAX);
    cor_buf_init(&value, BYTES_MAX);
    r = presence_write_key(&key);
    if (r == 0)
        r = presence_write_value(instance, &value);
    if (r == 0)
        r = cor_engine_announce(instance->engine, cor_buf_str(&key), cor_buf_str(&value));
    if (r < 0)
        COR_LOG_DEBUG("this server is not listed in the store",
                      COR_F_STR("error", cor_err_text(r)));
}

/* What aggregated servers are told. Most of them complain as long as there is no client CA: without
 * one it is the CA of this server's own certificate, as in other clusters; it signs no client.
 * While our own certificate is used, its CA is beside that of the flags, and its name beside the
 * names that are allowed, unless any is. */
static void presence_set_trust(struct cor_instance *instance)
{
    static const struct cor_str usual[COR_PROXY_LISTS] = {
        [COR_PROXY_USERNAMES] = COR_STR("X-Remote-User"),
        [COR_PROXY_UIDS] = COR_STR("X-Remote-Uid"),
        [COR_PROXY_GROUPS] = COR_STR("X-Remote-Group"),
        [COR_PROXY_EXTRA_PREFIXES] = COR_STR("X-Remote-Extra-"),
    };
    const struct cor_instance_opts *o = &instance->opts;
    struct cor_cluster_trust *trust = &instance->cluster_trust;

    trust->client_ca_file = o->client_ca_file;
    if (!o->tls_cert_file)
        trust->client_ca_pem = cor_buf_str(&instance->credentials.ca_pem);
    trust->proxy_ca_file = o->requestheader_ca_file;
    trust->proxy_ca_pem = cor_buf_str(&instance->credentials.front_proxy.ca_pem);
    for (size_t i = 0; i < COR_PROXY_LISTS; i++)
        trust->lists[i] =
            o->requestheader_lists[i] ? cor_strz(o->requestheader_lists[i]) : usual[i];
    if (trust->proxy_ca_pem.n > 0 &&
        (!trust->proxy_ca_file || trust->lists[COR_PROXY_ALLOWED].n > 0))
        trust->allowed_too = COR_STR(COR_FRONT_PROXY_CN);
}

int cor_instance_start_upkeep(struct cor_instance *instance)
{
    char host[HOST_MAX];
    int r;

    presence_set_trust(instance);
    r = cor_server_upkeep_new(instance->api, presence_host(host), &instance->cluster_trust,
                              &instance->upkeep);

    if (r < 0)
        return r;
    instance->is_upkeep_started = true;
    cor_server_upkeep_start(instance->upkeep);
    return 0;
}
