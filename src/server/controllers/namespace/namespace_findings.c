/* clang-format off */
/* What a pass of namespace deletion has found, and the conditions that follow from it.
 *
 *   the pass adds findings ──► cor_namespace_findings_apply(): for each of the five types the
 *   findings' message, or the text that all is well ──► cor_builder_set_condition(), which keeps
 *   the transition time of a condition whose status is the same
 *
 * Upstream sorts the parts of a message, so that a message changes only when a finding does; the
 * lists are sorted here, too. The errors of the pass keep the order in which they were found.
 * Failures: see the header. Texts are bounded by the maximum of an object's bytes: a message that
 * does not fit could not be stored.
 * Thread: one at a time. */
/* clang-format on */
#include "server/controllers/namespace/namespace_findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/str_set.h"
#include "coracle/builder.h"
#include "coracle/metadata.h"
#include "coracle/view.h"
#include "meta/object/object_edit.h"
#include "json/text/scan.h"

#define TEXT_MAX COR_OBJECT_BYTES_MAX_DEFAULT

COR_DEFINE_CLEANUP(struct cor_builder, cor_builder_free)

struct finalizer_count {
    size_t n;
    size_t len;
    char name[];
};

/* Finalizers. */

void cor_finalizer_counts_init(struct cor_finalizer_counts *counts)
{
    cor_map_init(&counts->map, COR_FINALIZERS_MAX);
}

void cor_finalizer_counts_deinit(struct cor_finalizer_counts *counts)
{
    for (struct cor_map_iter it = cor_map_iter(&counts->map); cor_map_next(&counts->map, &it);)
        cor_free(it.value);
    cor_map_deinit(&counts->map);
}

static int counts_add(struct cor_finalizer_counts *counts, struct cor_str name, size_t n)
{
    struct finalizer_count *count = cor_map_peek(&counts->map, name);
    int r;

    if (count) {
        count->n += n;
        return 0;
    }
    count = cor_alloc(sizeof(*count) + name.n);
    if (!count)
        return -COR_ENOMEM;
    count->n = n;
    count->len = name.n;
    memcpy(count->name, name.p, name.n);
    r = cor_map_put(&counts->map, cor_str(count->name, count->len), count, NULL);
    if (r < 0)
        cor_free(count);
    return r;
}

int cor_finalizer_counts_add(struct cor_finalizer_counts *counts, const struct cor_object *object)
{
    struct cor_view metadata = cor_view_member(cor_object_view(object), COR_STR("metadata"));
    struct cor_view_iter it = cor_view_iter(cor_view_member(metadata, COR_STR("finalizers")));
    struct cor_str raw;
    int r = 0;

    /* Finalizers are qualified names: they have no escapes. */
    while (r == 0 && cor_view_next(&it))
        if (cor_view_raw(it.value, &raw) == 0)
            r = counts_add(counts, raw, 1);
    return r;
}

/* Texts. */

static void texts_deinit(struct cor_namespace_texts *texts)
{
    for (size_t i = 0; i < texts->n; i++)
        cor_free(texts->v[i]);
    cor_free(texts->v);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int texts_add(struct cor_namespace_texts *texts, const char *text)
{
    int r = COR_ARRAY_RESERVE(&texts->v, texts->n, &texts->cap, COR_ARRAY_NO_MAX);
    char *copy;

    if (r < 0)
        return r;
    copy = cor_strndup(text, strlen(text));
    if (!copy)
        return -COR_ENOMEM;
    texts->v[texts->n++] = copy;
    return 0;
}

/* Appends all texts in byte order, with commas. */
static int texts_join(struct cor_namespace_texts *texts, struct cor_buf *out)
{
    int r = 0;

    if (texts->n > 0)
        qsort(texts->v, texts->n, sizeof(texts->v[0]), by_text);
    for (size_t i = 0; r == 0 && i < texts->n; i++) {
        r = i > 0 ? cor_buf_addz(out, ", ") : 0;
        if (r == 0)
            r = cor_buf_addz(out, texts->v[i]);
    }
    return r;
}

/* Findings. */

void cor_namespace_findings_init(struct cor_namespace_findings *f)
{
    *f = (struct cor_namespace_findings){0};
    cor_buf_init(&f->discovery, TEXT_MAX);
    cor_buf_init(&f->parsing, TEXT_MAX);
    cor_finalizer_counts_init(&f->finalizers);
}

void cor_namespace_findings_deinit(struct cor_namespace_findings *f)
{
    cor_buf_deinit(&f->discovery);
    cor_buf_deinit(&f->parsing);
    texts_deinit(&f->errors);
    texts_deinit(&f->failures);
    texts_deinit(&f->remaining);
    cor_finalizer_counts_deinit(&f->finalizers);
}

static void findings_note(struct cor_namespace_findings *f, int r)
{
    if (f->r == 0)
        f->r = r;
}

void cor_namespace_findings_add_discovery(struct cor_namespace_findings *f,
                                          const struct cor_api_resources *resources,
                                          const struct cor_status *error)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, TEXT_MAX);
    if (resources) {
        r = cor_api_resources_print_failures(resources, &text);
        if (r == 0)
            r = cor_buf_addf(&f->discovery, "Discovery failed for some groups, %zu failing: %s",
                             resources->nfailures, cor_buf_z(&text));
    } else {
        r = cor_buf_addz(&text, cor_status_message(error));
        if (r == 0)
            r = cor_buf_adds(&f->discovery, cor_buf_str(&text));
    }
    findings_note(f, r < 0 ? r : texts_add(&f->errors, cor_buf_z(&text)));
}

void cor_namespace_findings_add_parsing(struct cor_namespace_findings *f, struct cor_str message)
{
    int r;

    if (f->parsing.n > 0)
        return;
    r = cor_buf_adds(&f->parsing, message);
    findings_note(f, r < 0 ? r : texts_add(&f->errors, cor_buf_z(&f->parsing)));
}

void cor_namespace_findings_add_failure(struct cor_namespace_findings *f, const char *message,
                                        struct cor_str pods_of)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r = 0;

    cor_buf_init(&text, TEXT_MAX);
    if (pods_of.n > 0)
        r = cor_buf_addf(&text,
                         "failed to delete pods for namespace: %.*s, err: ", COR_STR_ARG(pods_of));
    if (r == 0)
        r = cor_buf_addz(&text, message);
    if (r == 0)
        r = texts_add(&f->errors, cor_buf_z(&text));
    findings_note(f, r < 0 ? r : texts_add(&f->failures, message));
}

void cor_namespace_findings_add_remaining(struct cor_namespace_findings *f,
                                          const struct cor_gvr *gvr, size_t n,
                                          const struct cor_finalizer_counts *finalizers)
{
    struct cor_map_iter it = cor_map_iter(&finalizers->map);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, TEXT_MAX);
    r = cor_buf_addf(&text, "%.*s.%.*s has %zu resource instances", COR_STR_ARG(gvr->resource),
                     COR_STR_ARG(gvr->group), n);
    if (r == 0)
        r = texts_add(&f->remaining, cor_buf_z(&text));
    while (r == 0 && cor_map_next(&finalizers->map, &it))
        r = counts_add(&f->finalizers, it.key, ((struct finalizer_count *)it.value)->n);
    findings_note(f, r);
}

int cor_namespace_findings_error(const struct cor_namespace_findings *f, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen;
    size_t nseen = 0;
    int r = f->r;

    cor_buf_init(&text, TEXT_MAX);
    cor_str_set_init(&seen, f->errors.n + 1);
    for (size_t i = 0; r == 0 && i < f->errors.n; i++) {
        bool is_new;

        r = cor_str_set_add(&seen, cor_strz(f->errors.v[i]), &is_new);
        if (r < 0 || !is_new)
            continue;
        r = nseen++ > 0 ? cor_buf_addz(&text, ", ") : 0;
        if (r == 0)
            r = cor_buf_addz(&text, f->errors.v[i]);
    }
    if (r < 0)
        return cor_status_set_err(reterr, r);
    if (nseen == 0)
        return 0;
    return cor_status_untyped(reterr, -COR_EIO, nseen > 1 ? "[%s]" : "%s", cor_buf_z(&text));
}

/* Conditions. */

static const struct {
    const char *type, *good_reason, *good_message, *bad_reason;
} conditions[] = {
    {"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
     "All resources successfully discovered", "DiscoveryFailed"},
    {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
     "All legacy kube types successfully parsed", "GroupVersionParsingFailed"},
    {"NamespaceDeletionContentFailure", "ContentDeleted",
     "All content successfully deleted, may be waiting on finalization", "ContentDeletionFailed"},
    {"NamespaceContentRemaining", "ContentRemoved", "All content successfully removed",
     "SomeResourcesRemain"},
    {"NamespaceFinalizersRemaining", "ContentHasNoFinalizers",
     "All content-preserving finalizers finished", "SomeFinalizersRemain"},
};

enum { DISCOVERY, PARSING, CONTENT, REMAINING, FINALIZERS };

/* Appends the message of the finding; nothing when there is no such finding. */
static int finding_print(struct cor_namespace_findings *f, size_t which, struct cor_buf *out)
{
    struct cor_map_iter it = cor_map_iter(&f->finalizers.map);
    struct cor_namespace_texts parts = {0};
    int r = 0;

    switch (which) {
    case DISCOVERY:
        return cor_buf_adds(out, cor_buf_str(&f->discovery));
    case PARSING:
        return cor_buf_adds(out, cor_buf_str(&f->parsing));
    case CONTENT:
        if (f->failures.n == 0)
            return 0;
        r = cor_buf_addf(out,
                         "Failed to delete all resource types, %zu remaining: ", f->failures.n);
        return r < 0 ? r : texts_join(&f->failures, out);
    case REMAINING:
        if (f->remaining.n == 0)
            return 0;
        r = cor_buf_addz(out, "Some resources are remaining: ");
        return r < 0 ? r : texts_join(&f->remaining, out);
    }
    if (cor_map_len(&f->finalizers.map) == 0)
        return 0;
    r = cor_buf_addz(out, "Some content in the namespace has finalizers remaining: ");
    while (r == 0 && cor_map_next(&f->finalizers.map, &it)) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf part;

        cor_buf_init(&part, TEXT_MAX);
        r = cor_buf_addf(&part, "%.*s in %zu resource instances", COR_STR_ARG(it.key),
                         ((struct finalizer_count *)it.value)->n);
        if (r == 0)
            r = texts_add(&parts, cor_buf_z(&part));
    }
    if (r == 0)
        r = texts_join(&parts, out);
    texts_deinit(&parts);
    return r;
}

int cor_namespace_findings_apply(struct cor_namespace_findings *f, const struct cor_object *ns,
                                 int64_t now_s, struct cor_object **ret_object,
                                 struct cor_status *reterr)
{
    COR_CLEANUP(cor_builder_freep) struct cor_builder *b = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf message;
    bool is_changed = false;
    int r = f->r < 0 ? f->r : cor_builder_new(ns, &b);

    cor_buf_init(&message, TEXT_MAX);
    for (size_t i = 0; r >= 0 && i < COR_ARRAY_LEN(conditions); i++) {
        struct cor_condition condition = {COR_CONDITION,
                                          .type = conditions[i].type,
                                          .status = "False",
                                          .reason = conditions[i].good_reason,
                                          .message = conditions[i].good_message,
                                          .transition_s = now_s};

        cor_buf_reset(&message);
        r = finding_print(f, i, &message);
        if (r == 0 && message.n > 0) {
            condition.status = "True";
            condition.reason = conditions[i].bad_reason;
            condition.message = cor_buf_z(&message);
        }
        if (r == 0)
            r = cor_builder_set_condition(b, &condition);
        is_changed |= r > 0;
    }
    if (r < 0)
        return cor_status_set_err(reterr, r);
    *ret_object = NULL;
    return is_changed ? cor_builder_finish(b, ret_object, reterr) : 0;
}
