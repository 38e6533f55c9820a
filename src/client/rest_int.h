/* The inside of the REST client: what its two files share. */
#ifndef COR_CLIENT_REST_INT_H
#define COR_CLIENT_REST_INT_H

#include "base/buf.h"
#include "base/list.h"
#include "client/header_list.h"
#include "client/rest_client.h"
#include "client/server_url.h"
#include "http/client.h"
#include "loop/timer.h"

struct cor_rest_client {
    struct cor_loop *loop;
    struct cor_http_client *http; /* NULL: closed */
    struct cor_server_url url;
    struct cor_header_list headers; /* of every request */
    struct cor_header_list authorization;
    uint64_t timeout_ms;
    struct cor_list requests;
    size_t nrequests;
    bool is_closing;
    void (*on_closed)(void *arg);
    void *closed_arg;
};

/* Of a link in `requests`. */
struct cor_rest_request *cor_rest_request_of(struct cor_list *link);

/* Ends the request with -COR_ECANCELED, from a later turn. */
void cor_rest_request_abort(struct cor_rest_request *req);

/* A request is gone: the client may be closed now. */
void cor_rest_client_look_closed(struct cor_rest_client *rc);

#endif
