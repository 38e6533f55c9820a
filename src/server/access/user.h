/* The sender of a request, as authentication or impersonation found out.
 * Thread: any (immutable while a request runs).  Owner: the request's maker. */
#ifndef COR_SERVER_USER_H
#define COR_SERVER_USER_H

#include <stddef.h>

#include "base/str.h"

/* One value of one key. A key with several values has several entries, one after the other. */
struct cor_user_extra {
    struct cor_str key, value;
};

struct cor_user {
    struct cor_str name, uid;
    const struct cor_str *groups;
    size_t ngroups;
    const struct cor_user_extra *extras; /* sorted by key */
    size_t nextras;
};

struct cor_json_writer;

/* Returns the user itself; for NULL, which represents a request of the server to itself, the
 * server's own user. */
const struct cor_user *cor_user_or_server(const struct cor_user *user);

/* Writes the member `extra`: an object with a list of values for each key. */
void cor_user_write_extras(const struct cor_user *user, struct cor_json_writer *w);

/* Writes the user as an object with the members of authentication.k8s.io's UserInfo. */
void cor_user_write(const struct cor_user *user, struct cor_json_writer *w);

#endif
