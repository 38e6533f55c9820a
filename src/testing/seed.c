/* Stores an object of the test's: finds its resource in discovery, creates its namespace, creates
 * it, and writes its status, each by a call of the API that the caller's thread waits for. The
 * calls do not go over HTTP, so that they are not actions.
 *
 * A definition is served some turns after it was created: the caller waits for the next snapshot of
 * the catalog until its resource answers.
 * Thread: the caller's, which is not the loop's. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/mem.h"
#include "codec/yaml.h"
#include "coracle/view.h"
#include "loop/loop.h"
#include "meta/status/status.h"
#include "schema/kinds/resource_row.h"
#include "server/request/buffer_sink.h"
#include "testing/testing_int.h"
#include "json/text/json.h"
#include "json/write/writer.h"

#define BYTES_MAX  (64u << 20)
#define TARGET_MAX (16u * 1024)
#define SERVED_MS  10000

/* A call that the caller's thread waits for. */
struct waited_call {
    struct cor_testing *testing;
    struct cor_mail mail;
    struct cor_server_request request;
    struct cor_buffer_sink sink;
    struct cor_str path;
    bool is_done; /* the fake's lock guards it */
};

static void call_finish(struct waited_call *call)
{
    struct cor_testing *testing = call->testing;

    cor_lock_acquire(&testing->lock);
    call->is_done = true;
    cor_cond_broadcast(&testing->changed);
    cor_lock_release(&testing->lock);
}

static void on_answer(struct cor_buffer_sink *sink)
{
    call_finish(COR_CONTAINER_OF(sink, struct waited_call, sink));
}

/* On the loop. */
static void on_call(struct cor_mail *mail)
{
    struct waited_call *call = COR_CONTAINER_OF(mail, struct waited_call, mail);

    if (cor_request_info_init(&call->request.info, call->request.method, call->path, COR_STR("")) <
        0)
        call_finish(call);
    else
        cor_api_call(cor_api_loop(call->testing->api, 0), &call->request, &call->sink.sink);
}

/* The answer's HTTP status, with its body in `ret_body`; 0: there is none, for lack of memory. */
static int ask(struct cor_testing *testing, enum cor_http_method method, const char *target,
               const char *content_type, struct cor_str body, struct cor_buf *ret_body)
{
    struct waited_call call = {.testing = testing, .path = cor_strz(target)};
    int status;

    call.request.method = method;
    call.request.content_type = cor_strz(content_type);
    call.request.body = body;
    call.request.user_agent = COR_STR("coracle-testing");
    call.request.user = &cor_testing_user;
    cor_buffer_sink_init(&call.sink, BYTES_MAX, on_answer);
    call.mail.on_mail = on_call;
    cor_dlist_init(&call.mail.link);
    cor_loop_post_always(testing->loop, &call.mail);
    cor_lock_acquire(&testing->lock);
    while (!call.is_done)
        cor_cond_wait(&testing->changed, &testing->lock);
    cor_lock_release(&testing->lock);
    status = call.sink.is_aborted ? 0 : call.sink.status;
    *ret_body = call.sink.body;
    call.sink.body = (struct cor_buf){0};
    cor_buffer_sink_deinit(&call.sink);
    cor_request_info_deinit(&call.request.info);
    return status;
}

/* What the object is, and where it goes. */
struct seed {
    struct cor_testing *testing;
    struct cor_buf json;
    struct cor_view object;
    struct cor_str api_version, kind, ns, name;
    struct cor_buf root; /* "/api/v1" */
    char plural[COR_RESOURCE_TEXT_MAX];
    bool is_namespaced, has_status;
    struct cor_testing_error *reterr;
};

static int tell(struct seed *s, int r, const char *fmt, ...) COR_PRINTF(3, 4);
static int tell(struct seed *s, int r, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(s->reterr->message, sizeof(s->reterr->message), fmt, ap);
    va_end(ap);
    return r;
}

/* An answer that is not a success, as an error with the Status' message. */
static int refused(struct seed *s, int status, const struct cor_buf *body)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    int r;

    if (status == 0)
        return tell(s, -COR_ENOMEM, "out of memory");
    r = cor_status_read(&why, status, cor_buf_str(body));
    return tell(s, r == -COR_EEXIST || r == -COR_ENOMEM ? r : -COR_EINVAL, "%s",
                cor_status_message(&why));
}

static struct cor_str text_at(struct cor_view object, const char *key)
{
    return cor_view_text_or(cor_view_member(object, cor_strz(key)), NULL, 0, "");
}

static int read_object(struct seed *s, struct cor_str text)
{
    const struct cor_json_limits limits = {BYTES_MAX, COR_JSON_DEPTH_MAX};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf made;
    struct cor_yaml_error why_yaml = {.message = ""};
    struct cor_json_error why = {.message = ""};
    struct cor_str start = cor_str_trim(text);
    const bool is_json = start.n > 0 && start.p[0] == '{';
    struct cor_view metadata;
    int r = -COR_EINVAL;

    cor_buf_init(&made, BYTES_MAX);
    if (is_json)
        r = cor_json_canonicalize(text, &limits, &s->json, NULL, &why);
    /* YAML may begin with a brace as well. */
    if (r == -COR_EINVAL) {
        int made_r = cor_yaml_to_json(text, &made, NULL, &why_yaml);

        if (made_r == 0)
            r = cor_json_canonicalize(cor_buf_str(&made), &limits, &s->json, NULL,
                                      is_json ? NULL : &why);
        else if (made_r != -COR_EINVAL)
            r = made_r;
    }
    if (r < 0)
        return tell(s, r, "%s", why.message[0] != '\0' ? why.message : why_yaml.message);
    s->object = cor_view(cor_buf_str(&s->json));
    metadata = cor_view_member(s->object, COR_STR("metadata"));
    s->api_version = text_at(s->object, "apiVersion");
    s->kind = text_at(s->object, "kind");
    s->ns = text_at(metadata, "namespace");
    s->name = text_at(metadata, "name");
    if (s->api_version.n == 0 || s->kind.n == 0)
        return tell(s, -COR_EINVAL, "an object with apiVersion and kind was expected");
    return cor_buf_addf(&s->root, "%s/%.*s",
                        cor_str_find(s->api_version, '/') >= 0 ? "/apis" : "/api",
                        COR_STR_ARG(s->api_version));
}

/* Finds the plural of the kind, its scope, and whether it has a status of its own. */
static int find_resource(struct seed *s)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {0};
    int status = ask(s->testing, COR_HTTP_GET, cor_buf_z(&s->root), "", COR_STR(""), &body);
    struct cor_view_iter it;

    if (status == 0)
        return refused(s, status, &body);
    it = cor_view_iter(cor_view_member(cor_view(cor_buf_str(&body)), COR_STR("resources")));
    while (status == 200 && cor_view_next(&it)) {
        struct cor_str sub = text_at(it.value, "name"), plural = cor_str_cut(&sub, '/');

        if (!cor_str_eq(text_at(it.value, "kind"), s->kind))
            continue;
        if (!sub.p && plural.n < sizeof(s->plural)) {
            snprintf(s->plural, sizeof(s->plural), "%.*s", COR_STR_ARG(plural));
            s->is_namespaced =
                cor_view_bool_or(cor_view_member(it.value, COR_STR("namespaced")), false);
        }
        s->has_status |= sub.p && cor_str_eqz(sub, "status") && cor_str_eqz(plural, s->plural);
    }
    if (s->plural[0] == '\0')
        return tell(s, -COR_EINVAL, "%.*s of %.*s is not served", COR_STR_ARG(s->kind),
                    COR_STR_ARG(s->api_version));
    return 0;
}

static int add_namespace(struct seed *s)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {0}, answer = {0};
    int r, status;

    cor_buf_init(&body, TARGET_MAX);
    r = cor_buf_addf(&body, "{\"metadata\":{\"name\":\"%.*s\"}}", COR_STR_ARG(s->ns));
    if (r < 0)
        return r;
    status = ask(s->testing, COR_HTTP_POST, "/api/v1/namespaces", "application/json",
                 cor_buf_str(&body), &answer);
    return status == 201 || status == 409 ? 0 : refused(s, status, &answer);
}

/* The path of the collection, or of a subresource of the object. */
static int set_target(struct seed *s, const char *subresource, struct cor_buf *target)
{
    int r = cor_buf_addf(target, "%s", cor_buf_z(&s->root));

    if (r == 0 && s->is_namespaced)
        r = cor_buf_addf(target, "/namespaces/%.*s", COR_STR_ARG(s->ns));
    if (r == 0)
        r = cor_buf_addf(target, "/%s", s->plural);
    if (r == 0 && subresource)
        r = cor_buf_addf(target, "/%.*s/%s", COR_STR_ARG(s->name), subresource);
    return r;
}

static int create(struct seed *s)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf target, answer = {0};
    int r, status;

    cor_buf_init(&target, TARGET_MAX);
    r = set_target(s, NULL, &target);
    if (r < 0)
        return r;
    status = ask(s->testing, COR_HTTP_POST, cor_buf_z(&target), "application/json",
                 cor_buf_str(&s->json), &answer);
    return status == 201 ? 0 : refused(s, status, &answer);
}

/* The whole object as a patch: the subresource reads its status alone. */
static int write_status(struct seed *s)
{
    struct cor_view part = cor_view_member(s->object, COR_STR("status"));
    COR_CLEANUP(cor_buf_deinit) struct cor_buf target = {0}, answer = {0};
    int r, status;

    if (!s->has_status || cor_view_type(part) != COR_JSON_OBJECT || s->name.n == 0)
        return 0;
    cor_buf_init(&target, TARGET_MAX);
    r = set_target(s, "status", &target);
    if (r < 0)
        return r;
    status = ask(s->testing, COR_HTTP_PATCH, cor_buf_z(&target), "application/merge-patch+json",
                 cor_buf_str(&s->json), &answer);
    return status == 200 ? 0 : refused(s, status, &answer);
}

/* Waits until the first version of a definition that is served answers. */
static int await_served(struct seed *s)
{
    const struct timespec until = cor_deadline_in_ms(SERVED_MS);
    struct cor_view spec = cor_view_member(s->object, COR_STR("spec"));
    struct cor_view_iter it = cor_view_iter(cor_view_member(spec, COR_STR("versions")));
    COR_CLEANUP(cor_buf_deinit) struct cor_buf target;
    struct cor_testing *testing = s->testing;
    bool is_time = true;
    int r;

    while (cor_view_next(&it) &&
           !cor_view_bool_or(cor_view_member(it.value, COR_STR("served")), false))
        continue;
    cor_buf_init(&target, TARGET_MAX);
    r = cor_buf_addf(&target, "/apis/%.*s/%.*s/%.*s", COR_STR_ARG(text_at(spec, "group")),
                     COR_STR_ARG(text_at(it.value, "name")),
                     COR_STR_ARG(text_at(cor_view_member(spec, COR_STR("names")), "plural")));
    while (r == 0 && is_time) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf answer = {0};
        uint64_t before = COR_LOCKED(&testing->lock, testing->generation);

        if (ask(testing, COR_HTTP_GET, cor_buf_z(&target), "", COR_STR(""), &answer) == 200)
            return 0;
        cor_lock_acquire(&testing->lock);
        while (is_time && testing->generation == before)
            is_time = cor_cond_wait_until(&testing->changed, &testing->lock, &until);
        cor_lock_release(&testing->lock);
    }
    return r < 0 ? r : tell(s, -COR_ETIMEOUT, "%s is not served", cor_buf_z(&target));
}

int cor_testing_add(struct cor_testing *testing, struct cor_str object,
                    struct cor_testing_error *reterr)
{
    struct seed s = {.testing = testing, .reterr = reterr};
    int r;

    assert(!cor_loop_is_running(testing->loop));
    reterr->message[0] = '\0';
    cor_buf_init(&s.json, BYTES_MAX);
    cor_buf_init(&s.root, TARGET_MAX);
    r = read_object(&s, object);
    if (r == 0)
        r = find_resource(&s);
    if (r == 0 && s.is_namespaced && s.ns.n == 0)
        s.ns = COR_STR("default");
    if (r == 0 && s.is_namespaced)
        r = add_namespace(&s);
    if (r == 0)
        r = create(&s);
    if (r == 0 && cor_str_eq(s.kind, cor_api_of_role(COR_ROLE_DEFINITIONS)->kind))
        r = await_served(&s);
    else if (r == 0)
        r = write_status(&s);
    if (r < 0 && reterr->message[0] == '\0')
        tell(&s, r, "%s", cor_err_text(r));
    cor_buf_deinit(&s.json);
    cor_buf_deinit(&s.root);
    return r;
}
