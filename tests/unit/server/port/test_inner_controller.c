/* A controller on the kit that runs inside of the server, over the server's own port. Its program
 * is tests/lib/sample_controller.c, which client/against-server-ports runs over HTTP. */
#include "port_fixture.h"

#include "sample_controller.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define SECRETS    "/api/v1/namespaces/default/secrets"
#define KEPT(name) "{\"metadata\":{\"name\":\"" name "\",\"labels\":{\"keep\":\"yes\"}}}"

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

TEST(inner_controller, a_controller_inside_of_the_server_keeps_what_its_objects_own)
{
    struct pfx p = {0};
    struct sample s;

    pfx_open(&p, true);
    fx_do(&p.a.fx, 201, "POST", CONFIGMAPS, KEPT("before"));
    sample_begin(&s, &p.ip.port);
    fx_do(&p.a.fx, 201, "POST", CONFIGMAPS, KEPT("after"));
    pfx_wait(&p, has_created_two, &s);
    assert_non_null(strstr(fx_do(&p.a.fx, 200, "GET", SECRETS "/before", ""),
                           "\"kind\":\"ConfigMap\",\"name\":\"before\""));
    fx_do(&p.a.fx, 200, "GET", SECRETS "/after", "");

    /* The deletion of a Secret is an event of its owner. */
    fx_do(&p.a.fx, 200, "DELETE", SECRETS "/before", "");
    pfx_wait(&p, has_created_three, &s);
    fx_do(&p.a.fx, 200, "GET", SECRETS "/before", "");

    /* The deletion of the ConfigMap is a reconcile that does not find it. */
    fx_do(&p.a.fx, 200, "DELETE", CONFIGMAPS "/before", "");
    pfx_wait(&p, has_seen_absence, &s);
    assert_int_equal(s.nreports, 0);
    sample_stop(&s);
    pfx_wait(&p, is_stopped, &s);
    sample_free(&s);
    pfx_close(&p);
}
