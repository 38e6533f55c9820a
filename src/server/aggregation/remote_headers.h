/* The head of a request as an aggregated API server gets it, and the headers of its answer as the
 * client gets them: what kube-apiserver's proxy removes, adds and writes anew.
 *
 * Headers that say who the user is never come from the client: X-Remote-User, -Uid, -Group and
 * -Extra-*, in every spelling (without regard to case, underscores as dashes), and the headers that
 * --requestheader-… names. docs/internals/aggregation.md has the list.
 * Owner: whoever embeds it.  Thread: any (values). */
#ifndef COR_SERVER_REMOTE_HEADERS_H
#define COR_SERVER_REMOTE_HEADERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "net/session/header.h"
#include "server/access/user.h"

#define COR_REMOTE_HEAD_MAX    (1u << 20) /* bytes of a head */
#define COR_REMOTE_HEADERS_MAX 280
#define COR_REMOTE_HOST_MAX    288

/* Lists of names, separated by commas; NULL: none. Must stay valid. */
struct cor_remote_names {
    const char *names[3]; /* headers of users, uids and groups */
    const char *prefixes; /* of headers with extras */
};

struct cor_remote_head_opts {
    const struct cor_http_header *headers; /* the client's */
    size_t nheaders;
    struct cor_str path;  /* decoded: what was authorized */
    struct cor_str query; /* encoded */
    const struct cor_user *user;
    struct cor_str audit_id;
    const char *client_address;           /* as in struct cor_peer */
    const struct cor_remote_names *names; /* NULL: none beside X-Remote-* */
    bool is_upgrade; /* Connection, Upgrade and the other headers of the connection stay */
};

struct cor_remote_head {
    struct cor_buf text;
    struct cor_http_header *headers; /* into `text`, until the deinit */
    size_t nheaders;
    struct cor_str
        target; /* path and query, encoded by Go's rules: names of the query are sorted */
    char host[COR_REMOTE_HOST_MAX];
};

/* 0; -COR_EINVAL: a value (of the user) cannot be in a header; -COR_ETOOBIG, -COR_ENOMEM. After a
 * failure there is nothing to release. */
int cor_remote_head_init(struct cor_remote_head *head, const struct cor_remote_head_opts *opts);
void cor_remote_head_deinit(struct cor_remote_head *head); /* safe on a zeroed struct */

/* Sets X-Forwarded-Host, when the address is known; not for an upgrade. */
void cor_remote_head_set_host(struct cor_remote_head *head, const char *host, uint16_t port);

/* Is an upgrade asked for? As upstream: a Connection header with the word in it. */
bool cor_remote_is_upgrade(const struct cor_http_header *headers, size_t nheaders);

/* The headers of an answer that the client gets: without those of the connection, of CORS and the
 * ones that the HTTP layer writes itself (http/response.h); `out` has room for `max`, and gets
 * borrowed ones. Returns how many; what does not fit is left out. */
size_t cor_remote_answer_headers(const struct cor_http_header *headers, size_t nheaders,
                                 struct cor_http_header *out, size_t max);

/* The declared length of an answer; COR_HTTP_LENGTH_UNKNOWN: none. */
uint64_t cor_remote_answer_length(const struct cor_http_header *headers, size_t nheaders);

#endif
