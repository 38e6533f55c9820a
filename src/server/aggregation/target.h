/* clang-format off */
/* The aggregated services of one loop, as what they are reached by: for each its address, its TLS and
 * an HTTP client, made when a request first needs them and closed when they have been idle.
 *
 *   cor_target_use_begin ──► the address is known: 0, the client may be called
 *                        ──► it is being looked up: 1, and on_ready follows
 *                        ──► refused: too many uses, or the circuit is open
 *   ... calls on the client ... ──► cor_target_use_end, with what came of it
 *
 * The address is looked up again when it is older than a second and a use begins. When it, the front
 * proxy's certificate or the trust in the service has changed, new uses get a new client; the old one
 * goes on for the uses that it has and is closed after the last. So a watch outlives a rotation.
 *
 * The circuit of a target (base/circuit.h) opens after COR_TARGET_FAILURES uses in a row that found
 * nobody; uses are then refused at once, for half a second at first and at most for two. A dead
 * service costs its own requests, and nobody else's.
 *
 * Owner: whoever embeds the uses; the set belongs to its opener.  Thread: the loop. */
/* clang-format on */
#ifndef COR_SERVER_AGGREGATION_TARGET_H
#define COR_SERVER_AGGREGATION_TARGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/circuit.h"
#include "base/dlist.h"
#include "base/str.h"
#include "server/aggregation/resolve.h"

struct cor_api_port;
struct cor_api_service;
struct cor_http_client;
struct cor_loop;
struct cor_target;
struct cor_target_client;
struct cor_targets;

#define COR_TARGET_TEXT_MAX        300
#define COR_TARGETS_MAX            1024          /* services of one loop at once */
#define COR_TARGET_USES_MAX        32768         /* of one target at once */
#define COR_TARGET_CONNECTIONS_MAX 16384         /* HTTP/1.1 needs one for each use */
#define COR_TARGET_WINDOW          (256u * 1024) /* of an answer: what a service may send unasked */
#define COR_TARGET_FAILURES        5
#define COR_TARGET_FRESH_MS        1000
#define COR_TARGET_IDLE_MS         90000
#define COR_TARGET_OPEN_MS         500 /* how long an open circuit refuses, the first time */
#define COR_TARGET_OPEN_MAX_MS     2000

/* What all loops share. Immutable; outlives the sets. */
struct cor_target_config {
    struct cor_resolve_overrides overrides;
    /* The certificate of the front proxy, as files that may be replaced; NULL: none is shown. */
    const char *cert_file, *key_file;
};

/* Which service, and whom to trust as it. Read and copied by cor_target_use_begin(). */
struct cor_target_spec {
    struct cor_service_ref service;
    struct cor_str ca_pem; /* empty: the system's roots */
    bool is_insecure;      /* any certificate is accepted */
};

/* The server of a remote APIService, borrowed from it. */
struct cor_target_spec cor_target_spec_of(const struct cor_api_service *service);

/* `port` must outlive the set; its loop is `loop`. 0, -COR_ENOMEM. */
int cor_targets_open(struct cor_loop *loop, struct cor_api_port *port,
                     const struct cor_target_config *config, struct cor_targets **ret_targets);

/* All uses have ended. `on_closed` (may be NULL) comes from a later turn; the memory is gone then.
 */
void cor_targets_close(struct cor_targets *ts, void (*on_closed)(void *arg), void *arg);

struct cor_loop *cor_targets_loop(const struct cor_targets *ts);

/* One use of a target: embedded, zeroed, with `on_ready` set. */
struct cor_target_use {
    /* After cor_target_use_begin() returned 1, unless the use was ended before. 0, or as the
     * negative results there; the use has ended then. `text` is one line, borrowed. */
    void (*on_ready)(struct cor_target_use *use, int r, const char *text);
    struct cor_target *target;        /* NULL: not begun, or ended */
    struct cor_target_client *client; /* NULL: not ready */
    struct cor_dlist link;            /* those who wait for the address */
    struct cor_circuit_pass pass;
};

/* 0: ready. 1: on_ready follows. Refused, with one line in `reterr_text`, which is borrowed until
 * the next call: -COR_ENOTFOUND (the service has no address), -COR_EUNREACHABLE (the circuit is
 * open; the text is that of the last failure), -COR_EBUSY (too many), -COR_EINVAL (the CA or the
 * front proxy's certificate cannot be used), -COR_ENOMEM, or what the API answered for the Service.
 */
int cor_target_use_begin(struct cor_targets *ts, const struct cor_target_spec *spec,
                         struct cor_target_use *use, const char **reterr_text);

/* Of a use that is ready. */
struct cor_http_client *cor_target_use_client(const struct cor_target_use *use);
const struct cor_service_address *cor_target_use_address(const struct cor_target_use *use);

/* Writes why a call failed in the words of a Go client, as far as clients read them: "dial tcp
 * 10.0.0.1:443: connect: connection refused", "EOF", and about certificates. Of a use that is
 * ready; `text` is what the call said. */
void cor_target_use_explain(const struct cor_target_use *use, int r, const char *text,
                            char ret[COR_TARGET_TEXT_MAX]);

/* The head of an answer has come, so the service works. Of a use that is ready, and goes on: the
 * answer may be a watch. */
void cor_target_use_answered(struct cor_target_use *use);

/* `r` is how the call ended: 0 (a head of an answer has come), the code of its failure, or
 * -COR_ECANCELED when nothing is known about the service. `text` (may be NULL) describes a failure.
 * Nothing happens when the use has ended already. The client's call must be over or cancelled. */
void cor_target_use_end(struct cor_target_use *use, int r, const char *text);

#endif
