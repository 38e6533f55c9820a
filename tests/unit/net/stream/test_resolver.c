#include "test.h"

#include "base/err.h"
#include "loop/loop.h"
#include "net/stream/net.h"
#include "net/stream/resolver.h"

#define PATIENCE_MS 60000

struct asked {
    struct cor_loop *loop;
    struct cor_net *net;
    bool is_done, net_closed;
    int r;
    struct cor_addresses found;
};

static void on_done(int r, const struct cor_addresses *found, void *arg)
{
    struct asked *a = arg;

    a->is_done = true;
    a->r = r;
    a->found = *found;
}

static bool is_done(void *arg)
{
    return ((struct asked *)arg)->is_done;
}

static void on_net_closed(void *arg)
{
    ((struct asked *)arg)->net_closed = true;
}

static bool net_is_closed(void *arg)
{
    return ((struct asked *)arg)->net_closed;
}

static void ask(struct asked *a, const char *host, bool cancels)
{
    struct cor_resolver *rs;

    *a = (struct asked){0};
    assert_int_equal(cor_loop_new(16, &a->loop), 0);
    assert_int_equal(cor_net_open(a->loop, &a->net), 0);
    assert_int_equal(cor_resolver_open(a->net, host, on_done, a, &rs), 0);
    assert_false(a->is_done);
    if (cancels)
        cor_resolver_cancel(rs);
    assert_true(cor_loop_run_until(a->loop, is_done, a, PATIENCE_MS));
    cor_net_close(a->net, on_net_closed, a);
    assert_true(cor_loop_run_until(a->loop, net_is_closed, a, PATIENCE_MS));
    cor_loop_free(a->loop);
}

TEST(resolver, a_numeric_address_is_its_own_answer)
{
    struct asked a;

    ask(&a, "127.0.0.1", false);
    assert_int_equal(a.r, 0);
    assert_int_equal(a.found.n, 1);
    assert_string_equal(a.found.at[0], "127.0.0.1");
    ask(&a, "::1", false);
    assert_int_equal(a.r, 0);
    assert_string_equal(a.found.at[0], "::1");
}

TEST(resolver, localhost_is_known)
{
    bool is_there = false;
    struct asked a;

    ask(&a, "localhost", false);
    assert_int_equal(a.r, 0);
    for (size_t i = 0; i < a.found.n; i++)
        is_there |= strcmp(a.found.at[i], "127.0.0.1") == 0 || strcmp(a.found.at[i], "::1") == 0;
    assert_true(is_there);
}

TEST(resolver, a_name_that_nobody_has_is_told)
{
    struct asked a;

    ask(&a, "no-such-host.invalid", false);
    assert_int_equal(a.r, -COR_EUNREACHABLE);
}

TEST(resolver, a_cancelled_look_up_says_so)
{
    struct asked a;

    ask(&a, "localhost", true);
    assert_int_equal(a.r, -COR_ECANCELED);
}
