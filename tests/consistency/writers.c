#include "writers.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "http_conn.h"
#include "loop/timer.h"
#include "notes.h"
#include "pod.h"

#define BODY_MAX     (1u << 20)
#define RETRY_MS     20
#define WAIT_MS      2
#define PAD_MAX      24000
#define EVEN_PAD_MAX 4000
#define MERGE        "application/merge-patch+json"
#define JSON_TYPE    "application/json"

struct writer {
    struct writers *all;
    struct http_conn *conn;
    struct cor_timer retry;
    struct cor_rand rand;
    struct cor_buf body; /* of the answer */
    int status;
    bool is_busy;
    enum op op;
    unsigned key;
    struct event read;  /* what OP_READ brought */
    uint64_t known_rev; /* key_revs of the key, when the request was sent */
    uint64_t last_rev;  /* that this writer was told */
};

struct writers {
    struct http_client *client;
    struct verdict *verdict;
    struct notes notes;
    uint64_t rev;
    uint64_t key_revs[KEYS];        /* no read finds the key at an older one any more */
    const struct history *followed; /* NULL: none */
    uint64_t lag_max;
    bool is_finishing;
    unsigned nfinished; /* of the last writes: each key is deleted, then each is made */
    size_t n;
    struct writer v[];
};

/* The last ones have every color on every node in every namespace. */
static struct content new_content(struct writer *wr)
{
    struct content content = {.token = notes_take(&wr->all->notes, wr->op, wr->key),
                              .color = (uint8_t)cor_rand_below(&wr->rand, COLORS),
                              .node = (uint8_t)cor_rand_below(&wr->rand, NODES)};

    if (wr->all->is_finishing) {
        content.color = (uint8_t)(wr->key % NAMES % COLORS);
        content.node = (uint8_t)(wr->key % NAMES / COLORS % NODES);
    }
    if (wr->op == OP_UPDATE)
        content.node = wr->read.content.node;
    return content;
}

/* Sends wr->op on wr->key; wr->read is what an update changes, and keeps the token sent. */
static void send_op(struct writer *wr)
{
    char path[200];
    struct cor_buf body;
    size_t pad = cor_rand_below(&wr->rand, 4) == 0 ? cor_rand_below(&wr->rand, PAD_MAX) : 10;

    if (wr->all->followed)
        pad = cor_rand_below(&wr->rand, EVEN_PAD_MAX);
    cor_buf_init(&body, BODY_MAX);
    wr->is_busy = true;
    wr->known_rev = wr->all->key_revs[wr->key];
    if (wr->op != OP_READ)
        wr->read.content = new_content(wr);
    pod_path(path, sizeof(path), wr->key, wr->op == OP_CREATE || wr->op == OP_DELETE_ALL);
    switch (wr->op) {
    case OP_CREATE:
        pod_write(&body, wr->key, wr->read.content, 0, pad);
        http_conn_send(wr->conn, "POST", path, JSON_TYPE, cor_buf_str(&body));
        break;
    case OP_PATCH:
        pod_write_patch(&body, wr->read.content, pad);
        http_conn_send(wr->conn, "PATCH", path, MERGE, cor_buf_str(&body));
        break;
    case OP_READ:
        http_conn_send(wr->conn, "GET", path, NULL, cor_strz(""));
        break;
    case OP_UPDATE:
        pod_write(&body, wr->key, wr->read.content, wr->read.rev, pad);
        http_conn_send(wr->conn, "PUT", path, JSON_TYPE, cor_buf_str(&body));
        break;
    case OP_DELETE:
        cor_buf_addz(&body, "{\"gracePeriodSeconds\":0}");
        http_conn_send(wr->conn, "DELETE", path, JSON_TYPE, cor_buf_str(&body));
        break;
    case OP_DELETE_ALL:
        snprintf(path + strlen(path), sizeof(path) - strlen(path),
                 "?gracePeriodSeconds=0&labelSelector=color%%3Dc%u", wr->read.content.color);
        http_conn_send(wr->conn, "DELETE", path, NULL, cor_strz(""));
        break;
    case OP_OUTSIDE:
        abort();
    }
    cor_buf_deinit(&body);
}

static enum op pick_op(struct cor_rand *rand)
{
    uint64_t n = cor_rand_below(rand, 200);

    if (n < 70)
        return OP_CREATE;
    if (n < 120)
        return OP_PATCH;
    if (n < 160)
        return OP_READ;
    return n < 199 ? OP_DELETE : OP_DELETE_ALL;
}

static bool is_any_busy(const struct writers *w)
{
    bool is_busy = false;

    for (size_t i = 0; i < w->n; i++)
        is_busy |= w->v[i].is_busy;
    return is_busy;
}

/* The first writer does them, when the others are through. */
static void next_last_op(struct writer *wr)
{
    struct writers *w = wr->all;

    if (wr != w->v || w->nfinished == 2 * KEYS)
        return;
    if (is_any_busy(w)) {
        cor_timer_set(&wr->retry, RETRY_MS);
        return;
    }
    wr->op = w->nfinished < KEYS ? OP_DELETE : OP_CREATE;
    wr->key = w->nfinished % KEYS;
    w->nfinished++;
    send_op(wr);
}

static void next_op(struct writer *wr)
{
    if (writers_must_wait(wr->all)) {
        cor_timer_set(&wr->retry, WAIT_MS);
        return;
    }
    if (wr->all->is_finishing) {
        next_last_op(wr);
        return;
    }
    wr->op = pick_op(&wr->rand);
    wr->key = (unsigned)cor_rand_below(&wr->rand, KEYS);
    send_op(wr);
}

/* An update or a patch of a pod that is marked already has removed it instead of writing it, and
 * answers with what it would have written: it leaves no token. */
static bool has_removed(const struct writer *wr, const struct event *answer)
{
    return (wr->op == OP_UPDATE || wr->op == OP_PATCH) && answer->is_marked;
}

/* Somebody was told so: what is read from now on is of that revision or later. */
static void know(struct writers *w, unsigned key, uint64_t rev)
{
    if (rev > w->key_revs[key])
        w->key_revs[key] = rev;
}

static void on_written(struct writer *wr, const struct event *answer)
{
    struct writers *w = wr->all;

    if (has_removed(wr, answer)) {
        notes_removed(&w->notes, wr->read.content.token, answer->rev);
        know(w, wr->key, answer->rev + 1);
        return;
    }
    notes_done(&w->notes, wr->read.content.token, answer->rev);
    if (answer->rev <= wr->last_rev)
        verdict_set(w->verdict, "%s of key %u at %llu, after %llu", op_name(wr->op), wr->key,
                    (unsigned long long)answer->rev, (unsigned long long)wr->last_rev);
    if (wr->op != OP_DELETE && answer->content.token != wr->read.content.token)
        verdict_set(w->verdict, "%s of key %u wrote token %u, got token %u", op_name(wr->op),
                    wr->key, wr->read.content.token, answer->content.token);
    wr->last_rev = answer->rev;
    /* What was deleted at a revision, or had its mark there, is not found at it. */
    know(w, wr->key, wr->op == OP_DELETE ? answer->rev + 1 : answer->rev);
    if (answer->rev > w->rev)
        w->rev = answer->rev;
}

static void on_read(struct writer *wr, const struct event *answer)
{
    if (answer->rev < wr->known_rev)
        verdict_set(wr->all->verdict, "key %u was read at %llu, where %llu was the oldest left",
                    wr->key, (unsigned long long)answer->rev, (unsigned long long)wr->known_rev);
    wr->read = *answer;
    wr->op = OP_UPDATE;
    send_op(wr);
}

static void on_success(struct writer *wr)
{
    struct event answer = {0};

    if (wr->op == OP_DELETE_ALL) {
        next_op(wr);
        return;
    }
    if (!pod_read(cor_buf_str(&wr->body), &answer) || answer.key != wr->key) {
        verdict_set(wr->all->verdict, "%s of key %u: the answer is %.150s", op_name(wr->op),
                    wr->key, cor_buf_z(&wr->body));
        return;
    }
    if (wr->op == OP_READ) {
        on_read(wr, &answer);
    } else {
        on_written(wr, &answer);
        next_op(wr);
    }
}

static void on_head(int status, void *arg)
{
    struct writer *wr = arg;

    wr->status = status;
    cor_buf_reset(&wr->body);
}

static void on_body(struct cor_str piece, void *arg)
{
    struct writer *wr = arg;

    if (cor_buf_adds(&wr->body, piece) < 0)
        abort();
}

static void on_done(void *arg)
{
    struct writer *wr = arg;

    wr->is_busy = false;
    if (wr->status == 200 || wr->status == 201) {
        on_success(wr);
        return;
    }
    if (wr->op != OP_READ && (wr->status == 404 || wr->status == 409 || wr->status == 429))
        notes_refused(&wr->all->notes, wr->read.content.token);
    else if (wr->status != 404 && wr->status != 503 && wr->status != 504)
        verdict_set(wr->all->verdict, "%s of key %u: %d %.200s", op_name(wr->op), wr->key,
                    wr->status, cor_buf_z(&wr->body));
    if (wr->status == 404 || wr->status == 409)
        next_op(wr);
    else
        cor_timer_set(&wr->retry, RETRY_MS);
}

/* Whether the write happened is not known. */
static void on_lost(void *arg)
{
    struct writer *wr = arg;

    wr->is_busy = false;
    http_conn_close(COR_STEAL(wr->conn));
    cor_timer_set(&wr->retry, RETRY_MS);
}

static const struct http_conn_cbs conn_cbs = {on_head, on_body, on_done, on_lost};

static void on_retry(struct cor_timer *timer)
{
    struct writer *wr = COR_CONTAINER_OF(timer, struct writer, retry);

    if (!wr->conn)
        wr->conn = http_conn_open(wr->all->client, &conn_cbs, wr, false);
    if (wr->conn)
        next_op(wr);
    else
        cor_timer_set(&wr->retry, RETRY_MS);
}

struct writers *writers_start(struct cor_loop *loop, struct http_client *client, size_t n,
                              uint64_t seed, struct verdict *verdict)
{
    struct writers *w = cor_calloc(1, sizeof(*w) + n * sizeof(w->v[0]));

    if (!w)
        abort();
    w->client = client;
    w->verdict = verdict;
    w->n = n;
    notes_init(&w->notes);
    for (size_t i = 0; i < n; i++) {
        struct writer *wr = &w->v[i];

        wr->all = w;
        cor_rand_init_seeded(&wr->rand, seed + i);
        cor_buf_init(&wr->body, BODY_MAX);
        cor_timer_init(&wr->retry, loop, on_retry);
        on_retry(&wr->retry);
    }
    return w;
}

uint64_t writers_rev(const struct writers *w)
{
    return w->rev;
}

size_t writers_acknowledged(const struct writers *w)
{
    return w->notes.ndone;
}

void writers_follow(struct writers *w, const struct history *history, uint64_t lag_max)
{
    w->followed = history;
    w->lag_max = lag_max;
}

bool writers_must_wait(const struct writers *w)
{
    return w->followed && w->rev > w->followed->whole + w->lag_max;
}

uint32_t writers_note_outside(struct writers *w, unsigned key)
{
    return notes_take(&w->notes, OP_OUTSIDE, key);
}

void writers_done_outside(struct writers *w, uint32_t token, uint64_t rev)
{
    notes_done(&w->notes, token, rev);
    know(w, notes_key(&w->notes, token), rev);
    if (rev > w->rev)
        w->rev = rev;
}

void writers_finish(struct writers *w)
{
    w->is_finishing = true;
}

bool writers_are_done(void *writers)
{
    struct writers *w = writers;

    return (!is_any_busy(w) && w->nfinished == 2 * KEYS) || w->verdict->is_wrong;
}

void writers_check(const struct writers *w, const struct history *h, struct verdict *verdict)
{
    notes_check(&w->notes, h, verdict);
}

void writers_free(struct writers *w)
{
    for (size_t i = 0; i < w->n; i++) {
        http_conn_close(w->v[i].conn);
        cor_timer_cancel(&w->v[i].retry);
        cor_buf_deinit(&w->v[i].body);
    }
    notes_deinit(&w->notes);
    cor_free(w);
}
