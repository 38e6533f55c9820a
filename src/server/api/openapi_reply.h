/* The answers to /openapi/v2 and /openapi/v3: conditional requests, hashes in URLs, and documents
 * that are kept for the next reader (server/docs/kept_docs.h).
 * Thread: the call's loop. */
#ifndef COR_SERVER_OPENAPI_REPLY_H
#define COR_SERVER_OPENAPI_REPLY_H

#include "server/api/call.h"
#include "server/docs/kept_docs.h"

/* Answers when `path`, without slashes at its end, is one of OpenAPI. `*ret_doc` gets the document
 * that the answer sends, a reference which the caller gives back when the call ends; it stays NULL
 * when there is none. False: the path is another one's. */
bool cor_openapi_reply(struct cor_call *call, const struct cor_served *served, struct cor_str path,
                       struct cor_kept_doc **ret_doc);

#endif
