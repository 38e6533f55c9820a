/* The Events of a controller inside the server. */
#include "../../port/port_fixture.h"

#include "server/controllers/host/controller_events.h"

struct efx {
    struct pfx p;
    struct cor_rand rand;
    struct cor_controller_events events;
};

static const char *list_events(struct efx *e)
{
    return fx_do(&e->p.a.fx, 200, "GET", "/api/v1/namespaces/default/events", "");
}

static bool never(void *arg)
{
    return false;
}

TEST(controller_events, an_event_is_sent_with_the_name_of_its_controller)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *about = NULL;
    struct cor_event_told told = {
        .type = COR_EVENT_WARNING, .reason = "OwnerRefInvalidNamespace", .message = "no owner"};
    struct efx e;
    uint64_t end_ms;

    pfx_open(&e.p, true);
    cor_rand_init_seeded(&e.rand, 1);
    cor_controller_events_init(&e.events, &e.p.ip.port, "garbage-collector-controller",
                               cor_clock_real(), &e.rand);
    assert_int_equal(
        cor_object_from_json(COR_STR("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
                                     "\"name\":\"m\",\"namespace\":\"default\",\"uid\":\"u\"}}"),
                             &about, NULL),
        0);
    told.about = about;
    cor_controller_events_record(&e.events, &told);
    end_ms = cor_loop_now_ms(e.p.a.fx.loop) + FX_TIMEOUT_MS;
    while (fx_at(list_events(&e), "items[0].reason")[0] == '\0') {
        assert_true(cor_loop_now_ms(e.p.a.fx.loop) < end_ms);
        (void)cor_loop_run_until(e.p.a.fx.loop, never, NULL, 1);
    }
    assert_at(list_events(&e), "items[0].reason", "OwnerRefInvalidNamespace");
    assert_at(list_events(&e), "items[0].source.component", "garbage-collector-controller");
    assert_at(list_events(&e), "items[0].involvedObject.name", "m");
    cor_controller_events_deinit(&e.events);
    cor_controller_events_deinit(&e.events); /* a second time does nothing */
    pfx_close(&e.p);
}
