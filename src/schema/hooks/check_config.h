/* The hooks of validation for ConfigMap, Secret and ServiceAccount: what no line of a rule file can
 * say. A hook is cor_hook_NAME() in check_config.c, a test of a condition is cor_when_NAME() there;
 * both are declared by hooks.h. tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_CONFIG_H
#define COR_SCHEMA_HOOKS_CHECK_CONFIG_H

/* clang-format off */
#define COR_CONFIG_HOOKS(X)                                                                        \
    X(config_keys)   /* the data of a ConfigMap: its keys, none of which binaryData has */         \
    X(docker_config) /* the data of a Secret: the entry that `arg` names is a JSON object */

#define COR_CONFIG_WHENS(X)
/* clang-format on */

#endif
