/* Owner references of objects (coracle/metadata.h), with the rules of controllerutil: which object
 * may own which, one controller at most, and an entry of the same owner is replaced in place.
 *
 * Two references mean the same owner when their API groups, kinds and names are equal; the version
 * in apiVersion and the uid are not compared, so that an owner that was created again, or that is
 * known by a newer version of its API, takes the place of its old entry.
 * Thread: any; a builder is used by one thread at a time. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "meta/metadata/metadata.h"
#include "meta/object/builder.h"
#include "meta/object/object.h"
#include "meta/status/gvk.h"
#include "json/write/writer.h"

#define REFS      "metadata.ownerReferences"
#define REF_INDEX (sizeof(REFS) + 24)
#define REF_BYTES (64u * 1024)

static struct cor_str text_of(struct cor_view ref, const char *key)
{
    return cor_view_text_or(cor_view_member(ref, cor_strz(key)), NULL, 0, "");
}

static bool flag_of(struct cor_view ref, const char *key)
{
    return cor_view_bool_or(cor_view_member(ref, cor_strz(key)), false);
}

static struct cor_owner_ref read_ref(struct cor_view ref)
{
    return (struct cor_owner_ref){.api_version = text_of(ref, "apiVersion"),
                                  .kind = text_of(ref, "kind"),
                                  .name = text_of(ref, "name"),
                                  .uid = text_of(ref, "uid"),
                                  .is_controller = flag_of(ref, "controller"),
                                  .blocks_deletion = flag_of(ref, "blockOwnerDeletion")};
}

/* Most objects have no owner; the header of an object knows that without a scan. */
static struct cor_view object_refs(const struct cor_object *object)
{
    struct cor_view refs;

    if (object->owners.len == 0)
        return cor_view(COR_STR(""));
    refs = cor_view(cor_object_owners(object));
    refs.order = object->order;
    return refs;
}

static struct cor_view builder_refs(const struct cor_builder *b)
{
    return cor_view_member(cor_view_member(cor_builder_view(b), COR_STR("metadata")),
                           COR_STR("ownerReferences"));
}

bool cor_object_owner(const struct cor_object *object, size_t i, struct cor_owner_ref *ret)
{
    struct cor_view_iter it = cor_view_iter(object_refs(object));

    while (cor_view_next(&it))
        if (i-- == 0) {
            *ret = read_ref(it.value);
            return true;
        }
    return false;
}

static bool find_controller(struct cor_view refs, struct cor_owner_ref *ret)
{
    struct cor_view_iter it = cor_view_iter(refs);

    while (cor_view_next(&it))
        if (flag_of(it.value, "controller")) {
            *ret = read_ref(it.value);
            return true;
        }
    return false;
}

bool cor_object_controller(const struct cor_object *object, struct cor_owner_ref *ret)
{
    return find_controller(object_refs(object), ret);
}

bool cor_object_is_controlled_by(const struct cor_object *object, const struct cor_object *owner)
{
    struct cor_owner_ref ref;

    return cor_object_controller(object, &ref) && cor_str_eq(ref.uid, cor_object_uid(owner));
}

/* Is `ref` a reference to `owner`? An apiVersion with two slashes refers to nothing. */
static bool refers_to(const struct cor_owner_ref *ref, const struct cor_object *owner)
{
    struct cor_gv of_ref, of_owner;

    return cor_gv_parse(ref->api_version, &of_ref, NULL) == 0 &&
           cor_gv_parse(cor_object_api_version(owner), &of_owner, NULL) == 0 &&
           cor_str_eq(of_ref.group, of_owner.group) &&
           cor_str_eq(ref->kind, cor_object_kind(owner)) &&
           cor_str_eq(ref->name, cor_object_name(owner));
}

/* The index of the entry that refers to `owner`; -1: there is none. */
static int64_t find_owner(struct cor_view refs, const struct cor_object *owner,
                          struct cor_owner_ref *ret)
{
    struct cor_view_iter it = cor_view_iter(refs);

    for (int64_t i = 0; cor_view_next(&it); i++) {
        *ret = read_ref(it.value);
        if (refers_to(ret, owner))
            return i;
    }
    return -1;
}

bool cor_object_has_owner(const struct cor_object *object, const struct cor_object *owner)
{
    struct cor_owner_ref ref;

    return find_owner(object_refs(object), owner, &ref) >= 0;
}

static struct cor_str builder_text(const struct cor_builder *b, const char *key)
{
    return text_of(cor_view_member(cor_builder_view(b), COR_STR("metadata")), key);
}

/* The name of a type in the messages, which have Go's type there. */
static struct cor_str kind_or_object(struct cor_str kind)
{
    return kind.n > 0 ? kind : COR_STR("object");
}

static struct cor_str builder_kind(const struct cor_builder *b)
{
    return kind_or_object(text_of(cor_builder_view(b), "kind"));
}

static int check_owner(struct cor_builder *b, const struct cor_object *owner)
{
    const struct {
        const char *field;
        struct cor_str value;
    } wanted[] = {{"apiVersion", cor_object_api_version(owner)},
                  {"kind", cor_object_kind(owner)},
                  {"metadata.name", cor_object_name(owner)},
                  {"metadata.uid", cor_object_uid(owner)}};
    struct cor_str ours = builder_text(b, "namespace"), theirs = cor_object_namespace(owner);

    for (size_t i = 0; i < COR_ARRAY_LEN(wanted); i++)
        if (wanted[i].value.n == 0)
            return cor_builder_refuse(b, -COR_EINVAL, "the owner has no %s", wanted[i].field);
    if (theirs.n > 0 && ours.n == 0)
        return cor_builder_refuse(b, -COR_EINVAL,
                                  "cluster-scoped resource must not have a namespace-scoped owner, "
                                  "owner's namespace %.*s",
                                  COR_STR_ARG(theirs));
    if (theirs.n > 0 && !cor_str_eq(ours, theirs))
        return cor_builder_refuse(b, -COR_EINVAL,
                                  "cross-namespace owner references are disallowed, owner's "
                                  "namespace %.*s, obj's namespace %.*s",
                                  COR_STR_ARG(theirs), COR_STR_ARG(ours));
    return 0;
}

static int print_ref(const struct cor_object *owner, bool is_controller, struct cor_buf *out)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("apiVersion"), cor_object_api_version(owner));
    if (is_controller) {
        cor_json_key(&w, COR_STR("blockOwnerDeletion"));
        cor_json_bool(&w, true);
        cor_json_key(&w, COR_STR("controller"));
        cor_json_bool(&w, true);
    }
    cor_json_member(&w, COR_STR("kind"), cor_object_kind(owner));
    cor_json_member(&w, COR_STR("name"), cor_object_name(owner));
    cor_json_member(&w, COR_STR("uid"), cor_object_uid(owner));
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

/* Is the entry at index `i` these bytes? Members of the builder's bytes may be in another order, so
 * the values are compared one by one, and so is their number. */
static bool is_same_ref(struct cor_view refs, int64_t i, struct cor_view wanted)
{
    struct cor_view_iter it = cor_view_iter(refs);
    struct cor_view present = {0};

    do {
        if (!cor_view_next(&it))
            return false;
        present = it.value;
    } while (i-- > 0);
    if (cor_view_len(present) != cor_view_len(wanted))
        return false;
    it = cor_view_iter(wanted);
    while (cor_view_next(&it))
        if (!cor_str_eq(cor_view_member(present, it.key).json, it.value.json))
            return false;
    return true;
}

/* Replaces the entry of the same owner, or appends one. */
static int upsert_owner(struct cor_builder *b, const struct cor_object *owner, bool is_controller)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf ref;
    struct cor_owner_ref old;
    char path[REF_INDEX];
    int64_t i;
    int r;

    cor_buf_init(&ref, REF_BYTES);
    r = print_ref(owner, is_controller, &ref);
    if (r < 0)
        return cor_builder_refuse(b, r, REFS ": %s", cor_err_text(r));
    i = find_owner(builder_refs(b), owner, &old);
    if (i < 0) {
        r = cor_builder_append_json(b, REFS, cor_buf_str(&ref));
    } else if (is_same_ref(builder_refs(b), i, cor_view(cor_buf_str(&ref)))) {
        return 0;
    } else {
        snprintf(path, sizeof(path), REFS "[%" PRId64 "]", i);
        r = cor_builder_set_json(b, path, cor_buf_str(&ref));
    }
    return r < 0 ? r : 1;
}

int cor_builder_set_owner(struct cor_builder *b, const struct cor_object *owner)
{
    int r = cor_builder_failure(b);

    if (r == 0)
        r = check_owner(b, owner);
    return r < 0 ? r : upsert_owner(b, owner, false);
}

int cor_builder_set_controller(struct cor_builder *b, const struct cor_object *owner)
{
    struct cor_owner_ref present;
    int r = cor_builder_failure(b);

    if (r == 0)
        r = check_owner(b, owner);
    if (r < 0)
        return r;
    if (find_controller(builder_refs(b), &present) && !refers_to(&present, owner)) {
        struct cor_str ns = builder_text(b, "namespace"), name = builder_text(b, "name");

        return cor_builder_refuse(
            b, -COR_EPRECONDITION,
            "Object %.*s/%.*s is already owned by another %.*s controller %.*s", COR_STR_ARG(ns),
            COR_STR_ARG(name), COR_STR_ARG(present.kind), COR_STR_ARG(present.name));
    }
    return upsert_owner(b, owner, true);
}

static int remove_ref(struct cor_builder *b, int64_t i)
{
    int r = cor_builder_remove_element(b, REFS, i, cor_view_len(builder_refs(b)));

    return r < 0 ? r : 1;
}

int cor_builder_remove_owner(struct cor_builder *b, const struct cor_object *owner)
{
    struct cor_str kind = builder_kind(b), of_owner = kind_or_object(cor_object_kind(owner));
    struct cor_owner_ref ref;
    int64_t i;

    if (cor_builder_failure(b) < 0)
        return cor_builder_failure(b);
    if (cor_view_len(builder_refs(b)) == 0)
        return cor_builder_refuse(b, -COR_ENOTFOUND, "%.*s does not have any owner references",
                                  COR_STR_ARG(kind));
    i = find_owner(builder_refs(b), owner, &ref);
    if (i < 0)
        return cor_builder_refuse(b, -COR_ENOTFOUND,
                                  "%.*s does not have an owner reference for %.*s",
                                  COR_STR_ARG(kind), COR_STR_ARG(of_owner));
    return remove_ref(b, i);
}

int cor_builder_remove_controller(struct cor_builder *b, const struct cor_object *owner)
{
    struct cor_str kind = builder_kind(b), of_owner = kind_or_object(cor_object_kind(owner));
    struct cor_owner_ref ref;
    int64_t i;

    if (cor_builder_failure(b) < 0)
        return cor_builder_failure(b);
    if (!find_controller(builder_refs(b), &ref))
        return cor_builder_refuse(
            b, -COR_ENOTFOUND, "%.*s does not have a owner reference with controller equals true",
            COR_STR_ARG(kind));
    i = find_owner(builder_refs(b), owner, &ref);
    if (i < 0)
        return cor_builder_refuse(b, -COR_ENOTFOUND,
                                  "%.*s does not have an controller reference for %.*s",
                                  COR_STR_ARG(kind), COR_STR_ARG(of_owner));
    if (!ref.is_controller)
        return cor_builder_refuse(b, -COR_ENOTFOUND,
                                  "%.*s owner is not the controller reference for %.*s",
                                  COR_STR_ARG(of_owner), COR_STR_ARG(kind));
    return remove_ref(b, i);
}
