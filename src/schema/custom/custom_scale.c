/* Reads and sets the fields of a custom resource's scale. The words about values of another type
 * are those of apimachinery's accessors, which clients see. Failures: as the header says. Thread:
 * any. */
#include "schema/custom/custom_scale.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/object/object.h"
#include "schema/go/go_text.h"
#include "json/text/scan.h"
#include "json/write/edits.h"
#include "json/write/print.h"

#define MAP_TYPE "map[string]interface{}"

const struct cor_conversion cor_custom_scale_conversion = {NULL, NULL};

/* --- the paths ------------------------------------------------------------------------------ */

/* The text of a member, at *at, which is moved behind it. */
static struct cor_str take_path(struct cor_str object, const char *key, char **at)
{
    struct cor_str raw, text = {"", 0};

    if (cor_json_to_raw(cor_convert_member(object, key), &raw) < 0 || raw.n == 0)
        return text;
    (void)cor_json_unescape(raw, *at, raw.n, &text);
    if (text.p != *at)
        memcpy(*at, text.p, text.n);
    text.p = *at;
    *at += text.n;
    return text;
}

int cor_custom_scale_new(struct cor_str subresources, struct cor_custom_scale **ret_scale)
{
    struct cor_str json = cor_convert_member(subresources, "scale");
    struct cor_custom_scale *scale;
    char *at;

    *ret_scale = NULL;
    if (!json.p)
        return 0;
    /* The texts lie behind the struct, and are shorter than the JSON that has them. */
    scale = cor_alloc(sizeof(*scale) + json.n);
    if (!scale)
        return -COR_ENOMEM;
    at = (char *)(scale + 1);
    scale->spec = take_path(json, "specReplicasPath", &at);
    scale->status = take_path(json, "statusReplicasPath", &at);
    scale->selector = take_path(json, "labelSelectorPath", &at);
    *ret_scale = scale;
    return 0;
}

struct cor_custom_scale *cor_custom_scale_free(struct cor_custom_scale *scale)
{
    return cor_free(scale);
}

static struct cor_str without_dot(struct cor_str path)
{
    return path.n > 0 && path.p[0] == '.' ? cor_str_from(path, 1) : path;
}

/* --- reading -------------------------------------------------------------------------------- */

/* `path` is printed with a dot before it. */
static int refuse_type(struct cor_str path, struct cor_str value, const char *wanted,
                       struct cor_buf *why)
{
    int r = cor_buf_addf(why, ".%.*s accessor error: ", COR_STR_ARG(path));

    if (r == 0)
        r = cor_go_text(value, why);
    if (r == 0)
        r = cor_buf_addf(why, " is of the type %s, expected %s", cor_go_type_of(value), wanted);
    return r == -COR_ENOMEM ? r : -COR_EINVAL;
}

/* The value at a path: 1 and the value, which may be null; 0: it is absent; -COR_EINVAL: something
 * on the way is not an object; -COR_ENOMEM. */
static int value_at(struct cor_str object, struct cor_str path, struct cor_str *ret_value,
                    struct cor_buf *why)
{
    struct cor_str all = without_dot(path), rest = all, value = object;

    while (rest.p) {
        struct cor_str segment = cor_str_cut(&rest, '.');

        if (cor_json_type(value) == COR_JSON_NULL)
            return 0;
        if (cor_json_type(value) != COR_JSON_OBJECT)
            return refuse_type(cor_str(all.p, (size_t)(segment.p + segment.n - all.p)), value,
                               MAP_TYPE, why);
        if (cor_json_get(value, segment, value.p == object.p ? COR_JSON_ANY_ORDER : COR_JSON_SORTED,
                         &value) < 0)
            return 0;
    }
    *ret_value = value;
    return 1;
}

/* 1, 0 (absent) or a failure, as value_at(). */
static int integer_at(struct cor_str object, struct cor_str path, int64_t *ret, struct cor_buf *why)
{
    struct cor_str value;
    int r = value_at(object, path, &value, why);

    *ret = 0;
    if (r == 1 && cor_json_to_i64(value, ret) < 0)
        return refuse_type(without_dot(path), value, "int64", why);
    return r;
}

static int text_at(struct cor_str object, struct cor_str path, struct cor_str *ret_raw,
                   struct cor_buf *why)
{
    struct cor_str value;
    int r = value_at(object, path, &value, why);

    *ret_raw = COR_STR("");
    if (r == 1 && cor_json_to_raw(value, ret_raw) < 0)
        return refuse_type(without_dot(path), value, "string", why);
    return r;
}

int cor_custom_scale_read(const struct cor_custom_scale *scale, struct cor_str object,
                          struct cor_custom_scale_values *ret_values, struct cor_buf *why)
{
    int r = integer_at(object, scale->spec, &ret_values->spec, why);

    ret_values->has_spec = r == 1;
    ret_values->selector = COR_STR("");
    if (r >= 0)
        r = integer_at(object, scale->status, &ret_values->status, why);
    if (r >= 0 && scale->selector.n > 0)
        r = text_at(object, scale->selector, &ret_values->selector, why);
    return r < 0 ? r : 0;
}

/* --- the Scale ------------------------------------------------------------------------------ */

void cor_custom_scale_write(const struct cor_custom_scale_values *values, struct cor_str object,
                            struct cor_json_writer *w)
{
    int32_t wanted = (int32_t)(uint32_t)values->spec, there = (int32_t)(uint32_t)values->status;

    cor_scale_write_metadata(object, w);
    cor_json_key(w, COR_STR("spec"));
    cor_json_begin_object(w);
    if (wanted != 0) {
        cor_json_key(w, COR_STR("replicas"));
        cor_json_i64(w, wanted);
    }
    cor_json_print(w, "},status:{replicas:%d", there);
    if (values->selector.n > 0) {
        cor_json_key(w, COR_STR("selector"));
        cor_json_begin_string(w);
        cor_json_add_raw_text(w, values->selector);
        cor_json_end_string(w);
    }
    cor_json_end_object(w);
}

/* --- writing -------------------------------------------------------------------------------- */

/* Sets the value below `parent`, whose members begin at `rest`; p == NULL: it is made. */
static int set_below(struct cor_str parent, struct cor_str all, struct cor_str rest,
                     struct cor_str replicas, unsigned depth, struct cor_buf *out,
                     struct cor_buf *why)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf inner = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str segment = cor_str_cut(&rest, '.'), child = {NULL, 0};
    struct cor_edits edits = {.n = 0};
    int r = 0;

    if (depth > COR_CUSTOM_SCALE_SEGMENTS_MAX)
        return -COR_ETOOBIG;
    if (!rest.p) {
        cor_edits_set(&edits, segment, replicas);
        return cor_edits_apply(&edits, parent.p ? parent : COR_STR("{}"), out);
    }
    if (parent.p && cor_json_get(parent, segment, COR_JSON_SORTED, &child) == 0 &&
        cor_json_type(child) != COR_JSON_OBJECT) {
        r = cor_buf_addf(why, "value cannot be set because .%.*s is not a " MAP_TYPE,
                         (int)(segment.p + segment.n - all.p), all.p);
        return r < 0 ? r : -COR_EINVAL;
    }
    r = set_below(child, all, rest, replicas, depth + 1, &inner, why);
    if (r < 0)
        return r;
    cor_edits_set(&edits, segment, cor_buf_str(&inner));
    return cor_edits_apply(&edits, parent.p ? parent : COR_STR("{}"), out);
}

int cor_custom_scale_set(const struct cor_custom_scale *scale, struct cor_str object,
                         struct cor_str replicas, struct cor_str *ret_key, struct cor_buf *out,
                         struct cor_buf *why)
{
    struct cor_str all = without_dot(scale->spec), rest = all, member;
    int r;

    *ret_key = cor_str_cut(&rest, '.');
    /* The rules of definitions have it begin with ".spec.". */
    assert(rest.p);
    if (cor_json_get(object, *ret_key, COR_JSON_ANY_ORDER, &member) < 0) {
        member = (struct cor_str){NULL, 0};
    } else if (cor_json_type(member) != COR_JSON_OBJECT) {
        r = cor_buf_addf(why, "value cannot be set because .%.*s is not a " MAP_TYPE,
                         COR_STR_ARG(*ret_key));
        return r < 0 ? r : -COR_EINVAL;
    }
    return set_below(member, all, rest, replicas, 1, out, why);
}

/* --- the rules ------------------------------------------------------------------------------ */

static void check_replicas(struct cor_str object, struct cor_str path,
                           struct cor_field_errors *errors)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_field_path field = {.name = path};
    char text[32];
    int64_t n;
    int r = integer_at(object, path, &n, &why);

    snprintf(text, sizeof(text), "%lld", (long long)n);
    if (r == -COR_ENOMEM)
        errors->error = r;
    else if (r < 0)
        cor_field_errors_add(errors, COR_FIELD_INVALID, &field, cor_field_json(COR_STR("0")),
                             cor_buf_z(&why));
    else if (n < 0)
        cor_field_errors_add(errors, COR_FIELD_INVALID, &field, cor_field_json(cor_strz(text)),
                             "should be a non-negative integer");
    else if (n > INT32_MAX)
        cor_field_errors_add(errors, COR_FIELD_INVALID, &field, cor_field_json(cor_strz(text)),
                             "should be less than or equal to 2147483647");
}

void cor_custom_scale_check(const struct cor_custom_scale *scale, struct cor_str object,
                            bool is_status, struct cor_field_errors *errors)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_field_path field = {.name = scale->selector};
    struct cor_str raw;
    int r = 0;

    if (!is_status)
        check_replicas(object, scale->spec, errors);
    check_replicas(object, scale->status, errors);
    if (scale->selector.n > 0)
        r = text_at(object, scale->selector, &raw, &why);
    if (r == -COR_ENOMEM)
        errors->error = r;
    else if (r < 0)
        cor_field_errors_add(errors, COR_FIELD_INVALID, &field, cor_field_string(COR_STR("")),
                             cor_buf_z(&why));
}
