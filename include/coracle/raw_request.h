/* A request to any path of the server, for what coracle/request.h has no verb for: paths that are
 * not resources, answers that are not objects, and answers that are read while they come.
 *
 *   const struct cor_raw_request req = {COR_RAW_REQUEST, .path = "/readyz?verbose"};
 *   r = cor_client_raw(client, &req, on_body, NULL, NULL, &why);
 *
 * Thread: any.  Owner: the caller; what the struct points to is borrowed for the call. */
#ifndef CORACLE_RAW_REQUEST_H
#define CORACLE_RAW_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/cancel.h"
#include "coracle/client.h"
#include "coracle/status.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_raw_request {
    size_t size;        /* of this struct: COR_RAW_REQUEST sets it (coracle/api.h) */
    const char *method; /* in capital letters; NULL: "GET" */
    /* Absolute, with an optional query, in escaped ASCII. It is appended to the path of the
     * server's URL and sent as it is. */
    const char *path;
    const char *accept;       /* NULL: JSON, or whatever the server has */
    const char *content_type; /* of `body`; NULL: "application/json" */
    struct cor_str body;
    /* False: the answer is gathered (64 MB at most), and the function is called once with all of
     * it. True: it is called for each piece as it arrives, which ends anywhere, for as long as the
     * server sends. */
    bool streams;
    /* From now until the answer is complete. 0: the client's timeout, or none for a stream. */
    uint64_t timeout_ms;
    /* Ends the call with -COR_ECANCELED when it is triggered (coracle/cancel.h). NULL: none. */
    struct cor_cancel *cancel;
};

#define COR_RAW_REQUEST .size = sizeof(struct cor_raw_request)

/* Sends the request and waits until the answer is complete. `fn` (NULL: the body is not wanted)
 * gets the body of an answer with a status from 200 to 206, on the runtime's I/O thread or inside
 * the pump; `ret_code` (NULL: not wanted) is set to that status. A negative return of `fn` ends the
 * call with that code, and no piece follows. An attempt that failed before its answer began is
 * repeated as those of other requests are. 0 or what `fn` returned last; -COR_EINVAL (a method or a
 * path that cannot be sent), -COR_ETOOBIG (more than 64 MB that are not streamed), -COR_ENOTSUP
 * (coracle/api.h), or as cor_client_do(). */
COR_API int cor_client_raw(struct cor_client *client, const struct cor_raw_request *req,
                           cor_path_fn fn, void *arg, int *ret_code, struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
