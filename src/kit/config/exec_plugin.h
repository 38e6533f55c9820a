/* Runs a credential plugin: its arguments, its environment, its terminal, and what its end means.
 * One run at a time.
 * Owner: whoever embeds it.  Thread: the loop's. No function calls back before it returns. */
#ifndef COR_KIT_EXEC_PLUGIN_H
#define COR_KIT_EXEC_PLUGIN_H

#include "kit/config/client_config.h"
#include "kit/config/exec_credential.h"
#include "loop/process.h"

#define COR_EXEC_TIMEOUT_MS             60000
#define COR_EXEC_INTERACTIVE_TIMEOUT_MS 300000
/* How often a missing command's install hint is shown. */
#define COR_EXEC_HINTS_PER_HOUR 10

struct cor_exec_plugin {
    struct cor_loop *loop;
    const struct cor_client_config *config;
    struct cor_process *process; /* NULL: does not run */
    uint64_t hints_since_ms;
    size_t nhints;
    /* The credential, borrowed; NULL with the reason. */
    void (*on_done)(void *arg, const struct cor_exec_credential *made,
                    const struct cor_status *error);
    void *arg;
};

/* `config` must stay valid. */
void cor_exec_plugin_init(struct cor_exec_plugin *p, struct cor_loop *loop,
                          const struct cor_client_config *config);

/* It does not run. 0: on_done comes. -COR_EINVAL, -COR_ENOTFOUND, -COR_EFORBIDDEN, -COR_EIO,
 * -COR_ENOMEM: it could not be started; the message says why, with the install hint. */
int cor_exec_plugin_run(struct cor_exec_plugin *p, struct cor_status *reterr);

/* No on_done after this; `on_closed` comes from a later turn. Only while it runs. */
void cor_exec_plugin_close(struct cor_exec_plugin *p, void (*on_closed)(void *arg), void *arg);

#endif
