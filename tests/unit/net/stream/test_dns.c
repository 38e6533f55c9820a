/* Look-ups on the loop, with a small name server on loopback, a process of its own, that makes
 * mistakes as its clients ask for them: the first label of a name says which. No look-up starts a
 * thread. What c-ares itself does with bytes on the wire is its own tests' matter; here is what
 * becomes of it. */
#include "test.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "loop/loop.h"
#include "net/stream/dns.h"
#include "net/stream/net_int.h"
#include "net/stream/resolver.h"

#define BIND_TRIES 100

#define PATIENCE_MS 60000
#define PACKET_MAX  1500
#define HEAD        12
#define TYPE_A      1
#define TYPE_CNAME  5
#define TYPE_AAAA   28

/* ---- the name server ---- */

struct packet {
    unsigned char bytes[PACKET_MAX];
    size_t n;
};

static void put16(struct packet *p, unsigned value)
{
    p->bytes[p->n++] = (unsigned char)(value >> 8);
    p->bytes[p->n++] = (unsigned char)value;
}

static void put_record(struct packet *p, unsigned type, const void *data, size_t n)
{
    put16(p, 0xc000 + HEAD); /* the name of the question */
    put16(p, type);
    put16(p, 1);
    put16(p, 0);
    put16(p, 60); /* seconds */
    put16(p, (unsigned)n);
    memcpy(p->bytes + p->n, data, n);
    p->n += n;
    p->bytes[7]++;
}

static void put_address(struct packet *p, unsigned type, const char *text)
{
    unsigned char address[16];

    inet_pton(type == TYPE_A ? AF_INET : AF_INET6, text, address);
    put_record(p, type, address, type == TYPE_A ? 4 : 16);
}

/* The first label of the question, and its type. */
static unsigned read_question(const struct packet *asked, char label[64])
{
    size_t at = HEAD, n = asked->bytes[HEAD];

    snprintf(label, 64, "%.*s", (int)n, (const char *)asked->bytes + HEAD + 1);
    while (at < asked->n && asked->bytes[at] != 0)
        at += asked->bytes[at] + 1u;
    return at + 2 < asked->n ? asked->bytes[at + 1] * 256u + asked->bytes[at + 2] : 0;
}

static void begin_answer(const struct packet *asked, unsigned flags, struct packet *ret)
{
    *ret = *asked;
    ret->bytes[2] = (unsigned char)(0x80 | (asked->bytes[2] & 1) | flags >> 8);
    ret->bytes[3] = (unsigned char)(0x80 | (flags & 0xff));
    memset(ret->bytes + 6, 0, 6); /* no records yet */
    ret->n = HEAD;
    while (ret->bytes[ret->n] != 0)
        ret->n += ret->bytes[ret->n] + 1u;
    ret->n += 5;
}

/* Is it the first time that this is asked? */
static bool is_first(const char *label, unsigned type)
{
    static char seen[64][70];
    static size_t nseen;
    char key[70];

    snprintf(key, sizeof(key), "%s/%u", label, type);
    for (size_t i = 0; i < nseen; i++) {
        if (strcmp(seen[i], key) == 0)
            return false;
    }
    if (nseen < 64)
        snprintf(seen[nseen++], sizeof(seen[0]), "%s", key);
    return true;
}

static void answer_fully(const struct packet *asked, unsigned type, struct packet *ret)
{
    begin_answer(asked, 0, ret);
    if (type == TYPE_A)
        put_address(ret, TYPE_A, "192.0.2.1");
    else if (type == TYPE_AAAA)
        put_address(ret, TYPE_AAAA, "2001:db8::1");
}

static void answer_many(const struct packet *asked, unsigned type, struct packet *ret)
{
    char text[32];

    begin_answer(asked, 0, ret);
    for (int i = 1; i <= 20 && type == TYPE_A; i++) {
        snprintf(text, sizeof(text), "192.0.2.%d", i);
        put_address(ret, TYPE_A, text);
    }
}

static bool is_label(const char *label, const char *want)
{
    return strcmp(label, want) == 0;
}

static void send_packet(int fd, const struct packet *p, const struct sockaddr_in *to)
{
    sendto(fd, p->bytes, p->n, 0, (const struct sockaddr *)to, sizeof(*to));
}

static void serve_udp(int fd)
{
    struct packet asked, made;
    struct sockaddr_in from;
    socklen_t from_n = sizeof(from);
    char label[64];
    unsigned type;
    ssize_t n =
        recvfrom(fd, asked.bytes, sizeof(asked.bytes), 0, (struct sockaddr *)&from, &from_n);

    if (n < HEAD)
        return;
    asked.n = (size_t)n;
    type = read_question(&asked, label);
    answer_fully(&asked, type, &made);
    if (is_label(label, "silent") || (is_label(label, "late") && is_first(label, type)))
        return;
    if (is_label(label, "unknown") || is_label(label, "search"))
        begin_answer(&asked, 3, &made);
    if (is_label(label, "search") && memmem(asked.bytes, asked.n, "\6second", 7))
        answer_fully(&asked, type, &made);
    if (is_label(label, "order")) {
        begin_answer(&asked, 0, &made);
        if (type == TYPE_A)
            put_address(&made, TYPE_A,
                        memmem(asked.bytes, asked.n, "\5first", 6) ? "192.0.2.11" : "192.0.2.12");
    }
    if (is_label(label, "broken"))
        begin_answer(&asked, 2, &made);
    if (is_label(label, "empty") || (is_label(label, "four") && type == TYPE_AAAA) ||
        (is_label(label, "six") && type == TYPE_A))
        begin_answer(&asked, 0, &made);
    if (is_label(label, "many"))
        answer_many(&asked, type, &made);
    if (is_label(label, "large"))
        begin_answer(&asked, 0x200, &made); /* the rest by TCP */
    if (is_label(label, "liar")) {
        struct packet lie = made;

        lie.bytes[0] ^= 0x55;
        lie.bytes[lie.n - 1] = 66;
        send_packet(fd, &lie, &from);
    }
    if (is_label(label, "cut"))
        made.n -= is_first(label, type) ? 7 : 0;
    if (is_label(label, "loop")) {
        static const unsigned char self[] = {0xc0, HEAD};

        begin_answer(&asked, 0, &made);
        put_record(&made, TYPE_CNAME, self, sizeof(self));
    }
    send_packet(fd, &made, &from);
}

static void serve_tcp(int listener)
{
    int fd = accept(listener, NULL, NULL);
    unsigned char size[2];
    struct packet asked, made;
    char label[64];

    /* Both questions may come by one connection. */
    while (recv(fd, size, 2, MSG_WAITALL) == 2) {
        asked.n = size[0] * 256u + size[1];
        if (asked.n > PACKET_MAX || recv(fd, asked.bytes, asked.n, MSG_WAITALL) != (ssize_t)asked.n)
            break;
        answer_fully(&asked, read_question(&asked, label), &made);
        size[0] = (unsigned char)(made.n >> 8);
        size[1] = (unsigned char)made.n;
        if (send(fd, size, 2, MSG_NOSIGNAL) != 2 ||
            send(fd, made.bytes, made.n, MSG_NOSIGNAL) != (ssize_t)made.n)
            break;
    }
    close(fd);
}

static void serve(int udp, int tcp)
{
    struct pollfd fds[] = {{.fd = udp, .events = POLLIN}, {.fd = tcp, .events = POLLIN}};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (poll(fds, 2, -1) > 0) {
        if (fds[0].revents)
            serve_udp(udp);
        if (fds[1].revents)
            serve_tcp(tcp);
    }
    _exit(1);
}

/* ---- the tests ---- */

struct asked {
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_resolver *resolver;
    char servers[64], file[200];
    pid_t server;
    bool is_done, net_closed;
    int r;
    struct cor_addresses found;
};

static size_t count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    size_t n = 0;

    assert_non_null(dir);
    for (struct dirent *it; (it = readdir(dir));)
        n += it->d_name[0] != '.';
    closedir(dir);
    return n;
}

/* Binds both sockets to one port, which some other program may have on the other side of a first
 * choice. */
static uint16_t bind_both(int *ret_udp, int *ret_tcp)
{
    for (int i = 0; i < BIND_TRIES; i++) {
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t n = sizeof(at);
        int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        assert_true(udp >= 0 && tcp >= 0);
        assert_int_equal(bind(tcp, (struct sockaddr *)&at, sizeof(at)), 0);
        assert_int_equal(getsockname(tcp, (struct sockaddr *)&at, &n), 0);
        if (bind(udp, (struct sockaddr *)&at, sizeof(at)) == 0) {
            *ret_udp = udp;
            *ret_tcp = tcp;
            return ntohs(at.sin_port);
        }
        close(udp);
        close(tcp);
    }
    fail_msg("no port is free for both protocols");
    return 0;
}

static void start_server(struct asked *a)
{
    int udp, tcp;
    uint16_t port = bind_both(&udp, &tcp);

    assert_int_equal(listen(tcp, 8), 0);
    snprintf(a->servers, sizeof(a->servers), "127.0.0.1:%d", port);
    a->server = fork();
    assert_true(a->server >= 0);
    if (a->server == 0)
        serve(udp, tcp);
    close(udp);
    close(tcp);
}

static void on_done(int r, const struct cor_addresses *found, void *arg)
{
    struct asked *a = arg;

    a->is_done = true;
    a->r = r;
    a->found = *found;
}

static bool is_done(void *arg)
{
    return ((struct asked *)arg)->is_done;
}

static void on_net_closed(void *arg)
{
    ((struct asked *)arg)->net_closed = true;
}

static bool net_is_closed(void *arg)
{
    return ((struct asked *)arg)->net_closed;
}

/* Two domains that are searched. The variable LOCALDOMAIN has one only since c-ares 1.31. */
static void write_file(struct asked *a)
{
    static const char text[] = "nameserver 127.0.0.1\nsearch first.test second.test\n";
    const char *folder = getenv("TMPDIR");
    int fd;

    snprintf(a->file, sizeof(a->file), "%s/resolv.conf.XXXXXX", folder ? folder : "/tmp");
    fd = mkstemp(a->file);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
}

/* With quick time-outs. */
static void setup(struct asked *a)
{
    *a = (struct asked){0};
    setenv("RES_OPTIONS", "ndots:1 retrans:150 retry:3", 1);
    write_file(a);
    start_server(a);
    assert_int_equal(cor_loop_new(16, &a->loop), 0);
    assert_int_equal(cor_net_open(a->loop, &a->net), 0);
    cor_net_use_dns(a->net, a->servers);
    a->net->dns_file = a->file;
}

static void teardown(struct asked *a)
{
    cor_net_close(a->net, on_net_closed, a);
    assert_true(cor_loop_run_until(a->loop, net_is_closed, a, PATIENCE_MS));
    cor_loop_free(a->loop);
    kill(a->server, SIGKILL);
    waitpid(a->server, NULL, 0);
    unsetenv("RES_OPTIONS");
    unlink(a->file);
}

static int ask(struct asked *a, const char *host)
{
    size_t nthreads = count_threads();

    a->is_done = false;
    a->found.n = 0;
    assert_int_equal(cor_resolver_open(a->net, host, on_done, a, &a->resolver), 0);
    assert_false(a->is_done);
    assert_true(cor_loop_run_until(a->loop, is_done, a, PATIENCE_MS));
    assert_int_equal(count_threads(), nthreads);
    return a->r;
}

static bool has(const struct asked *a, const char *address)
{
    for (size_t i = 0; i < a->found.n; i++) {
        if (strcmp(a->found.at[i], address) == 0)
            return true;
    }
    return false;
}

TEST(dns, finds_addresses_of_both_families)
{
    struct asked a;

    setup(&a);
    assert_int_equal(ask(&a, "both.example.com"), 0);
    assert_int_equal(a.found.n, 2);
    assert_true(has(&a, "192.0.2.1") && has(&a, "2001:db8::1"));
    assert_int_equal(ask(&a, "four.example.com"), 0);
    assert_int_equal(a.found.n, 1);
    assert_true(has(&a, "192.0.2.1"));
    assert_int_equal(ask(&a, "six.example.com"), 0);
    assert_int_equal(a.found.n, 1);
    assert_true(has(&a, "2001:db8::1"));
    teardown(&a);
}

TEST(dns, a_numeric_address_and_a_name_of_etc_hosts_need_no_server)
{
    struct asked a;

    setup(&a);
    kill(a.server, SIGSTOP);
    assert_int_equal(ask(&a, "127.0.0.1"), 0);
    assert_true(has(&a, "127.0.0.1"));
    assert_int_equal(ask(&a, "::1"), 0);
    assert_true(has(&a, "::1"));
    assert_int_equal(ask(&a, "localhost"), 0);
    assert_true(has(&a, "127.0.0.1") || has(&a, "::1"));
    teardown(&a);
}

TEST(dns, keeps_as_many_addresses_as_are_tried)
{
    struct asked a;

    setup(&a);
    assert_int_equal(ask(&a, "many.example.com"), 0);
    assert_int_equal(a.found.n, COR_RESOLVER_ADDRESSES_MAX);
    teardown(&a);
}

TEST(dns, searches_the_domains_in_their_order)
{
    struct asked a;

    setup(&a);
    assert_int_equal(ask(&a, "search"), 0);
    assert_true(has(&a, "192.0.2.1"));
    /* Both have it: the first one is asked first. */
    assert_int_equal(ask(&a, "order"), 0);
    assert_int_equal(a.found.n, 1);
    assert_true(has(&a, "192.0.2.11"));
    teardown(&a);
}

TEST(dns, asks_again_when_an_answer_is_lost)
{
    struct asked a;

    setup(&a);
    assert_int_equal(ask(&a, "late.example.com"), 0);
    assert_true(has(&a, "192.0.2.1"));
    teardown(&a);
}

TEST(dns, an_answer_that_is_too_large_comes_by_tcp)
{
    struct asked a;

    setup(&a);
    assert_int_equal(ask(&a, "large.example.com"), 0);
    assert_int_equal(a.found.n, 2);
    teardown(&a);
}

TEST(dns, an_answer_to_another_question_is_ignored)
{
    struct asked a;

    setup(&a);
    assert_int_equal(ask(&a, "liar.example.com"), 0);
    assert_int_equal(a.found.n, 2);
    assert_true(has(&a, "192.0.2.1") && has(&a, "2001:db8::1"));
    teardown(&a);
}

TEST(dns, what_no_server_has_is_told)
{
    static const char *const names[] = {"unknown.example.com", "empty.example.com",
                                        "loop.example.com"};
    struct asked a;

    setup(&a);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        assert_int_equal(ask(&a, names[i]), -COR_EUNREACHABLE);
        assert_int_equal(a.found.n, 0);
    }
    /* A server that says that it failed: by the version of c-ares. */
    assert_true(ask(&a, "broken.example.com") == -COR_ETIMEOUT || a.r == -COR_EUNREACHABLE);
    teardown(&a);
}

/* The answer is malformed: c-ares gives up or asks again, by its version; nothing wrong is found.
 */
TEST(dns, an_answer_that_was_cut_off_finds_nothing_wrong)
{
    struct asked a;

    setup(&a);
    if (ask(&a, "cut.example.com") == 0)
        assert_true(has(&a, "192.0.2.1") || has(&a, "2001:db8::1"));
    else
        assert_int_equal(a.found.n, 0);
    teardown(&a);
}

TEST(dns, a_server_that_does_not_answer_is_told)
{
    struct asked a;

    setup(&a);
    assert_int_equal(ask(&a, "silent.example.com"), -COR_ETIMEOUT);
    kill(a.server, SIGKILL);
    waitpid(a.server, NULL, 0);
    assert_int_equal(ask(&a, "both.example.com"), -COR_ETIMEOUT);
    teardown(&a);
}

TEST(dns, a_look_up_is_cancelled)
{
    struct asked a;

    setup(&a);
    for (int turns = 0; turns < 3; turns++) {
        a.is_done = false;
        assert_int_equal(cor_resolver_open(a.net, "silent.example.com", on_done, &a, &a.resolver),
                         0);
        for (int i = 0; i < turns; i++)
            cor_loop_run_until(a.loop, is_done, &a, 1);
        cor_resolver_cancel(a.resolver);
        assert_false(a.is_done);
        assert_true(cor_loop_run_until(a.loop, is_done, &a, PATIENCE_MS));
        assert_int_equal(a.r, -COR_ECANCELED);
    }
    teardown(&a);
}

/* Each of our own allocations fails once; those of c-ares are its own. */
TEST(dns, fails_without_memory)
{
    struct asked a;

    setup(&a);
    FOR_EACH_FAILED_ALLOC(n) {
        int r;

        a.is_done = false;
        r = cor_resolver_open(a.net, "both.example.com", on_done, &a, &a.resolver);
        if (r == 0) {
            assert_true(cor_loop_run_until(a.loop, is_done, &a, PATIENCE_MS));
            r = a.r;
        }
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
    teardown(&a);
}
