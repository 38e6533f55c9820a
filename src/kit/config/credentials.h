/* How a client authenticates to its server: a token, a token file that is read again, basic
 * authentication, or a plugin that makes tokens and certificates. Certificates of the configuration
 * belong to the HTTP client.
 * Owner: the REST client.  Thread: the loop's. No function calls back before it returns. */
#ifndef COR_KIT_CREDENTIALS_H
#define COR_KIT_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/dlist.h"
#include "kit/config/client_config.h"
#include "kit/config/exec_plugin.h"

/* A token file is read again so long after it was read: client-go's minute less ten seconds. */
#define COR_TOKEN_FILE_MS 50000

struct cor_credentials {
    struct cor_loop *loop;
    const struct cor_clock *clock; /* its wall time; tests set it */
    const struct cor_client_config *config;
    struct cor_buf authorization; /* the header's value; empty: none */
    uint64_t token_due_ms;        /* of the loop's clock */
    struct cor_exec_plugin plugin;
    bool is_exec;
    uint64_t generation; /* of what it made; 0: nothing yet */
    struct cor_buf cert_pem, key_pem;
    uint64_t cert_version; /* changes with the certificate */
    bool expires;
    int64_t expires_at_s; /* Unix time */
    struct cor_dlist waiting;
    bool is_closing;
};

/* A request that waits for a plugin. */
struct cor_credentials_wait {
    struct cor_dlist link;
    void (*on_ready)(struct cor_credentials_wait *w, const struct cor_status *error);
};

/* `config` must stay valid. 0, -COR_ETOOBIG, -COR_ENOMEM; when the token is only in a file, also
 * what cor_pem_load() returns, or -COR_EINVALID when the file is empty. After a failure nothing is
 * left to release. */
int cor_credentials_init(struct cor_credentials *c, struct cor_loop *loop,
                         const struct cor_client_config *config);

/* No on_ready is called after this. True: `on_closed` is called in a later turn, and
 * cor_credentials_deinit() may only follow it; false: there is nothing to wait for. */
bool cor_credentials_close(struct cor_credentials *c, void (*on_closed)(void *arg), void *arg);
void cor_credentials_deinit(struct cor_credentials *c);

/* Brings `authorization` and the certificate up to date. 1: they are. 0: a plugin runs, and
 * on_ready will be called. Else as cor_exec_plugin_run(). */
int cor_credentials_refresh(struct cor_credentials *c, struct cor_credentials_wait *w,
                            struct cor_status *reterr);

/* Stops waiting. Nothing happens when `w`, whose link is initialised, does not wait. */
void cor_credentials_leave(struct cor_credentials_wait *w);

/* The server answered 401 to what `generation` had: the plugin runs again, unless it has since; a
 * token file is read before the next request. */
void cor_credentials_refused(struct cor_credentials *c, uint64_t generation);

#endif
