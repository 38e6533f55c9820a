/* The controllers inside the server in the life of an instance
 * (server/controllers/host/controllers.h has what they do). They start when the instance is open,
 * and nothing waits for them: readiness does not depend on them. The end: instance_close.c. Thread:
 * home, except what a comment says runs on the controllers' loop. */
#include <assert.h>

#include "server/controllers/host/controllers.h"
#include "server/instance/instance_int.h"

struct cor_worker *cor_instance_controllers_worker(struct cor_instance *instance)
{
    return &instance->workers[instance->nworkers - 1];
}

int cor_instance_open_controllers(struct cor_instance *in, struct cor_status *st)
{
    const struct cor_controller_host_opts opts = {
        .api = cor_api_loop(in->api, cor_instance_controllers_worker(in)->index),
        .controllers = in->opts.controllers,
        .has_others = cor_engine_shares_store(in->engine),
        .root_ca = cor_buf_str(&in->credentials.ca_pem),
    };

    int r = cor_controller_host_new(&opts, &in->controllers, st);

    return r < 0 ? r : cor_controller_host_add_metrics(in->controllers, in->metrics);
}

/* On the controllers' loop. */
static void instance_on_start_controllers(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_instance, controllers_mail);

    cor_controller_host_start(in->controllers);
}

/* The mail is one of its own, because nothing tells when it was delivered. The mail of the stop
 * goes to the same loop, and is delivered after it. */
void cor_instance_start_controllers(struct cor_instance *in)
{
    assert(cor_loop_is_current(in->home) && in->controllers);
    in->are_controllers_started = true;
    in->controllers_mail.on_mail = instance_on_start_controllers;
    cor_dlist_init(&in->controllers_mail.link);
    cor_loop_post_always(cor_instance_controllers_worker(in)->loop, &in->controllers_mail);
}
