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

#endif
