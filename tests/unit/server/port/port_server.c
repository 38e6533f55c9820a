#include "port_server.h"

#include "../alloc/alloc_fixture.h"

struct pserver {
    struct afx afx;
    struct afx_hold hold;
    bool is_cached, is_closed;
};

static bool is_synced(void *arg)
{
    return cor_api_is_synced(((struct pserver *)arg)->afx.fx.api);
}

static bool is_closed(void *arg)
{
    return ((struct pserver *)arg)->is_closed;
}

static void on_closed(void *arg)
{
    ((struct pserver *)arg)->is_closed = true;
}

static bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(pserver_api(arg)) == 0;
}

static void pserver_wait(struct pserver *s, bool (*done)(void *arg))
{
    assert_true(cor_loop_run_until(pserver_loop(s), done, s, FX_TIMEOUT_MS));
}

struct pserver *pserver_open(bool is_cached)
{
    const struct cor_api_cachers_opts cachers = {0};
    struct pserver *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->is_cached = is_cached;
    if (!is_cached) {
        afx_open(&s->afx, NULL, NULL);
        return s;
    }
    fx_open(&s->afx.fx);
    assert_int_equal(cor_api_open_cachers(s->afx.fx.api, &cachers, NULL), 0);
    pserver_wait(s, is_synced);
    fx_bootstrap(&s->afx.fx);
    return s;
}

void pserver_close(struct pserver *s)
{
    if (s->is_cached) {
        pserver_wait(s, has_no_calls);
        cor_api_loop_release(pserver_api(s));
        if (cor_api_close_cachers(s->afx.fx.api, on_closed, s))
            pserver_wait(s, is_closed);
        fx_close(&s->afx.fx);
    } else {
        afx_close(&s->afx);
    }
    free(s);
}

struct cor_loop *pserver_loop(struct pserver *s)
{
    return s->afx.fx.loop;
}

struct cor_api_loop *pserver_api(struct pserver *s)
{
    return cor_api_loop(s->afx.fx.api, 0);
}

struct cor_clock_manual *pserver_clock(struct pserver *s)
{
    return &s->afx.fx.clock;
}

const char *pserver_do(struct pserver *s, int status, const char *method, const char *target,
                       const char *body)
{
    return fx_do(&s->afx.fx, status, method, target, body);
}

const char *pserver_at(const char *json, const char *path)
{
    return fx_at(json, path);
}

void pserver_hold(struct pserver *s, bool is_write, const char *key)
{
    afx_hold(&s->afx, &s->hold, is_write ? COR_ENGINE_WRITE : COR_ENGINE_RANGE, key);
}

void pserver_wait_held(struct pserver *s)
{
    afx_wait_held(&s->afx, &s->hold);
}

void pserver_let_go(struct pserver *s)
{
    if (s->hold.req)
        afx_let_go(&s->afx, &s->hold);
    else
        cor_dlist_remove(&s->hold.link);
}

void pserver_put_garbage(struct pserver *s, const char *key)
{
    fx_put_raw(&s->afx.fx, key, "garbage");
}
