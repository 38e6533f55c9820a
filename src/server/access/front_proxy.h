/* A front proxy: a server that has authenticated its users and passes their requests on, with the
 * users in headers (kube-apiserver's --requestheader-… flags). It is trusted because of its client
 * certificate, which is verified with a CA for proxies only.
 *
 * The settings say which certificates and which headers. Owner: reference counted, immutable once
 * shared.  Thread: any. */
#ifndef COR_SERVER_FRONT_PROXY_H
#define COR_SERVER_FRONT_PROXY_H

#include "base/cleanup.h"
#include "base/str.h"
#include "http/request.h"
#include "meta/status/status.h"
#include "server/access/identity.h"

struct cor_front_proxy;
struct cor_peer_cert;

#define COR_FRONT_PROXY_NAMES_MAX 1000 /* in each list */

/* The order of the flags' and of the ConfigMap's keys. */
enum cor_front_proxy_list {
    COR_PROXY_USERNAMES,      /* headers with the user's name; the first that is not empty counts */
    COR_PROXY_UIDS,           /* likewise the uid */
    COR_PROXY_GROUPS,         /* each value of each of these headers is a group */
    COR_PROXY_EXTRA_PREFIXES, /* the rest of the header's name is the key of an extra */
    COR_PROXY_ALLOWED,        /* common names of certificates; empty: any */
    COR_PROXY_LISTS,
};

/* All lists are empty. 0, -COR_ENOMEM. */
int cor_front_proxy_new(struct cor_front_proxy **ret_proxy);
struct cor_front_proxy *cor_front_proxy_ref(struct cor_front_proxy *proxy);
struct cor_front_proxy *cor_front_proxy_unref(struct cor_front_proxy *proxy);
COR_DEFINE_CLEANUP(struct cor_front_proxy, cor_front_proxy_unref)

/* Before it is shared. 0, -COR_ETOOBIG, -COR_ENOMEM. */
int cor_front_proxy_add(struct cor_front_proxy *proxy, enum cor_front_proxy_list list,
                        struct cor_str name);

/* Adds the names of a flag's value, which are separated by commas, and checks them as upstream
 * does. 0; -COR_EINVAL: the message names the flag; -COR_ETOOBIG, -COR_ENOMEM. */
int cor_front_proxy_add_flag(struct cor_front_proxy *proxy, enum cor_front_proxy_list list,
                             const char *value, struct cor_status *reterr_status);

/* Adds the names of a JSON array of strings, as the ConfigMap extension-apiserver-authentication
 * has it; an empty text is an empty list, and empty names are left out. 0, -COR_EINVAL,
 * -COR_ETOOBIG, -COR_ENOMEM. */
int cor_front_proxy_add_json(struct cor_front_proxy *proxy, enum cor_front_proxy_list list,
                             struct cor_str json);

/* The name of a flag, and of a key of the ConfigMap: "requestheader-username-headers". */
const char *cor_front_proxy_list_name(enum cor_front_proxy_list list);

/* Whom the headers name, when they come from a proxy whose certificate was verified. 1: the
 * identity is made, and owns its text; 0: there is no user name; -COR_EUNAUTHORIZED: the
 * certificate's common name is not allowed; -COR_ENOMEM. */
int cor_front_proxy_identify(const struct cor_front_proxy *proxy, const struct cor_peer_cert *cert,
                             const struct cor_http_request *req, struct cor_identity *ret_identity);

#endif
