/* The hooks of validation for FlowSchema and PriorityLevelConfiguration: what no line of a rule
 * file can say. X(name) ( what it checks ). A hook is cor_hook_NAME() in check_flowcontrol.c, a
 * test of a condition is cor_when_NAME() there; both are declared by hooks.h.
 * tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_FLOWCONTROL_H
#define COR_SCHEMA_HOOKS_CHECK_FLOWCONTROL_H

/* clang-format off */
#define COR_FLOWCONTROL_HOOKS(X)                                                                   \
    X(flow_verbs)      /* verbs of a rule: present, known, "*" alone */                            \
    X(flow_namespaces) /* namespaces of a rule: labels, or "*" alone */                            \
    X(flow_urls)       /* nonResourceURLs of a rule: paths, or "*" alone */                        \
    X(hand_size)       /* handSize: a hash has enough bits to choose that many queues */

#define COR_FLOWCONTROL_WHENS(X)                                                                   \
    X(is_mandatory) /* spec of an object of api/all.objects: arg is its kind and name */
/* clang-format on */

#endif
