#include "script.h"

#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "http/http_server.h"
#include "loop/loop.h"
#include "test.h"

static void on_gone(struct cor_http_response *resp, int why, void *arg)
{
}

static void on_drain(struct cor_http_response *resp, void *arg)
{
    cor_http_response_end(resp);
}

/* A client that is gone may not be known to be when the server ends. */
static void on_silent_drain(struct cor_http_response *resp, void *arg)
{
    cor_http_response_send(resp, 503, NULL, 0, COR_STR(""));
}

static const struct cor_http_response_cbs open_cbs = {NULL, on_gone, on_drain};
static const struct cor_http_response_cbs silent_cbs = {NULL, on_gone, on_silent_drain};

static bool is_for(struct script *s, size_t i, const char *asked)
{
    const struct script_answer *a = &s->answers[i];

    return strstr(asked, a->to) && (a->times == 0 || s->given[i] < a->times) &&
           (!a->after || script_count(s, a->after) > 0);
}

static const struct script_answer *answer_to(struct script *s, const char *asked)
{
    for (size_t i = 0; i < s->n; i++)
        if (is_for(s, i, asked)) {
            s->given[i]++;
            return &s->answers[i];
        }
    return NULL;
}

static void note(struct script *s, const char *asked)
{
    pthread_mutex_lock(&s->lock);
    cor_buf_addf(&s->asked, "%s\n", asked);
    pthread_mutex_unlock(&s->lock);
}

static void on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                       void *arg)
{
    static const struct cor_http_header json[] = {
        {COR_STR("Content-Type"), COR_STR("application/json")}};
    struct script *s = arg;
    const struct script_answer *a;
    char asked[1024];

    snprintf(asked, sizeof(asked), "%.*s %.*s", COR_STR_ARG(req->method_name),
             COR_STR_ARG(req->target));
    a = answer_to(s, asked);
    if (!a) {
        cor_http_response_send(resp, 404, json, 1, COR_STR("{}"));
    } else if (a->is_silent) {
        cor_http_response_set_cbs(resp, &silent_cbs, s);
        cor_http_response_set_deadline(resp, COR_HTTP_NO_DEADLINE);
    } else if (a->stays_open) {
        cor_http_response_set_cbs(resp, &open_cbs, s);
        cor_http_response_set_deadline(resp, COR_HTTP_NO_DEADLINE);
        cor_http_response_start(resp, 200, json, 1, COR_HTTP_LENGTH_UNKNOWN);
        cor_http_response_write(resp, cor_strz(a->body));
    } else {
        cor_http_response_send(resp, a->status ? a->status : 200, json, 1, cor_strz(a->body));
    }
    note(s, asked);
}

void script_begin(struct script *s, const struct script_answer *answers, size_t n)
{
    struct cor_http_server_opts opts = {.nloops = 1, .on_request = on_request, .arg = s};
    uint16_t port;

    *s = (struct script){.answers = answers, .n = n};
    assert_true(n <= sizeof(s->given) / sizeof(s->given[0]));
    pthread_mutex_init(&s->lock, NULL);
    cor_buf_init(&s->asked, 1u << 20);
    assert_int_equal(cor_loop_new(64, &s->loop), 0);
    opts.loops = &s->loop;
    assert_int_equal(cor_http_server_new(&opts, &s->server), 0);
    assert_int_equal(cor_http_server_listen(s->server, "127.0.0.1", 0, NULL, &port), 0);
    snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", port);
    assert_int_equal(cor_loop_start(s->loop, "script"), 0);
}

static void on_closed(void *arg)
{
    sem_post(arg);
}

void script_end(struct script *s)
{
    sem_t closed;

    sem_init(&closed, 0, 0);
    cor_http_server_close(s->server, 1000, on_closed, &closed);
    while (sem_wait(&closed) != 0)
        ;
    cor_loop_stop(s->loop);
    cor_http_server_free(s->server);
    cor_loop_free(s->loop);
    cor_buf_deinit(&s->asked);
    pthread_mutex_destroy(&s->lock);
    sem_destroy(&closed);
}

int script_count(struct script *s, const char *part)
{
    struct cor_str left, line;
    int n = 0;

    pthread_mutex_lock(&s->lock);
    left = cor_buf_str(&s->asked);
    while (left.n > 0) {
        const char *end = memchr(left.p, '\n', left.n);

        line = cor_str(left.p, (size_t)(end - left.p));
        n += memmem(line.p, line.n, part, strlen(part)) != NULL;
        left = cor_str(end + 1, left.n - line.n - 1);
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}
