/* clang-format off */
/* The schema of a custom resource, compiled: openAPIV3Schema of one version of a
 * CustomResourceDefinition, and the walks over objects of that version
 * (docs/internals/structural.md).
 *
 *   compile     once for each version of a definition
 *   rewrite     what upstream's decoder does to an object: unknown fields and nulls are dropped,
 *               defaults are filled in
 *   validate    what is wrong with an object, in upstream's words
 *
 * A compiled schema is immutable and has one owner. It is one block of memory that keeps
 * nothing but what the walks need: descriptions are not in it. Server-side apply reads the same
 * block (cor_structural_root() and cor_apply_place_structural() of schema/apply/place.h).
 * Thread: any. */
/* clang-format on */
#ifndef COR_SCHEMA_STRUCTURAL_H
#define COR_SCHEMA_STRUCTURAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/work.h"
#include "meta/names/field_error.h"

struct cor_structural;
struct cor_structural_node;

/* The longest schema that is compiled, in bytes of JSON. A request is never as long. */
#define COR_STRUCTURAL_JSON_MAX (16u << 20)

struct cor_structural_opts {
    /* spec.preserveUnknownFields of old definitions: no field is unknown. */
    bool preserves_unknown;
};

/* Compiles `schema_json`, which may have its members in any order. `opts` may be NULL.
 * 0; -COR_EINVALID: the schema is not structural, and the reason was appended to `why` (NULL: it is
 * not asked for); -COR_EINVAL: it is not a JSON object; -COR_ENOMEM, -COR_ETOOBIG. The caller
 * owns it. The work is linear in the bytes. */
int cor_structural_compile(struct cor_str schema_json, const struct cor_structural_opts *opts,
                           struct cor_structural **ret_schema, struct cor_buf *why);

struct cor_structural *cor_structural_free(struct cor_structural *schema); /* NULL is fine */
COR_DEFINE_CLEANUP(struct cor_structural, cor_structural_free)

/* Has the schema so many patterns that were not compiled yet, or cannot be kept, that a walk of
 * validation is too much for a loop? */
bool cor_structural_has_work(const struct cor_structural *schema);

/* The bytes that the compiled schema takes, without its patterns. */
size_t cor_structural_bytes(const struct cor_structural *schema);

/* The schema of the object itself, for the walks of other files. */
const struct cor_structural_node *cor_structural_root(const struct cor_structural *schema);

/* Has a member of the object itself a default? */
bool cor_structural_fills_in(const struct cor_structural *schema, struct cor_str member);

/* Has the schema rules in CEL (x-kubernetes-validations)? They are not evaluated. */
bool cor_structural_has_rules(const struct cor_structural *schema);

/* --- Rewriting ---------------------------------------------------------------------------------
 */

/* The steps of a rewrite; upstream's order is the order here. */
enum cor_structural_step {
    COR_STRUCTURAL_PRUNE = 1 << 0, /* drop what the schema does not know */
    COR_STRUCTURAL_NULLS = 1 << 1, /* drop null where the schema has neither nullable nor default */
    COR_STRUCTURAL_DEFAULT = 1 << 2, /* fill in defaults */
    COR_STRUCTURAL_ALL = COR_STRUCTURAL_PRUNE | COR_STRUCTURAL_NULLS | COR_STRUCTURAL_DEFAULT,
    /* Read the metadata of embedded resources as Kubernetes' own: unknown fields are dropped.
     * What cannot be read is refused in a request and dropped from a stored object; at most one of
     * the two is given. */
    COR_STRUCTURAL_EMBEDDED_REQUEST = 1 << 3,
    COR_STRUCTURAL_EMBEDDED_STORED = 1 << 4,
    /* Write numbers as upstream does: 3.0 becomes 3. For an object that has been validated and is
     * about to be stored: validation tells 3.0 and 3 apart. */
    COR_STRUCTURAL_NUMBERS = 1 << 5,
};

/* Paths of fields that the schema does not know, sorted by their bytes: spec.list[0].x; then those
 * of the metadata of embedded resources, also sorted. At most COR_STRUCTURAL_UNKNOWN_MAX are kept.
 */
#define COR_STRUCTURAL_UNKNOWN_MAX 1000
struct cor_structural_unknown {
    struct cor_str *v; /* n used */
    size_t n, cap;
    struct cor_arena text; /* the bytes of the paths */
    struct cor_buf why;    /* of -COR_EINVAL: what cannot be read, in upstream's words */
};
struct cor_structural_unknown *cor_structural_unknown_new(void); /* NULL: no memory is left */
struct cor_structural_unknown *cor_structural_unknown_free(struct cor_structural_unknown *unknown);
COR_DEFINE_CLEANUP(struct cor_structural_unknown, cor_structural_unknown_free)

/* Rewrites `json`, canonical bytes of a whole object. apiVersion, kind and metadata stay as they
 * are, also those of embedded resources. 0: there is nothing to do, and nothing was appended. 1:
 * the rewritten object was appended to `out` in canonical form. -COR_EINVAL (only with
 * COR_STRUCTURAL_EMBEDDED_REQUEST: an embedded resource cannot be read, and unknown->why says why),
 * -COR_ENOMEM, -COR_ETOOBIG (out's maximum). `out` is as before unless 1 is returned. The dropped
 * fields are added to `unknown` (NULL: nobody asks), those that were dropped for null are not.
 * Rewriting again changes nothing.
 *
 * The same call serves requests and stored objects: an object that was stored before a default was
 * added to the schema gets the default by COR_STRUCTURAL_ALL. */
int cor_structural_rewrite(const struct cor_structural *schema, struct cor_str json, unsigned steps,
                           struct cor_buf *out, struct cor_structural_unknown *unknown);

/* --- Validation --------------------------------------------------------------------------------
 */

/* What is validated. All texts are canonical JSON of whole objects that have been rewritten. */
struct cor_structural_validation {
    struct cor_str object;
    struct cor_str old; /* p == NULL: a creation, which forgives nothing */
    bool is_status;     /* the subresource: only `status` is looked at */
    /* What the request has left, which is charged; NULL: a budget of its own. */
    struct cor_work *work;
};

/* Adds what the keywords of the schema find wrong to `errors`, in upstream's words and coarse
 * order; on an update, mistakes in values that have not changed are forgiven as upstream forgives
 * them. Lack of memory is noted in `errors`, and so is COR_WORK_YIELD of `work` (base/work.h), with
 * which all findings are to be discarded. */
void cor_structural_validate(const struct cor_structural *schema,
                             const struct cor_structural_validation *validation,
                             struct cor_field_errors *errors);

/* Adds repeated items of lists of the types set and map. An update of an object that has such items
 * already is not checked. */
void cor_structural_check_lists(const struct cor_structural *schema,
                                const struct cor_structural_validation *validation,
                                struct cor_field_errors *errors);

/* Adds what is wrong with embedded resources: apiVersion, kind and metadata. Neither an update
 * forgives it, nor is it looked for in an update of the status. */
void cor_structural_check_embedded(const struct cor_structural *schema,
                                   const struct cor_structural_validation *validation,
                                   struct cor_field_errors *errors);

/* Adds that the schema's rules in CEL were not checked, when it has any and `errors`, which has
 * everything else that is wrong with the object, has a mistake that keeps upstream from checking
 * them: a wrong type, a missing, an unsupported or a too long value. */
void cor_structural_check_rules(const struct cor_structural *schema,
                                struct cor_field_errors *errors);

/* Adds the defaults of the schema that its own nodes would prune or refuse, below the path of the
 * schema: <path>.properties[a].default. Defaults in additionalProperties are not looked at, as
 * upstream has it. All of them have the budget of one validation together. */
void cor_structural_check_defaults(const struct cor_structural *schema,
                                   const struct cor_field_path *path,
                                   struct cor_field_errors *errors);

#endif
