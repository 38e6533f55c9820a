/* The ranks of API groups and of their versions in discovery, as kube-apiserver 1.34 registers
 * them: those of the built-in group versions, and those that all custom resources get.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_KINDS_GROUP_PRIORITY_H
#define COR_SCHEMA_KINDS_GROUP_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* The group of the APIServices themselves. No APIService registers it; discovery lists it first. */
#define COR_GROUP_REGISTRATION "apiregistration.k8s.io"

/* A greater number comes first. */
struct cor_group_priority {
    int32_t group, version;
};

#define COR_CUSTOM_PRIORITY ((struct cor_group_priority){1000, 100})

/* Has this built-in group version a priority? One without is not registered. */
bool cor_group_priority(struct cor_str group, struct cor_str version,
                        struct cor_group_priority *ret_priority);

#endif
