#include "meta/metadata/object_meta.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str_set.h"
#include "meta/status/gvk.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

/* An error's value is cut off by field_error.c long before this. */
#define LIST_PRINT_MAX (64u * 1024)

static void note(struct cor_field_errors *errs, int r)
{
    if (r < 0 && errs->error == 0)
        errs->error = r;
}

/* The text of raw text; needs `scratch` only when there are escapes. */
static int text_of(struct cor_str raw, struct cor_buf *scratch, struct cor_str *ret)
{
    int r = 0;

    if (cor_str_find(raw, '\\') >= 0) {
        cor_buf_reset(scratch);
        r = cor_buf_reserve(scratch, raw.n);
    }
    return r < 0 ? r : cor_json_unescape(raw, scratch->p, scratch->cap, ret);
}

static void refuse_type(struct cor_field_errors *errs, const struct cor_field_path *path,
                        struct cor_str value, const char *detail)
{
    cor_field_errors_add(errs, COR_FIELD_TYPE_INVALID, path, cor_field_json(value), detail);
}

static void complain(struct cor_field_errors *errs, const struct cor_field_path *path,
                     struct cor_str value, const struct cor_complaints *c)
{
    for (size_t i = 0; i < c->n; i++)
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, cor_field_string(value), c->text[i]);
}

/* The text of a map's value; "" for null, as Go decodes it, and for what is not a string. */
static int map_value(struct cor_str value, struct cor_str key, const struct cor_field_path *path,
                     struct cor_field_errors *errs, struct cor_buf *scratch, struct cor_str *ret)
{
    struct cor_field_path at = cor_field_key(path, key);
    struct cor_str raw;

    *ret = COR_STR("");
    if (cor_json_to_raw(value, &raw) == 0)
        return text_of(raw, scratch, ret);
    if (cor_json_type(value) != COR_JSON_NULL)
        refuse_type(errs, &at, value, "must be a string");
    return 0;
}

/* Returns the bytes of all keys and values together. */
static size_t check_map(struct cor_str map, enum cor_name_rule key_rule, bool values_are_labels,
                        const struct cor_field_path *path, struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key_text = {.max = map.n};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf value_text = {.max = map.n};
    struct cor_json_iter it = cor_json_iter(map);
    struct cor_str raw_key, key, value;
    size_t total = 0;
    int r = 0;

    if (cor_json_type(map) != COR_JSON_OBJECT)
        refuse_type(errs, path, map, "must be a map of strings");
    while (r == 0 && cor_json_iter_member(&it, &raw_key)) {
        struct cor_complaints wrong;

        if ((r = text_of(raw_key, &key_text, &key)) < 0 ||
            (r = map_value(cor_json_iter_value(&it), key, path, errs, &value_text, &value)) < 0)
            break;
        wrong = cor_name_check(key_rule, key);
        complain(errs, path, key, &wrong);
        if (values_are_labels) {
            wrong = cor_name_check(COR_NAME_LABEL_VALUE, value);
            complain(errs, path, value, &wrong);
        }
        total += key.n + value.n;
    }
    note(errs, r);
    return total;
}

void cor_object_meta_check_labels(struct cor_str labels, const struct cor_field_path *path,
                                  struct cor_field_errors *errs)
{
    (void)check_map(labels, COR_NAME_QUALIFIED, true, path, errs);
}

void cor_object_meta_check_annotations(struct cor_str annotations,
                                       const struct cor_field_path *path,
                                       struct cor_field_errors *errs)
{
    size_t total = check_map(annotations, COR_NAME_ANNOTATION_KEY, false, path, errs);

    if (total > COR_ANNOTATIONS_BYTES_MAX)
        cor_field_errors_add_too_long(errs, path, COR_ANNOTATIONS_BYTES_MAX);
}

static void check_finalizers(struct cor_str finalizers, const struct cor_field_path *path,
                             struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = finalizers.n};
    struct cor_json_iter it = cor_json_iter(finalizers);
    bool orphan = false, foreground = false;
    struct cor_str raw, text;
    int r = 0;

    if (cor_json_type(finalizers) != COR_JSON_ARRAY) {
        refuse_type(errs, path, finalizers, "must be a list of strings");
        return;
    }
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str value = cor_json_iter_value(&it);
        struct cor_complaints wrong;

        if (cor_json_to_raw(value, &raw) < 0) {
            refuse_type(errs, path, value, "must be a string");
        } else if ((r = text_of(raw, &scratch, &text)) == 0) {
            wrong = cor_name_check(COR_NAME_QUALIFIED, text);
            complain(errs, path, text, &wrong);
            orphan |= cor_str_eq(text, COR_STR("orphan"));
            foreground |= cor_str_eq(text, COR_STR("foregroundDeletion"));
        }
    }
    note(errs, r);
    if (orphan && foreground)
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, cor_field_json(finalizers),
                             "finalizer orphan and foregroundDeletion cannot be both set");
}

/* Kubernetes' own, or with the domain of their owner. */
static void check_finalizer_domains(struct cor_str finalizers, const struct cor_field_path *path,
                                    struct cor_field_errors *errs)
{
    static const char *const own[] = {"kubernetes", "orphan", "foregroundDeletion"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = finalizers.n};
    struct cor_json_iter it = cor_json_iter(finalizers);
    struct cor_str raw, text;

    for (size_t i = 0; cor_json_iter_elem(&it); i++) {
        struct cor_field_path at = cor_field_index(path, i);
        bool known = false;

        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) < 0 ||
            text_of(raw, &scratch, &text) < 0 || cor_str_find(text, '/') >= 0)
            continue;
        for (size_t j = 0; j < COR_ARRAY_LEN(own); j++)
            known = known || cor_str_eqz(text, own[j]);
        if (!known)
            cor_field_errors_add(
                errs, COR_FIELD_INVALID, &at, cor_field_string(text),
                "name is neither a standard finalizer name nor is it fully qualified");
    }
}

/* An owner reference's members as raw text; "" when absent or null. */
struct owner {
    struct cor_str api_version, kind, name, uid;
    struct cor_str controller, block_deletion; /* JSON; empty when absent or null */
};

static struct cor_str raw_member(struct cor_str object, struct cor_str key)
{
    struct cor_str value, raw;

    if (cor_json_get(object, key, COR_JSON_SORTED, &value) < 0 || cor_json_to_raw(value, &raw) < 0)
        return COR_STR("");
    return raw;
}

static struct cor_str bool_member(struct cor_str object, struct cor_str key)
{
    struct cor_str value;

    if (cor_json_get(object, key, COR_JSON_SORTED, &value) < 0 ||
        cor_json_type(value) != COR_JSON_BOOL)
        return COR_STR("");
    return value;
}

static struct owner read_owner(struct cor_str ref)
{
    return (struct owner){
        .api_version = raw_member(ref, COR_STR("apiVersion")),
        .kind = raw_member(ref, COR_STR("kind")),
        .name = raw_member(ref, COR_STR("name")),
        .uid = raw_member(ref, COR_STR("uid")),
        .controller = bool_member(ref, COR_STR("controller")),
        .block_deletion = bool_member(ref, COR_STR("blockOwnerDeletion")),
    };
}

/* Raw text is between quotes already. */
static void write_raw(struct cor_json_writer *w, struct cor_str key, struct cor_str raw)
{
    struct cor_str quoted = cor_str(raw.n ? raw.p - 1 : "\"\"", raw.n + 2);

    cor_json_key(w, key);
    cor_json_raw(w, quoted);
}

/* Members in the order of Go's struct, because upstream prints the value in its message. */
static void write_owner(struct cor_json_writer *w, const struct owner *owner)
{
    cor_json_begin_object(w);
    write_raw(w, COR_STR("apiVersion"), owner->api_version);
    write_raw(w, COR_STR("kind"), owner->kind);
    write_raw(w, COR_STR("name"), owner->name);
    write_raw(w, COR_STR("uid"), owner->uid);
    if (owner->controller.n > 0) {
        cor_json_key(w, COR_STR("controller"));
        cor_json_raw(w, owner->controller);
    }
    if (owner->block_deletion.n > 0) {
        cor_json_key(w, COR_STR("blockOwnerDeletion"));
        cor_json_raw(w, owner->block_deletion);
    }
    cor_json_end_object(w);
}

/* Prints the whole list, which each message about it shows. The value is left out of the message
 * when it is too large. */
static void print_owners(struct cor_str refs, struct cor_buf *out, struct cor_field_errors *errs)
{
    struct cor_json_iter it = cor_json_iter(refs);
    struct cor_json_writer w;
    int r;

    cor_json_writer_init(&w, out);
    cor_json_begin_array(&w);
    while (w.error == 0 && cor_json_iter_elem(&it)) {
        struct owner owner = read_owner(cor_json_iter_value(&it));

        write_owner(&w, &owner);
    }
    cor_json_end_array(&w);
    r = cor_json_writer_finish(&w);
    if (r == 0)
        return;
    cor_buf_reset(out);
    if (r != -COR_ETOOBIG)
        note(errs, r);
}

static void refuse_banned_owner(const struct owner *owner, const struct cor_field_path *path,
                                struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf printed = {.max = LIST_PRINT_MAX};
    struct cor_json_writer w;
    int r;

    cor_json_writer_init(&w, &printed);
    write_owner(&w, owner);
    r = cor_json_writer_finish(&w);
    if (r < 0)
        note(errs, r);
    else
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, cor_field_json(cor_buf_str(&printed)),
                             "/v1, Kind=Event is disallowed from being an owner");
}

static void require(struct cor_str value, const struct cor_field_path *parent, struct cor_str name,
                    struct cor_field_errors *errs)
{
    struct cor_field_path path = cor_field_child(parent, name);

    if (value.n == 0)
        cor_field_errors_add(errs, COR_FIELD_INVALID, &path, cor_field_string(value),
                             "must not be empty");
}

static void check_owner(const struct owner *owner, const struct cor_field_path *path,
                        struct cor_field_errors *errs)
{
    struct cor_field_path version_path = cor_field_child(path, COR_STR("apiVersion"));
    struct cor_gv gv = {COR_STR(""), COR_STR("")};

    if (cor_gv_parse(owner->api_version, &gv, NULL) < 0 || gv.version.n == 0)
        cor_field_errors_add(errs, COR_FIELD_INVALID, &version_path,
                             cor_field_string(owner->api_version), "version must not be empty");
    require(owner->kind, path, COR_STR("kind"), errs);
    require(owner->name, path, COR_STR("name"), errs);
    require(owner->uid, path, COR_STR("uid"), errs);
    if (gv.group.n == 0 && cor_str_eq(gv.version, COR_STR("v1")) &&
        cor_str_eq(owner->kind, COR_STR("Event")))
        refuse_banned_owner(owner, path, errs);
}

static void refuse_second_controller(struct cor_str printed, const struct owner *first,
                                     const struct owner *second, const struct cor_field_path *path,
                                     struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf detail = {.max = LIST_PRINT_MAX};
    int r = cor_buf_addf(&detail,
                         "Only one reference can have Controller set to true. Found \"true\" in "
                         "references for %.*s/%.*s and %.*s/%.*s",
                         COR_STR_ARG(first->kind), COR_STR_ARG(first->name),
                         COR_STR_ARG(second->kind), COR_STR_ARG(second->name));

    if (r < 0)
        note(errs, r);
    else
        cor_field_errors_add(errs, COR_FIELD_INVALID, path,
                             printed.n > 0 ? cor_field_json(printed) : cor_field_none(),
                             cor_buf_z(&detail));
}

static void check_owners(struct cor_str refs, const struct cor_field_path *path,
                         struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf printed = {.max = LIST_PRINT_MAX};
    struct cor_json_iter it = cor_json_iter(refs);
    struct owner controller;
    size_t controllers = 0;

    if (cor_json_type(refs) != COR_JSON_ARRAY) {
        refuse_type(errs, path, refs, "must be a list");
        return;
    }
    while (cor_json_iter_elem(&it)) {
        struct owner owner = read_owner(cor_json_iter_value(&it));

        check_owner(&owner, path, errs);
        if (!cor_str_eq(owner.controller, COR_STR("true")))
            continue;
        if (controllers == 0)
            controller = owner;
        else if (controllers == 1)
            print_owners(refs, &printed, errs);
        if (controllers > 0 && errs->n < COR_STATUS_CAUSES_MAX)
            refuse_second_controller(cor_buf_str(&printed), &controller, &owner, path, errs);
        controllers++;
    }
}

static void check_generation(struct cor_str value, const struct cor_field_path *path,
                             struct cor_field_errors *errs)
{
    int64_t generation;

    if (cor_json_to_i64(value, &generation) < 0)
        refuse_type(errs, path, value, "must be an integer");
    else if (generation < 0)
        cor_field_errors_add(errs, COR_FIELD_INVALID, path, cor_field_json(value),
                             "must be greater than or equal to 0");
}

enum member {
    ANNOTATIONS,
    DELETION_GRACE,
    DELETION_TIME,
    FINALIZERS,
    GENERATE_NAME,
    GENERATION,
    LABELS,
    NAME,
    NAMESPACE,
    OWNERS,
    UID, /* behind what a creation looks at */
    NMEMBERS,
};

/* In byte order, so that one walk over the metadata finds all. */
static const struct cor_str member_names[NMEMBERS] = {
    COR_STR("annotations"),
    COR_STR("deletionGracePeriodSeconds"),
    COR_STR("deletionTimestamp"),
    COR_STR("finalizers"),
    COR_STR("generateName"),
    COR_STR("generation"),
    COR_STR("labels"),
    COR_STR("name"),
    COR_STR("namespace"),
    COR_STR("ownerReferences"),
    COR_STR("uid"),
};

/* In the order of upstream's errors; what an update checks again stands from LABELS to OWNERS. */
static const struct {
    enum member member;
    void (*check)(struct cor_str value, const struct cor_field_path *path,
                  struct cor_field_errors *errs);
} parts[] = {
    {GENERATION, check_generation},
    {LABELS, cor_object_meta_check_labels},
    {ANNOTATIONS, cor_object_meta_check_annotations},
    {OWNERS, check_owners},
    {FINALIZERS, check_finalizers},
};

/* The text of a string; "" for any other value. */
static struct cor_str text_value(struct cor_str value, struct cor_buf *scratch,
                                 struct cor_field_errors *errs)
{
    struct cor_str raw, text = COR_STR("");

    if (cor_json_to_raw(value, &raw) == 0)
        note(errs, text_of(raw, scratch, &text));
    return text;
}

static void check_generate_name(struct cor_str value, const struct cor_object_meta_rules *rules,
                                const struct cor_field_path *root, struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = value.n};
    struct cor_field_path path = cor_field_child(root, COR_STR("generateName"));
    struct cor_str prefix = text_value(value, &scratch, errs);
    struct cor_complaints wrong = cor_name_check_prefix(rules->name, prefix);

    if (prefix.n > 0)
        complain(errs, &path, prefix, &wrong);
}

static void check_name(struct cor_str value, const struct cor_object_meta_rules *rules,
                       const struct cor_field_path *root, struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = value.n};
    struct cor_field_path path = cor_field_child(root, COR_STR("name"));
    struct cor_str name = text_value(value, &scratch, errs);
    struct cor_complaints wrong = cor_name_check(rules->name, name);

    if (name.n > 0)
        complain(errs, &path, name, &wrong);
    else
        cor_field_errors_add(errs, COR_FIELD_REQUIRED, &path, cor_field_none(),
                             "name or generateName is required");
}

static void check_namespace(struct cor_str value, const struct cor_object_meta_rules *rules,
                            const struct cor_field_path *root, struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = value.n};
    struct cor_field_path path = cor_field_child(root, COR_STR("namespace"));
    struct cor_str ns = text_value(value, &scratch, errs);
    struct cor_complaints wrong = cor_name_check(COR_NAME_DNS1123_LABEL, ns);

    if (rules->is_namespaced && ns.n == 0)
        cor_field_errors_add(errs, COR_FIELD_REQUIRED, &path, cor_field_none(), NULL);
    else if (rules->is_namespaced)
        complain(errs, &path, ns, &wrong);
    else if (ns.n > 0)
        cor_field_errors_add(errs, COR_FIELD_FORBIDDEN, &path, cor_field_none(),
                             "not allowed on this type");
}

/* Checks the parts from `first` on, as far as they are there. */
static void check_parts(const struct cor_str *values, size_t first, size_t end,
                        const struct cor_field_path *root, struct cor_field_errors *errs)
{
    for (size_t i = first; i < end; i++) {
        struct cor_field_path path = cor_field_child(root, member_names[parts[i].member]);
        struct cor_str value = values[parts[i].member];

        if (value.p && cor_json_type(value) != COR_JSON_NULL)
            parts[i].check(value, &path, errs);
    }
}

void cor_object_meta_check(struct cor_str metadata, const struct cor_object_meta_rules *rules,
                           struct cor_field_errors *errs)
{
    const struct cor_field_path root = cor_field_root(COR_STR("metadata"));
    const struct cor_field_path finalizers_path = cor_field_child(&root, COR_STR("finalizers"));
    struct cor_str values[NMEMBERS];

    cor_json_get_each(metadata, member_names, UID, values);
    check_generate_name(values[GENERATE_NAME], rules, &root, errs);
    check_name(values[NAME], rules, &root, errs);
    if (!rules->is_checked) {
        check_namespace(values[NAMESPACE], rules, &root, errs);
        check_parts(values, 0, COR_ARRAY_LEN(parts), &root, errs);
    }
    if (!rules->any_finalizer && values[FINALIZERS].p)
        check_finalizer_domains(values[FINALIZERS], &finalizers_path, errs);
}

/* --- Updates -----------------------------------------------------------------------------------
 */

/* What may not change, in upstream's order. Name, namespace and creationTimestamp are those of the
 * old object already. */
static const enum member fixed[] = {UID, DELETION_TIME, DELETION_GRACE};

static void check_fixed(const struct cor_str *now, const struct cor_str *before,
                        const struct cor_field_path *root, struct cor_field_errors *errs)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(fixed); i++) {
        struct cor_field_path path = cor_field_child(root, member_names[fixed[i]]);
        struct cor_str a = now[fixed[i]], b = before[fixed[i]];

        if (!cor_str_eq(a.p ? a : COR_STR(""), b.p ? b : COR_STR("")))
            cor_field_errors_add(errs, COR_FIELD_INVALID, &path,
                                 cor_field_json(a.p ? a : COR_STR("null")), "field is immutable");
    }
}

static int compare_texts(const void *a, const void *b)
{
    return cor_str_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

/* The elements of `after` that `before` lacks, as the bytes of their JSON, sorted. */
static int find_new(struct cor_str before, struct cor_str after, struct cor_str **ret_new,
                    size_t *ret_n)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set known = {.nfew = 0};
    struct cor_json_iter it = cor_json_iter(before);
    size_t cap = 0;
    bool is_new;
    int r = 0;

    cor_str_set_init(&known, 1u << 24);
    while (r == 0 && cor_json_iter_elem(&it))
        r = cor_str_set_add(&known, cor_json_iter_value(&it), &is_new);
    it = cor_json_iter(after);
    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str raw = cor_json_iter_value(&it);

        r = cor_str_set_add(&known, raw, &is_new);
        if (r < 0 || !is_new)
            continue;
        r = COR_ARRAY_RESERVE(ret_new, *ret_n, &cap, COR_ARRAY_NO_MAX);
        if (r == 0)
            (*ret_new)[(*ret_n)++] = raw;
    }
    if (*ret_n > 1)
        qsort(*ret_new, *ret_n, sizeof(**ret_new), compare_texts);
    return r;
}

/* Once deletion has begun, finalizers may be removed but not added. */
static void check_new_finalizers(struct cor_str before, struct cor_str after,
                                 const struct cor_field_path *root, struct cor_field_errors *errs)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = LIST_PRINT_MAX};
    COR_CLEANUP(cor_freep) struct cor_str *added = NULL;
    struct cor_field_path path = cor_field_child(root, COR_STR("finalizers"));
    size_t n = 0;
    int r =
        find_new(before.p ? before : COR_STR("[]"), after.p ? after : COR_STR("[]"), &added, &n);

    if (r == 0)
        r = cor_buf_addz(&text, "no new finalizers can be added if the object is being deleted, "
                                "found new finalizers []string{");
    for (size_t i = 0; r == 0 && i < n; i++)
        r = cor_buf_addf(&text, "%s%.*s", i > 0 ? ", " : "", COR_STR_ARG(added[i]));
    if (r == 0)
        r = cor_buf_addc(&text, '}');
    /* The message names as many as fit. */
    if (r < 0 && r != -COR_ETOOBIG)
        note(errs, r);
    else if (n > 0)
        cor_field_errors_add(errs, COR_FIELD_FORBIDDEN, &path, cor_field_none(), cor_buf_z(&text));
}

void cor_object_meta_check_update(struct cor_str metadata, struct cor_str old,
                                  const struct cor_object_meta_rules *rules,
                                  struct cor_field_errors *errs)
{
    const struct cor_field_path root = cor_field_root(COR_STR("metadata"));
    const struct cor_field_path finalizers_path = cor_field_child(&root, COR_STR("finalizers"));
    struct cor_str values[NMEMBERS], before[NMEMBERS];

    if (rules->is_update_checked) {
        cor_json_get_each(metadata, &member_names[FINALIZERS], 1, &values[FINALIZERS]);
    } else {
        cor_json_get_each(metadata, member_names, NMEMBERS, values);
        cor_json_get_each(old, member_names, NMEMBERS, before);
        if (before[DELETION_TIME].p && cor_json_type(before[DELETION_TIME]) != COR_JSON_NULL)
            check_new_finalizers(before[FINALIZERS], values[FINALIZERS], &root, errs);
        check_fixed(values, before, &root, errs);
        if (!rules->is_checked)
            check_parts(values, 1, 4, &root, errs);
    }
    if (!rules->any_finalizer && values[FINALIZERS].p)
        check_finalizer_domains(values[FINALIZERS], &finalizers_path, errs);
}
