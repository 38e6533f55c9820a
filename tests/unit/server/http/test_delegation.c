/* Requests to a server that delegates, where each allocation fails once, and where the delegate
 * hangs or its client leaves. The delegate is played on the same loop; clients have threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"
#include "served.h"
#include "server/access/delegated_authorizer.h"
#include "server/access/delegation.h"

struct delegated {
    struct fx fx;
    struct cor_metrics *metrics;
    struct cor_server *server;
    struct cor_http_server *delegate;
    struct cor_delegation *delegation;
    struct cor_delegated_authorizer authorizer;
    char path[100], delegate_path[100], kubeconfig[120];
    size_t ntokens, naccesses;      /* questions */
    struct cor_http_response *held; /* the last question, when it is held */
    bool holds;
    bool is_closed;
};

static void delegate_on_gone(struct cor_http_response *resp, int why, void *arg)
{
    struct delegated *d = arg;

    if (d->held == resp)
        d->held = NULL;
}

static const struct cor_http_response_cbs held_cbs = {.on_gone = delegate_on_gone};

/* Tokens that begin with "good-" are of the user after it, of one with "lost" nothing could be
 * found out; ann may do everything. */
static void delegate_answer(struct cor_http_response *resp, struct cor_str body)
{
    const char *good = memmem(body.p, body.n, "\"good-", 6);
    char text[400] = "{\"status\":{\"allowed\":false,\"reason\":\"by the test\"}}";

    if (good)
        snprintf(text, sizeof(text),
                 "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"%.3s\",\"groups\":["
                 "\"dev\"],\"extra\":{\"k\":[\"v\",\"w\"]}}}}",
                 good + 6);
    else if (memmem(body.p, body.n, "\"lost", 5))
        snprintf(text, sizeof(text), "{\"status\":{\"error\":\"no key\"}}");
    else if (memmem(body.p, body.n, "\"user\":\"ann\"", 12))
        snprintf(text, sizeof(text), "{\"status\":{\"allowed\":true}}");
    cor_http_response_send(resp, 201, NULL, 0, cor_strz(text));
}

static void delegate_on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                                void *arg)
{
    struct delegated *d = arg;

    *(memmem(req->target.p, req->target.n, "tokenreviews", 12) ? &d->ntokens : &d->naccesses) += 1;
    if (!d->holds) {
        delegate_answer(resp, req->body);
        return;
    }
    d->held = resp;
    cor_http_response_set_cbs(resp, &held_cbs, d);
}

static void delegated_open(struct delegated *d, uint64_t ttl_ms)
{
    struct cor_http_server_opts http_opts;
    struct cor_delegation_opts opts;
    struct cor_server_opts server_opts;
    FILE *file;

    memset(d, 0, sizeof(*d));
    snprintf(d->path, sizeof(d->path), "%s/api.sock", test_tmpdir());
    snprintf(d->delegate_path, sizeof(d->delegate_path), "%s/delegate.sock", test_tmpdir());
    snprintf(d->kubeconfig, sizeof(d->kubeconfig), "%s/kubeconfig", test_tmpdir());
    file = fopen(d->kubeconfig, "w");
    assert_non_null(file);
    fprintf(
        file,
        "{\"clusters\":[{\"name\":\"c\",\"cluster\":{\"server\":\"unix://%s\"}}],"
        "\"current-context\":\"c\",\"contexts\":[{\"name\":\"c\",\"context\":{\"cluster\":\"c\"}}]}",
        d->delegate_path);
    fclose(file);
    opts = (struct cor_delegation_opts){.authentication_kubeconfig = d->kubeconfig,
                                        .authorization_kubeconfig = d->kubeconfig,
                                        .token_ttl_ms = ttl_ms,
                                        .allowed_ttl_ms = ttl_ms,
                                        .unallowed_ttl_ms = ttl_ms,
                                        .always_allow_paths = "/healthz,/open/*"};
    assert_int_equal(cor_delegation_new(&opts, 1, &d->delegation, NULL), 0);
    cor_delegated_authorizer_init(&d->authorizer, d->delegation);
    d->fx.opts.authorizer = &d->authorizer.authorizer;
    fx_open(&d->fx);
    fx_bootstrap(&d->fx);
    http_opts = (struct cor_http_server_opts){
        .loops = &d->fx.loop, .nloops = 1, .on_request = delegate_on_request, .arg = d};
    assert_int_equal(cor_http_server_new(&http_opts, &d->delegate), 0);
    assert_int_equal(cor_http_server_listen_unix(d->delegate, d->delegate_path, 0600), 0);
    assert_int_equal(cor_delegation_open_loop(d->delegation, 0, d->fx.loop, NULL), 0);
    assert_int_equal(cor_metrics_new(1, &d->metrics), 0);
    server_opts = (struct cor_server_opts){.api = d->fx.api,
                                           .metrics = d->metrics,
                                           .loops = &d->fx.loop,
                                           .nloops = 1,
                                           .authenticator.server_uid = getuid() + 1,
                                           .authenticator.asks_delegate = true,
                                           .delegation = d->delegation};
    assert_int_equal(cor_server_new(&server_opts, &d->server), 0);
    assert_int_equal(cor_http_server_listen_unix(cor_server_http(d->server), d->path, 0600), 0);
}

static void delegated_wait(struct delegated *d, bool *done)
{
    assert_true(cor_loop_run_until(d->fx.loop, served_is_true, done, FX_TIMEOUT_MS));
    *done = false;
}

static void delegated_close(struct delegated *d)
{
    cor_http_server_close(cor_server_http(d->server), 0, served_set_true, &d->is_closed);
    delegated_wait(d, &d->is_closed);
    cor_delegation_close_loop(d->delegation, 0, served_set_true, &d->is_closed);
    delegated_wait(d, &d->is_closed);
    if (d->delegate) {
        cor_http_server_close(d->delegate, 0, served_set_true, &d->is_closed);
        delegated_wait(d, &d->is_closed);
    }
    cor_http_server_free(d->delegate);
    cor_server_free(d->server);
    cor_delegation_free(d->delegation);
    fx_close(&d->fx);
    cor_metrics_free(d->metrics);
}

struct client {
    pthread_t thread;
    const char *path;
    char request[600];
    int fd;
    char answer[2000];
    int status; /* 0: none */
    atomic_bool is_done;
};

static void *client_run(void *arg)
{
    struct client *c = arg;
    size_t n = 0;
    ssize_t got;

    if (send(c->fd, c->request, strlen(c->request), MSG_NOSIGNAL) > 0) {
        while (n + 1 < sizeof(c->answer) &&
               (got = read(c->fd, c->answer + n, sizeof(c->answer) - 1 - n)) > 0)
            n += (size_t)got;
        c->answer[n] = '\0';
        (void)sscanf(c->answer, "HTTP/1.1 %d", &c->status);
    }
    atomic_store(&c->is_done, true);
    return NULL;
}

static void client_begin(struct client *c, struct delegated *d, const char *method,
                         const char *target, const char *token, const char *more, const char *body)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};

    memset(c, 0, sizeof(*c));
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", d->path);
    snprintf(c->request, sizeof(c->request),
             "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer %s\r\n%s"
             "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
             method, target, token, more, strlen(body), body);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(c->fd >= 0);
    assert_int_equal(connect(c->fd, (struct sockaddr *)&to, sizeof(to)), 0);
    assert_int_equal(pthread_create(&c->thread, NULL, client_run, c), 0);
}

static bool client_is_done(void *arg)
{
    return atomic_load(&((struct client *)arg)->is_done);
}

static void client_end(struct client *c, struct delegated *d)
{
    while (!cor_loop_run_until(d->fx.loop, client_is_done, c, 1))
        continue;
    pthread_join(c->thread, NULL);
    close(c->fd);
}

static int ask(struct delegated *d, const char *method, const char *target, const char *token,
               const char *more, const char *body)
{
    struct client c;

    client_begin(&c, d, method, target, token, more, body);
    client_end(&c, d);
    return c.status;
}

#define MAPS "/api/v1/namespaces/default/configmaps"
#define MAP  "{\"metadata\":{\"name\":\"a\"}}"

TEST(delegation, the_delegate_decides_about_tokens_and_rights)
{
    struct delegated d;

    delegated_open(&d, 60000);
    assert_int_equal(ask(&d, "GET", MAPS, "good-ann", "", ""), 200);
    assert_int_equal(ask(&d, "POST", MAPS, "good-ann", "", MAP), 201);
    assert_int_equal(ask(&d, "GET", MAPS, "good-bob", "", ""), 403);
    assert_int_equal(ask(&d, "POST", MAPS, "good-bob", "", MAP), 403);
    assert_int_equal(ask(&d, "GET", MAPS, "bad", "", ""), 401);
    assert_int_equal(ask(&d, "GET", "/healthz", "bad", "", ""), 401);
    assert_int_equal(ask(&d, "GET", "/healthz", "good-bob", "", ""), 200);
    assert_int_equal(ask(&d, "GET", "/open/x", "good-bob", "", ""), 404);
    assert_int_equal(ask(&d, "GET", "/open", "good-bob", "", ""), 403);
    assert_int_equal(ask(&d, "GET", MAPS, "good-ann", "Impersonate-User: bob\r\n", ""), 403);
    assert_int_equal(ask(&d, "GET", MAPS, "good-bob", "Impersonate-User: ann\r\n", ""), 403);
    assert_int_equal(d.ntokens, 3);
    assert_int_equal(cor_reviews_kept(cor_delegation_tokens(d.delegation, 0)), 3);
    assert_int_equal(cor_reviews_pending(cor_delegation_tokens(d.delegation, 0)), 0);
    delegated_close(&d);
}

/* As upstream's cache: what could not be found out is asked again at once. */
TEST(delegation, a_refusal_because_of_an_error_is_not_kept)
{
    struct delegated d;

    delegated_open(&d, 60000);
    assert_int_equal(ask(&d, "GET", MAPS, "lost", "", ""), 401);
    assert_int_equal(ask(&d, "GET", MAPS, "lost", "", ""), 401);
    assert_int_equal(d.ntokens, 2);
    assert_int_equal(cor_reviews_kept(cor_delegation_tokens(d.delegation, 0)), 0);
    delegated_close(&d);
}

/* The second of two equal questions is asked while the first is being told, so that both answers
 * are to be kept under one name. */
TEST(delegation, a_question_that_a_request_has_twice_is_kept_once)
{
    static const char same[] = "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                               "Sec-WebSocket-Protocol: "
                               "base64url.bearer.authorization.k8s.io.YmFk,x\r\n";
    struct delegated d;

    delegated_open(&d, 60000);
    assert_int_equal(ask(&d, "GET", MAPS, "good-ann",
                         "Impersonate-User: bob\r\nImpersonate-Group: g\r\n"
                         "Impersonate-Group: g\r\n",
                         ""),
                     403);
    assert_int_equal(cor_reviews_kept(cor_delegation_accesses(d.delegation, 0)), 3);
    assert_int_equal(ask(&d, "GET", MAPS, "bad", same, ""), 401);
    assert_int_equal(cor_reviews_kept(cor_delegation_tokens(d.delegation, 0)), 2);
    delegated_close(&d); /* frees what was kept, all of it */
}

/* Whatever fails: nobody gets in who should not. */
TEST(delegation, without_memory_nobody_gets_in)
{
    static const struct {
        const char *method, *token, *more, *body;
        int status; /* with memory */
    } rows[] = {
        {"GET", "good-ann", "", "", 200},
        {"POST", "good-ann", "Impersonate-User: ann\r\nImpersonate-Group: g\r\n", "{}", 422},
        {"GET", "good-bob", "", "", 403},
        {"GET", "good-bob", "Impersonate-User: ann\r\n", "", 403},
        {"GET", "bad", "", "", 401},
    };
    struct delegated d;

    /* Nothing is kept, so that every run asks. */
    delegated_open(&d, 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        size_t nwhole = 0;

        FOR_EACH_FAILED_ALLOC(n) {
            int status = ask(&d, rows[i].method, MAPS, rows[i].token, rows[i].more, rows[i].body);

            nwhole += status == rows[i].status;
            if (status != rows[i].status)
                assert_true(status == 0 || status == 401 || status == 403 || status == 429 ||
                            status == 500 || status == 503);
        }
        assert_true(nwhole > 0);
    }
    delegated_close(&d);
}

static bool is_held(void *arg)
{
    return ((struct delegated *)arg)->held != NULL;
}

static bool nobody_waits(void *arg)
{
    struct delegated *d = arg;

    return cor_reviews_pending(cor_delegation_tokens(d->delegation, 0)) == 0;
}

TEST(delegation, requests_share_a_question_and_may_leave_it)
{
    struct client c[5], gone;
    struct delegated d;

    delegated_open(&d, 60000);
    d.holds = true;
    client_begin(&gone, &d, "POST", MAPS, "good-ann", "", MAP);
    assert_true(cor_loop_run_until(d.fx.loop, is_held, &d, FX_TIMEOUT_MS));
    for (size_t i = 0; i < COR_ARRAY_LEN(c); i++)
        client_begin(&c[i], &d, "GET", MAPS, "good-ann", "", "");
    shutdown(gone.fd, SHUT_RDWR);
    client_end(&gone, &d);
    assert_int_equal(gone.status, 0);
    assert_int_equal(d.ntokens, 1);
    d.holds = false;
    delegate_answer(d.held, COR_STR("\"good-ann"));
    for (size_t i = 0; i < COR_ARRAY_LEN(c); i++) {
        client_end(&c[i], &d);
        assert_int_equal(c[i].status, 200);
    }
    assert_int_equal(d.ntokens, 1);
    assert_true(d.naccesses <= 2); /* the one that leaves may ask before it is noticed */
    assert_true(cor_loop_run_until(d.fx.loop, nobody_waits, &d, FX_TIMEOUT_MS));
    delegated_close(&d);
}

TEST(delegation, a_server_ends_while_questions_are_open)
{
    struct client c;
    struct delegated d;

    delegated_open(&d, 60000);
    d.holds = true;
    client_begin(&c, &d, "GET", MAPS, "good-ann", "", "");
    assert_true(cor_loop_run_until(d.fx.loop, is_held, &d, FX_TIMEOUT_MS));
    delegated_close(&d);
    pthread_join(c.thread, NULL);
    close(c.fd);
    assert_int_equal(c.status, 0);
}

/* --- the authorizer itself -------------------------------------------------------------------- */

static const struct cor_user ann = {.name = COR_STR("ann")}, bob = {.name = COR_STR("bob")};

static struct cor_attributes maps_of(const struct cor_user *user)
{
    return (struct cor_attributes){.user = user,
                                   .is_resource = true,
                                   .verb = COR_STR("list"),
                                   .version = COR_STR("v1"),
                                   .resource = COR_STR("configmaps"),
                                   .ns = COR_STR("default")};
}

struct waiting {
    struct cor_authz_question question;
    struct cor_authz_answer answer;
    char reason[200];
    size_t nanswers;
};

static void waiting_on_answer(struct cor_authz_question *question,
                              const struct cor_authz_answer *answer)
{
    struct waiting *w = COR_CONTAINER_OF(question, struct waiting, question);

    w->answer = *answer;
    snprintf(w->reason, sizeof(w->reason), "%s", answer->reason ? answer->reason : "");
    w->nanswers++;
}

static bool waiting_is_answered(void *arg)
{
    return ((struct waiting *)arg)->nanswers > 0;
}

static int waiting_ask(struct waiting *w, struct delegated *d, const struct cor_attributes *a)
{
    *w = (struct waiting){.question.on_answer = waiting_on_answer};
    return cor_authorizer_ask(&d->authorizer.authorizer, 0, a, &w->question, &w->answer);
}

TEST(delegated_authorizer, answers_later_and_what_is_kept_at_once)
{
    struct cor_attributes a = maps_of(&ann), b = maps_of(&bob);
    struct delegated d;
    struct waiting w;

    delegated_open(&d, 60000);
    assert_int_equal(waiting_ask(&w, &d, &a), COR_AUTHZ_ASKS);
    assert_int_equal(w.nanswers, 0);
    assert_true(cor_loop_run_until(d.fx.loop, waiting_is_answered, &w, FX_TIMEOUT_MS));
    assert_int_equal(w.answer.r, 0);
    assert_int_equal(w.answer.decision, COR_AUTHZ_ALLOWED);
    assert_int_equal(waiting_ask(&w, &d, &a), 0);
    assert_int_equal(w.answer.decision, COR_AUTHZ_ALLOWED);
    assert_int_equal(d.naccesses, 1);
    assert_int_equal(waiting_ask(&w, &d, &b), COR_AUTHZ_ASKS);
    assert_true(cor_loop_run_until(d.fx.loop, waiting_is_answered, &w, FX_TIMEOUT_MS));
    assert_int_equal(w.answer.decision, COR_AUTHZ_NO_OPINION);
    assert_string_equal(w.reason, "by the test");
    delegated_close(&d);
}

TEST(delegated_authorizer, tells_who_cannot_wait_what_it_knows_by_itself)
{
    static const struct cor_str masters[] = {COR_STR("system:masters")};
    static const struct cor_user root = {.name = COR_STR("root"), .groups = masters, .ngroups = 1};
    const struct cor_authorizer *az;
    struct cor_attributes a = maps_of(&ann);
    struct cor_authz_answer answer;
    struct delegated d;

    delegated_open(&d, 60000);
    az = &d.authorizer.authorizer;
    assert_true(cor_authorizer_reads_selectors(az));
    assert_int_equal(cor_authorizer_ask(az, 0, &a, NULL, &answer), COR_AUTHZ_ASKS);
    assert_int_equal(answer.decision, COR_AUTHZ_NO_OPINION);
    assert_string_equal(answer.reason,
                        "this server delegates authorization; ask the server that it delegates to");
    a.user = &root;
    assert_int_equal(cor_authorizer_ask(az, 0, &a, NULL, &answer), 0);
    assert_int_equal(answer.decision, COR_AUTHZ_ALLOWED);
    a = (struct cor_attributes){.user = &bob, .verb = COR_STR("get"), .path = COR_STR("/open/x")};
    assert_int_equal(cor_authorizer_ask(az, 0, &a, NULL, &answer), 0);
    assert_int_equal(answer.decision, COR_AUTHZ_ALLOWED);
    a.path = COR_STR("/version");
    assert_int_equal(cor_authorizer_ask(az, 0, &a, NULL, &answer), COR_AUTHZ_ASKS);
    assert_int_equal(answer.decision, COR_AUTHZ_ALLOWED);
    assert_int_equal(d.naccesses, 0);
    delegated_close(&d);
}

static bool has_asked(void *arg)
{
    return ((struct delegated *)arg)->held != NULL;
}

static bool nothing_is_pending(void *arg)
{
    struct delegated *d = arg;

    return cor_reviews_pending(cor_delegation_accesses(d->delegation, 0)) == 0;
}

TEST(delegated_authorizer, a_question_that_is_left_is_not_answered_and_its_answer_is_kept)
{
    struct cor_attributes a = maps_of(&ann);
    struct waiting left, w;
    struct delegated d;

    delegated_open(&d, 60000);
    d.holds = true;
    assert_int_equal(waiting_ask(&left, &d, &a), COR_AUTHZ_ASKS);
    assert_true(cor_loop_run_until(d.fx.loop, has_asked, &d, FX_TIMEOUT_MS));
    cor_authz_question_leave(&left.question);
    cor_authz_question_leave(&left.question);
    delegate_answer(d.held, COR_STR("\"user\":\"ann\""));
    assert_true(cor_loop_run_until(d.fx.loop, nothing_is_pending, &d, FX_TIMEOUT_MS));
    assert_int_equal(left.nanswers, 0);
    assert_int_equal(waiting_ask(&w, &d, &a), 0);
    assert_int_equal(w.answer.decision, COR_AUTHZ_ALLOWED);
    delegated_close(&d);
}

TEST(delegated_authorizer, a_delegate_that_does_not_answer_has_decided_nothing)
{
    struct cor_attributes a = maps_of(&ann);
    struct delegated d;
    struct waiting w;

    delegated_open(&d, 60000);
    cor_http_server_close(d.delegate, 0, served_set_true, &d.is_closed);
    delegated_wait(&d, &d.is_closed);
    /* Each question fails, until the circuit is open: then the answer is there at once. */
    for (size_t i = 0; i <= COR_DELEGATE_FAILURES; i++) {
        int r = waiting_ask(&w, &d, &a);

        assert_int_equal(r, i < COR_DELEGATE_FAILURES ? COR_AUTHZ_ASKS : 0);
        if (r == COR_AUTHZ_ASKS)
            assert_true(cor_loop_run_until(d.fx.loop, waiting_is_answered, &w, FX_TIMEOUT_MS));
        assert_int_equal(w.answer.r, -COR_EUNREACHABLE);
        assert_int_equal(w.answer.decision, COR_AUTHZ_NO_OPINION);
    }
    assert_non_null(w.answer.reason);
    cor_http_server_free(d.delegate);
    d.delegate = NULL;
    delegated_close(&d);
}

TEST(delegated_authorizer, without_memory_nothing_is_allowed_that_should_not_be)
{
    struct cor_attributes a = maps_of(&ann), b = maps_of(&bob);
    struct delegated d;

    delegated_open(&d, 0);
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_attributes *each[] = {&a, &b};

        for (size_t i = 0; i < COR_ARRAY_LEN(each); i++) {
            struct waiting w;
            int r = waiting_ask(&w, &d, each[i]);

            if (r == COR_AUTHZ_ASKS) {
                assert_true(cor_loop_run_until(d.fx.loop, waiting_is_answered, &w, FX_TIMEOUT_MS));
                if (w.answer.r == 0)
                    assert_int_equal(w.answer.decision,
                                     i == 0 ? COR_AUTHZ_ALLOWED : COR_AUTHZ_NO_OPINION);
                else
                    assert_int_equal(w.answer.decision, COR_AUTHZ_NO_OPINION);
            } else {
                assert_true(r == -COR_ENOMEM && test_alloc_failed());
            }
        }
    }
    delegated_close(&d);
}
