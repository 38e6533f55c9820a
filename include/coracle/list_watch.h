/* What a reflector or an informer lists and watches: client-go's ListerWatcher. There are three
 * kinds: a collection of an API server (cor_list_watch_from_client), functions of the program
 * (cor_list_watch_new), and a script for tests (coracle/list_watch_script.h).
 *
 * Owner: the maker, until it is given away: a reflector or plain informer borrows it, and it must
 * outlive them; the informers of a set take it. One list-watch serves one reflector at a time.
 * Thread: any thread makes and frees it; its functions run on the runtime's I/O thread or inside
 * the pump. */
#ifndef CORACLE_LIST_WATCH_H
#define CORACLE_LIST_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/informer_request.h"
#include "coracle/object.h"
#include "coracle/request.h"
#include "coracle/status.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
COR_STRUCT_NAMES_BEGIN
#endif

struct cor_client;
struct cor_informer_opts;
struct cor_list_watch;

#define COR_LIST_WATCH_ANSWERS_MAX 65536 /* that wait for the reflector */

/* Functions that list and watch. At most one request is under way at a time; `id` names it, and is
 * passed back with every answer. An answer may be given inside the function, or later and from any
 * thread. The functions must not block. `req` is borrowed for the call. */
struct cor_list_watch_opts {
    size_t size; /* of this struct: COR_LIST_WATCH_OPTS sets it (coracle/api.h) */
    /* Answered by one cor_list_watch_page() or cor_list_watch_failed(). A page with a continue
     * token is followed by another list with that token. */
    void (*list)(void *arg, struct cor_list_watch *lw, uint64_t id,
                 const struct cor_informer_request *req);
    /* Answered by cor_list_watch_opened(), then cor_list_watch_event() as events come, and at last
     * cor_list_watch_ended(); or by cor_list_watch_failed() alone. */
    void (*watch)(void *arg, struct cor_list_watch *lw, uint64_t id,
                  const struct cor_informer_request *req);
    /* The request is no longer wanted, and its answers are dropped. May be NULL. */
    void (*cancel)(void *arg, struct cor_list_watch *lw, uint64_t id);
    /* The list-watch was freed, and `arg` is not used any more. May be NULL. */
    void (*on_freed)(void *arg);
    void *arg;
    /* What every request asks for, in the fields of the same name; copied, may be NULL. */
    const char *label_selector, *field_selector;
};

#define COR_LIST_WATCH_OPTS .size = sizeof(struct cor_list_watch_opts)

/* 0, -COR_ENOMEM, -COR_EINVAL (no `list` or no `watch`; coracle/api.h), -COR_ENOTSUP. */
COR_API int cor_list_watch_new(const struct cor_list_watch_opts *opts,
                               struct cor_list_watch **ret_list_watch);

/* Lists and watches a collection of the client's server: resource, ns, label_selector,
 * field_selector, metadata_only and tweak of the options count, and the texts are copied. The
 * client must stay valid, and what uses the list-watch runs on the client's runtime. 0,
 * -COR_ENOMEM, -COR_EINVAL (no version or no resource; coracle/api.h), -COR_ENOTSUP. */
COR_API int cor_list_watch_from_client(struct cor_client *client,
                                       const struct cor_informer_opts *opts,
                                       struct cor_list_watch **ret_list_watch);

/* Nothing may use it any more, and no other thread may be answering. NULL is fine; returns NULL. */
COR_API struct cor_list_watch *cor_list_watch_free(struct cor_list_watch *lw);

/* Answers. Everything is copied or referenced. 0; -COR_ECANCELED (the request is no longer wanted:
 * nothing more need be answered), -COR_EBUSY (COR_LIST_WATCH_ANSWERS_MAX), -COR_ENOMEM. After the
 * last two the reflector has not got the answer: give it again, or fail the request. */
struct cor_list_watch_page {
    struct cor_object *const *objects;
    size_t n;
    struct cor_str resource_version; /* of the list */
    struct cor_str continue_token;   /* empty: the list is complete */
};
COR_API int cor_list_watch_page(struct cor_list_watch *lw, uint64_t id,
                                const struct cor_list_watch_page *page);
COR_API int cor_list_watch_opened(struct cor_list_watch *lw, uint64_t id);

/* An event with COR_WATCH_ERROR is the last of its watch. */
COR_API int cor_list_watch_event(struct cor_list_watch *lw, uint64_t id,
                                 const struct cor_watch_event *event);

/* The watch ended as servers end watches; the reflector opens another one. */
COR_API int cor_list_watch_ended(struct cor_list_watch *lw, uint64_t id);

/* The list or watch failed with this negative code: -COR_EEXPIRED (410: the reflector lists again),
 * -COR_EUNREACHABLE, -COR_EFORBIDDEN, ... `message` may be NULL. Never -COR_ENOMEM: without memory
 * only the message is lost. */
COR_API int cor_list_watch_failed(struct cor_list_watch *lw, uint64_t id, int err,
                                  const char *message);

#ifdef __cplusplus
COR_STRUCT_NAMES_END
}
#endif

#endif
