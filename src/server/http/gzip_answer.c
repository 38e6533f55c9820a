/* clang-format off */
/* A compressed answer, as a state machine:
 *
 *   GATHERING ── more than 128 KB ──► GZIP: head with Content-Encoding, then slice after slice:
 *       │                                 in ──► (thread) out ──► response ──► room for the next
 *       └── ended before, or no memory ──► PLAIN: head as it was given, the gathered bytes, the rest
 *
 * An answer whose length is known begins in GZIP. In GZIP the bytes of the verb are copied into
 * `in`; when a write does not fit, `in` is a full slice, and is_packing until a thread has turned it
 * into `out`. `in` and `out` are touched by the loop only while !is_packing.
 *
 * What can fail: no memory for the head, the slice or zlib before the head is sent, or too much is
 * held for the sender: the answer is sent as it is. No memory for `out` while a slice is compressed: the response is aborted, because a
 * client must not take it for whole, and on_over is called with the error. No place in the queue of
 * the threads: the loop compresses this slice in its next turn, which takes about a millisecond.
 *
 * Thread: the response's loop, except answer_run_job(). */
/* clang-format on */
#include "server/http/gzip_answer.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/offload.h"
#include "server/request/sink.h"

/* What is gathered before the answer is compressed is the first slice. */
#define SLICE COR_GZIP_PLAIN_MAX
/* Of `out`: a slice that cannot be made smaller, and what zlib has kept of the slices before. */
#define OUT_MAX (4 * SLICE)

enum answer_state { ANSWER_GATHERING, ANSWER_PLAIN, ANSWER_GZIP };

struct cor_gzip_answer {
    struct cor_job job; /* the slice, while is_packing */
    struct cor_mail turn;
    struct cor_gzip_answer_opts opts;
    enum answer_state state;
    struct cor_gzip_writer *writer; /* in GZIP */
    struct cor_buf in, out;         /* in PLAIN `out` is what was gathered, which stays charged */
    size_t out_done;                /* bytes of `out` that the response has taken */
    int result;                     /* of the last slice */
    bool is_packing;                /* a thread, or the next turn, has the slice */
    bool is_last;                   /* the slice is the last one */
    bool is_ending;                 /* the verb has written everything */
    bool is_short;                  /* the verb waits for on_room */
    bool is_given_up;               /* free it when the slice comes back */
    int code;                       /* the head, while it waits */
    size_t nheaders;
    struct cor_http_header *headers; /* one block with their bytes */
};

static void answer_free(struct cor_gzip_answer *answer)
{
    assert(!answer->is_packing);
    cor_gzip_writer_free(answer->writer);
    cor_buf_deinit(&answer->in);
    cor_buf_deinit(&answer->out);
    cor_free(answer->headers);
    cor_free(answer);
}

/* Copies the head into one block. 0, -COR_ENOMEM. */
static int answer_keep_head(struct cor_gzip_answer *answer, const struct cor_http_header *headers,
                            size_t nheaders)
{
    size_t n = nheaders * sizeof(*headers);
    char *at;

    for (size_t i = 0; i < nheaders; i++)
        n += headers[i].name.n + headers[i].value.n;
    answer->headers = cor_alloc(n);
    if (!answer->headers)
        return -COR_ENOMEM;
    at = (char *)(answer->headers + nheaders);
    for (size_t i = 0; i < nheaders; i++) {
        const struct cor_str parts[2] = {headers[i].name, headers[i].value};
        struct cor_str *copies[2] = {&answer->headers[i].name, &answer->headers[i].value};

        for (size_t k = 0; k < 2; k++) {
            *copies[k] = cor_str(at, parts[k].n);
            if (parts[k].n > 0)
                memcpy(at, parts[k].p, parts[k].n);
            at += parts[k].n;
        }
    }
    answer->nheaders = nheaders;
    return 0;
}

/* Sends the head of a compressed answer. */
static void answer_start_gzip(struct cor_gzip_answer *answer, const struct cor_http_header *headers,
                              size_t nheaders)
{
    struct cor_http_header all[COR_SINK_HEADERS_MAX + 2];
    bool is_varied = answer->opts.omits_vary;

    for (size_t i = 0; i < nheaders; i++) {
        all[i] = headers[i];
        is_varied = is_varied || (cor_str_eq(headers[i].name, COR_STR("Vary")) &&
                                  cor_str_eq(headers[i].value, COR_STR("Accept-Encoding")));
    }
    all[nheaders++] = (struct cor_http_header){COR_STR("Content-Encoding"), COR_STR("gzip")};
    if (!is_varied)
        all[nheaders++] = (struct cor_http_header){COR_STR("Vary"), COR_STR("Accept-Encoding")};
    cor_http_response_start(answer->opts.response, answer->code, all, nheaders,
                            COR_HTTP_LENGTH_UNKNOWN);
    answer->state = ANSWER_GZIP;
}

/* Charges the sender for the bytes that are gathered. 0, -COR_EBUSY. */
static int answer_charge_gathered(struct cor_gzip_answer *answer)
{
    return cor_http_response_hold(answer->opts.response, answer->opts.held + answer->in.cap);
}

/* Charges the sender, and gets zlib's memory. 0, -COR_EBUSY, -COR_ENOMEM. */
static int answer_get_writer(struct cor_gzip_answer *answer)
{
    const struct cor_gzip_answer_opts *opts = &answer->opts;
    int r = cor_http_response_hold(opts->response, opts->held + COR_GZIP_ANSWER_BYTES);

    if (r == 0)
        r = cor_buf_reserve(&answer->in, SLICE - answer->in.n);
    if (r == 0)
        r = cor_gzip_writer_new(COR_GZIP_FAST, &answer->writer);
    if (r < 0)
        (void)answer_charge_gathered(answer);
    return r;
}

/* Makes room for `n` bytes in `in`. In GZIP there is room for a slice. 0, -COR_EBUSY, -COR_ENOMEM.
 */
static int answer_make_room(struct cor_gzip_answer *answer, size_t n)
{
    size_t cap = answer->in.cap;
    int r = cor_buf_reserve(&answer->in, n);

    assert(answer->state != ANSWER_GZIP || answer->in.cap == cap);
    return r < 0 || answer->in.cap == cap ? r : answer_charge_gathered(answer);
}

struct cor_gzip_answer *cor_gzip_answer_new(const struct cor_gzip_answer_opts *opts, int code,
                                            const struct cor_http_header *headers, size_t nheaders,
                                            uint64_t length)
{
    struct cor_gzip_answer *answer = cor_calloc(1, sizeof(*answer));
    int r;

    assert(opts->response && opts->sent && opts->on_room && opts->on_over);
    assert(length > COR_GZIP_PLAIN_MAX && nheaders <= COR_SINK_HEADERS_MAX);
    if (!answer)
        return NULL;
    answer->opts = *opts;
    answer->code = code;
    cor_buf_init(&answer->in, SLICE);
    cor_buf_init(&answer->out, OUT_MAX);
    r = length == COR_HTTP_LENGTH_UNKNOWN ? answer_keep_head(answer, headers, nheaders)
                                          : answer_get_writer(answer);
    if (r < 0) {
        answer_free(answer);
        return NULL;
    }
    if (length != COR_HTTP_LENGTH_UNKNOWN)
        answer_start_gzip(answer, headers, nheaders);
    return answer;
}

/* On an offload thread, or on the loop. */
static void answer_run_job(struct cor_job *job)
{
    struct cor_gzip_answer *answer = COR_CONTAINER_OF(job, struct cor_gzip_answer, job);

    answer->result =
        cor_gzip_write(answer->writer, cor_buf_str(&answer->in), answer->is_last, &answer->out);
}

/* Writes `out`. True: the response has taken all of it. */
static bool answer_flush(struct cor_gzip_answer *answer)
{
    struct cor_str rest = cor_str_from(cor_buf_str(&answer->out), answer->out_done);

    if (rest.n > 0) {
        size_t taken = cor_http_response_write(answer->opts.response, rest);

        answer->out_done += taken;
        *answer->opts.sent += taken;
    }
    if (answer->out_done < answer->out.n)
        return false;
    cor_buf_reset(&answer->out);
    answer->out_done = 0;
    return true;
}

static void answer_pack(struct cor_gzip_answer *answer, bool is_last);

/* Goes on after a slice was compressed, or when the response has room. True: the response has ended
 * and the answer is freed. */
static bool answer_advance(struct cor_gzip_answer *answer)
{
    if (answer->is_packing || !answer_flush(answer))
        return false;
    if (answer->is_ending) {
        if (answer->state == ANSWER_GZIP && !answer->is_last) {
            answer_pack(answer, true);
            return false;
        }
        cor_http_response_end(answer->opts.response);
        answer_free(answer);
        return true;
    }
    return false;
}

/* The same for callers from below, who expect callbacks. */
static void answer_go_on(struct cor_gzip_answer *answer)
{
    struct cor_gzip_answer_opts opts = answer->opts;

    if (answer_advance(answer)) {
        opts.on_over(opts.arg, 0);
        return;
    }
    if (answer->is_short && !answer->is_packing && answer->out.n == 0) {
        answer->is_short = false;
        opts.on_room(opts.arg);
    }
}

static void answer_on_packed(struct cor_job *job)
{
    struct cor_gzip_answer *answer = COR_CONTAINER_OF(job, struct cor_gzip_answer, job);
    struct cor_gzip_answer_opts opts = answer->opts;
    int r = answer->result;

    answer->is_packing = false;
    if (answer->is_given_up) {
        answer_free(answer);
        return;
    }
    cor_buf_reset(&answer->in);
    if (r < 0) {
        answer_free(answer);
        cor_http_response_abort(opts.response);
        opts.on_over(opts.arg, r);
        return;
    }
    answer_go_on(answer);
}

/* No thread took the slice. */
static void answer_on_turn(struct cor_mail *mail)
{
    struct cor_gzip_answer *answer = COR_CONTAINER_OF(mail, struct cor_gzip_answer, turn);

    if (!answer->is_given_up)
        answer_run_job(&answer->job);
    answer_on_packed(&answer->job);
}

static void answer_pack(struct cor_gzip_answer *answer, bool is_last)
{
    struct cor_loop *loop = cor_http_response_loop(answer->opts.response);

    assert(answer->state == ANSWER_GZIP && !answer->is_packing && answer->out.n == 0);
    answer->is_packing = true;
    answer->is_last = is_last;
    answer->job = (struct cor_job){.run = answer_run_job,
                                   .on_done = answer_on_packed,
                                   .loop = loop,
                                   .bytes = SLICE,
                                   .owner = answer->opts.owner};
    if (answer->opts.offload && cor_offload_submit(answer->opts.offload, &answer->job) == 0)
        return;
    answer->turn = (struct cor_mail){.on_mail = answer_on_turn};
    cor_loop_post_always(loop, &answer->turn);
}

/* The answer is sent as it is: the head, and what was gathered. */
static void answer_become_plain(struct cor_gzip_answer *answer)
{
    assert(answer->state == ANSWER_GATHERING && answer->out.n == 0);
    cor_buf_deinit(&answer->out);
    answer->out = answer->in;
    cor_buf_init(&answer->in, SLICE);
    answer->state = ANSWER_PLAIN;
    cor_http_response_start(answer->opts.response, answer->code, answer->headers, answer->nheaders,
                            COR_HTTP_LENGTH_UNKNOWN);
    (void)answer_flush(answer);
}

/* Copies bytes of the spans from `skip` on into `in`, up to a full slice. Returns how many. */
static size_t answer_take(struct cor_gzip_answer *answer, const struct cor_str *spans,
                          size_t nspans, size_t skip)
{
    size_t taken = 0;

    for (size_t i = 0; i < nspans && answer->in.n < SLICE; i++) {
        struct cor_str span = spans[i];

        if (skip >= span.n) {
            skip -= span.n;
            continue;
        }
        span = cor_str_from(span, skip);
        skip = 0;
        if (span.n > SLICE - answer->in.n)
            span.n = SLICE - answer->in.n;
        if (answer_make_room(answer, span.n) < 0)
            break;
        (void)cor_buf_adds(&answer->in, span);
        taken += span.n;
    }
    return taken;
}

size_t cor_gzip_answer_writev(struct cor_gzip_answer *answer, const struct cor_str *spans,
                              size_t nspans, size_t skip)
{
    size_t total = 0, taken;

    assert(!answer->is_ending && !answer->is_given_up);
    for (size_t i = 0; i < nspans; i++)
        total += spans[i].n;
    assert(skip <= total);
    total -= skip;
    if (answer->is_packing || answer->out.n > 0) {
        answer->is_short = total > 0;
        return 0;
    }
    if (answer->state == ANSWER_PLAIN) {
        taken = cor_http_response_writev(answer->opts.response, spans, nspans, skip);
        *answer->opts.sent += taken;
        answer->is_short = taken < total;
        return taken;
    }
    taken = answer_take(answer, spans, nspans, skip);
    if (taken == total)
        return taken;
    answer->is_short = true;
    if (answer->state == ANSWER_GATHERING) {
        if (answer->in.n < SLICE || answer_get_writer(answer) < 0) {
            /* There is no memory to gather or to compress it, or too much is held for the sender.
             */
            answer_become_plain(answer);
            /* Once the gathered bytes are out, nothing else calls on_room. */
            if (answer->out.n == 0)
                taken += cor_gzip_answer_writev(answer, spans, nspans, skip + taken);
            return taken;
        }
        answer_start_gzip(answer, answer->headers, answer->nheaders);
    }
    answer_pack(answer, false);
    return taken;
}

bool cor_gzip_answer_end(struct cor_gzip_answer *answer)
{
    assert(!answer->is_ending && !answer->is_given_up);
    answer->is_ending = true;
    answer->is_short = false;
    if (answer->state == ANSWER_GATHERING)
        answer_become_plain(answer);
    return answer_advance(answer);
}

void cor_gzip_answer_on_writable(struct cor_gzip_answer *answer)
{
    assert(!answer->is_given_up);
    answer_go_on(answer);
}

void cor_gzip_answer_give_up(struct cor_gzip_answer *answer)
{
    assert(!answer->is_given_up);
    answer->is_given_up = true;
    if (!answer->is_packing)
        answer_free(answer);
    else if (answer->opts.offload)
        (void)cor_offload_withdraw(answer->opts.offload, &answer->job);
}
