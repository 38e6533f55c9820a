/* The KEY argument of the store commands. `pods/default/web` and `/registry/pods/default/web` name
 * the same key. Keys are the store's own: where Kubernetes keeps a resource under another name
 * (nodes under minions, services under services/specs) that name is what one types. Thread: main.
 * Owner: whoever embeds it. */
#ifndef COR_CMD_STORE_KEY_H
#define COR_CMD_STORE_KEY_H

#include "base/str.h"
#include "meta/object/object.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"

#define STORE_KEY_MAX 1024

struct store_key {
    char text[STORE_KEY_MAX];            /* logical: "/pods/default/web" */
    char resource_prefix[STORE_KEY_MAX]; /* "/pods", or "/stable.example.com/crontabs" */
    struct cor_gr gr;                    /* may point into text, as `name` */
    struct cor_str name;                 /* the last part */
};

/* A prefix (`list`, `watch`) may end in a slash. A resource that is neither built in nor has a
 * group is refused, with the nearest name. 0, or -COR_EINVAL. */
int store_key_parse(const char *arg, struct store_key *ret_key, struct cor_status *reterr_status);

/* Does the object belong under the key? Its metadata.name must be the last part, and its
 * metadata.namespace, if it has one, the part before. 0, or -COR_EINVALID naming the field. */
int store_key_check_object(const struct store_key *key, const struct cor_object *object,
                           struct cor_status *reterr_status);

#endif
