/* The verbs of the Kubernetes API, as discovery names them.
 * Thread: any (values). */
#ifndef COR_META_NAMES_API_VERB_H
#define COR_META_NAMES_API_VERB_H

#include "base/str.h"

/* In the order of their names, as discovery lists them. */
#define COR_API_VERBS(X)                                                                           \
    X(CREATE, "create")                                                                            \
    X(DELETE, "delete")                                                                            \
    X(DELETECOLLECTION, "deletecollection")                                                        \
    X(GET, "get")                                                                                  \
    X(LIST, "list")                                                                                \
    X(PATCH, "patch")                                                                              \
    X(UPDATE, "update")                                                                            \
    X(WATCH, "watch")

enum cor_api_verb {
#define COR_API_VERB_ROW(name, text) COR_API_VERB_##name,
    COR_API_VERBS(COR_API_VERB_ROW)
#undef COR_API_VERB_ROW
        COR_API_VERB_COUNT,
    COR_API_VERB_NONE = COR_API_VERB_COUNT, /* a method that means nothing for resources */
};

#define COR_API_VERB_BIT(verb) (1u << COR_API_VERB_##verb)
#define COR_API_VERBS_ALL      ((1u << COR_API_VERB_COUNT) - 1)

/* "" for COR_API_VERB_NONE. */
const char *cor_api_verb_name(enum cor_api_verb verb);

/* COR_API_VERB_NONE: no verb of this list has the name. */
enum cor_api_verb cor_api_verb_find(struct cor_str name);

#endif
