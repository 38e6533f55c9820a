/* The delegation of an instance (--authentication-kubeconfig, --authorization-kubeconfig): its
 * clients on each worker's loop, and on the first one the lookup of whom to believe, which the
 * start waits for. Without flags none of it is there. Thread: home, except what a comment says runs
 * on a worker's loop. */
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "server/instance/instance_int.h"

static bool looks_up(const struct cor_instance *in)
{
    return in->opts.authentication_kubeconfig && !in->opts.authentication_skip_lookup;
}

bool cor_instance_asks_certs(const struct cor_instance *in)
{
    return in->opts.client_ca_file || in->opts.requestheader_ca_file || looks_up(in);
}

int cor_instance_open_delegation(struct cor_instance *in, struct cor_status *reterr_status)
{
    const struct cor_instance_opts *o = &in->opts;
    const struct cor_delegation_opts opts = {
        .authentication_kubeconfig = o->authentication_kubeconfig,
        .authorization_kubeconfig = o->authorization_kubeconfig,
        .token_ttl_ms = o->token_ttl_ms,
        .allowed_ttl_ms = o->authorized_ttl_ms,
        .unallowed_ttl_ms = o->unauthorized_ttl_ms,
        .always_allow_paths = o->always_allow_paths};
    int r;

    if (!o->authentication_kubeconfig && !o->authorization_kubeconfig)
        return 0;
    r = cor_delegation_new(&opts, in->nworkers, &in->delegation, reterr_status);
    if (r == 0 && o->authorization_kubeconfig)
        cor_delegated_authorizer_init(&in->delegated, in->delegation);
    for (size_t i = 0; r == 0 && i < in->nworkers; i++)
        r = cor_delegation_open_loop(in->delegation, i, in->workers[i].loop, reterr_status);
    return r;
}

/* On the first worker's loop. */
static void lookup_on_first(void *arg, int r, const char *text)
{
    struct cor_instance *in = arg;

    in->lookup_err = r;
    snprintf(in->lookup_why, sizeof(in->lookup_why), "%s", text);
    cor_instance_answer_home(in);
}

/* On the first worker's loop. */
static void lookup_on_start(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_instance, mail);
    const struct cor_trust_lookup_opts opts = {.delegate =
                                                   cor_delegation_authenticator(in->delegation, 0),
                                               .trust = in->trust,
                                               .wants_client_ca = !in->opts.client_ca_file,
                                               .wants_proxy = !in->opts.requestheader_ca_file,
                                               .on_first = lookup_on_first,
                                               .arg = in};
    int r = cor_trust_lookup_open(&opts, &in->lookup);

    if (r < 0)
        lookup_on_first(in, r, cor_err_text(r));
}

int cor_instance_start_lookup(struct cor_instance *in, struct cor_status *reterr_status)
{
    if (!looks_up(in) || (in->opts.client_ca_file && in->opts.requestheader_ca_file))
        return 0;
    in->waiting++;
    in->mail.on_mail = lookup_on_start;
    cor_dlist_init(&in->mail.link);
    cor_loop_post_always(in->workers[0].loop, &in->mail);
    cor_instance_wait(in);
    if (in->lookup_err == 0)
        return 0;
    if (!in->opts.authentication_tolerate_lookup_failure)
        return cor_status_set(reterr_status, in->lookup_err,
                              "unable to load configmap based request-header-client-ca-file: %s",
                              in->lookup_why);
    COR_LOG_WARN("Error looking up in-cluster authentication configuration; it is tried again",
                 COR_F_STR("error", in->lookup_why));
    return 0;
}

static void worker_on_delegation_closed(void *arg)
{
    struct cor_worker *w = arg;

    w->mail.on_mail = cor_instance_on_worker_answer;
    cor_dlist_init(&w->mail.link);
    cor_loop_post_always(w->instance->home, &w->mail);
}

void cor_instance_worker_close_delegation(struct cor_mail *mail)
{
    struct cor_worker *w = COR_CONTAINER_OF(mail, struct cor_worker, mail);
    struct cor_instance *in = w->instance;

    if (w->index == 0)
        in->lookup = cor_trust_lookup_close(in->lookup);
    cor_delegation_close_loop(in->delegation, w->index, worker_on_delegation_closed, w);
}
