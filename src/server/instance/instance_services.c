/* The APIServices of an instance: they start on the first worker, when the custom resources are
 * served, and the start of the instance waits until they are published.
 * Thread: home, except the functions that say otherwise. */
#include "base/err.h"
#include "server/instance/instance_int.h"

int cor_instance_open_services(struct cor_instance *in, struct cor_status *st)
{
    const struct cor_api_services_opts opts = {
        .api = in->api, .config = &in->target_config, .metrics = in->metrics};

    return cor_api_services_new(&opts, &in->services, st);
}

/* On the first worker's loop. */
static void on_start_services(struct cor_mail *mail)
{
    struct cor_instance *in = COR_CONTAINER_OF(mail, struct cor_instance, mail);

    in->services_err = cor_api_services_start(in->services, &in->bootstrap_status);
    cor_instance_answer_home(in);
}

int cor_instance_start_services(struct cor_instance *in, struct cor_status *st)
{
    in->waiting++;
    in->mail.on_mail = on_start_services;
    cor_dlist_init(&in->mail.link);
    cor_loop_post_always(in->workers[0].loop, &in->mail);
    cor_instance_wait(in);
    if (in->services_err < 0) {
        cor_status_move(st, &in->bootstrap_status);
        return in->services_err;
    }
    in->are_services_started = true;
    return 0;
}

bool cor_instance_has_services(const struct cor_instance *in)
{
    return cor_api_services_are_published(in->services);
}
