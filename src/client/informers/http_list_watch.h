/* Lists and watches one collection of an API server over HTTP: the list-watch that feeds a
 * reflector, and so an informer. Answers are cut into objects as they come in; none is held as a
 * whole. Contract client 1.11 and 1.15. Owner: whoever made it.  Thread: the loop's of its client.
 */
#ifndef COR_CLIENT_HTTP_LIST_WATCH_H
#define COR_CLIENT_HTTP_LIST_WATCH_H

#include "base/cleanup.h"
#include "base/str.h"
#include "client/informers/list_watch_int.h"
#include "coracle/informer_request.h"
#include "coracle/wire.h"
#include "kit/resource_path.h"
#include "kit/rest/rest_client.h"

struct cor_http_list_watch;
struct cor_loop;

/* Objects that are handed to the reflector together. */
#define COR_HTTP_LIST_WATCH_BATCH 128
/* How long after its timeout a watch may still be silent before it is given up: the server ends it
 * at the timeout, unless it or the way to it is gone. */
#define COR_HTTP_LIST_WATCH_SLACK_MS        30000
#define COR_HTTP_LIST_WATCH_LIST_TIMEOUT_MS 120000

/* Changes what a request asks for. */
struct cor_list_tweak {
    cor_tweak_fn fn; /* may be NULL */
    void *arg;
};

struct cor_http_list_watch_opts {
    struct cor_loop *loop;
    struct cor_runtime *runtime; /* of the loop: freeing is for any thread. NULL: the loop's only */
    struct cor_rest_client *client;
    struct cor_resource_path at;   /* of the collection */
    struct cor_str label_selector; /* empty: all */
    struct cor_str field_selector;
    bool metadata_only;               /* PartialObjectMetadata in place of whole objects */
    const struct cor_wire_type *wire; /* of the objects in protobuf; NULL: JSON is asked for */
    struct cor_list_tweak tweaks[2];  /* one after the other */
};

/* The strings are copied; `loop` and `client` must stay valid. 0 or -COR_ENOMEM. */
int cor_http_list_watch_new(const struct cor_http_list_watch_opts *opts,
                            struct cor_http_list_watch **ret_lw);

/* The reflector that it drives must be stopped. Returns NULL. */
struct cor_http_list_watch *cor_http_list_watch_free(struct cor_http_list_watch *lw);
COR_DEFINE_CLEANUP(struct cor_http_list_watch, cor_http_list_watch_free)

/* As the list-watch of a reflector; borrowed. */
struct cor_list_watch *cor_http_list_watch_base(struct cor_http_list_watch *lw);

#endif
