/* Input: one byte that chooses role and cut, then what a peer sends. However the bytes are cut, and
 * whether or not it pauses after each piece of a body, a session says the same; it takes nothing
 * past the end of a message, and keeps its limits. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "net/session/h1.h"

static const struct cor_h1_limits limits = {.head_max = 512, .headers_max = 8, .body_max = 256};

/* How much of a body is shown before it is refused depends on the cut: it counts at its end. */
struct seen {
    uint64_t hash;
    uint64_t body_hash;
    uint64_t body;
    bool pauses;
};

static void mix(uint64_t *hash, struct cor_str s)
{
    for (size_t i = 0; i < s.n; i++)
        *hash = (*hash ^ (unsigned char)s.p[i]) * 0x100000001b3u;
}

static int on_head(const struct cor_h1_head *head, void *arg)
{
    struct seen *seen = arg;
    size_t total = head->target.n;

    mix(&seen->hash, head->method);
    mix(&seen->hash, head->target);
    FUZZ_CHECK(head->nheaders <= limits.headers_max);
    for (size_t i = 0; i < head->nheaders; i++) {
        total += head->headers[i].name.n + head->headers[i].value.n;
        FUZZ_CHECK(!memchr(head->headers[i].value.p, '\n', head->headers[i].value.n));
        mix(&seen->hash, head->headers[i].name);
        mix(&seen->hash, head->headers[i].value);
    }
    FUZZ_CHECK(total <= limits.head_max);
    seen->hash += head->length * 3 + (uint64_t)head->status + head->keep_alive;
    return 0;
}

static int on_body(struct cor_str piece, void *arg)
{
    struct seen *seen = arg;

    seen->body += piece.n;
    FUZZ_CHECK(seen->body <= limits.body_max);
    mix(&seen->body_hash, piece);
    return seen->pauses ? COR_H1_PAUSE : 0;
}

static int on_end(void *arg)
{
    struct seen *seen = arg;

    seen->hash += seen->body_hash + 7;
    seen->body = seen->body_hash = 0;
    return 0;
}

static uint64_t run(enum cor_h1_role role, struct cor_str in, size_t cut, bool pauses)
{
    static const struct cor_h1_cbs cbs = {on_head, on_body, on_end};
    struct seen seen = {.pauses = pauses};
    struct cor_h1 *h = cor_h1_new(role, &limits, &cbs, &seen);
    int r = 0;

    FUZZ_CHECK(h);
    /* After the last piece a paused session is fed once more, for its end. */
    while ((in.n > 0 || cor_h1_is_paused(h)) && r == 0) {
        size_t used;

        r = cor_h1_feed(h, cor_str(in.p, in.n < cut ? in.n : cut), &used);
        FUZZ_CHECK(used <= in.n && (r < 0 || used > 0 || pauses));
        in = cor_str_from(in, used);
        if (r == 0 && cor_h1_is_done(h))
            cor_h1_next(h, false);
    }
    if (r == 0)
        r = cor_h1_finish(h);
    FUZZ_CHECK(r == 0 || (cor_h1_error(h)->status >= 400 && cor_h1_error(h)->text));
    cor_h1_free(h);
    return seen.hash + (uint64_t)(r < 0);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    enum cor_h1_role role;
    struct cor_str in;

    if (size == 0)
        return 0;
    role = data[0] & 1 ? COR_H1_SERVER : COR_H1_CLIENT;
    in = cor_str((const char *)data + 1, size - 1);
    FUZZ_CHECK(run(role, in, SIZE_MAX, false) == run(role, in, 1 + (data[0] >> 1) % 17, false));
    FUZZ_CHECK(run(role, in, SIZE_MAX, false) == run(role, in, 1 + (data[0] >> 1) % 17, true));
    return 0;
}
