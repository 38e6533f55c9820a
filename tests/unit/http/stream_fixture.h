/* Bodies that go both ways piece by piece: a handler that holds or streams a request's body, and a
 * call whose caller writes its body and pauses the answer. Bytes follow a pattern, so that one that
 * is lost, doubled or moved is noticed. */
#ifndef COR_TEST_BODIES_FIXTURE_H
#define COR_TEST_BODIES_FIXTURE_H

#include "client_fixture.h"

#define PATTERN 251u

static inline char pattern_at(uint64_t i)
{
    return (char)('!' + i % PATTERN % 90);
}

/* `n` bytes of the pattern from `at` on; n is at most PATTERN_MAX. */
#define PATTERN_MAX 65536u
static inline struct cor_str pattern(uint64_t at, size_t n)
{
    static char bytes[PATTERN_MAX + PATTERN];

    if (!bytes[0]) {
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = pattern_at(i);
    }
    return cor_str(bytes + at % PATTERN, n < PATTERN_MAX ? n : PATTERN_MAX);
}

static inline bool is_pattern(uint64_t at, struct cor_str bytes)
{
    for (; bytes.n > 0;) {
        struct cor_str want = pattern(at, bytes.n);

        if (memcmp(bytes.p, want.p, want.n) != 0)
            return false;
        at += want.n;
        bytes = cor_str_from(bytes, want.n);
    }
    return true;
}

/* The handler's side of one request. */
struct taker {
    struct cor_http_response *resp; /* NULL: over */
    uint64_t got;
    uint64_t takes;  /* takes so much and no more; UINT64_MAX: all */
    bool echoes;     /* writes what it takes, and takes what it could write */
    bool ends_early; /* answers and ends at the first piece */
    bool has_ended;  /* on_body_end */
    bool is_wrong;   /* the bytes are not those of the pattern */
    size_t nheads, ngone, ndrained, npieces;
    int why;
    uint64_t length;
};

static struct taker taker;

static void taker_on_gone(struct cor_http_response *resp, int why, void *arg)
{
    taker.ngone++;
    taker.why = why;
    taker.resp = NULL;
}

static void taker_on_drain(struct cor_http_response *resp, void *arg)
{
    taker.ndrained++;
}

static void taker_on_writable(struct cor_http_response *resp, void *arg)
{
    cor_http_response_resume_body(resp);
}

static const struct cor_http_response_cbs taker_cbs = {taker_on_writable, taker_on_gone,
                                                       taker_on_drain};

static size_t taker_on_body(struct cor_http_response *resp, struct cor_str piece, void *arg)
{
    size_t n = piece.n;

    assert_ptr_equal(arg, &taker);
    assert_ptr_equal(resp, taker.resp);
    assert_false(taker.has_ended);
    assert_true(n > 0);
    taker.npieces++;
    if (taker.ends_early) {
        taker.resp = NULL;
        cor_http_response_send(resp, 200, NULL, 0, COR_STR("enough"));
        return 0;
    }
    if (n > taker.takes - taker.got)
        n = (size_t)(taker.takes - taker.got);
    if (taker.echoes)
        n = cor_http_response_write(resp, cor_str(piece.p, n));
    taker.is_wrong = taker.is_wrong || !is_pattern(taker.got, cor_str(piece.p, n));
    taker.got += n;
    return n;
}

static void taker_on_body_end(struct cor_http_response *resp, void *arg)
{
    assert_false(taker.has_ended);
    taker.has_ended = true;
    if (taker.echoes) {
        taker.resp = NULL;
        cor_http_response_end(resp);
    }
}

static const struct cor_http_body_cbs taker_body_cbs = {taker_on_body, taker_on_body_end};

static inline void taker_stream(void)
{
    cor_http_response_stream_body(taker.resp, &taker_body_cbs, &taker);
}

/* By path: /hold holds the body back, /stream takes it piece by piece, /echo answers with it at the
 * same time, /tunnel waits to be made one; others are collected. */
static void taker_on_head(const struct cor_http_request *req, struct cor_http_response *resp,
                          void *arg)
{
    bool holds = cor_str_starts(req->path, COR_STR("/hold")) ||
                 cor_str_starts(req->path, COR_STR("/tunnel"));

    cor_http_response_set_cbs(resp, &taker_cbs, arg);
    taker.nheads++;
    if (!holds && !cor_str_starts(req->path, COR_STR("/stream")) &&
        !cor_str_starts(req->path, COR_STR("/echo")))
        return;
    taker.resp = resp;
    taker.length = cor_http_response_body_length(resp);
    if (holds) {
        cor_http_response_hold_body(resp);
        return;
    }
    taker.echoes = cor_str_starts(req->path, COR_STR("/echo"));
    if (taker.echoes)
        cor_http_response_start(resp, 200, NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
    taker_stream();
}

static inline bool taker_has(void *arg)
{
    return taker.got >= *(uint64_t *)arg;
}

static inline bool taker_has_head(void *arg)
{
    return taker.nheads > 0;
}

static inline bool taker_has_ended(void *arg)
{
    return taker.has_ended;
}

static inline bool taker_is_gone(void *arg)
{
    return taker.ngone > 0;
}

static inline bool taker_is_over(void *arg)
{
    return !taker.resp;
}

/* The caller's side of one call. */
struct giver {
    struct ask a;
    uint64_t left, given; /* of the body */
    bool is_unknown;
    bool has_ended;
    bool is_tunnel;
    bool pauses; /* after each piece; the test resumes */
    bool is_paused;
    bool is_wrong; /* what comes is not the pattern */
    bool forgets;
    size_t nwritable;
};

static void giver_give(struct giver *g)
{
    while (g->left > 0) {
        struct cor_str piece =
            pattern(g->given, g->left < PATTERN_MAX ? (size_t)g->left : PATTERN_MAX);
        size_t taken = cor_http_call_write(g->a.call, piece);

        g->given += taken;
        g->left -= taken;
        if (taken < piece.n)
            return;
    }
    if (!g->has_ended && !g->is_tunnel) {
        g->has_ended = true;
        cor_http_call_end_body(g->a.call);
    }
}

static void giver_on_writable(void *arg)
{
    struct giver *g = arg;

    assert_false(g->a.is_done);
    g->nwritable++;
    giver_give(g);
}

static int giver_on_head(void *arg, int status, const struct cor_http_header *headers, size_t n)
{
    return cor_buf_addf(&((struct giver *)arg)->a.text, "%d ", status);
}

static int giver_on_body(void *arg, struct cor_str piece)
{
    struct giver *g = arg;

    assert_false(g->is_paused || g->a.is_done);
    if (g->forgets)
        g->is_wrong = g->is_wrong || !is_pattern(g->a.got, piece);
    else
        cor_buf_adds(&g->a.text, piece);
    g->a.got += piece.n;
    if (g->pauses) {
        g->is_paused = true;
        cor_http_call_pause(g->a.call);
    }
    return 0;
}

static const struct cor_http_call_cbs giver_cbs = {giver_on_head, giver_on_body, ask_on_done,
                                                   giver_on_writable};

static inline bool giver_has(void *arg)
{
    struct giver *g = arg;

    return g->a.got > 0;
}

static inline bool giver_is_paused(void *arg)
{
    return ((struct giver *)arg)->is_paused || ((struct giver *)arg)->a.is_done;
}

static inline void giver_resume(struct giver *g)
{
    g->is_paused = false;
    cor_http_call_resume(g->a.call);
}

/* A POST whose body of `n` bytes is written as it is taken. */
static inline int give(struct fix *f, struct giver *g, const char *target, uint64_t n,
                       bool is_unknown)
{
    struct cor_http_call_opts opts = {.method = COR_STR("POST"),
                                      .target = cor_strz(target),
                                      .streams_body = true,
                                      .body_length = is_unknown ? COR_HTTP_LENGTH_UNKNOWN : n,
                                      .cbs = &giver_cbs,
                                      .arg = g};
    int r;

    *g = (struct giver){.left = n, .is_unknown = is_unknown};
    cor_buf_init(&g->a.text, 64u << 20);
    r = cor_http_call_open(f->client, &opts, &g->a.call);
    if (r == 0)
        giver_give(g);
    return r;
}

static bool giver_never(void *arg)
{
    return false;
}

/* Until nothing moves any more. */
static inline void giver_rest(struct fix *f, struct giver *g)
{
    uint64_t given, got;

    do {
        given = g->given;
        got = g->a.got;
        cor_loop_run_until(f->h.loop, giver_never, NULL, 30);
    } while (given != g->given || got != g->a.got);
}

static inline void giver_deinit(struct giver *g)
{
    ask_deinit(&g->a);
}

static inline void bodies_init_opts(struct fix *f, enum way way, struct cor_http_limits limits,
                                    struct cor_http_client_opts opts)
{
    taker = (struct taker){.takes = UINT64_MAX};
    head_handler = taker_on_head;
    fix_init_opts(f, way, limits, opts);
    head_handler = NULL;
}

static inline void bodies_init(struct fix *f, enum way way, struct cor_http_limits limits)
{
    bodies_init_opts(f, way, limits, (struct cor_http_client_opts){.window = 256 * 1024});
}

/* The call has ended: the handler is told, once it takes what has come before. */
static inline void taker_let_go(struct fix *f)
{
    taker.takes = UINT64_MAX;
    if (taker.resp)
        cor_http_response_resume_body(taker.resp);
    await(&f->h, taker_is_over, NULL);
}

static inline uint64_t held_bytes(struct fix *f)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(f->h.server, &stats);
    return stats.held[COR_HTTP_NRANKS - 1];
}

#endif
