/* What the garbage collector reads of an object's metadata, and the patches that it sends.
 *
 * Reading: the list of owner references is walked as bytes, each member once;
 * texts are borrowed from the object, without a copy. Writing: each patch of contract
 * controllers 2.6 is one function, strategic merge first, and the merge patch for servers that
 * refuse the first. Failures: reading has none, since an absent member is empty; a patch fails
 * without memory, or when it exceeds the maximum of its buffer. Thread: the host's loop. */
#include "server/controllers/gc/gc_refs.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "json/write/print.h"

struct cor_gc_refs_iter cor_gc_refs_of(struct cor_str owners)
{
    return (struct cor_gc_refs_iter){cor_json_iter(owners)};
}

struct cor_gc_refs_iter cor_gc_refs(const struct cor_object *object)
{
    return cor_gc_refs_of(cor_object_owners(object));
}

/* The text of a string between its quotes; empty for any other value. */
static struct cor_str text_of(struct cor_str value)
{
    struct cor_str raw;

    return cor_json_to_raw(value, &raw) < 0 ? COR_STR("") : raw;
}

/* One member of a reference. */
static void ref_take(struct cor_gc_ref *ref, struct cor_str key, struct cor_str value)
{
    if (cor_json_raw_eq(key, COR_STR("apiVersion")))
        ref->api_version = text_of(value);
    else if (cor_json_raw_eq(key, COR_STR("blockOwnerDeletion")))
        ref->blocks = cor_json_to_bool(value, &ref->blocks) == 0 && ref->blocks;
    else if (cor_json_raw_eq(key, COR_STR("kind")))
        ref->kind = text_of(value);
    else if (cor_json_raw_eq(key, COR_STR("name")))
        ref->name = text_of(value);
    else if (cor_json_raw_eq(key, COR_STR("uid")))
        ref->uid = text_of(value);
}

/* Goes over the members once: an object may have thousands of references. */
bool cor_gc_refs_next(struct cor_gc_refs_iter *it, struct cor_gc_ref *ret_ref)
{
    const struct cor_str none = COR_STR("");
    struct cor_json_iter members;
    struct cor_str key, json;

    if (!cor_json_iter_elem(&it->json))
        return false;
    json = cor_json_iter_value(&it->json);
    *ret_ref = (struct cor_gc_ref){
        .api_version = none, .kind = none, .name = none, .uid = none, .json = json};
    members = cor_json_iter(cor_json_type(json) == COR_JSON_OBJECT ? json : none);
    while (cor_json_iter_member(&members, &key))
        ref_take(ret_ref, key, cor_json_iter_value(&members));
    return true;
}

bool cor_gc_uid_is_usable(struct cor_str uid)
{
    return uid.n > 0 && uid.n <= COR_GC_UID_MAX && cor_str_find(uid, '/') < 0;
}

static struct cor_str metadata_of(const struct cor_object *object)
{
    return cor_str_from(cor_object_json(object), object->meta_at);
}

static struct cor_str finalizers_of(const struct cor_object *object)
{
    struct cor_str value;

    if (cor_json_get(metadata_of(object), COR_STR("finalizers"), cor_object_order(object), &value) <
        0)
        return COR_STR("");
    return value;
}

struct cor_gc_deletion cor_gc_deletion(const struct cor_object *object)
{
    struct cor_gc_deletion d = {0};
    struct cor_json_iter it;
    struct cor_str value, raw;

    d.is_begun = cor_json_get(metadata_of(object), COR_STR("deletionTimestamp"),
                              cor_object_order(object), &value) == 0 &&
                 cor_json_to_raw(value, &raw) == 0;
    it = cor_json_iter(finalizers_of(object));
    while (cor_json_iter_elem(&it)) {
        if (cor_json_to_raw(cor_json_iter_value(&it), &raw) < 0)
            continue;
        d.has_foreground |= cor_str_eqz(raw, COR_GC_FOREGROUND);
        d.has_orphan |= cor_str_eqz(raw, COR_GC_ORPHAN);
    }
    return d;
}

/* The beginning of a patch: {"metadata":{"<key>":"<value>","<list>": … `list` may be NULL. */
static void patch_begin(struct cor_json_writer *w, struct cor_buf *out, const char *key,
                        struct cor_str value, const char *list)
{
    cor_json_writer_init(w, out);
    cor_json_print(w, "{metadata:{");
    cor_json_member(w, cor_strz(key), value);
    if (list)
        cor_json_key(w, cor_strz(list));
}

static int patch_end(struct cor_json_writer *w)
{
    cor_json_end_object(w);
    cor_json_end_object(w);
    return cor_json_writer_finish(w);
}

int cor_gc_patch_drop(struct cor_buf *out, struct cor_str uid, const struct cor_str *owners,
                      size_t n)
{
    struct cor_json_writer w;

    patch_begin(&w, out, "uid", uid, "ownerReferences");
    cor_json_begin_array(&w);
    for (size_t i = 0; i < n; i++) {
        cor_json_begin_object(&w);
        cor_json_member(&w, COR_STR("$patch"), COR_STR("delete"));
        cor_json_key(&w, COR_STR("uid"));
        cor_json_begin_string(&w);
        cor_json_add_raw_text(&w, owners[i]);
        cor_json_end_string(&w);
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    return patch_end(&w);
}

int cor_gc_patch_drop_merge(struct cor_buf *out, const struct cor_object *object,
                            const struct cor_str *owners, size_t n)
{
    COR_CLEANUP(cor_map_deinit) struct cor_map dropped;
    struct cor_gc_refs_iter it = cor_gc_refs(object);
    struct cor_json_writer w;
    struct cor_gc_ref ref;
    bool has_any = false;

    cor_map_init(&dropped, n);
    for (size_t i = 0; i < n; i++) {
        if (cor_map_put(&dropped, owners[i], out, NULL) < 0)
            return -COR_ENOMEM;
    }
    patch_begin(&w, out, "resourceVersion", cor_object_resource_version(object), "ownerReferences");
    while (cor_gc_refs_next(&it, &ref)) {
        if (cor_map_peek(&dropped, ref.uid))
            continue;
        if (!has_any)
            cor_json_begin_array(&w);
        has_any = true;
        cor_json_raw(&w, ref.json);
    }
    if (has_any)
        cor_json_end_array(&w);
    else
        cor_json_null(&w);
    return patch_end(&w);
}

/* A reference with blockOwnerDeletion false, and its other members as they are. */
static void write_unblocked(struct cor_json_writer *w, const struct cor_gc_ref *ref)
{
    struct cor_json_iter it = cor_json_iter(ref->json);
    struct cor_str key;

    cor_json_begin_object(w);
    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);

        if (cor_str_eqz(key, "blockOwnerDeletion"))
            continue;
        cor_json_raw_key(w, key);
        cor_json_raw(w, value);
    }
    cor_json_print(w, "blockOwnerDeletion:false}");
}

static void write_all_unblocked(struct cor_json_writer *w, const struct cor_object *object,
                                bool only_blocking)
{
    struct cor_gc_refs_iter it = cor_gc_refs(object);
    struct cor_gc_ref ref;

    cor_json_begin_array(w);
    while (cor_gc_refs_next(&it, &ref)) {
        if (ref.blocks || !only_blocking)
            write_unblocked(w, &ref);
    }
    cor_json_end_array(w);
}

static bool has_blocking(const struct cor_object *object)
{
    struct cor_gc_refs_iter it = cor_gc_refs(object);
    struct cor_gc_ref ref;

    while (cor_gc_refs_next(&it, &ref)) {
        if (ref.blocks)
            return true;
    }
    return false;
}

int cor_gc_patch_unblock(struct cor_buf *out, const struct cor_object *object)
{
    struct cor_json_writer w;

    if (!has_blocking(object)) {
        patch_begin(&w, out, "uid", cor_object_uid(object), NULL);
        return patch_end(&w);
    }
    patch_begin(&w, out, "uid", cor_object_uid(object), "ownerReferences");
    write_all_unblocked(&w, object, true);
    return patch_end(&w);
}

int cor_gc_patch_unblock_merge(struct cor_buf *out, const struct cor_object *object)
{
    struct cor_json_writer w;

    patch_begin(&w, out, "resourceVersion", cor_object_resource_version(object), "ownerReferences");
    write_all_unblocked(&w, object, false);
    return patch_end(&w);
}

int cor_gc_patch_finalizers(struct cor_buf *out, const struct cor_object *object,
                            struct cor_str finalizer)
{
    struct cor_json_iter it = cor_json_iter(finalizers_of(object));
    struct cor_json_writer w;
    bool has_any = false;

    patch_begin(&w, out, "resourceVersion", cor_object_resource_version(object), "finalizers");
    while (cor_json_iter_elem(&it)) {
        struct cor_str value = cor_json_iter_value(&it), raw;

        if (cor_json_to_raw(value, &raw) == 0 && cor_str_eq(raw, finalizer))
            continue;
        if (!has_any)
            cor_json_begin_array(&w);
        has_any = true;
        cor_json_raw(&w, value);
    }
    if (has_any)
        cor_json_end_array(&w);
    else
        cor_json_null(&w);
    return patch_end(&w);
}
