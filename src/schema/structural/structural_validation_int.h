/* clang-format off */
/* What the files of validation share:
 *
 *   structural_validation.c          the walk: objects, arrays, allOf and the like
 *   structural_validation_scalar.c   type, enum, strings and numbers
 *   findings.c            what is wrong, until it is known whether it counts
 *   correlation.c         which old value belongs to a value, and whether both are equal
 *
 * Thread: one at a time (a validation is on the stack of its caller). */
/* clang-format on */
#ifndef COR_SCHEMA_STRUCTURAL_STRUCTURAL_VALIDATION_INT_H
#define COR_SCHEMA_STRUCTURAL_STRUCTURAL_VALIDATION_INT_H

#include "base/arena.h"
#include "base/work.h"
#include "schema/structural/string_format.h"
#include "schema/structural/structural_int.h"
#include "schema/structural/way.h"
#include "json/text/nodes.h"

/* A validation charges its steps to the work of its request (base/work.h): a schema or a branch of
 * it meets a value, passes a member or an item, looks for a name among sorted ones, compares a
 * value with an old one. An object of the longest body that has 3 bytes for each value meets a
 * schema with 16 branches as often as there are steps; a schema with thousands of them and a list
 * with thousands of items would hold a thread for minutes.
 *
 * Bytes of a compiled pattern that are made in the time of a step, and bytes of keys that are
 * compared in it. */
#define COR_STEP_PATTERN_BYTES 64
#define COR_STEP_KEY_BYTES     256

/* Findings that are kept at a time; a Status has fewer causes. */
#define COR_FINDINGS_MAX 400

struct cor_finding {
    enum cor_field_error_type type;
    struct cor_str field; /* p == NULL: <nil>, or the prefix */
    struct cor_field_value value;
    const char *detail; /* NULL: none */
};

struct cor_validation_run {
    const struct cor_structural *schema;
    struct cor_json_nodes *json, *old; /* old: NULL, nothing is forgiven */
    struct cor_arena arena;            /* findings and their texts, keys of lists */
    struct cor_buf text;               /* the last text that was asked for, without its escapes */
    struct cor_finding *findings;
    size_t n, cap;
    bool passes_equal;    /* values that are equal to their old ones are not judged */
    bool has_all_formats; /* of a default: formats that nobody knows count too */
    unsigned silence;     /* above 0: mistakes are counted, not kept */
    struct cor_work work; /* its end is -COR_ETOOBIG, or COR_WORK_YIELD on a loop */
    struct {
        uint64_t unsure; /* steps that patterns may have taken since the clock was read, at most */
        uint64_t us;     /* the thread's CPU clock then; 0: it was not read yet */
        uint64_t steps;  /* of `work` then */
    } clock;
    struct cor_member_keys {
        uint32_t object; /* whose they are; COR_JSON_NO_NODE: nobody's */
        uint32_t *v;     /* nodes, in the arena */
        size_t n, nfirst, cap;
    } keys;         /* of the object whose required names were looked for last */
    uint8_t *equal; /* by node of `json`: what is known of its equality; NULL: nothing yet */
    int error;
};

/* The format that values of the node are checked for. */
static inline enum cor_string_format cor_validation_format(const struct cor_validation_run *run,
                                                           const struct cor_structural_node *node)
{
    bool counts = run->has_all_formats || node->format < COR_STRING_FORMAT_OF_DEFAULTS;

    return counts ? (enum cor_string_format)node->format : COR_STRING_FORMAT_NONE;
}

/* What a schema says of a value, in upstream's counts. */
struct cor_verdict {
    size_t nerrors;
    int64_t matches; /* the more, the better fits a branch of anyOf or oneOf */
};

static inline char cor_value_first(const struct cor_validation_run *run, uint32_t value)
{
    return cor_json_node_first(run->json, value);
}

/* Are mistakes that are found now kept? If they are not, their words need not be made. */
static inline bool cor_validation_keeps(const struct cor_validation_run *run)
{
    return run->silence == 0 && run->error == 0 && run->n < COR_FINDINGS_MAX;
}

void cor_validation_note(struct cor_validation_run *run, int r);

/* Counts steps; what is too much is noted as -COR_ETOOBIG, or as COR_WORK_YIELD. */
static inline void cor_validation_charge(struct cor_validation_run *run, uint64_t steps)
{
    int r = cor_work_charge(&run->work, steps);

    if (r < 0)
        cor_validation_note(run, r);
}

/* Counts the comparison of a key with others that begin as it does. */
static inline uint64_t cor_key_steps(struct cor_str key)
{
    return 1 + key.n / COR_STEP_KEY_BYTES;
}

/* --- findings.c --------------------------------------------------------------------------------
 */

/* Keeps a finding about the value at `way`; `fmt` is the detail, in which a text of the form
 * `NAME in body` is put before what it prints. Returns 1, the number of errors. */
size_t cor_finding_add(struct cor_validation_run *run, enum cor_field_error_type type,
                       const struct cor_way *way, struct cor_field_value value, const char *fmt,
                       ...) COR_PRINTF(5, 6);
/* The same, with a detail that does not begin with the name; NULL: none. */
size_t cor_finding_add_plain(struct cor_validation_run *run, enum cor_field_error_type type,
                             const struct cor_way *way, struct cor_field_value value,
                             const char *fmt, ...) COR_PRINTF(5, 6);
/* A finding of allOf, anyOf, oneOf or not, which has no field: `"NAME" must ...`. */
size_t cor_finding_add_junctor(struct cor_validation_run *run, const struct cor_way *way,
                               const char *fmt, ...) COR_PRINTF(3, 4);

/* The text of a string value, which is valid until the next call. */
struct cor_str cor_value_text(struct cor_validation_run *run, uint32_t value);

/* The name of the value as messages have it: spec.list[0].x */
const char *cor_value_name(struct cor_validation_run *run, const struct cor_way *way);

/* Adds the findings to `errors`, each once; fields begin with `prefix`, unless it is empty. */
void cor_findings_report(const struct cor_validation_run *run, struct cor_str prefix,
                         struct cor_field_errors *errors);

/* --- structural_validation_scalar.c
 * -----------------------------------------------------------------------
 */

/* The groups of checks of upstream's validator; each returns the errors and adds what upstream's
 * counts to `matches`. */
struct cor_verdict cor_check_type(struct cor_validation_run *run,
                                  const struct cor_structural_node *node, uint32_t value,
                                  const struct cor_way *way);
struct cor_verdict cor_check_enum(struct cor_validation_run *run,
                                  const struct cor_structural_node *node, uint32_t value,
                                  const struct cor_way *way);
struct cor_verdict cor_check_string(struct cor_validation_run *run,
                                    const struct cor_structural_node *node, uint32_t value,
                                    const struct cor_way *way);
struct cor_verdict cor_check_number(struct cor_validation_run *run,
                                    const struct cor_structural_node *node, uint32_t value,
                                    const struct cor_way *way);

/* --- correlation.c -----------------------------------------------------------------------------
 */

/* A value and the value of the old object that belongs to it. */
struct cor_correlation {
    const struct cor_structural_node *node; /* the schema that both have */
    uint32_t value, old;
};

/* A walk over the members of an object and of the old one side by side. */
struct cor_old_members {
    uint32_t at, end; /* keys of the old object that are left */
    bool is_outermost;
};
struct cor_old_members cor_old_members(struct cor_validation_run *run,
                                       const struct cor_correlation *of);

/* The member of the old object that belongs to the member `raw_key` with the value `value`. False:
 * none does. The members of the object come in their order. */
bool cor_correlate_member(struct cor_validation_run *run, const struct cor_correlation *of,
                          struct cor_old_members *members, struct cor_str raw_key, uint32_t value,
                          struct cor_correlation *ret);

/* The items of an old list whose items have keys, in order of their keys. */
struct cor_old_items {
    struct cor_old_item {
        struct cor_str key;
        uint32_t node, index;
    } * v; /* NULL: items of the list do not belong to items of the old one */
    size_t n;
};
struct cor_old_items cor_correlate_list(struct cor_validation_run *run,
                                        const struct cor_correlation *of);
bool cor_correlate_item(struct cor_validation_run *run, const struct cor_correlation *of,
                        const struct cor_old_items *items, uint32_t value,
                        struct cor_correlation *ret);

/* Are the value and the old one equal, in the sense in which mistakes are forgiven? */
bool cor_correlation_is_equal(struct cor_validation_run *run, const struct cor_correlation *of);

#endif
