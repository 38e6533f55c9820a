/* The sink of an HTTP response.
 * Owner: the request's handler, until the response has ended.  Thread: the connection's loop. */
#ifndef COR_SERVER_HTTP_SINK_H
#define COR_SERVER_HTTP_SINK_H

#include "server/request/sink.h"

struct cor_http_sink {
    struct cor_sink sink;
    struct cor_http_response *response;
    const struct cor_sink_cbs *cbs;
    void *cb_arg;
    int status;                                     /* of the answer; 0: not started */
    uint64_t bytes;                                 /* of the body, so far */
    void (*on_over)(struct cor_http_sink *sink);    /* ended or gone: the memory may go */
    void (*on_started)(struct cor_http_sink *sink); /* the head of the answer is out; or NULL */
};

void cor_http_sink_init(struct cor_http_sink *sink, struct cor_http_response *response,
                        void (*on_over)(struct cor_http_sink *sink));

#endif
