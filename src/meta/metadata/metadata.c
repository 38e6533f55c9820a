/* Deletion, generations and finalizers of objects (coracle/metadata.h). Owner references and
 * conditions have files of their own. Each function reads the bytes again: nothing is kept.
 * Thread: any; a builder is used by one thread at a time. */
#include "meta/metadata/metadata.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "meta/object/builder.h"
#include "meta/object/object.h"
#include "meta/value/time_text.h"

static struct cor_view meta_member(struct cor_view root, const char *key)
{
    return cor_view_member(cor_view_member(root, COR_STR("metadata")), cor_strz(key));
}

bool cor_view_is_text(struct cor_view view, struct cor_str text)
{
    char buf[COR_VIEW_IS_TEXT_MAX];
    struct cor_str decoded;

    return cor_view_text(view, buf, sizeof(buf), &decoded) == 0 && cor_str_eq(decoded, text);
}

bool cor_object_is_being_deleted(const struct cor_object *object)
{
    enum cor_json_type type =
        cor_view_type(meta_member(cor_object_head_view(object), "deletionTimestamp"));

    return type != COR_JSON_NONE && type != COR_JSON_NULL;
}

/* null is the same as an absent field. */
static int read_time(const struct cor_object *object, const char *key, int64_t *ret_unix_s)
{
    struct cor_view at = meta_member(cor_object_head_view(object), key);
    struct cor_str text;
    int r;

    if (cor_view_type(at) == COR_JSON_NULL)
        return -COR_ENOTFOUND;
    r = cor_view_raw(at, &text);
    return r < 0 ? r : cor_time_parse(text, ret_unix_s);
}

int cor_object_deletion_time(const struct cor_object *object, int64_t *ret_unix_s)
{
    return read_time(object, "deletionTimestamp", ret_unix_s);
}

int cor_object_creation_time(const struct cor_object *object, int64_t *ret_unix_s)
{
    return read_time(object, "creationTimestamp", ret_unix_s);
}

int cor_object_deletion_grace_s(const struct cor_object *object, int64_t *ret_s)
{
    struct cor_view at = meta_member(cor_object_head_view(object), "deletionGracePeriodSeconds");

    return cor_view_type(at) == COR_JSON_NULL ? -COR_ENOTFOUND : cor_view_int(at, ret_s);
}

int64_t cor_object_generation(const struct cor_object *object)
{
    return cor_view_int_or(meta_member(cor_object_head_view(object), "generation"), 0);
}

static struct cor_view observed_generation(struct cor_view root)
{
    return cor_view_member(cor_view_member(root, COR_STR("status")), COR_STR("observedGeneration"));
}

int64_t cor_object_observed_generation(const struct cor_object *object)
{
    return cor_view_int_or(observed_generation(cor_object_view(object)), 0);
}

int cor_builder_set_observed_generation(struct cor_builder *b)
{
    int64_t generation = cor_view_int_or(meta_member(cor_builder_view(b), "generation"), 0);
    int r = cor_builder_failure(b);

    if (r < 0)
        return r;
    if (cor_view_int_or(observed_generation(cor_builder_view(b)), 0) == generation)
        return 0;
    r = cor_builder_set_int(b, "status.observedGeneration", generation);
    return r < 0 ? r : 1;
}

/* The index of the finalizer; -1: there is none. */
static int64_t find_finalizer(struct cor_view root, const char *finalizer)
{
    struct cor_view_iter it = cor_view_iter(meta_member(root, "finalizers"));

    for (int64_t i = 0; cor_view_next(&it); i++)
        if (cor_view_is_text(it.value, cor_strz(finalizer)))
            return i;
    return -1;
}

bool cor_object_has_finalizer(const struct cor_object *object, const char *finalizer)
{
    return find_finalizer(cor_object_head_view(object), finalizer) >= 0;
}

int cor_builder_add_finalizer(struct cor_builder *b, const char *finalizer)
{
    int r = cor_builder_failure(b);

    if (r < 0 || find_finalizer(cor_builder_view(b), finalizer) >= 0)
        return r;
    if (!finalizer || !*finalizer)
        return cor_builder_refuse(b, -COR_EINVAL, "metadata.finalizers: the finalizer is empty");
    r = cor_builder_append_text(b, "metadata.finalizers", cor_strz(finalizer));
    return r < 0 ? r : 1;
}

int cor_builder_remove_element(struct cor_builder *b, const char *path, int64_t i, size_t n)
{
    char element[COR_ELEMENT_PATH_MAX];
    int len;

    assert(i >= 0 && n > (size_t)i);
    if (n == 1)
        return cor_builder_remove(b, path);
    len = snprintf(element, sizeof(element), "%s[%lld]", path, (long long)i);
    assert(len > 0 && (size_t)len < sizeof(element));
    (void)len;
    return cor_builder_remove(b, element);
}

int cor_builder_remove_finalizer(struct cor_builder *b, const char *finalizer)
{
    int r = cor_builder_failure(b), removed = 0;

    while (r == 0) {
        struct cor_view root = cor_builder_view(b);
        int64_t i = find_finalizer(root, finalizer);

        if (i < 0)
            break;
        r = cor_builder_remove_element(b, "metadata.finalizers", i,
                                       cor_view_len(meta_member(root, "finalizers")));
        removed = 1;
    }
    return r < 0 ? r : removed;
}
