#include "replay.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "process.h"
#include "target.h"

#define BYTES_MAX     (64u << 20)
#define OBJECT_MAX    8192
#define REQUEST_MAX   8192
#define PAYLOAD_MAX   4096
#define FIRST_VERSION REPLAY_FIRST_VERSION
#define VERSION_LEN   10
#define STAMP_LEN     19
#define NS_PER_S      UINT64_C(1000000000)

struct replay {
    int listener;
    size_t events;
    uint64_t pause_us;
    struct cor_buf list;               /* the whole answer */
    struct cor_buf round;              /* one update of each object, a chunk each */
    size_t ends[REPLAY_OBJECTS];       /* of their chunks in the round */
    size_t versions[REPLAY_OBJECTS];   /* where their versions are in the round */
    size_t timestamps[REPLAY_OBJECTS]; /* where their times are */
};

static int make_object(char *out, size_t i, size_t payload)
{
    char data[PAYLOAD_MAX];

    memset(data, 'x', payload);
    return snprintf(
        out, OBJECT_MAX,
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"o-%zu\","
        "\"namespace\":\"bench\",\"uid\":\"8c9f5f5e-0000-4000-8000-%012zx\","
        "\"resourceVersion\":\"%" PRIu64 "\","
        "\"creationTimestamp\":\"2026-01-01T00:00:00Z\","
        "\"labels\":{\"app\":\"a%zu\",\"tier\":\"t%zu\"}},"
        "\"data\":{\"k\":\"%.*s\",\"t\":\"0000000000000000000\"}}",
        i, i, FIRST_VERSION, i % 100, i % 3, (int)payload, data);
}

static void must(int r)
{
    if (r < 0)
        die("out of memory");
}

static void make_list(struct cor_buf *out, size_t payload)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body;
    char object[OBJECT_MAX];

    cor_buf_init(&body, BYTES_MAX);
    must(cor_buf_addf(&body,
                      "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":"
                      "{\"resourceVersion\":\"%" PRIu64 "\"},\"items\":[",
                      FIRST_VERSION));
    for (size_t i = 0; i < REPLAY_OBJECTS; i++) {
        int n = make_object(object, i, payload);

        must(cor_buf_addf(&body, "%s%.*s", i ? "," : "", n, object));
    }
    must(cor_buf_addz(&body, "]}"));
    must(cor_buf_addf(out,
                      "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                      "Content-Length: %zu\r\n\r\n%s",
                      body.n, cor_buf_z(&body)));
}

/* As servers send events: each line a chunk. */
static void make_round(struct replay *r, size_t payload)
{
    static const char before[] = "{\"type\":\"MODIFIED\",\"object\":";
    static const char version[] = "\"resourceVersion\":\"", stamp[] = "\"t\":\"";
    char object[OBJECT_MAX];

    for (size_t i = 0; i < REPLAY_OBJECTS; i++) {
        size_t n = (size_t)make_object(object, i, payload);
        const char *at = memmem(object, n, version, sizeof(version) - 1);
        const char *time_at = memmem(object, n, stamp, sizeof(stamp) - 1);

        must(cor_buf_addf(&r->round, "%zx\r\n%s", n + sizeof(before) - 1 + 2, before));
        r->versions[i] = r->round.n + (size_t)(at - object) + sizeof(version) - 1;
        r->timestamps[i] = r->round.n + (size_t)(time_at - object) + sizeof(stamp) - 1;
        must(cor_buf_addf(&r->round, "%s}\n\r\n", object));
        r->ends[i] = r->round.n;
    }
}

static void say(int fd, struct cor_str text)
{
    while (text.n > 0) {
        ssize_t n = send(fd, text.p, text.n, MSG_NOSIGNAL);

        if (n <= 0)
            _exit(0);
        text = cor_str(text.p + n, text.n - (size_t)n);
    }
}

static void set_version(struct replay *r, size_t i, uint64_t version)
{
    char digits[VERSION_LEN + 1];

    snprintf(digits, sizeof(digits), "%" PRIu64, version);
    memcpy(r->round.p + r->versions[i], digits, VERSION_LEN);
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Sends the events at their pace; each event carries the time at which it is sent. When the sender
 * is late, the next events are not sent faster to catch up. */
static void send_paced(struct replay *r, int fd)
{
    uint64_t version = FIRST_VERSION;

    for (size_t done = 0; done < r->events; done++) {
        size_t i = done % REPLAY_OBJECTS, from = i > 0 ? r->ends[i - 1] : 0;
        uint64_t at = now_ns(CLOCK_MONOTONIC) + r->pause_us * 1000;
        const struct timespec until = {(time_t)(at / NS_PER_S), (long)(at % NS_PER_S)};
        char digits[STAMP_LEN + 1];

        set_version(r, i, ++version);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        snprintf(digits, sizeof(digits), "%0*" PRIu64, STAMP_LEN, now_ns(CLOCK_REALTIME));
        memcpy(r->round.p + r->timestamps[i], digits, STAMP_LEN);
        say(fd, cor_str(r->round.p + from, r->ends[i] - from));
    }
}

static void send_events(struct replay *r, int fd)
{
    uint64_t version = FIRST_VERSION;

    say(fd, COR_STR("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n"));
    if (r->pause_us > 0) {
        send_paced(r, fd);
        return;
    }
    for (size_t done = 0; done < r->events; done += REPLAY_OBJECTS) {
        for (size_t i = 0; i < REPLAY_OBJECTS; i++)
            set_version(r, i, ++version);
        say(fd, cor_buf_str(&r->round));
    }
}

static void answer(struct replay *r, int fd, const char *request)
{
    static const char refusal[] =
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"reason\":\"Invalid\","
        "\"message\":\"sendInitialEvents is forbidden\",\"code\":422}";
    char text[512];
    int n;

    if (strstr(request, "sendInitialEvents=true")) {
        n = snprintf(text, sizeof(text),
                     "HTTP/1.1 422 Unprocessable Entity\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     sizeof(refusal) - 1, refusal);
        say(fd, cor_str(text, (size_t)n));
    } else if (strstr(request, "watch=")) {
        send_events(r, fd);
    } else {
        say(fd, cor_buf_str(&r->list));
    }
}

struct connection {
    struct replay *replay;
    int fd;
};

/* Requests are small and come whole, one at a time. */
static void serve(void *arg)
{
    struct connection *c = arg;
    char request[REQUEST_MAX];
    ssize_t n;

    while ((n = recv(c->fd, request, sizeof(request) - 1, 0)) > 0) {
        request[n] = '\0';
        answer(c->replay, c->fd, request);
    }
}

static void run(void *arg)
{
    struct replay *r = arg;
    int fd;

    signal(SIGCHLD, SIG_IGN);
    while ((fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        struct connection c = {r, fd};

        (void)process_fork(serve, &c);
        close(fd);
    }
}

void replay_start(size_t events, size_t payload, uint64_t pause_us, struct target *ret)
{
    static struct replay r;

    if (payload > PAYLOAD_MAX || events % REPLAY_OBJECTS != 0)
        die("%zu events with %zu bytes of data", events, payload);
    *ret = (struct target){.npids = 1, .is_plain = true};
    r = (struct replay){.events = events, .pause_us = pause_us};
    cor_buf_init(&r.list, BYTES_MAX);
    cor_buf_init(&r.round, BYTES_MAX);
    make_list(&r.list, payload);
    make_round(&r, payload);
    r.listener = target_listen(&ret->port);
    ret->pids[0] = process_fork(run, &r);
    close(r.listener);
    cor_buf_deinit(&r.list);
    cor_buf_deinit(&r.round);
}
