/* Fills a request with what it does not set from the object that it is about (cor_request.of).
 * Thread: any.  Owner: the caller; the request borrows from the object and from the texts. */
#ifndef COR_CLIENT_REQUEST_OBJECT_H
#define COR_CLIENT_REQUEST_OBJECT_H

#include "base/buf.h"
#include "coracle/request.h"

/* What a filled request points to. */
struct cor_request_texts {
    char *block;             /* namespace, name, uid and resourceVersion of the object */
    struct cor_buf selector; /* "metadata.name=…" of a watch */
    struct cor_buf patch;    /* a patch with the object's resourceVersion */
};

/* `texts` is zeroed before, and deinitialised in either case. A request without an object stays as
 * it is. 0; -COR_EINVAL (a list has an object; unless_changed without an object, with an object
 * that has no resourceVersion, with a verb that is neither update, patch nor delete, or with a
 * patch that is not JSON object or of another type than merge and strategic), -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_request_take_object(struct cor_request *req, struct cor_request_texts *texts);
void cor_request_texts_deinit(struct cor_request_texts *texts);

#endif
