/* One request on its way through a verb. A verb is a struct cor_verb_ops: how much state it needs
 * (a struct that begins with struct cor_call), how it runs, and what it holds.
 *
 * A call lives until it has answered, or its reader is gone, and none of its store operations is
 * under way. `req` is NULL once the reader is gone: a verb copies what it needs longer.
 * Thread: its loop; a thread while it has a stage of the call (server/api/heavy.h).
 * Owner: itself. */
#ifndef COR_SERVER_CALL_H
#define COR_SERVER_CALL_H

#include <assert.h>

#include "meta/object/object.h"
#include "meta/select/predicate.h"
#include "meta/status/status.h"
#include "meta/status/storage_error.h"
#include "schema/kinds/resource_row.h"
#include "server/api/api_loop.h"
#include "server/api/held.h"
#include "server/docs/table.h"
#include "server/request/negotiate.h"
#include "server/request/query_options.h"
#include "server/request/request_warnings.h"

/* The spans of output at once, unless the verb asks for more. A watch, of which there are
 * thousands, needs no more than these. */
#define COR_CALL_SPANS_FEW 8

struct cor_call;
struct cor_heavy;

struct cor_verb_ops {
    size_t size;
    size_t spans_max; /* 0: COR_CALL_SPANS_FEW */
    void (*run)(struct cor_call *call);
    void (*deinit)(struct cor_call *call); /* NULL: nothing to release */
    void (*gone)(
        struct cor_call *call); /* the reader went: close what goes on by itself; or NULL */
    void (*drain)(struct cor_call *call);   /* the server shuts down: end soon; or NULL */
    size_t (*held)(struct cor_call *call);  /* bytes that it holds beside its output; NULL: none */
    bool (*may_cut)(struct cor_call *call); /* may its answer be cut now? NULL: always */
};

struct cor_call {
    const struct cor_verb_ops *verb;
    struct cor_api_loop *loop;
    const struct cor_server_request *req; /* NULL: the reader is gone */
    struct cor_sink *sink;
    const struct cor_resource_row *res;      /* as the URL names it, a reference; NULL: none */
    const struct cor_resource_row *stored;   /* the version of it that is stored */
    const struct cor_resource_row *type;     /* what bodies and answers are */
    const struct cor_type *schema;           /* of `type`; NULL: the kind has none */
    const struct cor_conversion *conversion; /* between these two; NULL: they are one */
    const struct cor_table_columns *columns; /* of an answer that is a Table; else NULL */
    enum cor_table_include include;          /* of the row of an object that is answered */
    const struct cor_api_subresource *sub;
    struct cor_backing *backing; /* NULL: nothing is stored */
    struct cor_api_options opts;
    struct cor_accept accept;
    struct cor_buf key;      /* logical; of the object, or of the collection */
    struct cor_str ns, name; /* in `names` */
    struct cor_buf names;
    struct cor_status status; /* of a failure */
    struct cor_warnings warnings;
    size_t nroute_warnings;   /* the first so many of them are sent with every answer */
    size_t nsuccess_warnings; /* those up to this number are sent with a success only */
    struct cor_held held;     /* what it holds while its output waits */
    unsigned pending;         /* store operations that will call back; 1 more while `heavy` */
    bool is_over;             /* answered or gone */
    bool takes_objects;       /* the sink does: see server/request/sink.h */
    struct cor_heavy *heavy;  /* the stage while a thread has the call; else NULL */
    void *stage_arg;          /* what a stage works on besides the call; NULL: nothing */
    bool stage_is_shared;     /* other calls want what it makes: it runs although the reader goes */
    int out_code;             /* the code of an answer that is being made in `out` */

    struct cor_str *spans; /* output, of which `skip` bytes are written; behind the verb's struct */
    size_t nspans, spans_max, skip;
    struct cor_buf out;            /* bytes of spans that have no other home */
    struct cor_object *out_object; /* held for its span */
    /* Sets more spans when all are written. 1: there are some; 0: the answer is complete;
     * COR_REFILL_WAIT: more will come, and somebody calls cor_call_pump() then; -COR_E…: the answer
     * is cut. NULL: the answer is complete. */
    int (*refill)(struct cor_call *call);
};

#define COR_REFILL_WAIT (-1000)

/* Sets the names, and the key of the object or of the collection, from the request; for a resource
 * that is not stored, the names only. 0, or a failure in `status`. */
int cor_call_set_key(struct cor_call *call);

/* Around every store operation. cor_call_end_op() is false when the call is over, and perhaps
 * freed: the caller returns at once. */
static inline void cor_call_begin_op(struct cor_call *call)
{
    call->pending++;
}
bool cor_call_end_op(struct cor_call *call);

/* `mail` has come, by which a call goes on with its next slice. True: it does so now. False: calls
 * have had their part of this turn of the loop, and the mail comes again in the next one. */
bool cor_call_takes_slice(struct cor_call *call, struct cor_mail *mail);

/* Are the cells of tables those of the stored object? Upstream makes a row before it converts the
 * object; only what a subresource shows in its place has cells of its own. */
static inline bool cor_call_has_stored_cells(const struct cor_call *call)
{
    return call->accept.view == COR_VIEW_TABLE && !(call->sub && call->sub->conversion);
}

/* Is a row made of the object in the version of the request? Upstream has a converter of tables for
 * each version of a custom resource; rows of other kinds have that version if they have the whole
 * object. */
static inline bool cor_call_converts_rows(const struct cor_call *call,
                                          enum cor_table_include include)
{
    return include == COR_TABLE_OBJECT || call->res->custom;
}

/* A stored object in the version of the answer: a new reference. 0, or a failure in `status`. */
int cor_call_convert(struct cor_call *call, struct cor_object *object,
                     struct cor_object **ret_object);

/* Sets the status to the 500 of a stored object that has no form in protobuf: with the key of
 * `object`, or of the call's own object for NULL, and with `why`. On the loop, or on the thread
 * that has the call. */
void cor_call_unencodable(struct cor_call *call, const struct cor_object *object, const char *why);

/* Each of these answers and ends the call, which may be freed: they are a function's last
 * statement. */
void cor_call_fail(struct cor_call *call); /* with `status` */
/* With the storage error in `status`, turned into an error of the API. */
void cor_call_fail_storage(struct cor_call *call, enum cor_storage_op op);
void cor_call_reply_object(struct cor_call *call, int code, struct cor_object *object);
void cor_call_reply_json(struct cor_call *call, int code);    /* with the JSON in `out` */
void cor_call_reply_success(struct cor_call *call, int code); /* a Status without details */
void cor_call_reply_bytes(struct cor_call *call, int code, const char *content_type,
                          const struct cor_http_header *headers, size_t nheaders,
                          struct cor_str body); /* a constant, or `out` */

/* Sends the head of a streamed answer; the caller then sets spans and pumps. */
void cor_call_start(struct cor_call *call, int code, const char *content_type,
                    const struct cor_http_header *headers, size_t nheaders, uint64_t length);
void cor_call_pump(struct cor_call *call);
/* Ends a streamed answer, when it is not `refill` that ends it. */
void cor_call_end(struct cor_call *call);
/* Ends an answer that is not whole: the reader sees a broken connection or stream. */
void cor_call_abort(struct cor_call *call);
/* Ends the call of a reader that is too slow, as if the reader had gone: it sees a broken
 * connection or stream. */
void cor_call_cut(struct cor_call *call);
/* Charges the call for what it holds now, while its output waits for the reader (held.h). */
void cor_call_weigh(struct cor_call *call);

static inline void cor_call_add_span(struct cor_call *call, struct cor_str span)
{
    assert(call->nspans < call->spans_max);
    call->spans[call->nspans++] = span;
}

/* What a list or a watch (`watch`) reads: the options of the query, the key, the selectors, and the
 * objects that table rows show. A selector for a single name makes the key that object's. The
 * caller owns the predicate, also when this fails. 0, or a failure in `status`. */
int cor_call_list_options(struct cor_call *call, bool watch, struct cor_list_options *ret_options,
                          struct cor_predicate *ret_predicate, enum cor_table_include *ret_include);

/* The request's selectors. 0, or -COR_EINVAL in `status`. */
int cor_call_predicate(struct cor_call *call, struct cor_predicate *ret_predicate);

int64_t cor_call_now_ms(const struct cor_call *call); /* wall time */

/* The verbs. */
extern const struct cor_verb_ops cor_verb_get, cor_verb_list, cor_verb_watch, cor_verb_create,
    cor_verb_update, cor_verb_patch, cor_verb_delete, cor_verb_delete_collection;
/* The verbs of kinds that are not stored, and of subresources that do something. */
extern const struct cor_verb_ops cor_verb_review, cor_verb_component_status, cor_verb_binding,
    cor_verb_eviction, cor_verb_connect;

#endif
