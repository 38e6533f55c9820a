/* The answers to /openapi/v2 and /openapi/v3: conditional requests, hashes in URLs, and documents
 * that are kept for the next reader (server/docs/kept_docs.h). A document that is not kept is made
 * on an offload thread, once for all calls of a loop that wait for it.
 * Thread: the call's loop. */
#ifndef COR_SERVER_OPENAPI_REPLY_H
#define COR_SERVER_OPENAPI_REPLY_H

#include "server/api/call.h"
#include "server/docs/kept_docs.h"
#include "server/docs/openapi_docs.h"

/* What an answer with a document needs while the document is made. Zeroed at first. */
struct cor_openapi_answer {
    struct cor_call *call;
    const struct cor_served *served;
    enum cor_openapi_version version;
    bool is_protobuf;
    bool is_gzip;  /* the document is kept and sent compressed: of version 2 only, as upstream's */
    bool is_named; /* the URL has the hash */
    char hash[COR_OPENAPI_HASH_MAX];
    char key[COR_KEPT_KEY_MAX]; /* of the kept document: the hash, the path and the form */
    size_t key_n;
    struct cor_str path;        /* of version 3, in `key` */
    struct cor_kept_doc *doc;   /* that the answer sends, a reference; NULL: none */
    struct cor_dlist link;      /* in the loop's openapi_jobs, or among the followers of another */
    struct cor_dlist followers; /* of an answer whose call makes the document */
};

/* Answers, now or when the document is made, if `path`, without slashes at its end, is one of
 * OpenAPI. `answer` belongs to the call and is deinitialised with it; `served` stays until then.
 * False: the path is another one's. */
bool cor_openapi_reply(struct cor_call *call, const struct cor_served *served, struct cor_str path,
                       struct cor_openapi_answer *answer);
void cor_openapi_answer_deinit(struct cor_openapi_answer *answer);

#endif
