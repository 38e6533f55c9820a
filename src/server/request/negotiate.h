/* Which form of an answer the client wants, from its Accept header.
 * Thread: any (values). */
#ifndef COR_SERVER_NEGOTIATE_H
#define COR_SERVER_NEGOTIATE_H

#include <stdbool.h>

#include "base/str.h"
#include "meta/select/list_options.h"
#include "meta/status/status.h"
#include "schema/print/openapi.h"

enum cor_accept_view {
    COR_VIEW_OBJECT,
    COR_VIEW_TABLE,
    COR_VIEW_PARTIAL, /* PartialObjectMetadata, or a list of them */
};

struct cor_accept {
    enum cor_accept_view view;
    bool is_v1beta1; /* of meta.k8s.io, for what is not an object */
    bool is_pretty;
    bool is_yaml;
    bool is_protobuf;
};

/* What the answer will be: this decides which views are possible. */
enum cor_answer {
    COR_ANSWER_OBJECT,
    COR_ANSWER_LIST,
    COR_ANSWER_DELETED_LIST, /* of a deletecollection, which has no watch behind its path */
    COR_ANSWER_WATCH,
    COR_ANSWER_DISCOVERY, /* the only documents outside resources that protobuf has */
};

/* `resource` is NULL for paths outside resources, which have no other views. 0, -COR_ENOTACCEPTABLE
 * (406 in upstream's words); then `ret_accept` says how the refusal may be written. */
struct cor_resource_row;
int cor_negotiate(struct cor_str accept, enum cor_answer answer,
                  const struct cor_resource_row *resource, struct cor_accept *ret_accept,
                  struct cor_status *reterr_status);

/* How a Status that refuses the request is written: by the first clause that asks for no other
 * view, and as JSON when there is none. */
struct cor_accept cor_negotiate_failure(struct cor_str accept);

/* Does the header take JSON at all, as it stands? */
bool cor_accept_takes_json(struct cor_str accept);

/* Does the header ask for discovery's aggregated form before the plain one? Then `ret_protobuf`
 * says in which form. */
bool cor_accept_wants_aggregated(struct cor_str accept, bool *ret_protobuf);

/* Does the header ask for this version of OpenAPI in protobuf, before or instead of JSON? */
bool cor_accept_wants_openapi_protobuf(struct cor_str accept, enum cor_openapi_version version);

/* The query's `pretty`, else what the client is: browsers and curl get indented JSON. */
bool cor_wants_pretty(enum cor_tristate pretty, struct cor_str user_agent);

/* The media type of a header value, without its parameters. */
struct cor_str cor_media_type(struct cor_str value);
bool cor_media_type_is(struct cor_str type, const char *name); /* in any case */

#endif
