/* The log of a container, line by line as the kubelet sends it: kubectl logs.
 *
 *   const struct cor_pod_logs logs = {COR_POD_LOGS, .ns = "default", .pod = "web", .follow = true};
 *   r = cor_client_pod_logs(client, &logs, on_text, NULL, &why);
 *
 * Thread: any.  Owner: the caller; what the struct points to is borrowed for the call. */
#ifndef CORACLE_POD_LOGS_H
#define CORACLE_POD_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/cancel.h"
#include "coracle/client.h"
#include "coracle/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zeros ask for the whole log of the only container. */
struct cor_pod_logs {
    size_t size; /* of this struct: COR_POD_LOGS sets it (coracle/api.h) */
    const char *ns, *pod;
    const char *container; /* NULL: the pod's only one */
    bool follow;           /* go on until the container ends, or the call is ended */
    bool previous;         /* of the container's last run */
    bool timestamps;       /* a time before each line */
    bool has_tail;
    int64_t tail_lines;        /* with has_tail: only so many of the last lines, which may be 0 */
    int64_t since_s;           /* only what is younger; 0: all */
    const char *since_time;    /* the same by a time such as "2026-01-02T03:04:05Z"; NULL: all */
    int64_t limit_bytes;       /* the server ends the log after so many; 0: no limit */
    uint64_t timeout_ms;       /* until the end of the log; 0: none */
    struct cor_cancel *cancel; /* ends the call with -COR_ECANCELED; NULL: none */
};

#define COR_POD_LOGS .size = sizeof(struct cor_pod_logs)

/* Waits until the log ends, and calls `fn` with each piece of it as it arrives; a piece ends
 * anywhere. Otherwise as cor_client_raw() with a stream; -COR_EINVAL also for a pod or a namespace
 * that is absent or cannot be part of a path. */
COR_API int cor_client_pod_logs(struct cor_client *client, const struct cor_pod_logs *logs,
                                cor_path_fn fn, void *arg, struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
