/* How a call begins, and what routing refuses (route.c).
 * Thread: the call's loop. */
#ifndef COR_SERVER_CALL_INT_H
#define COR_SERVER_CALL_INT_H

#include "server/api/call.h"

/* NULL: out of memory. */
struct cor_call *cor_call_new(const struct cor_verb_ops *verb, struct cor_api_loop *loop,
                              const struct cor_server_request *req, struct cor_sink *sink);

/* The reader is gone. Frees the call when nothing of it is under way. */
void cor_call_gone(struct cor_call *call);

/* 404 in the call's status. Returns -COR_ENOTFOUND. */
int cor_call_no_such_resource(struct cor_call *call);
/* 405 in the call's status. Returns -COR_ENOTSUP. */
int cor_call_not_allowed(struct cor_call *call);

#endif
