/* The hooks of validation for metadata, labels and label selectors: what no line of a rule file can
 * say. A hook is cor_hook_NAME() in check_meta.c, a test of a condition is cor_when_NAME() there;
 * both are declared by hooks.h. tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_META_H
#define COR_SCHEMA_HOOKS_CHECK_META_H

/* clang-format off */
#define COR_META_HOOKS(X)                                                                          \
    X(object_meta)        /* ObjectMeta of a kind on create, with the name rule of its resource */ \
    X(object_meta_update) /* ObjectMeta on update: what may not change, and labels once more */    \
    X(labels)             /* map of labels: keys and values, reported at the map */                \
    X(annotations)        /* map of annotations: keys, and the size of all */                      \
    X(label_selector)     /* LabelSelector; bad values pass with "values_of_old" if the old has     \
                           * some, with a mistake of check_old_mistakes.h if the old object has it */

#define COR_META_WHENS(X)                                                                          \
    X(is_selector) /* LabelSelector: upstream can make a selector of it; an absent one is fine */
/* clang-format on */

#endif
