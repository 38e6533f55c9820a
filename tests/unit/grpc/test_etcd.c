/* The client against a real gRPC server: etcd. Its few messages are written here by hand. */
#include "test.h"

#include <signal.h>
#include <sys/resource.h>

#include "etcd.h"
#include "grpc_fixture.h"

__attribute__((constructor(101))) static void need_etcd(void)
{
    test_etcd_or_skip();
}

static uint16_t etcd_port(void)
{
    return (uint16_t)strtoul(strrchr(test_etcd_url(), ':') + 1, NULL, 10);
}

static void etcd_world(struct world *w, struct cor_grpc_channel_opts opts)
{
    struct cor_grpc_endpoint endpoint = {.host = "127.0.0.1", .port = etcd_port()};

    world_init(w);
    opts.endpoints = &endpoint;
    opts.nendpoints = 1;
    assert_int_equal(world_open_with(w, opts), 0);
}

/* A field of bytes, as protobuf writes it. */
static void put_bytes(struct cor_buf *out, int field, struct cor_str s)
{
    size_t n = s.n;

    assert_int_equal(cor_buf_addc(out, (char)(field << 3 | 2)), 0);
    for (; n >= 128; n >>= 7)
        assert_int_equal(cor_buf_addc(out, (char)(n | 128)), 0);
    assert_int_equal(cor_buf_addc(out, (char)n), 0);
    assert_int_equal(cor_buf_adds(out, s), 0);
}

static void put_number(struct cor_buf *out, int field, uint64_t n)
{
    assert_int_equal(cor_buf_addc(out, (char)(field << 3)), 0);
    for (; n >= 128; n >>= 7)
        assert_int_equal(cor_buf_addc(out, (char)(n | 128)), 0);
    assert_int_equal(cor_buf_addc(out, (char)n), 0);
}

static void etcd_put(struct world *w, const char *key, struct cor_str value)
{
    struct cor_buf m;

    cor_buf_init(&m, 4u << 20);
    put_bytes(&m, 1, cor_strz(key));
    put_bytes(&m, 2, value);
    ask(w, "/etcdserverpb.KV/Put", cor_buf_str(&m));
    cor_buf_deinit(&m);
}

static void etcd_range(struct world *w, const char *key, uint64_t revision)
{
    struct cor_buf m;

    cor_buf_init(&m, 1000);
    put_bytes(&m, 1, cor_strz(key));
    if (revision > 0)
        put_number(&m, 4, revision);
    ask(w, "/etcdserverpb.KV/Range", cor_buf_str(&m));
    cor_buf_deinit(&m);
}

static bool holds(const struct cor_buf *b, const char *text)
{
    return b->n > 0 && memmem(b->p, b->n, text, strlen(text));
}

TEST(grpc_etcd, a_value_is_put_and_read)
{
    struct world w;

    etcd_world(&w, (struct cor_grpc_channel_opts){0});
    etcd_put(&w, "a", COR_STR("the value"));
    assert_int_equal(w.last.code, COR_GRPC_OK);
    etcd_range(&w, "a", 0);
    assert_int_equal(w.last.code, COR_GRPC_OK);
    assert_true(holds(&w.log, "the value"));
    world_deinit(&w);
}

TEST(grpc_etcd, etcds_own_errors_keep_their_code_and_text)
{
    struct world w;

    etcd_world(&w, (struct cor_grpc_channel_opts){0});
    etcd_range(&w, "a", 1000000);
    assert_int_equal(w.last.code, COR_GRPC_OUT_OF_RANGE);
    assert_string_equal(w.text, "etcdserver: mvcc: required revision is a future revision");
    etcd_put(&w, "", COR_STR("x"));
    assert_int_equal(w.last.code, COR_GRPC_INVALID_ARGUMENT);
    assert_string_equal(w.text, "etcdserver: key is not provided");
    ask(&w, "/etcdserverpb.KV/NoSuchMethod", COR_STR(""));
    assert_int_equal(w.last.code, COR_GRPC_UNIMPLEMENTED);
    world_deinit(&w);
}

TEST(grpc_etcd, large_values_cross)
{
    size_t n = 1400000;
    char *big = cor_alloc(n);
    struct world w;

    memset(big, 'v', n);
    etcd_world(&w, (struct cor_grpc_channel_opts){0});
    etcd_put(&w, "big", cor_str(big, n));
    assert_int_equal(w.last.code, COR_GRPC_OK);
    etcd_range(&w, "big", 0);
    assert_int_equal(w.last.code, COR_GRPC_OK);
    assert_true(w.message_bytes > n);
    cor_free(big);
    world_deinit(&w);
}

static bool one_message(void *arg)
{
    return ((struct world *)arg)->messages >= 1;
}

static bool two_messages(void *arg)
{
    return ((struct world *)arg)->messages >= 2;
}

TEST(grpc_etcd, a_watch_is_a_stream_in_both_directions)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/etcdserverpb.Watch/Watch")};
    struct cor_buf create, m;
    struct cor_str message;
    struct cor_grpc_call *call;
    struct world w;

    etcd_world(&w, (struct cor_grpc_channel_opts){0});
    cor_buf_init(&create, 1000);
    cor_buf_init(&m, 1000);
    put_bytes(&create, 1, COR_STR("watched"));
    put_bytes(&m, 1, cor_buf_str(&create));
    message = cor_buf_str(&m);
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    assert_int_equal(cor_grpc_call_send(call, &message, 1), 0);
    world_run(&w, one_message);
    etcd_put(&w, "watched", COR_STR("seen"));
    world_run(&w, two_messages);
    assert_true(holds(&w.log, "seen"));
    cor_grpc_call_cancel(call);
    cor_buf_deinit(&create);
    cor_buf_deinit(&m);
    world_deinit(&w);
}

#define PUTS         4000
#define SIDE_BY_SIDE 64

struct load {
    struct world *w;
    struct cor_buf message;
    size_t sent, done, failed;
};

static void send_next(struct load *load);

static void on_put(const struct cor_grpc_status *status, struct cor_str message, void *arg)
{
    struct load *load = arg;

    load->done++;
    load->failed += status->code != COR_GRPC_OK;
    send_next(load);
}

static void send_next(struct load *load)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/etcdserverpb.KV/Put"),
                                      .timeout_ms = 10000};
    struct cor_str message = cor_buf_str(&load->message);

    if (load->sent == PUTS)
        return;
    load->sent++;
    assert_int_equal(cor_grpc_unary(load->w->ch, &opts, &message, 1, on_put, load, NULL), 0);
}

static bool load_is_done(void *arg)
{
    struct load *load = arg;

    return load->done == PUTS;
}

static double thread_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_THREAD, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

TEST(grpc_etcd, many_calls_run_side_by_side)
{
    static const char kb[1024];
    struct load load = {0};
    struct world w;
    double before;

    etcd_world(&w, (struct cor_grpc_channel_opts){0});
    etcd_put(&w, "k", COR_STR("x"));
    load.w = &w;
    cor_buf_init(&load.message, 2000);
    put_bytes(&load.message, 1, COR_STR("load"));
    put_bytes(&load.message, 2, cor_str(kb, sizeof(kb)));
    before = thread_us();
    for (int i = 0; i < SIDE_BY_SIDE; i++)
        send_next(&load);
    assert_true(cor_loop_run_until(w.loop, load_is_done, &load, 100000));
    fprintf(stderr, "# %.1f us of client CPU per Put\n", (thread_us() - before) / PUTS);
    assert_int_equal(load.failed, 0);
    assert_int_equal(w.downs, 0);
    cor_buf_deinit(&load.message);
    world_deinit(&w);
}

static bool is_up_twice(void *arg)
{
    return ((struct world *)arg)->ups >= 2;
}

TEST(grpc_etcd, a_killed_etcd_ends_calls_and_a_restarted_one_is_found)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/etcdserverpb.Watch/Watch")};
    struct cor_grpc_call *call;
    struct world w;

    etcd_world(&w, (struct cor_grpc_channel_opts){0});
    etcd_put(&w, "a", COR_STR("1"));
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    w.done = 0;
    test_etcd_signal(SIGKILL);
    world_run(&w, one_done);
    assert_int_equal(w.last.code, COR_GRPC_UNAVAILABLE);
    etcd_put(&w, "a", COR_STR("2"));
    assert_int_equal(w.last.code, COR_GRPC_UNAVAILABLE);
    assert_true(w.last.is_untouched);
    test_etcd_restart();
    world_run(&w, is_up_twice);
    etcd_put(&w, "a", COR_STR("3"));
    assert_int_equal(w.last.code, COR_GRPC_OK);
    world_deinit(&w);
}

TEST(grpc_etcd, a_stopped_etcd_is_noticed_by_its_silence)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/etcdserverpb.Watch/Watch")};
    struct cor_grpc_call *call;
    struct world w;

    etcd_world(&w,
               (struct cor_grpc_channel_opts){.keepalive_ms = 500, .keepalive_timeout_ms = 2000});
    etcd_put(&w, "a", COR_STR("1"));
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    w.done = 0;
    test_etcd_signal(SIGSTOP);
    world_run(&w, one_done);
    test_etcd_signal(SIGCONT);
    assert_int_equal(w.last.code, COR_GRPC_UNAVAILABLE);
    world_run(&w, is_up);
    world_deinit(&w);
}
