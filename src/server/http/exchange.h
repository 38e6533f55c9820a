/* One request over HTTP and its answer: the filters that decide about the request, the verb that
 * answers it, and the sink that writes the verb's answer into the HTTP response.
 *
 * These are the handlers of the HTTP server; `arg` is the struct cor_server.
 * Owner: the response, until it has ended or its client is gone.  Thread: the connection's loop. */
#ifndef COR_SERVER_EXCHANGE_H
#define COR_SERVER_EXCHANGE_H

#include "http/response.h"

/* The head of a request is here, and no byte of its body has been read: runs the filters. Answers
 * the request when a filter refuses it; otherwise cor_exchange_on_request() follows. */
void cor_exchange_on_head(const struct cor_http_request *http, struct cor_http_response *resp,
                          void *arg);

/* The body is whole: starts the verb. */
void cor_exchange_on_request(const struct cor_http_request *http, struct cor_http_response *resp,
                             void *arg);

#endif
