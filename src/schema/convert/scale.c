/* What the scale subresource shows of a Deployment, ReplicaSet, StatefulSet or
 * ReplicationController. */
#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "meta/names/field_error.h"
#include "meta/select/label_selector.h"
#include "schema/convert/conversion.h"
#include "json/text/scan.h"
#include "json/write/edits.h"
#include "json/write/print.h"

#define SELECTOR_MAX (64u * 1024)

void cor_scale_write_metadata(struct cor_str json, struct cor_json_writer *w)
{
    static const char *const kept[] = {"creationTimestamp", "name", "namespace", "resourceVersion",
                                       "uid"};
    struct cor_str metadata = cor_convert_member(json, "metadata");

    cor_json_key(w, COR_STR("metadata"));
    cor_json_begin_object(w);
    for (size_t i = 0; i < COR_ARRAY_LEN(kept); i++) {
        struct cor_str value = cor_convert_member(metadata, kept[i]);

        if (!value.p)
            continue;
        cor_json_key(w, cor_strz(kept[i]));
        cor_json_raw(w, value);
    }
    cor_json_end_object(w);
}

/* As a LabelSelector. A ReplicationController has a plain map, or what its template's labels are.
 */
static int find_selector(struct cor_str json, struct cor_buf *out)
{
    struct cor_str spec = cor_convert_member(json, "spec"), kind;
    struct cor_str selector = cor_convert_member(spec, "selector");

    if (cor_json_to_raw(cor_convert_member(json, "kind"), &kind) < 0 ||
        !cor_str_eq(kind, COR_STR("ReplicationController")))
        return cor_buf_adds(out, selector.p ? selector : COR_STR("{}"));
    if (!selector.p)
        selector = cor_convert_member(
            cor_convert_member(cor_convert_member(spec, "template"), "metadata"), "labels");
    return cor_buf_addf(out, "{\"matchLabels\":%.*s}",
                        COR_STR_ARG(selector.p ? selector : COR_STR("{}")));
}

/* Appends the selector as text; nothing when it cannot be read. */
static int print_selector(struct cor_str json, struct cor_buf *out)
{
    static const struct cor_field_path path = {.name = COR_STR("selector")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    COR_CLEANUP(cor_label_selector_freep) struct cor_label_selector *selector = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    int r;

    cor_buf_init(&text, COR_OBJECT_BYTES_MAX_DEFAULT);
    r = find_selector(json, &text);
    if (r == 0)
        r = cor_label_selector_read(cor_buf_str(&text), &path, &errs, &selector);
    if (r == -COR_EINVALID)
        return 0;
    return r < 0 ? r : cor_label_selector_print(selector, out);
}

static int from_stored(struct cor_str json, struct cor_json_writer *w)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf selector = {0};
    struct cor_str wanted = cor_convert_member(cor_convert_member(json, "spec"), "replicas");
    struct cor_str there = cor_convert_member(cor_convert_member(json, "status"), "replicas");
    int r;

    cor_buf_init(&selector, SELECTOR_MAX);
    r = print_selector(json, &selector);
    if (r < 0 && r != -COR_ETOOBIG)
        return r;
    cor_scale_write_metadata(json, w);
    cor_json_key(w, COR_STR("spec"));
    cor_json_begin_object(w);
    if (!cor_str_eq(wanted, COR_STR("0"))) {
        cor_json_key(w, COR_STR("replicas"));
        cor_json_raw(w, wanted.p ? wanted : COR_STR("1"));
    }
    cor_json_print(w, "},status:{replicas:%j", there.p ? there : COR_STR("0"));
    if (selector.n > 0)
        cor_json_member(w, COR_STR("selector"), cor_buf_str(&selector));
    cor_json_end_object(w);
    return w->error;
}

const struct cor_conversion cor_scale_conversion = {from_stored, NULL};
