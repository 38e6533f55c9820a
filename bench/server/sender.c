#include "sender.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "process.h"
#include "target.h"

#define RECEIVERS_MAX 4096
#define EVENT_MAX     16384
#define REQUEST_MAX   8192

struct sender {
    int listener;
    size_t event_n, nreceivers;
    int receivers[RECEIVERS_MAX];
    char event[EVENT_MAX];
};

/* One chunk with one line, `bytes` of body. */
static size_t make_event(char *out, size_t bytes)
{
    int n = snprintf(out, EVENT_MAX, "%zx\r\n", bytes);

    memset(out + n, 'x', bytes - 1);
    memcpy(out + (size_t)n + bytes - 1, "\n\r\n", 3);
    return (size_t)n + bytes + 2;
}

static void say(int fd, const char *p, size_t n)
{
    if (send(fd, p, n, MSG_NOSIGNAL) != (ssize_t)n)
        _exit(1);
}

/* Requests are small and come whole. */
static void serve(struct sender *s, int fd)
{
    static const char open_head[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const char done_head[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    char request[REQUEST_MAX];
    ssize_t n = recv(fd, request, sizeof(request), 0);

    if (n > 3 && memcmp(request, "GET", 3) == 0 && s->nreceivers < RECEIVERS_MAX) {
        s->receivers[s->nreceivers++] = fd;
        say(fd, open_head, sizeof(open_head) - 1);
        return;
    }
    for (; n > 0; n = recv(fd, request, sizeof(request), 0)) {
        for (size_t i = 0; i < s->nreceivers; i++)
            say(s->receivers[i], s->event, s->event_n);
        say(fd, done_head, sizeof(done_head) - 1);
    }
    close(fd);
}

static void run(void *arg)
{
    const int one = 1;
    struct sender *s = arg;

    for (;;) {
        int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd < 0)
            return;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        serve(s, fd);
    }
}

void sender_start(size_t bytes, struct target *ret)
{
    static struct sender s;

    if (bytes == 0 || bytes + 64 > EVENT_MAX)
        die("an event of %zu bytes", bytes);
    *ret = (struct target){.npids = 1, .is_plain = true};
    s.listener = target_listen(&ret->port);
    s.event_n = make_event(s.event, bytes);
    ret->pids[0] = process_fork(run, &s);
    close(s.listener);
}
