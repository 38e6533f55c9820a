/* The API port over HTTP: each request of the port is a request of the dynamic client.
 * Owner: whoever embeds it.  Thread: the loop of the REST client. */
#ifndef COR_KIT_API_PORT_HTTP_H
#define COR_KIT_API_PORT_HTTP_H

#include "kit/api_port.h"
#include "kit/discovery/discovery.h"
#include "kit/rest/rest_client.h"
#include "loop/mailbox.h"

struct cor_http_port {
    struct cor_api_port port;
    struct cor_rest_client *rest;
    struct cor_mail wake;            /* delivers refusals */
    bool is_posted;                  /* the mail is in the loop's mailbox */
    struct cor_discovery *discovery; /* NULL until the first enumeration of resources */
};

/* `rest` must outlive the port. Cannot fail. */
void cor_http_port_init(struct cor_http_port *hp, struct cor_rest_client *rest);

/* No request is under way, and the loop has delivered the mails that were posted before. */
void cor_http_port_deinit(struct cor_http_port *hp);

#endif
