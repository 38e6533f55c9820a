/* The hooks of validation for CustomResourceDefinition: what no line of a rule file can say.
 * X(name) ( what it checks ). A hook is cor_hook_NAME() and a test of a condition is
 * cor_when_NAME(), in check_crd.c or, for schemas, in check_crd_schema.c; both are declared by
 * hooks.h. tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_CRD_H
#define COR_SCHEMA_HOOKS_CHECK_CRD_H

/* clang-format off */
#define COR_CRD_HOOKS(X)                                                                           \
    X(crd_name)             /* the object: its name is that of its plural and its group */         \
    X(crd_shared)           /* spec: notes what all versions share; adds no error */               \
    X(crd_group)            /* spec.group: a domain with a dot */                                  \
    X(crd_defaults_pruned)  /* spec: defaults in schemas need pruning */                           \
    X(crd_versions)         /* spec: unique versions, one of them stored, the first one's name */  \
    X(crd_stored_versions)  /* the object: status.storedVersions fits spec.versions */             \
    X(crd_approval)         /* the object: a group of the community needs an annotation */         \
    X(crd_converted_here)   /* the object: its versions are not converted by a webhook */          \
    X(crd_schema)           /* openAPIV3Schema: a structural schema with known keywords */         \
    X(joined_format)        /* a text of the format that the argument names; one error for all */  \
    X(mixed_case)           /* a kind: a DNS-1035 label, except for capitals */                    \
    X(deprecation_warning)  /* deprecationWarning of a version */                                  \
    X(path_under)           /* a path below what the argument says */                              \
    X(selectable_fields)    /* selectableFields: fields of the schema beside it */                 \
    X(conversion_review_versions) /* conversion: the versions that its webhook speaks */

#define COR_CRD_WHENS(X)                                                                           \
    X(crd_was_established)  /* the object: the old one was established */                          \
    X(crd_old_lacks_schema) /* spec: a version of the old one had no schema */                     \
    X(crd_shares)           /* all versions have equal values in the field that is named */        \
    X(is_first_element)     /* the place is the first element of its list */
/* clang-format on */

#endif
