#include "fake_informer.h"

#include "test.h"

void fake_begin_with(struct fake *f, struct cor_cache_controller_opts opts)
{
    *f = (struct fake){.listeners = {{"", f->heard[0]}, {"", f->heard[1]}}};
    fake_server_init(&f->server, f->requests);
    opts.driver = &f->server.driver;
    opts.clock = &f->server.clk.clock;
    assert_int_equal(cor_shared_informer_new(&opts, &f->inf), 0);
    f->server.to = cor_shared_informer_reflector(f->inf);
}

void fake_begin(struct fake *f)
{
    fake_begin_with(f, (struct cor_cache_controller_opts){0});
}

void fake_end(struct fake *f)
{
    cor_shared_informer_stop(f->inf);
    cor_shared_informer_free(f->inf);
}

void fake_step(struct fake *f)
{
    while (cor_shared_informer_step(f->inf, 3))
        ;
}

void fake_sync_with(struct fake *f, const char *objects, const char *rv)
{
    cor_shared_informer_start(f->inf);
    fake_server_list(&f->server, objects, rv);
    fake_server_opened(&f->server);
    fake_step(f);
    f->requests[0] = f->heard[0][0] = f->heard[1][0] = '\0';
}

struct cor_registration *fake_hear(struct fake *f, int i)
{
    struct cor_registration_opts opts = cor_registration_defaults();
    struct cor_registration *reg;

    opts.handler = listener_handler(&f->listeners[i]);
    assert_int_equal(cor_shared_informer_add_handler(f->inf, &opts, &reg), 0);
    return reg;
}
