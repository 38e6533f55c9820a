/* What a compressed answer holds while it waits: the handler of a small HTTP server plays the verb.
 */
#include "server/http/gzip_answer.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "http/http_server.h"
#include "loop/loop.h"
#include "test.h"

#define GATHERED   100000
#define TIMEOUT_MS 60000

struct verb {
    struct cor_loop *loop;
    struct cor_http_server *server;
    struct cor_http_response *response;
    struct cor_gzip_answer *answer;
    uint64_t sent;
    size_t bodies_max;
    size_t held, taken; /* after a part of the answer was written */
    bool is_written, is_closed;
};

static size_t verb_held(struct verb *verb)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(verb->server, &stats);
    return stats.held[COR_HTTP_NRANKS - 1];
}

static void verb_on_room(void *arg)
{
}

static void verb_on_over(void *arg, int r)
{
    fail();
}

static void verb_on_writable(struct cor_http_response *response, void *arg)
{
}

static void verb_on_gone(struct cor_http_response *response, int why, void *arg)
{
    struct verb *verb = arg;

    cor_gzip_answer_give_up(verb->answer);
    verb->answer = NULL;
}

static const struct cor_http_response_cbs verb_cbs = {verb_on_writable, verb_on_gone, NULL};

/* Writes the beginning of an answer whose length is not known, and waits. */
static void verb_on_request(const struct cor_http_request *request,
                            struct cor_http_response *response, void *arg)
{
    static char bytes[GATHERED];
    const struct cor_str span = cor_str(bytes, sizeof(bytes));
    struct verb *verb = arg;
    const struct cor_gzip_answer_opts opts = {.response = response,
                                              .sent = &verb->sent,
                                              .on_room = verb_on_room,
                                              .on_over = verb_on_over,
                                              .arg = verb};

    verb->answer = cor_gzip_answer_new(&opts, 200, NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
    assert_non_null(verb->answer);
    cor_http_response_set_cbs(response, &verb_cbs, verb);
    verb->taken = cor_gzip_answer_writev(verb->answer, &span, 1, 0);
    verb->held = verb_held(verb);
    verb->is_written = true;
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

/* Asks for one answer, and ends when the verb has written a part of it. */
static void verb_run(struct verb *verb)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct cor_http_server_opts opts = {.loops = &verb->loop,
                                        .nloops = 1,
                                        .limits.bodies_max = verb->bodies_max,
                                        .on_request = verb_on_request,
                                        .arg = verb};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s/verb.sock", test_tmpdir());
    assert_int_equal(cor_loop_new(64, &verb->loop), 0);
    assert_int_equal(cor_http_server_new(&opts, &verb->server), 0);
    assert_int_equal(cor_http_server_listen_unix(verb->server, address.sun_path, 0600), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(fd, request, sizeof(request) - 1, 0), sizeof(request) - 1);
    assert_true(cor_loop_run_until(verb->loop, is_true, &verb->is_written, TIMEOUT_MS));
    cor_http_server_close(verb->server, 0, set_true, &verb->is_closed);
    assert_true(cor_loop_run_until(verb->loop, is_true, &verb->is_closed, TIMEOUT_MS));
    assert_null(verb->answer);
    cor_http_server_free(verb->server);
    cor_loop_free(verb->loop);
    close(fd);
}

TEST(gzip_answer, what_is_gathered_is_charged_to_the_reader)
{
    struct verb verb = {0};

    verb_run(&verb);
    assert_int_equal(verb.taken, GATHERED);
    assert_int_equal(verb.sent, 0);
    /* A connection's first bytes are free. */
    assert_true(verb.held >= GATHERED - COR_BUDGET_FREE);
}

/* The client's share of 64 KB is smaller than the answer. */
TEST(gzip_answer, what_may_not_be_gathered_is_sent_as_it_is)
{
    struct verb verb = {.bodies_max = 64 * 1024};

    verb_run(&verb);
    assert_true(verb.sent > 0);
    assert_true(verb.held < GATHERED);
}
