/* Who asks: what authentication found out.
 * Thread: any (immutable while a request runs).  Owner: the request's maker. */
#ifndef COR_SERVER_USER_H
#define COR_SERVER_USER_H

#include <stddef.h>

#include "base/str.h"

struct cor_user {
    struct cor_str name, uid;
    const struct cor_str *groups;
    size_t ngroups;
};

#endif
