/* clang-format off */
/* Creates the namespaces that every cluster has, when a server starts. The creations are calls to
 * the API itself, all at once, so that they share one commit of the store.
 *
 *   cor_api_bootstrap ──► one POST per namespace into a buffer ──► the last answer: on_done
 *
 * 201 and 409 (it exists already) are success; the first other answer is the failure that on_done
 * gets, after all answers have come. Without memory nothing is started.
 * Thread: the loop of the calls. Before the loops run: the calls only queue store operations. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "server/api/api.h"
#include "server/request/buffer_sink.h"

#define ANSWER_MAX (64u * 1024)

static const char *const namespaces[] = {"default", "kube-system", "kube-public",
                                         "kube-node-lease"};

struct creation {
    struct bootstrap *bootstrap;
    const char *name;
    struct cor_buffer_sink sink;
    struct cor_server_request request;
    struct cor_buf body;
};

struct bootstrap {
    struct creation creations[COR_ARRAY_LEN(namespaces)];
    size_t left; /* creations under way, and 1 while they are being started */
    struct cor_status status;
    int err; /* of the first that failed */
    void (*on_done)(void *arg, int err, const struct cor_status *status);
    void *arg;
};

static void bootstrap_free(struct bootstrap *b)
{
    for (size_t i = 0; b && i < COR_ARRAY_LEN(namespaces); i++) {
        struct creation *c = &b->creations[i];

        cor_buffer_sink_deinit(&c->sink);
        cor_request_info_deinit(&c->request.info);
        cor_buf_deinit(&c->body);
    }
    if (b)
        cor_status_deinit(&b->status);
    cor_free(b);
}

static void bootstrap_end_one(struct bootstrap *b)
{
    if (--b->left > 0)
        return;
    b->on_done(b->arg, b->err, b->err < 0 ? &b->status : NULL);
    bootstrap_free(b);
}

static void creation_on_answer(struct cor_buffer_sink *sink)
{
    struct creation *c = COR_CONTAINER_OF(sink, struct creation, sink);
    struct bootstrap *b = c->bootstrap;

    if (b->err == 0 && (sink->is_aborted || (sink->status != 201 && sink->status != 409)))
        b->err =
            cor_status_internal(&b->status, "namespace %s: %s", c->name, cor_buf_z(&sink->body));
    bootstrap_end_one(b);
}

static int creation_init(struct bootstrap *b, size_t i)
{
    struct creation *c = &b->creations[i];
    int r;

    c->bootstrap = b;
    c->name = namespaces[i];
    c->request.method = COR_HTTP_POST;
    cor_buffer_sink_init(&c->sink, ANSWER_MAX, creation_on_answer);
    cor_buf_init(&c->body, ANSWER_MAX);
    r = cor_buf_addf(&c->body, "{\"metadata\":{\"name\":\"%s\"}}", c->name);
    c->request.body = cor_buf_str(&c->body);
    return r < 0 ? r
                 : cor_request_info_init(&c->request.info, COR_HTTP_POST,
                                         COR_STR("/api/v1/namespaces"), COR_STR(""));
}

int cor_api_bootstrap(struct cor_api_loop *loop,
                      void (*on_done)(void *arg, int err, const struct cor_status *status),
                      void *arg, struct cor_status *reterr_status)
{
    struct bootstrap *b = cor_calloc(1, sizeof(*b));
    int r = b ? 0 : -COR_ENOMEM;

    assert(loop && on_done);
    for (size_t i = 0; r == 0 && i < COR_ARRAY_LEN(namespaces); i++)
        r = creation_init(b, i);
    if (r < 0) {
        bootstrap_free(b);
        return cor_status_set_err(reterr_status, r);
    }
    cor_status_init(&b->status);
    b->on_done = on_done;
    b->arg = arg;
    b->left = COR_ARRAY_LEN(namespaces) + 1;
    for (size_t i = 0; i < COR_ARRAY_LEN(namespaces); i++)
        cor_api_call(loop, &b->creations[i].request, &b->creations[i].sink.sink);
    bootstrap_end_one(b);
    return 0;
}
