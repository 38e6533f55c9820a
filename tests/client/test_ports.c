/* A controller on the kit over the client's API port, which is HTTP. Its program is
 * tests/lib/sample_controller.c, which server/inner_controller runs inside of the server. */
#include "client/client_int.h"
#include "sample_controller.h"
#include "world.h"

static bool has_created_two(void *arg)
{
    struct sample *s = arg;

    return sample_is_idle(s) && s->ncreated == 2;
}

static bool has_created_three(void *arg)
{
    struct sample *s = arg;

    return sample_is_idle(s) && s->ncreated == 3;
}

static bool has_seen_absence(void *arg)
{
    struct sample *s = arg;

    return sample_is_idle(s) && s->nabsent > 0;
}

static bool is_stopped(void *arg)
{
    return ((struct sample *)arg)->is_stopped;
}

/* The runtime is pumped, so that the test is on the port's thread. */
TEST(ports, a_controller_over_http_keeps_what_its_objects_own)
{
    const struct cor_request removal = {COR_REQUEST, .verb = COR_VERB_DELETE,
                                        .resource = {"", "v1", "secrets"}, .ns = "default",
                                        .name = "before"};
    struct world w;
    struct sample s;

    world_begin(&w, COR_RUNTIME_PUMPED);
    world_create(&w, "before", "{\"keep\":\"yes\"}", "1");
    sample_begin(&s, &w.client->port.port);
    world_create(&w, "after", "{\"keep\":\"yes\"}", "1");
    world_run(&w, has_created_two, &s);

    /* The deletion of a Secret is an event of its owner. */
    assert_int_equal(cor_client_do(w.client, &removal, NULL, NULL), 0);
    world_run(&w, has_created_three, &s);

    /* The deletion of the ConfigMap is a reconcile that does not find it. */
    world_delete(&w, "before");
    world_run(&w, has_seen_absence, &s);
    assert_int_equal(s.nreports, 0);
    sample_stop(&s);
    world_run(&w, is_stopped, &s);
    sample_free(&s);
    world_end(&w);
}
