/* The hooks of validation for Ingress, NetworkPolicy, IPAddress and ServiceCIDR: what no line of a
 * rule file can say. A hook is cor_hook_NAME() in check_networking.c, a test
 * of a condition is cor_when_NAME() there; both are declared by hooks.h.
 * tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_NETWORKING_H
#define COR_SCHEMA_HOOKS_CHECK_NETWORKING_H

/* clang-format off */
#define COR_NETWORKING_HOOKS(X)                                                                    \
    X(ingress_class_annotation) /* Ingress: the annotation says what ingressClassName says */      \
    X(rule_host)     /* host of an IngressRule: a name, also a wildcard, but not an address */     \
    X(tls_host)      /* an element of hosts of IngressTLS: a name, also a wildcard */              \
    X(rule_path)     /* path of an HTTPIngressPath that is taken literally */                      \
    X(end_port)      /* NetworkPolicyPort: endPort is not below port */                            \
    X(ip_block)      /* IPBlock: cidr, and except inside it */

#define COR_NETWORKING_WHENS(X)                                                                    \
    X(is_number)    /* an int-or-string holds an integer */                                        \
    X(has_one_family)    /* the two CIDR values of the list are of one IP family */                \
    X(is_new_cidr)       /* the old list has no element at this index */
/* clang-format on */

#endif
