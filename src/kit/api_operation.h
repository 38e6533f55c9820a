/* An operation on the Kubernetes API as one value: the verb, its target, and the verb's options.
 * The sender fills it in the same way for every transport; over HTTP (kit/dynamic) and in process
 * (server/port) it is written by cor_api_form_init(), so that both mean the same by the same
 * options, and refuse the same names in the same words.
 *
 * Thread: any (values).  Owner: strings and objects are borrowed. */
#ifndef COR_KIT_API_OPERATION_H
#define COR_KIT_API_OPERATION_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "coracle/request.h"
#include "http/request.h"
#include "kit/api_options.h"
#include "meta/names/api_verb.h"
#include "meta/object/object.h"
#include "meta/status/status.h"

/* What a verb does not use is zero. */
struct cor_api_operation {
    enum cor_api_verb verb;
    /* A create or update without a name takes the object's; verbs on a collection (list, watch,
     * deletecollection, create without a subresource) have none. */
    struct cor_resource_path at;
    /* A get of the document of `at`'s group and version in place of an object: it exists exactly
     * when the server serves them, and only that counts. */
    bool is_discovery;
    bool metadata_only;          /* objects come as PartialObjectMetadata; not for deletions */
    struct cor_list_query query; /* list, watch, deletecollection; of a get its resourceVersion */
    struct cor_object *object;   /* create, update */
    enum cor_patch_type patch_type;
    struct cor_str patch;
    struct cor_write_options write;     /* create, update, patch */
    struct cor_removal_options removal; /* delete, deletecollection */
};

/* The Accept header of what is `metadata_only`. A server without that form sends whole objects. */
#define COR_ACCEPT_METADATA                                                                        \
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
#define COR_ACCEPT_METADATA_LIST                                                                   \
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

/* What a success is answered with. */
enum cor_api_result {
    COR_API_RESULT_OBJECT,  /* one object; of a deletion perhaps a Status of success */
    COR_API_RESULT_NOTHING, /* whatever it is, it does not count */
    COR_API_RESULT_LIST,
    COR_API_RESULT_WATCH,
};

/* An operation as an HTTP request carries it. The body is `body`, or the operation's object. */
struct cor_api_form {
    enum cor_http_method method;
    enum cor_api_result result;
    bool metadata_only;
    struct cor_buf target;       /* path and query, escaped */
    struct cor_str content_type; /* of a patch; else empty: JSON */
    struct cor_buf options;      /* DeleteOptions */
    struct cor_str body;         /* the patch, or the options; else empty */
};

/* 0, or why it cannot be sent, with the cause in `reterr`: -COR_EINVAL (an unknown verb or patch
 * type, a name that is missing or is no path segment), -COR_ENOMEM, -COR_ETOOBIG.
 * cor_api_form_deinit() follows in either case. */
int cor_api_form_init(struct cor_api_form *form, const struct cor_api_operation *op,
                      struct cor_status *reterr);
void cor_api_form_deinit(struct cor_api_form *form);

/* Fills the status of a request that was not sent because of `r`, and returns `r`. */
int cor_api_cannot_send(int r, struct cor_status *reterr);

#endif
