/* The rules for names, label keys and label values, with upstream's explanations. Nothing here
 * allocates: every explanation is a literal.
 * Thread: any (pure). */
#ifndef COR_META_NAMES_VALIDATION_H
#define COR_META_NAMES_VALIDATION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum cor_name_rule {
    COR_NAME_DNS1123_SUBDOMAIN,  /* most kinds */
    COR_NAME_SUBDOMAIN_ANY_CASE, /* CSI drivers: the same, upper case allowed */
    COR_NAME_DNS1123_LABEL,      /* namespaces */
    COR_NAME_DNS1035_LABEL,      /* services */
    COR_NAME_PATH_SEGMENT,       /* RBAC: all but `.`, `..`, and what has a `/` or `%` */
    COR_NAME_QUALIFIED,          /* label keys, finalizers: [prefix/]name */
    COR_NAME_ANNOTATION_KEY,     /* qualified, upper case allowed in the prefix too */
    COR_NAME_LABEL_VALUE,
};

#define COR_COMPLAINTS_MAX 4

/* What is wrong with a name; n == 0: nothing. */
struct cor_complaints {
    const char *text[COR_COMPLAINTS_MAX];
    size_t n;
};

struct cor_complaints cor_name_check(enum cor_name_rule rule, struct cor_str name);

/* For a generateName: the rule holds for what a suffix completes, so one trailing dash is fine, and
 * `.` and `..` are fine path segments. */
struct cor_complaints cor_name_check_prefix(enum cor_name_rule rule, struct cor_str prefix);

static inline bool cor_name_ok(enum cor_name_rule rule, struct cor_str name)
{
    return cor_name_check(rule, name).n == 0;
}

#endif
