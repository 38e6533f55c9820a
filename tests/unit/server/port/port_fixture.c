#include "port_fixture.h"

static struct cor_api_loop *pfx_api(struct pfx *p)
{
    return cor_api_loop(p->a.fx.api, 0);
}

static bool is_synced(void *arg)
{
    return cor_api_is_synced(((struct pfx *)arg)->a.fx.api);
}

static bool is_closed(void *arg)
{
    return ((struct pfx *)arg)->is_closed;
}

static void on_closed(void *arg)
{
    ((struct pfx *)arg)->is_closed = true;
}

static bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(pfx_api(arg)) == 0;
}

bool pfx_is_idle(void *arg)
{
    return cor_inner_port_is_idle(&((struct pfx *)arg)->ip);
}

void pfx_wait(struct pfx *p, bool (*done)(void *arg), void *arg)
{
    assert_true(cor_loop_run_until(p->a.fx.loop, done, arg, FX_TIMEOUT_MS));
}

static void pfx_make_port(struct pfx *p)
{
    cor_inner_port_init(&p->ip, pfx_api(p), COR_STR("sample-controller"),
                        COR_STR("kube-controller-manager"), 0);
}

void pfx_open(struct pfx *p, bool is_cached)
{
    const struct cor_api_cachers_opts cachers = {0};

    *p = (struct pfx){.has_alloc = !is_cached};
    if (is_cached) {
        fx_open(&p->a.fx);
        assert_int_equal(cor_api_open_cachers(p->a.fx.api, &cachers, NULL), 0);
        pfx_wait(p, is_synced, p);
        fx_bootstrap(&p->a.fx);
    } else {
        afx_open(&p->a, NULL, NULL);
    }
    pfx_make_port(p);
}

void pfx_open_on_clock(struct pfx *p)
{
    *p = (struct pfx){0};
    fx_open(&p->a.fx);
    cor_loop_use_clock(p->a.fx.loop, &p->a.fx.clock.clock);
    pfx_make_port(p);
}

void pfx_close(struct pfx *p)
{
    pfx_wait(p, pfx_is_idle, p);
    cor_inner_port_deinit(&p->ip);
    if (!p->has_alloc) {
        pfx_wait(p, has_no_calls, p);
        cor_api_loop_release(pfx_api(p));
        if (cor_api_close_cachers(p->a.fx.api, on_closed, p))
            pfx_wait(p, is_closed, p);
        fx_close(&p->a.fx);
    } else {
        afx_close(&p->a);
    }
}

void pfx_hold(struct pfx *p, enum cor_engine_op op, const char *key)
{
    afx_hold(&p->a, &p->hold, op, key);
}

void pfx_let_go(struct pfx *p)
{
    if (p->hold.req)
        afx_let_go(&p->a, &p->hold);
    else
        cor_dlist_remove(&p->hold.link);
}
