/* Writing a list out of a cursor: what LIST answers, and DELETECOLLECTION at its end.
 * Owner: the call that embeds it.  Thread: its loop. */
#ifndef COR_SERVER_LIST_H
#define COR_SERVER_LIST_H

#include "loop/mailbox.h"
#include "loop/timer.h"
#include "server/api/call.h"
#include "server/docs/table.h"
#include "server/verbs/list_protobuf.h"
#include "json/write/writer.h"

/* Spans of output at once. */
#define COR_LIST_SPANS_MAX 128

struct cor_list_call {
    struct cor_call call;
    struct cor_predicate predicate;
    struct cor_list_cursor *cursor;
    enum cor_table_include include;
    size_t nread;             /* bytes of objects that items were made of in this turn */
    struct cor_work work;     /* of the row that is being made */
    uint64_t nsteps;          /* of the rows of this turn */
    bool is_begun;            /* the head and an item are out: a comma comes next */
    bool is_done;             /* the tail is out */
    struct cor_object *large; /* an item that a thread writes; borrowed from the cursor */
    struct cor_object *made;  /* `large` as a sink takes it that takes objects */
    bool is_waiting; /* for the next turn, after many objects that are not selected, or for room
                        among the stages of large requests */
    struct cor_mail turn;
    struct cor_timer retry; /* no thread has taken `large` yet */
    struct cor_list_protobuf protobuf;
};

/* What the request asks for, with the predicate and the key set. 0, or a failure in `status`. */
int cor_list_call_options(struct cor_list_call *list, struct cor_store_list_opts *ret_opts);

/* Answers with what is in the cursor. */
void cor_list_call_reply(struct cor_list_call *list);
/* A cursor's on_lost, with the list as its argument: cuts the answer if it waits for its reader. */
bool cor_list_call_lost(void *arg);

void cor_list_call_deinit(struct cor_call *call);
/* May its answer be cut? */
bool cor_list_call_may_cut(struct cor_call *call);
/* What its cursor holds. */
size_t cor_list_call_held(struct cor_call *call);

#endif
