/* What a user wants to do, as the authorizer and admission judge it: the user, the verb, the
 * target, and for a write the objects.
 *
 * The value borrows everything: what it points to belongs to its maker and stays valid for the call
 * that gets the value. Code that needs it for longer makes a copy. Thread: any (a value).
 * Owner: whoever asks. */
#ifndef COR_SERVER_ATTRIBUTES_H
#define COR_SERVER_ATTRIBUTES_H

#include <stdbool.h>

#include "base/str.h"
#include "server/access/identity.h"
#include "server/request/request_info.h"

struct cor_api_options;
struct cor_delete_options;
struct cor_object;
struct cor_review_selectors;

struct cor_attributes {
    const struct cor_user *user;
    bool is_anonymous;   /* nobody has said who sends it */
    bool is_resource;    /* a verb on a resource; else on `path` */
    bool is_dry_run;     /* a write that changes nothing */
    struct cor_str verb; /* a verb of the API ("get", "list"), another one ("impersonate"), or for a
                            path the method in lower case */
    /* Of a resource; empty: none. The name is that of the URL: a creation has one in its object. */
    struct cor_str group, version, resource, subresource, ns, name;
    struct cor_str path; /* of the request, decoded; empty: there is none */
    /* What a list, a watch or a deletion of a collection selects; NULL: nothing, or it was not read
     * (cor_authorizer_reads_selectors()). */
    const struct cor_review_selectors *selectors;
    /* Of a write that is admitted, in the version that is stored; NULL: there is none. */
    struct cor_object *object, *old;
    const struct cor_api_options *options;     /* of a request that has any; else NULL */
    const struct cor_delete_options *deletion; /* those of a deletion, its body's too; else NULL */
};

/* The attributes of a request whose head has come. The caller sets the verb of a path. */
static inline struct cor_attributes cor_attributes_of_request(const struct cor_request_info *info,
                                                              const struct cor_identity *sender)
{
    return (struct cor_attributes){
        .user = &sender->user,
        .is_anonymous = sender->is_anonymous,
        .is_resource = info->is_resource,
        .verb = info->is_resource ? cor_strz(cor_api_verb_name(info->verb)) : COR_STR(""),
        .group = info->group,
        .version = info->version,
        .resource = info->resource,
        .subresource = info->subresource,
        .ns = info->ns,
        .name = info->name,
        .path = info->path,
    };
}

#endif
