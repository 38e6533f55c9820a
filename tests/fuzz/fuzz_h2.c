/* Input: a byte that chooses role and cut, one that chooses what the user does, then what a peer
 * sends (a client's preface is there already). Whatever comes: a stream is told of its end once,
 * nothing comes after that, limits hold, a write takes no more than there was room for, and at the
 * end no stream is left. */
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "fuzz.h"
#include "net/session/h2.h"

#define OUT_MAX 30000u

static const struct cor_h2_limits limits = {
    .streams_max = 8, .window = 4096, .head_max = 600, .headers_max = 8};

/* What the user does, by bits. */
enum deed {
    ANSWERS_IN_PLACE = 1,
    HOLDS_BACK = 2,
    RESETS = 4,
    HAS_TRAILERS = 8,
    REFUSES = 16,
    SHUTS_DOWN = 32,
    IS_SLOW = 64, /* its output is full now and then */
    HAS_BODY = 128
};

struct user {
    struct cor_h2 *h;
    unsigned deeds;
    size_t out_n;
    size_t nheld;
    unsigned step;
};

struct held {
    struct user *u;
    size_t got, left;
    bool has_answered, has_ended;
};

static void let_go(struct held *t)
{
    t->u->nheld--;
    cor_free(t);
}

static size_t room(void *arg)
{
    struct user *u = arg;

    return u->out_n < OUT_MAX ? OUT_MAX - u->out_n : 0;
}

static int send_out(const struct cor_str *spans, size_t n, void *arg)
{
    struct user *u = arg;

    if ((u->deeds & IS_SLOW) && u->out_n > 2 * OUT_MAX)
        return -COR_EBUSY;
    for (size_t i = 0; i < n; i++)
        u->out_n += spans[i].n;
    return 0;
}

static void want_turn(void *arg)
{
}

static void pour(struct cor_h2_stream *s, struct held *t)
{
    static const char bytes[5000];
    static const struct cor_http_header trailer = {COR_STR("grpc-status"), COR_STR("0\r\n")};
    bool is_server = t->has_answered, has_trailers = is_server && (t->u->deeds & HAS_TRAILERS);
    struct cor_str spans[] = {{bytes, t->left / 2}, {bytes, t->left - t->left / 2}};
    size_t before = cor_h2_room(s), left = t->left;
    size_t took = cor_h2_write(s, spans, 2, 0, !has_trailers);

    FUZZ_CHECK(took <= before && took <= left);
    if (took < left) {
        t->left -= took;
        return;
    }
    if (has_trailers && cor_h2_write_trailers(s, &trailer, 1) < 0)
        cor_h2_reset(s, COR_H2_INTERNAL_ERROR);
    if (is_server)
        let_go(t);
    else
        t->left = 0;
}

static void answer(struct cor_h2_stream *s, struct held *t)
{
    static const struct cor_http_header header = {COR_STR("A"), COR_STR("b\nc")};

    t->has_answered = true;
    t->left = 5000;
    FUZZ_CHECK(cor_h2_respond(s, 200, &header, 1, true) == 0);
    pour(s, t);
}

static int on_body(struct cor_h2_stream *s, struct cor_str piece, void *arg)
{
    struct held *t = arg;

    FUZZ_CHECK(!t->has_ended);
    t->got += piece.n;
    if (t->u->deeds & HOLDS_BACK)
        FUZZ_CHECK(t->got <= limits.window);
    else
        cor_h2_consume(s, piece.n);
    if ((t->u->deeds & RESETS) && t->got > 100) {
        cor_h2_reset(s, COR_H2_CANCEL);
        let_go(t);
    }
    return 0;
}

static void check_headers(const struct cor_http_header *headers, size_t n)
{
    size_t total = 0;

    FUZZ_CHECK(n <= limits.headers_max);
    for (size_t i = 0; i < n; i++) {
        total += headers[i].name.n + headers[i].value.n;
        FUZZ_CHECK(headers[i].name.n > 0 && headers[i].name.p[0] != ':');
        FUZZ_CHECK(!memchr(headers[i].value.p, '\n', headers[i].value.n));
    }
    FUZZ_CHECK(total <= limits.head_max);
}

static int on_head(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    check_headers(head->headers, head->nheaders);
    FUZZ_CHECK(head->status >= 200 && head->status <= 999);
    return 0;
}

static int on_trailers(struct cor_h2_stream *s, const struct cor_http_header *headers, size_t n,
                       void *arg)
{
    check_headers(headers, n);
    return 0;
}

static void on_end(struct cor_h2_stream *s, void *arg)
{
    struct held *t = arg;

    FUZZ_CHECK(!t->has_ended);
    t->has_ended = true;
    if (cor_h2_stream_id(s) % 2 == 1 && !(t->u->deeds & ANSWERS_IN_PLACE) && t->left == SIZE_MAX)
        answer(s, t);
}

static void on_writable(struct cor_h2_stream *s, void *arg)
{
    FUZZ_CHECK(cor_h2_room(s) > 0);
    pour(s, arg);
}

static void on_closed(struct cor_h2_stream *s, uint32_t code, void *arg)
{
    let_go(arg);
}

static const struct cor_h2_stream_cbs stream_cbs = {on_head, on_body,     on_trailers,
                                                    on_end,  on_writable, on_closed};

static struct held *hold(struct user *u)
{
    struct held *t = cor_calloc(1, sizeof(*t));

    FUZZ_CHECK(t);
    t->u = u;
    u->nheld++;
    return t;
}

/* left == SIZE_MAX: a request that waits for its answer. */
static int on_request(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    struct user *u = arg;
    struct held *t;

    check_headers(head->headers, head->nheaders);
    FUZZ_CHECK(head->method.n > 0);
    if ((u->deeds & REFUSES) && u->step++ % 2)
        return -COR_EBUSY;
    t = hold(u);
    t->left = SIZE_MAX;
    cor_h2_stream_set_cbs(s, &stream_cbs, t);
    if (u->deeds & ANSWERS_IN_PLACE) {
        u->deeds &= ~(unsigned)HAS_TRAILERS;
        answer(s, t);
    }
    return 0;
}

static const struct cor_h2_cbs cbs = {
    .room = room, .send = send_out, .want_turn = want_turn, .on_request = on_request};

static void open_streams(struct user *u)
{
    struct cor_h2_request req = {.method = COR_STR("POST"),
                                 .scheme = COR_STR("http"),
                                 .authority = COR_STR("a"),
                                 .path = COR_STR("/"),
                                 .has_body = u->deeds & HAS_BODY};

    for (int i = 0; i < 3; i++) {
        struct held *t = hold(u);
        struct cor_h2_stream *s;

        FUZZ_CHECK(cor_h2_open(u->h, &req, &stream_cbs, t, &s) == 0);
        t->left = 3000;
        if (req.has_body)
            pour(s, t);
    }
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct user u = {0};
    struct cor_str in;
    enum cor_h2_role role;
    uint64_t now_ms = 0;
    size_t cut;
    int r;

    if (size < 2)
        return 0;
    role = data[0] & 1 ? COR_H2_SERVER : COR_H2_CLIENT;
    cut = data[0] & 2 ? SIZE_MAX : 1 + (size_t)data[0] % 61;
    u.deeds = data[1];
    in = cor_str((const char *)data + 2, size - 2);
    FUZZ_CHECK(cor_h2_new(role, &limits, &cbs, &u, &u.h) == 0);
    if (role == COR_H2_CLIENT)
        open_streams(&u);
    r = role == COR_H2_SERVER ? cor_h2_feed(u.h, COR_STR(COR_H2_PREFACE), 0) : 0;
    while (in.n > 0 && r == 0) {
        size_t n = in.n < cut ? in.n : cut;

        r = cor_h2_feed(u.h, cor_str(in.p, n), ++now_ms);
        in = cor_str_from(in, n);
        u.out_n = (u.deeds & IS_SLOW) && now_ms % 3 ? u.out_n : 0;
        if (r == 0 && (u.deeds & SHUTS_DOWN) && now_ms == 5)
            cor_h2_shutdown(u.h);
        if (r == 0)
            r = cor_h2_turn(u.h, now_ms);
    }
    FUZZ_CHECK(r == 0 || *cor_h2_error(u.h));
    cor_h2_drop_all(u.h, COR_H2_LOST);
    FUZZ_CHECK(u.nheld == 0 && cor_h2_nstreams(u.h) == 0);
    cor_h2_free(u.h);
    return 0;
}
