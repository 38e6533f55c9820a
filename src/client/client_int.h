/* The inside of a client, for what is made on one. */
#ifndef COR_CLIENT_CLIENT_INT_H
#define COR_CLIENT_CLIENT_INT_H

#include <stdatomic.h>

#include "base/list.h"
#include "client/rest_client.h"
#include "client/runtime_int.h"
#include "coracle/client.h"

struct cor_client {
    struct cor_runtime *runtime;
    struct cor_rest_client *rest; /* the loop's */
    uint64_t timeout_ms;
    struct cor_discovery *discovery; /* NULL: nobody has asked yet; the loop's */
    struct cor_list calls;           /* under way; the loop's */
    atomic_size_t ncalls;            /* and waiting */
    atomic_bool is_closing;          /* no call is taken any more */
    atomic_size_t nusers;            /* informers and others; none is left when it is freed */
};

/* 0, or -COR_EINVAL inside a callback of the runtime. */
int cor_client_may_wait(const struct cor_client *client, struct cor_status *reterr);

/* On the loop: every call ends with -COR_ECANCELED. */
void cor_client_cancel_calls(struct cor_client *client);

#endif
