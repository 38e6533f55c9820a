/* The hooks of validation for Ingress, NetworkPolicy, IPAddress and ServiceCIDR: what no line of a
 * rule file can say. X(name) ( what it checks ). A hook is cor_hook_NAME() in networking.c, a test
 * of a condition is cor_test_NAME() there; both are declared by hooks.h.
 * tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_NETWORKING_H
#define COR_SCHEMA_HOOKS_NETWORKING_H

/* clang-format off */
#define COR_NETWORKING_HOOKS(X)

#define COR_NETWORKING_TESTS(X)                                                                    \
    X(has_many_cidrs)    /* the list has more than two elements */                                 \
    X(has_one_family)    /* the two CIDR values of the list are of one IP family */                \
    X(has_as_many_cidrs) /* the list is as long as the old one */                                  \
    X(is_second_cidr)    /* the list has two elements and the old one had one */                   \
    X(is_new_cidr)       /* the old list has no element at this index */
/* clang-format on */

#endif
