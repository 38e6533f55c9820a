/* The API port in process: each request of the port is a request of the server to itself
 * (inner_request.h). A program of the kit runs on it as it does over HTTP
 * (kit/dynamic/api_port_http.h). docs/internals/inner_port.md has the differences.
 * Owner: whoever embeds it.  Thread: the loop of the API's part, for every function and callback.
 */
#ifndef COR_SERVER_INNER_PORT_H
#define COR_SERVER_INNER_PORT_H

#include "base/limits.h"
#include "kit/api_port.h"
#include "loop/mailbox.h"
#include "server/port/inner_request.h"

/* The port's own time for a request that names none, as over HTTP: of a write of one object, and of
 * all else. */
#define COR_INNER_WRITE_MS COR_WRITE_TIMEOUT_MS
#define COR_INNER_READ_MS  COR_REQUEST_TIMEOUT_MS

struct cor_inner_port {
    struct cor_api_port port;
    struct cor_inner_sender sender;
    struct cor_mail wake;          /* delivers refusals and enumerations */
    bool is_posted;                /* the mail is in the loop's mailbox */
    struct cor_dlist enumerations; /* requests `resources` whose on_done is due */
    /* The last enumeration, and what it shows: the generation of the catalog, and its aggregated
     * versions (inner_resources.h); NULL: none. */
    struct cor_api_resources *resources;
    uint64_t generation, mark;
};

/* As cor_inner_sender_init(). On any thread before the loop runs, else on the loop. Cannot fail. */
void cor_inner_port_init(struct cor_inner_port *ip, struct cor_api_loop *api,
                         struct cor_str account, struct cor_str user_agent, size_t requests_max);

/* The server shuts down: watches end without an error, and new requests are refused. */
void cor_inner_port_drain(struct cor_inner_port *ip);

/* Has all ended that was sent or refused? Requests that were cancelled may need one more turn. */
static inline bool cor_inner_port_is_idle(const struct cor_inner_port *ip)
{
    return cor_inner_sender_is_idle(&ip->sender) && !ip->is_posted;
}

/* The port is idle. */
void cor_inner_port_deinit(struct cor_inner_port *ip);

#endif
