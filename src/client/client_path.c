/* cor_client_get_path(): a path that is no resource, read by the REST client on the loop while the
 * caller waits. Every failure ends in read_finish() with its status. The struct is on the caller's
 * stack, which waits.
 * Thread: the loop, but for cor_client_get_path(). */
#include "base/err.h"
#include "client/client_int.h"

struct path_read {
    struct cor_client *client;
    struct cor_dlist link; /* in its reads, with `req` */
    struct cor_rest_request *req;
    const char *path;
    uint64_t timeout_ms;
    cor_path_fn fn;
    void *arg;
    struct cor_status *reterr;
    struct cor_waiter done;
    int r;
};

static void read_finish(struct path_read *p)
{
    cor_dlist_remove(&p->link);
    cor_client_leave(p->client);
    cor_waiter_set(&p->done);
}

static void on_done(void *arg, const struct cor_rest_result *result)
{
    struct path_read *p = arg;

    p->r = result->error ? result->error->err : p->fn(p->arg, result->body);
    if (result->error && p->reterr)
        cor_status_copy(p->reterr, result->error);
    else if (p->r < 0)
        cor_status_set(p->reterr, p->r, "what was read was refused: %s", cor_err_text(p->r));
    read_finish(p);
}

static void begin_read(void *arg)
{
    static const struct cor_rest_cbs cbs = {.on_done = on_done};
    struct path_read *p = arg;
    const struct cor_rest_request_opts opts = {.target = cor_strz(p->path),
                                               .accept = COR_STR("application/json, */*"),
                                               .timeout_ms = p->timeout_ms,
                                               .deadline_ms = p->timeout_ms,
                                               .cbs = &cbs,
                                               .arg = p};

    cor_dlist_push(&p->client->reads, &p->link);
    p->r = cor_rest_request_open(p->client->rest, &opts, &p->req);
    if (p->r < 0) {
        cor_status_set(p->reterr, p->r, "the request could not be sent: %s", cor_err_text(p->r));
        read_finish(p);
    }
}

void cor_client_cancel_reads(struct cor_client *client)
{
    while (!cor_dlist_empty(&client->reads)) {
        struct path_read *p = COR_CONTAINER_OF(client->reads.next, struct path_read, link);

        p->r = cor_client_give_up(p->reterr, -COR_ECANCELED, COR_CLIENT_STOPPED,
                                  cor_rest_request_failure(p->req));
        cor_rest_request_cancel(p->req);
        read_finish(p);
    }
}

/* The path goes into the request line as it is: white space or a control character would end it. */
static bool is_target(const char *path)
{
    if (!path || path[0] != '/')
        return false;
    while (*path > ' ' && *path < 0x7f && *path != '#')
        path++;
    return *path == '\0';
}

int cor_client_get_path(struct cor_client *client, const char *path, uint64_t timeout_ms,
                        cor_path_fn fn, void *arg, struct cor_status *reterr)
{
    struct path_read p = {.client = client,
                          .path = path,
                          .timeout_ms = cor_client_timeout_ms(client, timeout_ms),
                          .fn = fn,
                          .arg = arg,
                          .reterr = reterr};
    int r;

    if (!is_target(path))
        return cor_status_set(reterr, -COR_EINVAL,
                              "path: an absolute one is expected, in escaped ASCII");
    r = cor_client_wait_for(client, begin_read, &p, &p.done, reterr);
    return r < 0 ? r : p.r;
}
