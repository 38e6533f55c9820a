/* cor_client_pod_logs(): the path and the query of a pod's log, read as a stream by
 * cor_client_raw(). A name that cannot be part of a path fails in upstream's words before anything
 * is sent; no memory for the path fails likewise. Thread: any; the caller waits. */
#include "coracle/pod_logs.h"

#include <stdio.h>

#include "base/err.h"
#include "base/sized.h"
#include "coracle/raw_request.h"
#include "kit/request_options.h"
#include "kit/resource_path.h"

#define TARGET_MAX 4096

static int add_number(struct cor_buf *target, const char *name, bool is_set, int64_t value)
{
    char text[24];

    if (!is_set)
        return 0;
    snprintf(text, sizeof(text), "%lld", (long long)value);
    return cor_query_add(target, name, cor_strz(text));
}

static int add_flag(struct cor_buf *target, const char *name, bool is_set)
{
    return cor_query_add(target, name, is_set ? COR_STR("true") : COR_STR(""));
}

static int target_write(const struct cor_pod_logs *logs, struct cor_buf *target,
                        struct cor_status *reterr)
{
    const struct cor_resource_path path = {
        .gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")},
        .ns = cor_strz(logs->ns),
        .name = cor_strz(logs->pod),
        .subresource = COR_STR("log"),
    };
    int r = cor_resource_path_write(&path, target, reterr);

    if (r < 0)
        return r;
    r = cor_query_add(target, "container", cor_strz(logs->container));
    if (r == 0)
        r = add_flag(target, "follow", logs->follow);
    if (r == 0)
        r = add_number(target, "limitBytes", logs->limit_bytes > 0, logs->limit_bytes);
    if (r == 0)
        r = add_flag(target, "previous", logs->previous);
    if (r == 0)
        r = add_number(target, "sinceSeconds", logs->since_s > 0, logs->since_s);
    if (r == 0)
        r = cor_query_add(target, "sinceTime", cor_strz(logs->since_time));
    if (r == 0)
        r = add_number(target, "tailLines", logs->has_tail, logs->tail_lines);
    if (r == 0)
        r = add_flag(target, "timestamps", logs->timestamps);
    return r < 0 ? cor_status_set(reterr, r, "the path of the log: %s", cor_err_text(r)) : 0;
}

int cor_client_pod_logs(struct cor_client *client, const struct cor_pod_logs *logs, cor_path_fn fn,
                        void *arg, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf target = {.max = TARGET_MAX};
    struct cor_raw_request req = {COR_RAW_REQUEST, .streams = true, .accept = "text/plain, */*"};
    struct cor_pod_logs own;
    int r = cor_sized_copy(&own, sizeof(own), logs);

    if (r < 0)
        return cor_status_set(reterr, r, "logs of a pod: %s", cor_sized_text(r));
    if (!own.ns || !*own.ns || !own.pod || !*own.pod)
        return cor_status_set(reterr, -COR_EINVAL, "%s: a name is expected",
                              own.ns && *own.ns ? "pod" : "ns");
    r = target_write(&own, &target, reterr);
    if (r < 0)
        return r;
    req.path = cor_buf_z(&target);
    req.timeout_ms = own.timeout_ms;
    req.cancel = own.cancel;
    return cor_client_raw(client, &req, fn, arg, NULL, reterr);
}
