/* Every now and then one request to etcd's JSON gateway, over a connection of its own. A request
 * whose answer does not come leaves its tokens unknown, as a lost answer of a server does. */
#include "outsider.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "loop/timer.h"
#include "pod.h"
#include "writers.h"

#define PAUSE_MS   120
#define PATIENCE_S 60
#define PAD_MAX    300
#define BODY_MAX   (4u << 20)

struct outsider {
    struct writers *writers;
    struct verdict *verdict;
    struct cor_rand rand;
    struct cor_timer timer;
    uint16_t port;
    size_t nwritten;
};

static void add_base64(struct cor_buf *out, struct cor_str text)
{
    if (cor_base64_encode(COR_BASE64_STD, text, out) < 0)
        abort();
}

static int open_socket(const struct outsider *o)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(o->port)};
    struct timeval patience = {.tv_sec = PATIENCE_S};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        abort();
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    close(fd);
    return -1;
}

static bool send_all(int fd, struct cor_str text)
{
    while (text.n > 0) {
        ssize_t n = send(fd, text.p, text.n, MSG_NOSIGNAL);

        if (n <= 0)
            return false;
        text = cor_str_from(text, (size_t)n);
    }
    return true;
}

/* The revision of the answer; 0: there is none. */
static uint64_t post(struct outsider *o, const char *path, struct cor_str body)
{
    static const char mark[] = "\"revision\":\"";
    char head[256], answer[65536], *at;
    int fd = open_socket(o);
    size_t n = 0;
    ssize_t got;

    if (fd < 0)
        return 0;
    snprintf(head, sizeof(head),
             "POST %s HTTP/1.0\r\nHost: etcd\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n",
             path, body.n);
    if (send_all(fd, cor_strz(head)) && send_all(fd, body)) {
        while (n + 1 < sizeof(answer) &&
               (got = recv(fd, answer + n, sizeof(answer) - 1 - n, 0)) > 0)
            n += (size_t)got;
    }
    close(fd);
    answer[n] = '\0';
    at = strstr(answer, " 200 ") ? strstr(answer, mark) : NULL;
    if (!at && n > 0)
        verdict_set(o->verdict, "etcd says %.200s", answer);
    return at ? strtoull(at + sizeof(mark) - 1, NULL, 10) : 0;
}

static void add_put(struct outsider *o, struct cor_buf *out, unsigned key, uint32_t token)
{
    struct content content = {.token = token,
                              .color = (uint8_t)cor_rand_below(&o->rand, COLORS),
                              .node = (uint8_t)cor_rand_below(&o->rand, NODES)};
    struct cor_buf pod;
    char name[64];

    cor_buf_init(&pod, BODY_MAX);
    pod_write_stored(&pod, key, content, cor_rand_below(&o->rand, PAD_MAX));
    snprintf(name, sizeof(name), "/registry/pods/ns%u/k%02u", key / NAMES, key % NAMES);
    cor_buf_addz(out, "{\"requestPut\":{\"key\":\"");
    add_base64(out, cor_strz(name));
    cor_buf_addz(out, "\",\"value\":\"");
    add_base64(out, cor_buf_str(&pod));
    cor_buf_addz(out, "\"}}");
    cor_buf_deinit(&pod);
}

/* Some neighbouring pods, across namespaces. */
static void put_some(struct outsider *o)
{
    unsigned n = 2 + (unsigned)cor_rand_below(&o->rand, KEYS - 2);
    unsigned first = (unsigned)cor_rand_below(&o->rand, KEYS);
    uint32_t tokens[KEYS];
    struct cor_buf body;
    uint64_t rev;

    cor_buf_init(&body, BODY_MAX);
    cor_buf_addz(&body, "{\"success\":[");
    for (unsigned i = 0; i < n; i++) {
        tokens[i] = writers_note_outside(o->writers, (first + i) % KEYS);
        if (i > 0)
            cor_buf_addc(&body, ',');
        add_put(o, &body, (first + i) % KEYS, tokens[i]);
    }
    cor_buf_addz(&body, "]}");
    rev = post(o, "/v3/kv/txn", cor_buf_str(&body));
    for (unsigned i = 0; i < n && rev > 0; i++)
        writers_done_outside(o->writers, tokens[i], rev);
    cor_buf_deinit(&body);
}

/* All pods of a namespace, or of all. */
static void delete_some(struct outsider *o)
{
    char begin[64] = "/registry/pods/", end[64] = "/registry/pods0";
    struct cor_buf body;

    if (cor_rand_below(&o->rand, 3) > 0) {
        unsigned space = (unsigned)cor_rand_below(&o->rand, SPACES);

        snprintf(begin, sizeof(begin), "/registry/pods/ns%u/", space);
        snprintf(end, sizeof(end), "/registry/pods/ns%u0", space);
    }
    cor_buf_init(&body, BODY_MAX);
    cor_buf_addz(&body, "{\"key\":\"");
    add_base64(&body, cor_strz(begin));
    cor_buf_addz(&body, "\",\"range_end\":\"");
    add_base64(&body, cor_strz(end));
    cor_buf_addz(&body, "\"}");
    (void)post(o, "/v3/kv/deleterange", cor_buf_str(&body));
    cor_buf_deinit(&body);
}

static void on_timer(struct cor_timer *timer)
{
    struct outsider *o = COR_CONTAINER_OF(timer, struct outsider, timer);

    if (!writers_must_wait(o->writers)) {
        if (cor_rand_below(&o->rand, 3) > 0)
            put_some(o);
        else
            delete_some(o);
        o->nwritten++;
    }
    cor_timer_set(&o->timer, 1 + cor_rand_below(&o->rand, PAUSE_MS));
}

struct outsider *outsider_start(struct cor_loop *loop, struct writers *writers, uint64_t seed,
                                struct verdict *verdict)
{
    static const char scheme[] = "http://127.0.0.1:";
    const char *urls = getenv("COR_ETCD_URLS");
    struct outsider *o;

    if (!urls || strncmp(urls, scheme, sizeof(scheme) - 1) != 0)
        return NULL;
    o = cor_calloc(1, sizeof(*o));
    if (!o)
        abort();
    o->writers = writers;
    o->verdict = verdict;
    o->port = (uint16_t)strtoul(urls + sizeof(scheme) - 1, NULL, 10);
    cor_rand_init_seeded(&o->rand, seed);
    cor_timer_init(&o->timer, loop, on_timer);
    cor_timer_set(&o->timer, 1);
    return o;
}

void outsider_compact(struct outsider *o, uint64_t rev)
{
    char body[64];

    snprintf(body, sizeof(body), "{\"revision\":\"%llu\"}", (unsigned long long)rev);
    if (post(o, "/v3/kv/compaction", cor_strz(body)) == 0)
        verdict_set(o->verdict, "etcd does not compact %llu", (unsigned long long)rev);
}

void outsider_stop(struct outsider *o)
{
    if (o)
        cor_timer_cancel(&o->timer);
}

size_t outsider_written(const struct outsider *o)
{
    return o ? o->nwritten : 0;
}

void outsider_free(struct outsider *o)
{
    outsider_stop(o);
    cor_free(o);
}
