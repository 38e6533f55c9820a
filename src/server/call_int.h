/* How a call begins; for routing only. */
#ifndef COR_SERVER_CALL_INT_H
#define COR_SERVER_CALL_INT_H

#include "server/call.h"

/* NULL: out of memory. */
struct cor_call *call_new(const struct cor_verb *verb, struct cor_api_loop *loop,
                          const struct cor_api_request *req, struct cor_sink *sink);

#endif
