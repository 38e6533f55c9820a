/* The hooks of the warn programs (contract types 5.2 to 5.4): what no line of a rule file can say.
 * A hook is cor_hook_NAME() in check_warnings.c, which has what several kinds share, in
 * check_pod_warnings.c, check_volume_paths.c or check_schema_warnings.c; hooks.h declares it.
 * tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_WARNINGS_H
#define COR_SCHEMA_HOOKS_CHECK_WARNINGS_H

/* clang-format off */
#define COR_WARNINGS_HOOKS(X)                                                                      \
    X(warn_name)         /* metadata: the name is not a DNS label; arg: what it is used in */       \
    X(warn_label)        /* a label of nodes or the entry of one: deprecated; arg "key": the text has it, "child": the path */ \
    X(warn_label_values) /* a list of values of labels: one is not valid */                         \
    X(warn_ip)           /* an address: its form is not the standard one */                         \
    X(warn_cidr)         /* a CIDR value: ambiguous, or its form is not the standard one */         \
    X(warn_fraction)     /* a quantity: bytes with a fraction */                                    \
    X(warn_key_pair)     /* a Secret: its certificate and its key do not belong together */         \
    X(warn_formats)      /* the spec of a CustomResourceDefinition: formats that are not known */   \
    X(warn_rules)        /* the spec of a CustomResourceDefinition: rules in CEL */                 \
    X(warn_repeated)     /* a list: elements whose field, the arg, has the same text */             \
    X(warn_annotations)  /* a container: annotations of its pod in place of a field of its own */   \
    X(warn_env)          /* a list of variables: one that hides another */                          \
    X(warn_ports)        /* a pod's spec: ports of its containers that exclude one another */       \
    X(warn_paths)        /* a volume: files that hide one another */

#define COR_WARNINGS_WHENS(X)
/* clang-format on */

#endif
