/* A controller on the kit, over any API port: for each ConfigMap of `default` with the label
 * keep=yes it keeps a Secret of the same name, which the ConfigMap controls. The same program runs
 * inside of the server (server/inner_controller) and over HTTP (client/against-server-ports).
 * Owner: the test.  Thread: the port's loop. */
#ifndef COR_TEST_SAMPLE_CONTROLLER_H
#define COR_TEST_SAMPLE_CONTROLLER_H

#include "base/rand.h"
#include "kit/api_port.h"
#include "kit/controller/port_controller.h"

struct sample {
    struct cor_api_port *port;
    struct cor_rand rand;
    struct cor_port_controller *controller;
    struct cor_reconcile *rec;      /* under way, or NULL */
    struct cor_api_request request; /* of it */
    size_t ncreated, nabsent, nreports;
    bool is_stopped;
};

/* Makes the controller and starts it. */
void sample_begin(struct sample *s, struct cor_api_port *port);

/* Begins the end; `is_stopped` is set in a later turn. */
void sample_stop(struct sample *s);

/* After the end. */
void sample_free(struct sample *s);

/* For functions that wait: is nothing queued or under way? */
bool sample_is_idle(struct sample *s);

#endif
