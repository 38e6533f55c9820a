/* The hooks of validation for webhook configurations and admission policies: what no line of a rule
 * file can say. X(name) ( what it checks ). A hook is cor_hook_NAME() in check_admission.c, a test
 * of a condition is cor_when_NAME() there; both are declared by hooks.h.
 * tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_ADMISSION_H
#define COR_SCHEMA_HOOKS_CHECK_ADMISSION_H

/* clang-format off */
#define COR_ADMISSION_HOOKS(X)                                                                     \
    X(lone_star)           /* list of texts: "*" is its only element; arg: what the elements are */ \
    X(rule_resources)      /* resources of a rule: nothing that a wildcard already covers */       \
    X(review_versions)     /* admissionReviewVersions: labels, no duplicates, one that is known */ \
    X(webhook_name)        /* name of a webhook: unique in its list */                             \
    X(condition_name)      /* name of a match condition: unique in its list */                     \
    X(param_version)       /* paramKind.apiVersion: a group and a version */                       \
    X(param_kind)          /* paramKind.kind: a label with capital letters */                      \
    X(annotation_key)      /* key of an audit annotation: a qualified name behind the policy's */  \
    X(annotation_key_once) /* the same key: unique in its list */                                  \
    X(annotation_value)    /* valueExpression: present, and not too long */                        \
    X(resource_names)      /* resourceNames: path segments, no duplicates */                       \
    X(validation_actions)  /* validationActions: known, no duplicates, not both Deny and Warn */

#define COR_ADMISSION_WHENS(X)                                                                     \
    X(is_blank)          /* text: nothing but white space */                                       \
    X(has_line_break)    /* text: a line break inside, not at its ends */                          \
    X(is_cel_identifier) /* text: an identifier of CEL that is not reserved */
/* clang-format on */

#endif
