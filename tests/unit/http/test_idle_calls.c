/* Ten thousand watches over one client: what an idle call holds on both sides. */
#include "test.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/stream/net_int.h"
#include "stream_fixture.h"

/* Both sides over TLS: call, link, stream and TLS session of the client; connection, response and
 * TLS session of the server. A proxy has one of each for an idle watch that it passes on, and 45 KB
 * for all of it. Over HTTP/1.1 nearly all of this is OpenSSL's: two times 7.6 KB of SSL, the
 * server's certificate, keys. Since 3.2 a session is 5.5 KB and 4.4 KB more for each direction. */
#define OPENSSL_3_2           0x30200000UL
#define PAIR_BYTES_MAX_H1     (44u * 1024)
#define PAIR_BYTES_MAX_H1_3_2 (59u * 1024)
#define PAIR_BYTES_MAX_H2     (3u * 1024)
/* So many are opened at once: handshakes have their time, and take memory of their own. */
#define BATCH       100u
#define STREAMS_MAX 250u

struct idle {
    struct giver *calls;
    size_t n, nheads, ndone;
};

static struct idle idle;

static int idle_on_head(void *arg, int status, const struct cor_http_header *headers, size_t n)
{
    assert_int_equal(status, 200);
    idle.nheads++;
    return 0;
}

static int idle_on_body(void *arg, struct cor_str piece)
{
    ((struct giver *)arg)->a.got += piece.n;
    return 0;
}

static void idle_on_done(void *arg, int r, const char *text)
{
    idle.ndone++;
}

static void idle_on_writable(void *arg)
{
}

static const struct cor_http_call_cbs idle_cbs = {idle_on_head, idle_on_body, idle_on_done,
                                                  idle_on_writable};

static bool all_have_heads(void *arg)
{
    return idle.nheads == *(size_t *)arg || idle.ndone > 0;
}

static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static size_t resident_bytes(void)
{
    unsigned long size = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%lu %lu", &size, &resident), 2);
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* As many as were asked for, or as there may be descriptors for. */
static size_t calls_of_test(void)
{
    const char *text = getenv("COR_TEST_IDLE_CALLS");
    struct rlimit files;
    size_t n = text ? strtoul(text, NULL, 10) : 500;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur != RLIM_INFINITY && 2 * n + 100 > files.rlim_cur
               ? (size_t)(files.rlim_cur - 100) / 2
               : n;
}

static void open_one(struct fix *f, struct giver *g, bool streams)
{
    struct cor_http_call_opts opts = {.method = COR_STR("GET"),
                                      .target = COR_STR("/watch"),
                                      .streams_body = streams,
                                      .body_length = 0,
                                      .cbs = &idle_cbs,
                                      .arg = g};

    assert_int_equal(cor_http_call_open(f->client, &opts, &g->a.call), 0);
}

static void check_idle(enum way way, size_t bytes_max)
{
    struct cor_http_limits limits = {
        .connections_max = 40000, .bodies_max = (size_t)1 << 30, .h2_streams_max = STREAMS_MAX};
    struct cor_http_client_opts opts = {
        .calls_max = 20000, .window = 256 * 1024, .connect_timeout_ms = 120000};
    size_t before, resident, after, per_call;
    struct fix f;

    fix_init_opts(&f, way, limits, opts);
    idle = (struct idle){.n = calls_of_test()};
    idle.calls = cor_calloc(idle.n, sizeof(*idle.calls));
    assert_answer(&f, "GET", "/x", "", 0, "200 ");
    before = heap_bytes();
    resident = resident_bytes();
    for (size_t i = 0; i < idle.n;) {
        for (size_t k = 0; k < BATCH && i < idle.n; k++, i++)
            open_one(&f, &idle.calls[i], i % 2);
        await(&f.h, all_have_heads, &i);
        assert_int_equal(idle.ndone, 0);
    }
    cor_loop_run_until(f.h.loop, giver_never, NULL, 50);
    after = heap_bytes();
    per_call = (after - before) / idle.n;
    printf("# %zu idle calls, %s: %zu bytes each for both sides (%zu resident), %llu connections\n",
           idle.n, way_is_h2(way) ? "HTTP/2" : "HTTP/1.1", per_call,
           (resident_bytes() - resident) / idle.n, (unsigned long long)accepted(&f));
    if (after > before) /* a sanitizer's allocator counts nothing */
        assert_true(per_call <= bytes_max);
    if (way_is_h2(way))
        assert_int_equal(accepted(&f), (idle.n + STREAMS_MAX - 1) / STREAMS_MAX);
    else
        assert_true(accepted(&f) >= idle.n);
    fix_deinit(&f);
    assert_int_equal(idle.ndone, idle.n);
    cor_free(idle.calls);
}

TEST(idle_calls, many_watches_over_http_1_hold_little_each)
{
    check_idle(TLS_H1,
               OpenSSL_version_num() < OPENSSL_3_2 ? PAIR_BYTES_MAX_H1 : PAIR_BYTES_MAX_H1_3_2);
}

TEST(idle_calls, many_watches_over_http_2_hold_little_each)
{
    check_idle(TLS_H2, PAIR_BYTES_MAX_H2);
}
