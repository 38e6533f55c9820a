/* clang-format off */
/* The Service `default/kubernetes` in the life of an instance (kubernetes_service.h has what it
 * does): which address its endpoints get, its start and its end.
 *
 *   --advertise-address ──► else --bind-address, if it is one address that others can reach ──► all
 *   addresses (0.0.0.0, ::): the one that packets to other networks leave by ──► none: a server that
 *   listens on loopback has no address that belongs into endpoints
 *
 * The instance is open when the first pass has ended, so that whoever waits for the server finds
 * the Service. A pass that fails does not keep the server from starting.
 * Thread: home, except what a comment says runs on the first worker's loop. */
/* clang-format on */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "net/host/host.h"
#include "schema/format/format.h"
#include "server/alloc/alloc.h"
#include "server/instance/instance_int.h"
#include "server/instance/kubernetes_service.h"

/* Can it be the address of an endpoint? */
static bool is_reachable(const char *address)
{
    return cor_format_ok(COR_FORMAT_ENDPOINT_IP, cor_strz(address));
}

int cor_instance_check_advertised(const struct cor_instance_opts *opts, struct cor_status *st)
{
    const char *address = opts->advertise_address;

    if (address && !is_reachable(address))
        return cor_status_set(st, -COR_EINVAL,
                              "--advertise-address \"%s\" is not a numeric address by which other "
                              "hosts can reach this server",
                              address);
    return 0;
}

/* False: there is none. */
static bool instance_find_advertised(const struct cor_instance *in, struct cor_addr *ret_address)
{
    const char *address = in->opts.advertise_address, *bind = in->opts.bind_address;
    char found[COR_HOST_SOURCE_MAX];

    if (!address)
        address = bind;
    if (strcmp(address, "0.0.0.0") == 0 || strcmp(address, "::") == 0) {
        if (cor_host_outgoing(strchr(address, ':') != NULL, found) < 0)
            return false;
        address = found;
    }
    return is_reachable(address) && cor_addr_parse(cor_strz(address), ret_address) == 0;
}

int cor_instance_open_service(struct cor_instance *in, struct cor_status *st)
{
    const char *reconciler = in->opts.endpoint_reconciler;
    struct cor_kubernetes_service_opts opts = {
        .api = in->api, .ip = cor_alloc_first_address(in->alloc), .port = in->port};

    opts.has_others = cor_engine_shares_store(in->engine);
    opts.is_advertised = instance_find_advertised(in, &opts.advertised);
    /* Of several servers those that can be reached look after the endpoints. */
    opts.has_endpoints = !(reconciler && strcmp(reconciler, "none") == 0) &&
                         (opts.is_advertised || !opts.has_others);
    return cor_kubernetes_service_new(&opts, &in->service, st);
}

static void on_service_checked(void *arg)
{
    struct cor_instance *in = arg;

    atomic_store(&in->is_service_checked, true);
    cor_instance_answer_home(in);
}

static void on_service_checked_later(void *arg)
{
    atomic_store(&((struct cor_instance *)arg)->is_service_checked, true);
}

/* Both on the first worker's loop. */
static void worker_on_start_service(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance;

    cor_kubernetes_service_start(in->service, on_service_checked, in);
}

static void worker_on_start_service_only(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_worker, mail)->instance;

    cor_kubernetes_service_start(in->service, on_service_checked_later, in);
    cor_instance_answer_home(in);
}

void cor_instance_start_service(struct cor_instance *in, bool waits)
{
    struct cor_worker *w = &in->workers[0];

    assert(cor_loop_is_current(in->home) && in->service && in->waiting == 0);
    in->is_service_started = true;
    in->waiting = 1;
    w->mail.on_mail = waits ? worker_on_start_service : worker_on_start_service_only;
    cor_dlist_init(&w->mail.link);
    cor_loop_post_always(w->loop, &w->mail);
    cor_instance_wait(in);
}
