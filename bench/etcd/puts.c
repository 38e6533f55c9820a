#include "puts.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop/loop.h"
#include "process.h"
#include "storage/engine/engine.h"

#define VALUE_BYTES 1024
#define WRITERS_MAX 64
/* A transaction of 1 KB with its frames and headers, and its answer. */
#define REQUEST_BYTES 1180
#define ANSWER_BYTES  110

struct puts {
    struct cor_engine *engine;
    struct cor_loop *loop;
    size_t left, under_way;
    char value[VALUE_BYTES];
};

struct writer {
    struct puts *puts;
    struct cor_write_req req;
    char key[64];
};

static double cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static void on_put(struct cor_engine_req *req);

static void put(struct writer *w)
{
    struct puts *p = w->puts;

    if (p->left == 0)
        return;
    snprintf(w->key, sizeof(w->key), "/puts/%zu", p->left--);
    p->under_way++;
    cor_write_req_init(&w->req, p->loop, on_put);
    w->req.key = cor_strz(w->key);
    w->req.value = cor_str(p->value, VALUE_BYTES);
    cor_engine_write(p->engine, &w->req);
}

static void on_put(struct cor_engine_req *req)
{
    struct writer *w = COR_CONTAINER_OF(req, struct writer, req.req);

    if (req->result < 0)
        die("put: %s", cor_status_message(&req->status));
    cor_write_req_deinit(&w->req);
    w->puts->under_way--;
    put(w);
}

static bool is_done(void *arg)
{
    const struct puts *p = arg;

    return p->left == 0 && p->under_way == 0;
}

double puts_engine_us(const char *etcd_url, size_t n, size_t at_once)
{
    const struct cor_engine_config config = {.backend = "etcd3", .etcd.servers = etcd_url};
    static struct writer writers[WRITERS_MAX];
    struct puts p = {.left = n};
    struct cor_status st;
    double before;

    cor_status_init(&st);
    memset(p.value, 'v', sizeof(p.value));
    if (cor_engine_open(&config, &p.engine, &st) < 0 || cor_loop_new(4096, &p.loop) < 0)
        die("%s", cor_status_message(&st));
    before = cpu_us();
    for (size_t i = 0; i < at_once && i < WRITERS_MAX; i++) {
        writers[i].puts = &p;
        put(&writers[i]);
    }
    if (!cor_loop_run_until(p.loop, is_done, &p, 600000))
        die("etcd is too slow");
    before = (cpu_us() - before) / (double)n;
    cor_engine_close(p.engine);
    cor_loop_free(p.loop);
    memset(writers, 0, sizeof(writers));
    return before;
}

static void take(int fd, size_t n)
{
    char bytes[REQUEST_BYTES];

    while (n > 0) {
        ssize_t r = recv(fd, bytes, n < sizeof(bytes) ? n : sizeof(bytes), 0);

        if (r <= 0)
            _exit(0);
        n -= (size_t)r;
    }
}

static void answer_all(void *arg)
{
    static const char bytes[ANSWER_BYTES];
    int fd = *(int *)arg;

    for (;;) {
        take(fd, REQUEST_BYTES);
        if (send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
            _exit(0);
    }
}

double puts_bare_us(size_t n)
{
    static const char bytes[REQUEST_BYTES];
    double before;
    pid_t child;
    int fds[2];

    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
        die("no sockets");
    child = process_fork(answer_all, &fds[1]);
    close(fds[1]);
    before = cpu_us();
    for (size_t i = 0; i < n; i++) {
        if (send(fds[0], bytes, sizeof(bytes), MSG_NOSIGNAL) < 0)
            die("send");
        take(fds[0], ANSWER_BYTES);
    }
    before = (cpu_us() - before) / (double)n;
    close(fds[0]);
    process_stop(child);
    return before;
}
