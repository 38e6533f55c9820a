/* clang-format off */
/* Validates an object by its schema, as upstream's validator does (contract crd 4.6 to 4.10).
 *
 *   value   type, allOf and the like, string, format, number, array, enum, object, in this order;
 *           each group adds its errors, and none stops the next
 *   old     when an object is updated and has mistakes, it is walked again beside the old object:
 *           the mistakes of a value that has not changed are cut off the findings. Below allOf,
 *           anyOf, oneOf and not nothing is forgiven on its own, as upstream has it. Where the
 *           schema makes the walk long, it goes beside the old object from the beginning, and
 *           passes what has not changed
 *   report  findings become field errors
 *
 * Each function returns a verdict: the number of errors, and the matches by which upstream chooses
 * the best branch of anyOf and oneOf. Branches of anyOf and oneOf
 * are judged without keeping mistakes; the best one is walked again for them. The work is linear in
 * the object and in the branches of the schema, for an object with mistakes once per level of
 * branches. Recursion is bounded by the depth of JSON.
 * Failures: out of memory, which is noted in the field errors; more steps than the request has left,
 * which is the only error then, and none where nothing but the metadata has changed; COR_WORK_YIELD.
 * Thread: any. */
/* clang-format on */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "schema/structural/structural_validation_int.h"
#include "json/text/scan.h"

/* The memory for findings and keys; what is kept of them is far less. */
#define ARENA_MAX (256u << 20)

/* Nodes of an object times required names, up to which it is searched for each name. */
#define SEARCHES_FEW 1024
/* Digits that are read in the time of a step. */
#define STEP_DIGITS 4
/* Nodes that are passed in the time of a step by such a search. */
#define STEP_NODES 16
/* Steps of finding a name among sorted ones. */
#define STEPS_SORTED 4

static struct cor_verdict check_value(struct cor_validation_run *run,
                                      const struct cor_structural_node *node, uint32_t value,
                                      const struct cor_correlation *of, const struct cor_way *way);

static void verdict_add(struct cor_verdict *verdict, struct cor_verdict more)
{
    verdict->nerrors += more.nerrors;
    verdict->matches += more.matches;
}

/* --- allOf, anyOf, oneOf, not ------------------------------------------------------------------
 */

static const struct cor_structural_node *branch_of(const struct cor_validation_run *run,
                                                   struct cor_structural_run branches, uint32_t i)
{
    return &run->schema->nodes[run->schema->numbers[branches.first + i]];
}

/* Judges a value by a branch and keeps no mistakes: those of a branch that does not count would
 * take memory for each value of a long list. */
static struct cor_verdict judge_branch(struct cor_validation_run *run,
                                       struct cor_structural_run branches, uint32_t i,
                                       uint32_t value, const struct cor_way *way)
{
    struct cor_verdict verdict;

    run->silence++;
    verdict = check_value(run, branch_of(run, branches, i), value, NULL, way);
    run->silence--;
    return verdict;
}

/* The branch that fits best among those that fail: the first with the most matches. */
struct best {
    bool is_known;
    uint32_t branch;
    struct cor_verdict verdict;
};

static void best_take(struct best *best, uint32_t branch, struct cor_verdict verdict)
{
    if (!best->is_known || verdict.matches > best->verdict.matches)
        *best = (struct best){true, branch, verdict};
}

/* Keeps the mistakes of the best branch, which is walked once more for them. A branch inside it is
 * walked once per level at most, because a walk that keeps nothing walks nothing again. */
static struct cor_verdict best_report(struct cor_validation_run *run, const struct best *best,
                                      struct cor_structural_run branches, uint32_t value,
                                      const struct cor_way *way)
{
    if (cor_validation_keeps(run) && best->is_known)
        (void)check_value(run, branch_of(run, branches, best->branch), value, NULL, way);
    return best->verdict;
}

static struct cor_verdict check_any_of(struct cor_validation_run *run,
                                       struct cor_structural_run branches, uint32_t value,
                                       const struct cor_way *way)
{
    struct cor_verdict verdict = {0};
    struct best best = {0};

    for (uint32_t i = 0; i < branches.n && run->error == 0; i++) {
        struct cor_verdict branch = judge_branch(run, branches, i, value, way);

        if (branch.nerrors == 0)
            return branch;
        best_take(&best, i, branch);
    }
    verdict.nerrors =
        cor_finding_add_junctor(run, way, " must validate at least one schema (anyOf)");
    verdict_add(&verdict, best_report(run, &best, branches, value, way));
    return verdict;
}

static struct cor_verdict check_one_of(struct cor_validation_run *run,
                                       struct cor_structural_run branches, uint32_t value,
                                       const struct cor_way *way)
{
    struct cor_verdict verdict = {0}, success = {0};
    struct best best = {0};
    size_t valid = 0;

    for (uint32_t i = 0; i < branches.n && run->error == 0; i++) {
        struct cor_verdict branch = judge_branch(run, branches, i, value, way);

        if (branch.nerrors > 0)
            best_take(&best, i, branch);
        else if (++valid == 1)
            success = branch;
    }
    if (valid == 1)
        return success;
    if (valid > 1) {
        verdict.nerrors = cor_finding_add_junctor(
            run, way,
            " must validate one and only one schema (oneOf). Found %zu valid alternatives", valid);
        return verdict;
    }
    verdict.nerrors = cor_finding_add_junctor(
        run, way, " must validate one and only one schema (oneOf). Found none valid");
    verdict_add(&verdict, best_report(run, &best, branches, value, way));
    return verdict;
}

static struct cor_verdict check_all_of(struct cor_validation_run *run,
                                       struct cor_structural_run branches, uint32_t value,
                                       const struct cor_way *way)
{
    struct cor_verdict verdict = {0};
    size_t valid = 0;

    for (uint32_t i = 0; i < branches.n && run->error == 0; i++) {
        struct cor_verdict branch = check_value(run, branch_of(run, branches, i), value, NULL, way);

        valid += branch.nerrors == 0;
        verdict_add(&verdict, branch);
    }
    if (valid < branches.n)
        verdict.nerrors +=
            cor_finding_add_junctor(run, way, " must validate all the schemas (allOf)%s",
                                    valid == 0 ? ". None validated" : "");
    return verdict;
}

static struct cor_verdict check_junctors(struct cor_validation_run *run,
                                         const struct cor_structural_node *node, uint32_t value,
                                         const struct cor_way *way)
{
    struct cor_verdict verdict = {.matches = 2}, branch;
    const struct cor_structural_checks *checks;

    if (node->checks == COR_STRUCTURAL_NONE)
        return verdict;
    checks = &run->schema->checks[node->checks];
    if (checks->any_of.n > 0)
        verdict_add(&verdict, check_any_of(run, checks->any_of, value, way));
    if (checks->one_of.n > 0)
        verdict_add(&verdict, check_one_of(run, checks->one_of, value, way));
    if (checks->all_of.n > 0)
        verdict_add(&verdict, check_all_of(run, checks->all_of, value, way));
    if (checks->not_node != COR_STRUCTURAL_NONE) {
        run->silence++;
        branch = check_value(run, &run->schema->nodes[checks->not_node], value, NULL, way);
        run->silence--;
        if (branch.nerrors == 0)
            verdict.nerrors +=
                cor_finding_add_junctor(run, way, " must not validate the schema (not)");
    }
    return verdict;
}

/* --- Arrays and objects ------------------------------------------------------------------------
 */

static size_t refuse_count(struct cor_validation_run *run, const struct cor_way *way, size_t n,
                           int64_t bound, const char *noun)
{
    char count[24];

    snprintf(count, sizeof(count), "%zu", n);
    return cor_finding_add(run, COR_FIELD_INVALID, way, cor_field_json(cor_strz(count)),
                           "should have at least %lld %s", (long long)bound, noun);
}

static size_t refuse_too_many(struct cor_validation_run *run, const struct cor_way *way, size_t n,
                              int64_t bound)
{
    char count[24];

    snprintf(count, sizeof(count), "%zu", n);
    if (bound < 0)
        return cor_finding_add_plain(run, COR_FIELD_TOO_MANY, way, cor_field_json(cor_strz(count)),
                                     "has too many items");
    return cor_finding_add_plain(run, COR_FIELD_TOO_MANY, way, cor_field_json(cor_strz(count)),
                                 "must have at most %lld item%s", (long long)bound,
                                 bound == 1 ? "" : "s");
}

static struct cor_verdict check_array(struct cor_validation_run *run,
                                      const struct cor_structural_node *node, uint32_t value,
                                      const struct cor_correlation *of, const struct cor_way *way)
{
    const struct cor_structural_node *items = cor_structural_node(run->schema, node->items);
    struct cor_old_items old = of ? cor_correlate_list(run, of) : (struct cor_old_items){0};
    struct cor_verdict verdict = {.matches = 2};
    uint32_t end = cor_json_node_next(run->json, value);
    struct cor_way step = {.up = way};
    size_t n = 0;

    for (uint32_t i = value + 1; i < end && run->error == 0;
         i = cor_json_node_next(run->json, i), n++) {
        struct cor_correlation item;

        step.index = n;
        if (!items) {
            cor_validation_charge(run, 1);
            continue;
        }
        if (old.v && cor_correlate_item(run, of, &old, i, &item))
            verdict_add(&verdict, check_value(run, items, i, &item, &step));
        else
            verdict_add(&verdict, check_value(run, items, i, NULL, &step));
    }
    if (node->checks != COR_STRUCTURAL_NONE) {
        const struct cor_structural_checks *checks = &run->schema->checks[node->checks];

        if (checks->has & COR_STRUCTURAL_HAS_MIN_ITEMS && (int64_t)n < checks->min_items)
            verdict.nerrors += refuse_count(run, way, n, checks->min_items, "items");
        if (checks->has & COR_STRUCTURAL_HAS_MAX_ITEMS && (int64_t)n > checks->max_items)
            verdict.nerrors += refuse_too_many(run, way, n, checks->max_items);
    }
    return verdict;
}

/* The keys of an object, those that were asked for last. Members are sorted, except for the kind
 * and the apiVersion of a whole object, which come first. */
static bool is_type_key(struct cor_str raw_key)
{
    return cor_str_eqz(raw_key, "kind") || cor_str_eqz(raw_key, "apiVersion");
}

/* Gathers the keys of the object, unless a branch before has done so. False: no memory, or no steps
 * are left. */
static bool member_keys_find(struct cor_validation_run *run, uint32_t object)
{
    uint32_t end = cor_json_node_next(run->json, object);
    struct cor_member_keys *keys = &run->keys;

    if (keys->v && keys->object == object)
        return true;
    /* The place is used again: every second node of an object is a key, or fewer are. */
    if (keys->cap < end - object) {
        keys->cap = 2 * (size_t)(end - object);
        keys->v = cor_arena_alloc(&run->arena, keys->cap * sizeof(keys->v[0]));
    }
    if (!keys->v) {
        cor_validation_note(run, -COR_ENOMEM);
        return false;
    }
    keys->object = object;
    keys->n = keys->nfirst = 0;
    for (uint32_t i = object + 1; i < end; i = cor_json_node_next(run->json, i + 1)) {
        if (keys->nfirst == keys->n && is_type_key(cor_json_node_raw(run->json, i)))
            keys->nfirst++;
        keys->v[keys->n++] = i;
    }
    cor_validation_charge(run, keys->n);
    return run->error == 0;
}

static bool member_keys_have(struct cor_validation_run *run, struct cor_str name)
{
    const struct cor_member_keys *keys = &run->keys;
    size_t low = keys->nfirst, high = keys->n;

    cor_validation_charge(run, STEPS_SORTED * cor_key_steps(name));
    for (size_t i = 0; i < keys->nfirst; i++) {
        if (cor_str_eq(cor_json_node_raw(run->json, keys->v[i]), name))
            return true;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = cor_json_raw_cmp(name, cor_json_node_raw(run->json, keys->v[middle]));

        if (order == 0)
            return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static bool has_member(struct cor_validation_run *run, uint32_t object, struct cor_str name)
{
    uint32_t end = cor_json_node_next(run->json, object);

    cor_validation_charge(run, cor_key_steps(name) + (end - object) / STEP_NODES);
    for (uint32_t i = object + 1; i < end; i = cor_json_node_next(run->json, i + 1)) {
        if (cor_str_eq(cor_json_node_raw(run->json, i), name))
            return true;
    }
    return false;
}

/* A few names in a small object are looked for one by one, so that most schemas need no memory for
 * the keys. */
static struct cor_verdict check_required(struct cor_validation_run *run,
                                         struct cor_structural_run required, uint32_t value,
                                         const struct cor_way *way)
{
    size_t nodes = cor_json_node_next(run->json, value) - value;
    bool is_sorted = required.n * nodes > SEARCHES_FEW && nodes > STEPS_SORTED;
    struct cor_verdict verdict = {0};

    if (is_sorted && !member_keys_find(run, value))
        return verdict;
    for (uint32_t i = 0; i < required.n && run->error == 0; i++) {
        struct cor_str name =
            cor_structural_text(run->schema, run->schema->texts[required.first + i]);
        struct cor_way step = {.up = way, .raw_key = name};

        if (!(is_sorted ? member_keys_have(run, name) : has_member(run, value, name)))
            verdict.nerrors +=
                cor_finding_add_plain(run, COR_FIELD_REQUIRED, &step, cor_field_none(), NULL);
    }
    return verdict;
}

/* Refuses the member with this key. */
static size_t refuse_member(struct cor_validation_run *run, uint32_t key, const struct cor_way *way)
{
    struct cor_str text;

    if (!cor_validation_keeps(run))
        return 1;
    text = cor_value_text(run, key);
    return cor_finding_add_plain(run, COR_FIELD_INVALID, way, cor_field_string(text),
                                 "%s.%.*s in body is a forbidden property",
                                 cor_value_name(run, way), COR_STR_ARG(text));
}

/* Checks the members that are properties, or those that are none. */
static struct cor_verdict check_members(struct cor_validation_run *run,
                                        const struct cor_structural_node *node, uint32_t value,
                                        const struct cor_correlation *of, const struct cor_way *way,
                                        bool are_properties)
{
    const struct cor_structural_node *additional =
        cor_structural_node(run->schema, node->additional);
    struct cor_old_members old = of ? cor_old_members(run, of) : (struct cor_old_members){0};
    uint32_t end = cor_json_node_next(run->json, value);
    struct cor_verdict verdict = {0};

    for (uint32_t i = value + 1; i < end && run->error == 0;
         i = cor_json_node_next(run->json, i + 1)) {
        struct cor_str key = cor_json_node_raw(run->json, i);
        const struct cor_structural_node *child = cor_structural_find(run->schema, node, key);
        struct cor_way step = {.up = way, .raw_key = key, .is_additional = !child};
        struct cor_correlation member;
        bool has_old;

        cor_validation_charge(run, cor_key_steps(key));
        if ((child != NULL) != are_properties)
            continue;
        if (!child && cor_structural_is(node, COR_STRUCTURAL_NO_ADDITIONAL)) {
            verdict.nerrors += refuse_member(run, i, way);
            continue;
        }
        child = child ? child : additional;
        if (!child)
            continue;
        has_old = of && cor_correlate_member(run, of, &old, key, i + 1, &member) &&
                  !(value == 0 && (cor_str_eqz(key, "kind") || cor_str_eqz(key, "apiVersion")));
        verdict_add(&verdict, check_value(run, child, i + 1, has_old ? &member : NULL, &step));
    }
    return verdict;
}

static struct cor_verdict check_object(struct cor_validation_run *run,
                                       const struct cor_structural_node *node, uint32_t value,
                                       const struct cor_correlation *of, const struct cor_way *way)
{
    const struct cor_structural_checks *checks =
        node->checks == COR_STRUCTURAL_NONE ? NULL : &run->schema->checks[node->checks];
    const unsigned counts = COR_STRUCTURAL_HAS_MIN_PROPERTIES | COR_STRUCTURAL_HAS_MAX_PROPERTIES;
    uint32_t end = cor_json_node_next(run->json, value);
    struct cor_verdict verdict = {.matches = 1};

    if (checks && checks->has & counts) {
        size_t n = 0;

        for (uint32_t i = value + 1; i < end; i = cor_json_node_next(run->json, i + 1))
            n++;
        cor_validation_charge(run, n);
        if (checks->has & COR_STRUCTURAL_HAS_MIN_PROPERTIES && (int64_t)n < checks->min_properties)
            verdict.nerrors += refuse_count(run, way, n, checks->min_properties, "properties");
        if (checks->has & COR_STRUCTURAL_HAS_MAX_PROPERTIES && (int64_t)n > checks->max_properties)
            verdict.nerrors += refuse_too_many(run, way, n, checks->max_properties);
    }
    if (cor_structural_is(node, COR_STRUCTURAL_ADDITIONAL))
        verdict_add(&verdict, check_members(run, node, value, of, way, false));
    if (node->nproperties > 0)
        verdict_add(&verdict, check_members(run, node, value, of, way, true));
    if (checks && checks->required.n > 0)
        verdict_add(&verdict, check_required(run, checks->required, value, way));
    return verdict;
}

/* Numbers may have any length. */
static bool is_number_byte(char first)
{
    return first == '-' || (first >= '0' && first <= '9');
}

static uint64_t value_steps(const struct cor_validation_run *run, uint32_t value)
{
    return run->json->v[value].end / STEP_DIGITS;
}

static struct cor_verdict check_value(struct cor_validation_run *run,
                                      const struct cor_structural_node *node, uint32_t value,
                                      const struct cor_correlation *of, const struct cor_way *way)
{
    bool has_type = node->type != COR_STRUCTURAL_ANY ||
                    cor_validation_format(run, node) != COR_STRING_FORMAT_NONE ||
                    cor_structural_is(node, COR_STRUCTURAL_INT_OR_STRING);
    char first = cor_value_first(run, value);
    struct cor_verdict verdict = {0};
    size_t start = run->n;

    cor_validation_charge(run, 1 + (is_number_byte(first) ? value_steps(run, value) : 0));
    if (run->error < 0 || (of && run->passes_equal && cor_correlation_is_equal(run, of)))
        return verdict;
    if (has_type || first == 'n')
        verdict_add(&verdict, cor_check_type(run, node, value, way));
    if (first == 'n') {
        verdict_add(&verdict, cor_check_enum(run, node, value, way));
    } else {
        verdict.matches += has_type;
        verdict_add(&verdict, check_junctors(run, node, value, way));
        if (first == '"')
            verdict_add(&verdict, cor_check_string(run, node, value, way));
        else if (first == '[')
            verdict_add(&verdict, check_array(run, node, value, of, way));
        else if (first != '{' && first != 't' && first != 'f')
            verdict_add(&verdict, cor_check_number(run, node, value, way));
        verdict_add(&verdict, cor_check_enum(run, node, value, way));
        if (first == '{')
            verdict_add(&verdict, check_object(run, node, value, of, way));
        verdict.matches += 2; /* enum, and the schema itself */
    }
    if (verdict.nerrors > 0 && of && cor_correlation_is_equal(run, of)) {
        verdict.nerrors = 0;
        run->n = start;
    }
    return verdict;
}

/* --- The whole ---------------------------------------------------------------------------------
 */

/* Both objects as nodes; on the heap, because few[] would be much for a stack. */
struct texts {
    struct cor_json_nodes object, old;
};

static struct cor_str status_of(struct cor_str object, bool is_status)
{
    struct cor_str status = {NULL, 0};

    if (!object.p || !is_status)
        return object;
    (void)cor_json_get(object, COR_STR("status"), COR_JSON_SORTED, &status);
    return status;
}

static void walk_beside_old(struct cor_validation_run *run, const struct cor_structural_node *node,
                            struct texts *texts, struct cor_str old)
{
    struct cor_correlation root = {node, 0, 0};

    cor_validation_note(run, cor_json_nodes_init(&texts->old, old));
    run->old = &texts->old;
    run->n = 0;
    if (run->error == 0)
        (void)check_value(run, node, 0, &root, NULL);
}

/* Walks the object, and walks it again beside the old one when it has mistakes. Where that could
 * take longer than a slice, only the walk beside the old one is done: values that have not changed,
 * whose mistakes would be forgiven, are compared and not judged. */
static void validate_texts(struct cor_validation_run *run, const struct cor_structural_node *node,
                           struct texts *texts, struct cor_str object, struct cor_str old)
{
    uint64_t most;

    run->json = &texts->object;
    run->keys.object = COR_JSON_NO_NODE;
    cor_validation_note(run, cor_json_nodes_init(&texts->object, object));
    most = (uint64_t)texts->object.n * run->schema->visits;
    run->passes_equal = old.p && most > COR_WORK_SLICE;
    if (run->error == 0 && !run->passes_equal && cor_work_would_yield(&run->work, most))
        run->error = COR_WORK_YIELD;
    if (run->error < 0)
        return;
    if (run->passes_equal ||
        (check_value(run, node, 0, NULL, NULL).nerrors > 0 && old.p && run->error == 0))
        walk_beside_old(run, node, texts, old);
}

/* The next member that a schema judges: neither a part of the type nor the metadata. */
static bool next_judged(struct cor_json_iter *it, struct cor_str *ret_raw_key)
{
    static const char *const others[] = {"apiVersion", "kind", "metadata"};

    while (cor_json_iter_member(it, ret_raw_key)) {
        bool is_judged = true;

        for (size_t i = 0; i < COR_ARRAY_LEN(others); i++)
            is_judged = is_judged && !cor_json_raw_eq(*ret_raw_key, cor_strz(others[i]));
        if (is_judged)
            return true;
    }
    return false;
}

/* Has nothing changed but the metadata? Both are canonical, so that equal values are equal bytes.
 */
static bool is_unchanged(struct cor_str object, struct cor_str old)
{
    struct cor_json_iter a = cor_json_iter(object), b = cor_json_iter(old);
    struct cor_str a_key, b_key;
    bool has_a, has_b;

    if (!old.p || cor_json_type(object) != COR_JSON_OBJECT || cor_json_type(old) != COR_JSON_OBJECT)
        return old.p && cor_str_eq(object, old);
    do {
        has_a = next_judged(&a, &a_key);
        has_b = next_judged(&b, &b_key);
        if (has_a && has_b &&
            (!cor_str_eq(a_key, b_key) ||
             !cor_str_eq(cor_json_iter_value(&a), cor_json_iter_value(&b))))
            return false;
    } while (has_a && has_b);
    return has_a == has_b;
}

/* Whether the object is valid is not known: it takes too many steps to find out. */
static void refuse_work(struct cor_str prefix, struct cor_field_errors *errors)
{
    struct cor_field_path root = cor_field_root(prefix.n > 0 ? prefix : COR_STR("<nil>"));
    char text[128];

    (void)snprintf(text, sizeof(text),
                   "the object has too many values for the branches of its schema: validation "
                   "takes more than %u steps",
                   COR_WORK_STEPS_MAX);
    cor_field_errors_add(errors, COR_FIELD_FORBIDDEN, &root, cor_field_none(), text);
}

void cor_structural_validate_value(const struct cor_structural *schema,
                                   const struct cor_structural_node *node, struct cor_str json,
                                   struct cor_str old, struct cor_str prefix, bool is_default,
                                   struct cor_work *work, struct cor_field_errors *errors)
{
    struct cor_validation_run run = {.schema = schema,
                                     .work = *work,
                                     .has_all_formats = is_default,
                                     .text = {.max = json.n + 1}};
    struct texts *texts = cor_calloc(1, sizeof(*texts));

    if (!texts) {
        errors->error = errors->error < 0 ? errors->error : -COR_ENOMEM;
        return;
    }
    cor_arena_init(&run.arena, ARENA_MAX);
    validate_texts(&run, node, texts, json, old);
    *work = run.work;
    if (run.error != -COR_ETOOBIG)
        cor_findings_report(&run, prefix, errors);
    else if (!is_unchanged(json, old)) /* what is stored stays free, whatever its schema became */
        refuse_work(prefix, errors);
    cor_json_nodes_deinit(&texts->object);
    cor_json_nodes_deinit(&texts->old);
    cor_free(texts);
    cor_free(run.findings);
    cor_arena_deinit(&run.arena);
    cor_buf_deinit(&run.text);
}

void cor_structural_validate(const struct cor_structural *schema,
                             const struct cor_structural_validation *validation,
                             struct cor_field_errors *errors)
{
    struct cor_str object = status_of(validation->object, validation->is_status);
    struct cor_str old = status_of(validation->old, validation->is_status);
    const struct cor_structural_node *node = cor_structural_root(schema);
    struct cor_work own = cor_work_new(false);

    if (validation->is_status)
        node = cor_structural_find(schema, node, COR_STR("status"));
    if (node && object.p)
        cor_structural_validate_value(schema, node, object, old,
                                      validation->is_status ? COR_STR("status") : COR_STR(""),
                                      false, validation->work ? validation->work : &own, errors);
}

static bool keeps_from_rules(enum cor_field_error_type type)
{
    return type == COR_FIELD_NOT_SUPPORTED || type == COR_FIELD_REQUIRED ||
           type == COR_FIELD_TOO_LONG || type == COR_FIELD_TOO_MANY ||
           type == COR_FIELD_TYPE_INVALID;
}

void cor_structural_check_rules(const struct cor_structural *schema,
                                struct cor_field_errors *errors)
{
    static const struct cor_field_path nowhere = {.name = COR_STR("<nil>")};

    for (size_t i = 0; i < errors->n && cor_structural_has_rules(schema); i++) {
        if (!keeps_from_rules(errors->v[i].type))
            continue;
        cor_field_errors_add(errors, COR_FIELD_INVALID, &nowhere, cor_field_json(COR_STR("null")),
                             "some validation rules were not checked because the object was "
                             "invalid; correct the existing errors to complete validation");
        return;
    }
}
