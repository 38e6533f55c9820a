/* clang-format off */
/* libcoracle-testing: an API server inside a test, as client-go's fake clientset is for Go. The
 * clients, informers and controllers of a program run on it unchanged, typed and untyped: they are
 * given its URL, a Unix socket that only this process knows of. Its tracker is Coracle's own API
 * over a store in memory, so that objects have resourceVersions, conflicts, defaults, validation,
 * finalizers, status subresources and managedFields as on a real server; nothing runs beside the
 * API: no controllers, no garbage collector.
 *
 *   cor_testing_new(&fake, &wrong);
 *   cor_testing_add(fake, COR_STR("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",...}"), &wrong);
 *   cor_testing_prepend_reactor(fake, "create", "deployments", refuse, NULL);
 *   cor_testing_client(fake, runtime, &client, &why);
 *   ... run what is tested ...
 *   cor_testing_wait_for_actions(fake, "create", "deployments", 1, 10000);
 *
 * A pattern of actions is a verb ("get", "list", "watch", "create", "update", "patch", "delete",
 * "deletecollection") or "*", and a resource: "pods" is the resource with all its subresources,
 * "pods/status" that subresource only, "*" everything.
 *
 * The library brings a server along and is for tests only. It is a shared library, with a pkg-config
 * file of its own (coracle-testing).
 * Owner: the maker.  Thread: any. */
/* clang-format on */
#ifndef CORACLE_TESTING_H
#define CORACLE_TESTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "coracle/api.h"
#include "coracle/client.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
COR_STRUCT_NAMES_BEGIN
#endif

struct cor_testing;

#define COR_TESTING_ACTIONS_MAX  65536 /* recorded at a time; a further request is refused */
#define COR_TESTING_REACTORS_MAX 256

/* Why a function failed, for a person. */
struct cor_testing_error {
    char message[1024];
};

/* Starts an empty server with the namespaces that every cluster has: default, kube-system, … 0,
 * -COR_EIO (no thread, or no socket in $TMPDIR or /tmp), -COR_ETIMEOUT (after a minute),
 * -COR_ENOMEM. */
COR_API int cor_testing_new(struct cor_testing **ret_testing, struct cor_testing_error *reterr);

/* Ends it, and with it what clients still wait for. Reactors are not called any more when it
 * returns. Not from a reactor. Returns NULL; NULL is allowed. */
COR_API struct cor_testing *cor_testing_free(struct cor_testing *testing);

/* What a client configuration has as its server; no credentials are needed. It lives as long as
 * the fake. */
COR_API const char *cor_testing_url(const struct cor_testing *testing);

/* Makes a client of the fake, without a limit of requests: cor_client_new(). */
static inline int cor_testing_client(struct cor_testing *testing, struct cor_runtime *runtime,
                                     struct cor_client **ret_client, struct cor_status *reterr)
{
    struct cor_client_config config;
    struct cor_client_opts opts;
    int r;

    memset(&config, 0, sizeof(config));
    memset(&opts, 0, sizeof(opts));
    r = cor_client_config_set(&config.server, cor_testing_url(testing));
    opts.size = sizeof(opts);
    opts.config = &config;
    if (r == 0)
        r = cor_client_new(runtime, &opts, ret_client, reterr);
    cor_client_config_deinit(&config);
    return r;
}

/* Stores an object, JSON or YAML, with its status, and waits. No reactor sees it, and it is not an
 * action. The object's namespace is created when it does not exist; the kind is one that is served,
 * and when this returns for a CustomResourceDefinition its resource is served. 0; -COR_EEXIST;
 * -COR_EINVAL (it was refused, or its kind is not served: the message says why), -COR_ETIMEOUT (a
 * definition is not served after ten seconds), -COR_ENOMEM. Not from a reactor. */
COR_API int cor_testing_add(struct cor_testing *testing, struct cor_str object,
                            struct cor_testing_error *reterr);

/* A request for a resource, as the fake has recorded it. Texts end with a NUL that is not counted,
 * and are empty when they are absent; they live until the actions are cleared. */
struct cor_testing_action {
    struct cor_str verb;
    struct cor_str group, version, resource, subresource, ns, name;
    struct cor_str query;              /* of the URL, still escaped */
    struct cor_str content_type, body; /* an object, a patch, or DeleteOptions */
};

/* Recorded actions, those that reactors answered too. */
COR_API size_t cor_testing_actions(struct cor_testing *testing);
/* False: there are no more than `i`. */
COR_API bool cor_testing_action(struct cor_testing *testing, size_t i,
                                struct cor_testing_action *ret_action);
COR_API void cor_testing_clear_actions(struct cor_testing *testing);

/* How many actions match a pattern. */
COR_API size_t cor_testing_count(struct cor_testing *testing, const char *verb,
                                 const char *resource);

/* Waits until so many actions match. 0, -COR_ETIMEOUT, -COR_EINVAL (a pattern that is too long).
 * Not from a reactor. */
COR_API int cor_testing_wait_for_actions(struct cor_testing *testing, const char *verb,
                                         const char *resource, size_t n, uint64_t timeout_ms);

/* What a reactor answers with; copied when it returns. */
struct cor_testing_answer {
    /* Of a return of 1: the object, or the list; of a watch its events, a line each, behind which
     * the stream ends: {"type":"ADDED","object":{...}}. */
    struct cor_str json;
    struct cor_str message; /* of a failure; empty: the error's own text */
};

/* Sees an action before the server does, after it was recorded. 0: passes it on to the next
 * reactor, and at last to the server. 1: the answer is `answer->json`. A negative COR_E…: the
 * request fails with the Status that belongs to it: -COR_ECONFLICT is a 409. One at a time, on the
 * fake's thread: it must not wait for a request of the fake. */
typedef int (*cor_testing_reactor)(void *arg, const struct cor_testing_action *action,
                                   struct cor_testing_answer *answer);

/* Puts a reactor before all others. `arg` must stay valid until the fake is freed. 0, -COR_ETOOBIG
 * (COR_TESTING_REACTORS_MAX), -COR_EINVAL (a pattern that is too long), -COR_ENOMEM. */
COR_API int cor_testing_prepend_reactor(struct cor_testing *testing, const char *verb,
                                        const char *resource, cor_testing_reactor fn, void *arg);

#ifdef __cplusplus
COR_STRUCT_NAMES_END
}
#endif

#endif
