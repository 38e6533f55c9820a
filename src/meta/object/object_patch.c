/* Merge patches between objects. Objects that a server sent have keys in any order, so both sides
 * are made canonical first; the difference is then one walk (json/patch/merge_diff.h). A
 * resourceVersion that the patch should have is set in the finished patch. Every failure frees what
 * was made. Thread: any. */
#include "meta/object/object_patch.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "meta/object/object.h"
#include "meta/status/status.h"
#include "json/text/json.h"
#include "json/write/editor.h"
#include "json/write/writer.h"

/* The largest object that the client accepts in an answer is far smaller. */
#define PATCH_BYTES_MAX (1u << 30)

struct cor_patch {
    size_t n;
    char json[]; /* with a NUL, which is not counted */
};

static int canonical_of(const struct cor_object *object, struct cor_buf *out)
{
    static const struct cor_json_limits limits = {
        .bytes_max = PATCH_BYTES_MAX, .depth_max = COR_JSON_DEPTH_MAX, .any_number = true};

    cor_buf_init(out, PATCH_BYTES_MAX);
    if (cor_object_make_json(object) < 0)
        return -COR_ENOMEM;
    return cor_json_canonicalize(cor_object_json(object), &limits, out, NULL, NULL);
}

static int set_version(struct cor_json_editor *patch, struct cor_str version)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted;
    int r;

    cor_buf_init(&quoted, PATCH_BYTES_MAX);
    r = cor_json_quote(&quoted, version);
    return r < 0 ? r
                 : cor_json_editor_set(patch, COR_STR("metadata.resourceVersion"),
                                       cor_buf_str(&quoted));
}

static int patch_new(struct cor_str json, struct cor_patch **ret_patch)
{
    struct cor_patch *patch = cor_alloc(sizeof(*patch) + json.n + 1);

    if (!patch)
        return -COR_ENOMEM;
    patch->n = json.n;
    memcpy(patch->json, json.p, json.n);
    patch->json[json.n] = '\0';
    *ret_patch = patch;
    return 0;
}

/* `is_locked`: an empty patch has the version, too. */
static int make_patch(const struct cor_object *before, const struct cor_object *after,
                      enum cor_merge_diff_part part, struct cor_str version, bool is_locked,
                      struct cor_patch **ret_patch)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf from = {0}, to = {0};
    COR_CLEANUP(cor_json_editor_deinit) struct cor_json_editor patch = {0};
    int r = canonical_of(before, &from);

    if (r == 0)
        r = canonical_of(after, &to);
    if (r == 0)
        r = cor_json_editor_init(&patch, COR_STR(""), PATCH_BYTES_MAX);
    if (r == 0)
        r = cor_json_merge_diff(cor_buf_str(&from), cor_buf_str(&to), part, COR_STR("status"),
                                &patch.bytes);
    if (r == 0 && version.n > 0 && (is_locked || patch.bytes.n > 2))
        r = set_version(&patch, version);
    return r < 0 ? r : patch_new(cor_buf_str(&patch.bytes), ret_patch);
}

static int patch_refuse(struct cor_status *reterr, int r)
{
    return cor_status_set(reterr, r, "make a patch: %s", cor_err_text(r));
}

int cor_patch_between_parts(const struct cor_object *before, const struct cor_object *after,
                            enum cor_merge_diff_part part, struct cor_str version,
                            struct cor_patch **ret_patch, struct cor_status *reterr)
{
    int r = make_patch(before, after, part, version, false, ret_patch);

    return r < 0 ? patch_refuse(reterr, r) : 0;
}

int cor_patch_between(const struct cor_object *before, const struct cor_object *after,
                      bool unless_changed, struct cor_patch **ret_patch, struct cor_status *reterr)
{
    struct cor_str version = unless_changed ? cor_object_resource_version(before) : COR_STR("");
    struct cor_str name = cor_object_name(before);
    int r;

    if (unless_changed && version.n == 0)
        return cor_status_set(reterr, -COR_EINVAL,
                              "cannot use OptimisticLock, object \"%.*s\" does not have any "
                              "resource version we can use",
                              COR_STR_ARG(name));
    r = make_patch(before, after, COR_MERGE_DIFF_ALL, version, unless_changed, ret_patch);
    return r < 0 ? patch_refuse(reterr, r) : 0;
}

struct cor_str cor_patch_json(const struct cor_patch *patch)
{
    return cor_str(patch->json, patch->n);
}

bool cor_patch_is_empty(const struct cor_patch *patch)
{
    return patch->n == 2;
}

struct cor_patch *cor_patch_free(struct cor_patch *patch)
{
    return cor_free(patch);
}
