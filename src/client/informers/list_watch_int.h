/* Internals of a list-watch: a reflector's driver that a runtime carries. Two implementations:
 * client/informers/http_list_watch.h over HTTP, and client/informers/list_watch.c over functions of
 * the program's.
 * Thread: the loop's of its runtime, once it is attached.  Owner: whoever made it. */
#ifndef COR_CLIENT_LIST_WATCH_INT_H
#define COR_CLIENT_LIST_WATCH_INT_H

#include "base/cleanup.h"
#include "base/err.h"
#include "cache/reflector/reflector.h"
#include "coracle/list_watch.h"

struct cor_runtime;

struct cor_list_watch_ops {
    /* Before the first request. 0, -COR_ENOMEM, -COR_EINVAL (another runtime's client). */
    int (*attach)(struct cor_list_watch *lw, struct cor_runtime *runtime);
    /* After the reflector was stopped: no timer is set and no mail is on its way afterwards. */
    void (*detach)(struct cor_list_watch *lw);
    void (*free)(struct cor_list_watch *lw);
};

/* Embedded as the first part of an implementation. */
struct cor_list_watch {
    struct cor_reflector_driver driver;
    const struct cor_list_watch_ops *ops;
    struct cor_reflector *reflector; /* that the answers go to; NULL: it is not attached */
};

COR_DEFINE_CLEANUP(struct cor_list_watch, cor_list_watch_free)

static inline struct cor_list_watch *cor_list_watch_of(struct cor_reflector_driver *driver)
{
    return COR_CONTAINER_OF(driver, struct cor_list_watch, driver);
}

/* Gives the list-watch to a runtime; the caller sets `reflector` next. On the loop. 0, -COR_ENOMEM,
 * -COR_EINVAL (it has a reflector already, or is over another runtime's client). */
static inline int cor_list_watch_attach(struct cor_list_watch *lw, struct cor_runtime *runtime)
{
    return lw->reflector ? -COR_EINVAL : lw->ops->attach(lw, runtime);
}

/* Takes the list-watch back from its runtime after the reflector was stopped, or was never made. On
 * the loop. It can be attached again. */
static inline void cor_list_watch_detach(struct cor_list_watch *lw)
{
    lw->ops->detach(lw);
    lw->reflector = NULL;
}

/* The type that a program's options name; empty when they name none. The texts are borrowed. */
struct cor_gvk cor_expected_gvk(const char *api_version, const char *kind);

/* The request that a reflector's options and the selectors make. */
struct cor_informer_request cor_informer_request_of(enum cor_verb verb,
                                                    const struct cor_list_options *opts,
                                                    struct cor_str label_selector,
                                                    struct cor_str field_selector,
                                                    uint32_t timeout_s);

#endif
