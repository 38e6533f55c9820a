/* Embedded resources: their metadata is read and written as Kubernetes' ObjectMeta when an object
 * is decoded, and apiVersion, kind and metadata are checked when it is validated (contract
 * crd 4.9.1, 4.9.2). Subtrees whose schema has no embedded resource are left out. Failures: out of
 * memory, which is returned or noted in the field errors. Thread: any. */
#include "schema/structural/embedded.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "meta/metadata/object_meta.h"
#include "meta/status/gvk.h"
#include "schema/format/format.h"
#include "schema/structural/structural_int.h"
#include "schema/types/types.h"
#include "schema/walk/normalize.h"
#include "schema/walk/read.h"
#include "json/text/nodes.h"
#include "json/text/scan.h"

#define METADATA_MAX (4u << 20)
#define KIND_MAX     256 /* a longer kind is refused whatever its letters are */

static const struct cor_type *metadata_type(void)
{
    return cor_type_named(COR_STR("meta_v1.ObjectMeta"));
}

/* --- Decoding ----------------------------------------------------------------------------------
 */

/* Passes the paths of unknown fields on; a finding is `unknown field "labels.a"`. */
static int pass_unknown(const struct cor_read_report *report, cor_embedded_unknown_fn unknown,
                        void *arg)
{
    int r = 0;

    for (size_t i = 0; unknown && i < report->n && r == 0; i++) {
        struct cor_str rest = cor_read_finding(report, i);

        if (!cor_str_starts(rest, COR_STR("unknown field ")))
            continue;
        (void)cor_str_cut(&rest, '"');
        if (rest.n > 0)
            r = unknown(arg, cor_str(rest.p, rest.n - 1));
    }
    return r;
}

/* Reads one value. -COR_EINVAL: why. */
static int read_metadata(struct cor_str json, struct cor_buf *why, cor_embedded_unknown_fn unknown,
                         void *arg)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = NULL;
    int r;

    if (cor_read_is_clean(json, metadata_type()))
        return 0;
    report = cor_read_report_new();
    r = report ? cor_read(json, metadata_type(), report) : -COR_ENOMEM;
    if (r == 0)
        return pass_unknown(report, unknown, arg);
    if (r == -COR_EINVAL && why && cor_buf_adds(why, cor_buf_str(&report->error)) == -COR_ENOMEM)
        r = -COR_ENOMEM;
    return r;
}

/* Appends the members that can be read, each tried alone. */
static int keep_readable(struct cor_str json, struct cor_buf *out)
{
    struct cor_json_iter it = cor_json_iter(json);
    size_t mark = out->n;
    struct cor_str key;
    int r = cor_buf_addc(out, '{');

    while (r == 0 && cor_json_iter_member(&it, &key)) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf alone = {.max = METADATA_MAX};
        struct cor_str value = cor_json_iter_value(&it);
        struct cor_str member = cor_str(key.p - 1, (size_t)(value.p + value.n - key.p + 1));

        r = cor_buf_addc(&alone, '{');
        r = r < 0 ? r : cor_buf_adds(&alone, member);
        r = r < 0 ? r : cor_buf_addc(&alone, '}');
        r = r < 0 ? r : read_metadata(cor_buf_str(&alone), NULL, NULL, NULL);
        if (r == 0 && out->n > mark + 1)
            r = cor_buf_addc(out, ',');
        if (r == 0)
            r = cor_buf_adds(out, member);
        r = r == -COR_EINVAL ? 0 : r;
    }
    return r < 0 ? r : cor_buf_addc(out, '}');
}

int cor_embedded_metadata(struct cor_str json, bool drops_invalid, struct cor_buf *out,
                          struct cor_buf *why, cor_embedded_unknown_fn unknown, void *arg)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf readable = {.max = METADATA_MAX};
    int r = read_metadata(json, why, unknown, arg), normal;
    bool is_null = cor_json_type(json) == COR_JSON_NULL; /* Go reads it as an empty struct */

    if (r == -COR_EINVAL && drops_invalid && cor_json_type(json) == COR_JSON_OBJECT) {
        r = keep_readable(json, &readable);
        json = cor_buf_str(&readable);
    }
    if (r < 0)
        return r;
    if (is_null)
        json = COR_STR("{}");
    normal = cor_normalize(metadata_type(), json, out);
    if (normal != 0 || (readable.n == 0 && !is_null))
        return normal;
    r = cor_buf_adds(out, json);
    return r < 0 ? r : 1;
}

/* --- Validation --------------------------------------------------------------------------------
 */

struct embedded {
    const struct cor_structural *schema;
    struct cor_json_nodes json;
    struct cor_field_errors *errors;
};

static void note(struct embedded *e, int r)
{
    if (r < 0 && e->errors->error == 0)
        e->errors->error = r;
}

/* The value as an error shows it. A text has no escapes, or is refused with them. */
static struct cor_field_value shown(const struct embedded *e, uint32_t value)
{
    return cor_json_node_first(&e->json, value) == '"'
               ? cor_field_string(cor_json_node_raw(&e->json, value))
               : cor_field_json(cor_json_node_bytes(&e->json, value));
}

static void check_api_version(struct embedded *e, uint32_t value, const struct cor_field_path *path)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = METADATA_MAX};
    struct cor_str text = cor_json_node_raw(&e->json, value), rest = text;
    struct cor_gv gv;

    if (text.n == 0) {
        cor_field_errors_add(e->errors, COR_FIELD_INVALID, path, shown(e, value),
                             "must not be empty");
    } else if (cor_gv_parse(rest, &gv, NULL) < 0) {
        note(e, cor_buf_addf(&why, "unexpected GroupVersion string: %.*s", COR_STR_ARG(text)));
        cor_field_errors_add(e->errors, COR_FIELD_INVALID, path, shown(e, value), cor_buf_z(&why));
    }
}

static void check_kind(struct embedded *e, uint32_t value, const struct cor_field_path *path)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = METADATA_MAX};
    struct cor_str text = cor_json_node_raw(&e->json, value);
    char lower[KIND_MAX];
    size_t n = text.n < sizeof(lower) ? text.n : sizeof(lower), begin;

    if (text.n == 0) {
        cor_field_errors_add(e->errors, COR_FIELD_INVALID, path, shown(e, value),
                             "must not be empty");
        return;
    }
    for (size_t i = 0; i < n; i++) {
        char c = text.p[i];

        lower[i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    note(e, cor_buf_addz(&why, "may have mixed case, but should otherwise match: "));
    begin = why.n;
    note(e, cor_format_join(COR_FORMAT_DNS_1035, cor_str(lower, n), ",", &why));
    if (why.n > begin)
        cor_field_errors_add(e->errors, COR_FIELD_INVALID, path, shown(e, value), cor_buf_z(&why));
}

/* All rules of metadata, except for a name that is missing. */
static void check_metadata(struct embedded *e, uint32_t value, const struct cor_field_path *around)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = METADATA_MAX};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors found = {0};
    struct cor_str json = cor_json_node_bytes(&e->json, value), name, space;
    struct cor_field_path path = cor_field_child(around, COR_STR("metadata"));
    struct cor_object_meta_rules rules = {.name = COR_NAME_PATH_SEGMENT, .any_finalizer = true};
    int r = read_metadata(json, &why, NULL, NULL);

    if (r == -COR_EINVAL) {
        cor_field_errors_add(e->errors, COR_FIELD_INVALID, &path, shown(e, value), cor_buf_z(&why));
        return;
    }
    note(e, r);
    if (r < 0 || cor_json_type(json) != COR_JSON_OBJECT)
        return;
    rules.is_namespaced =
        cor_json_get(json, COR_STR("namespace"), COR_JSON_SORTED, &space) == 0 && space.n > 2;
    cor_object_meta_check(json, &rules, &found);
    if (cor_json_get(json, COR_STR("name"), COR_JSON_SORTED, &name) < 0 || name.n <= 2) {
        /* The first complaint of a name is that there is none. */
        for (size_t i = 0; i < found.n; i++) {
            if (strcmp(found.v[i].field, "metadata.name") != 0 ||
                found.v[i].type != COR_FIELD_REQUIRED)
                continue;
            cor_free(found.v[i].field);
            cor_free(found.v[i].body);
            memmove(&found.v[i], &found.v[i + 1], (found.n - i - 1) * sizeof(found.v[0]));
            found.n--;
            break;
        }
    }
    cor_field_errors_move(e->errors, &found, around);
}

static void check_resource(struct embedded *e, uint32_t object, const struct cor_field_path *path)
{
    static const char *const names[] = {"apiVersion", "kind", "metadata"};
    uint32_t end = cor_json_node_next(&e->json, object), values[3];

    for (size_t n = 0; n < 3; n++) {
        values[n] = COR_JSON_NO_NODE;
        for (uint32_t i = object + 1; i < end; i = cor_json_node_next(&e->json, i + 1)) {
            if (cor_str_eqz(cor_json_node_raw(&e->json, i), names[n]))
                values[n] = i + 1;
        }
    }
    for (size_t n = 0; n < 2; n++) {
        struct cor_field_path at = cor_field_child(path, cor_strz(names[n]));

        if (values[n] == COR_JSON_NO_NODE)
            cor_field_errors_add(e->errors, COR_FIELD_REQUIRED, &at, cor_field_none(), NULL);
    }
    for (size_t n = 0; n < 2; n++) {
        struct cor_field_path at = cor_field_child(path, cor_strz(names[n]));

        if (values[n] == COR_JSON_NO_NODE)
            continue;
        if (cor_json_node_first(&e->json, values[n]) != '"')
            cor_field_errors_add(e->errors, COR_FIELD_INVALID, &at, shown(e, values[n]),
                                 "must be a string");
        else if (n == 0)
            check_api_version(e, values[n], &at);
        else
            check_kind(e, values[n], &at);
    }
    if (values[2] != COR_JSON_NO_NODE)
        check_metadata(e, values[2], path);
}

static void check_value(struct embedded *e, const struct cor_structural_node *node, uint32_t value,
                        const struct cor_field_path *path)
{
    const unsigned wanted = COR_STRUCTURAL_EMBEDDED | COR_STRUCTURAL_EMBEDDED_BELOW;
    uint32_t end = cor_json_node_next(&e->json, value), n = 0;
    char first = cor_json_node_first(&e->json, value);
    struct cor_field_path at;

    if (!node || !(node->flags & wanted) || e->errors->error < 0)
        return;
    if (first == '{') {
        if (cor_structural_is(node, COR_STRUCTURAL_EMBEDDED))
            check_resource(e, value, path);
        for (uint32_t i = value + 1; i < end; i = cor_json_node_next(&e->json, i + 1)) {
            struct cor_str key = cor_json_node_raw(&e->json, i);
            const struct cor_structural_node *child = cor_structural_find(e->schema, node, key);

            at = child ? cor_field_child(path, key) : cor_field_key(path, key);
            check_value(e, child ? child : cor_structural_node(e->schema, node->additional), i + 1,
                        &at);
        }
    } else if (first == '[') {
        for (uint32_t i = value + 1; i < end; i = cor_json_node_next(&e->json, i), n++) {
            at = cor_field_index(path, n);
            check_value(e, cor_structural_node(e->schema, node->items), i, &at);
        }
    }
}

void cor_structural_check_embedded_value(const struct cor_structural *schema,
                                         const struct cor_structural_node *node, bool is_resource,
                                         struct cor_str json, const struct cor_field_path *path,
                                         struct cor_field_errors *errors)
{
    struct embedded *e;

    if (!is_resource && !(node->flags & (COR_STRUCTURAL_EMBEDDED | COR_STRUCTURAL_EMBEDDED_BELOW)))
        return;
    e = cor_calloc(1, sizeof(*e)); /* json.few would be much for a stack */
    if (!e) {
        errors->error = errors->error < 0 ? errors->error : -COR_ENOMEM;
        return;
    }
    e->schema = schema;
    e->errors = errors;
    note(e, cor_json_nodes_init(&e->json, json));
    if (errors->error == 0 && is_resource && !cor_structural_is(node, COR_STRUCTURAL_EMBEDDED) &&
        cor_json_node_first(&e->json, 0) == '{')
        check_resource(e, 0, path);
    if (errors->error == 0)
        check_value(e, node, 0, path);
    cor_json_nodes_deinit(&e->json);
    cor_free(e);
}

void cor_structural_check_embedded(const struct cor_structural *schema,
                                   const struct cor_structural_validation *validation,
                                   struct cor_field_errors *errors)
{
    if (!validation->is_status)
        cor_structural_check_embedded_value(schema, cor_structural_root(schema), false,
                                            validation->object, NULL, errors);
}
