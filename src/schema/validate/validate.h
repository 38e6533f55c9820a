/* Validation of the built-in kinds: the programs of api/validation/x.rules, run over an object
 * (docs/internals/validate.md). A program collects all that is wrong, in upstream's words and
 * order. Kinds are known to the tables only.
 * Owner: nobody (the tables are constants).  Thread: any. */
#ifndef COR_SCHEMA_VALIDATE_VALIDATE_H
#define COR_SCHEMA_VALIDATE_VALIDATE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/metadata/object_meta.h"
#include "meta/names/field_error.h"
#include "schema/check/check.h"
#include "schema/types/types.h"

struct cor_validation {
    const struct cor_type *type; /* of the kind, in the version that is stored */
    enum cor_check_operation operation;
    struct cor_str object; /* canonical JSON */
    struct cor_str old;    /* p == NULL: there is none */
    struct cor_str sent;   /* `object` with lists and maps that were sent empty, for messages; p ==
                            * NULL: none was */
    struct cor_object_meta_rules meta;  /* for the hook object_meta */
    struct cor_str api_version;         /* of the request */
    const struct cor_object *ns_object; /* the namespace, of a creation; or NULL */
    bool allow_privileged;              /* the server lets containers be privileged */
    bool *ret_meets_privileged;         /* set when a container wants to be, and is not allowed to;
                                         * NULL: nobody asks */
    cor_key_pair_fn key_pair;           /* knows about certificates; NULL: nobody does */
    cor_warn_fn warn;                   /* gets the warnings; NULL: nobody asks for them */
    void *warn_arg;
    cor_check_request_fn check_request; /* NULL: requests for certificates are not looked into */
};

/* Has the kind a program for the operation? */
bool cor_validate_has(const struct cor_type *type, enum cor_check_operation operation);

/* Runs the kind's program for the operation and adds what is wrong to `errors`; lack of memory is
 * noted there as well. When `errors` is empty after that, the kind's warn program follows, whose
 * warnings go to validation->warn. Returns true when the program has checked the metadata with the
 * rules of creation; false otherwise, also when there is no program. The work is linear in both
 * objects. */
bool cor_validate(const struct cor_validation *validation, struct cor_field_errors *errors);

/* Runs the kind's warn program alone, over an object that may have mistakes. Lack of memory is
 * noted in `errors`, to which nothing else is added. */
void cor_validate_warn(const struct cor_validation *validation, struct cor_field_errors *errors);

/* --- For explain-type ---------------------------------------------------------------------------
 */

/* There is no such line. */
#define COR_VALIDATE_NO_LINE SIZE_MAX

/* The next line of the rule files at or behind line `from` that is about the field to which the
 * `n` members lead from a struct of `type`; n == 0: about the struct as a whole. */
size_t cor_validate_find_line(const struct cor_type *type, const size_t *members, size_t n,
                              size_t from);
/* As it is written, without its indentation. */
struct cor_str cor_validate_line(size_t line);
/* The condition under which the line stands: the innermost `if` or `else` around it. */
size_t cor_validate_condition(size_t line);

#endif
