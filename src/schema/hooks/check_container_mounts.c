/* The hooks of validation for what a container mounts: volumes as folders, and as devices. A mount
 * names a volume of the pod that has no mistake itself; those were remembered by the check when the
 * rules of volumes passed them. Upstream reports some mistakes of a mount at the list, without an
 * index; the same is done here. Thread: any. */
#include "base/err.h"
#include "base/limits.h"
#include "schema/hooks/hooks.h"

#define TEXTS_MAX COR_OBJECT_BYTES_MAX_DEFAULT

/* Names and paths of the other list of a container, which neither may share. */
struct others {
    struct cor_str_set names, paths;
};

static void others_deinit(struct others *others)
{
    cor_str_set_deinit(&others->names);
    cor_str_set_deinit(&others->paths);
}

static void others_init(struct others *others, struct cor_check *check,
                        const struct cor_place *container, const char *list, const char *path)
{
    struct cor_place place, item;
    bool is_new;

    cor_str_set_init(&others->names, TEXTS_MAX);
    cor_str_set_init(&others->paths, TEXTS_MAX);
    cor_place_field(check, container, list, &place);
    COR_EACH(check, &place, item) {
        struct cor_str name = cor_field_text(check, &item, "name");

        cor_check_note(check, cor_str_set_add(&others->names, name, &is_new));
        name = cor_field_text(check, &item, path);
        cor_check_note(check, cor_str_set_add(&others->paths, name, &is_new));
    }
}

static bool is_privileged(struct cor_check *check, const struct cor_place *container)
{
    struct cor_place security;

    return cor_place_field(check, container, "securityContext", &security) &&
           cor_field_bool(check, &security, "privileged");
}

/* The field of a mount with the path that upstream gives it: that of the list. */
static bool mount_field(struct cor_check *check, const struct cor_place *mount, const char *name,
                        struct cor_place *ret_field)
{
    bool is_there = cor_place_field(check, mount, name, ret_field);

    ret_field->path = cor_field_child(&mount->parent->path, cor_strz(name));
    return is_there;
}

static void check_sub_paths(struct cor_check *check, const struct cor_place *mount)
{
    struct cor_place sub, expr, indexed;

    if (mount_field(check, mount, "subPath", &sub) && !cor_place_is_empty(check, &sub))
        cor_check_format(check, &sub, COR_FORMAT_LOCAL_PATH);
    if (!mount_field(check, mount, "subPathExpr", &expr) || cor_place_is_empty(check, &expr))
        return;
    if (!cor_place_is_empty(check, &sub)) {
        cor_place_field(check, mount, "subPathExpr", &indexed);
        cor_check_invalid(check, &indexed, "subPathExpr and subPath are mutually exclusive");
    }
    cor_check_format(check, &expr, COR_FORMAT_LOCAL_PATH);
}

static void check_propagation(struct cor_check *check, const struct cor_place *mount,
                              const struct cor_place *container)
{
    static const char *const known[] = {"Bidirectional", "HostToContainer", "None"};
    static const char *const depths[] = {"Disabled", "Enabled", "IfPossible"};
    struct cor_place mode, recursive;
    struct cor_str text = COR_STR("None"), depth;

    if (mount_field(check, mount, "mountPropagation", &mode)) {
        text = cor_place_text(check, &mode);
        if (!cor_str_eq(text, cor_strz(known[0])) && !cor_str_eq(text, cor_strz(known[1])) &&
            !cor_str_eq(text, cor_strz(known[2])))
            cor_check_not_supported(check, &mode, known, COR_ARRAY_LEN(known));
        if (cor_str_eq(text, cor_strz(known[0])) && !is_privileged(check, container))
            cor_check_forbidden(
                check, &mode,
                "Bidirectional mount propagation is available only to privileged containers");
    }
    if (!mount_field(check, mount, "recursiveReadOnly", &recursive))
        return;
    depth = cor_place_text(check, &recursive);
    if (cor_str_eq(depth, cor_strz(depths[0])))
        return;
    if (!cor_str_eq(depth, cor_strz(depths[1])) && !cor_str_eq(depth, cor_strz(depths[2]))) {
        cor_check_not_supported(check, &recursive, depths, COR_ARRAY_LEN(depths));
        return;
    }
    if (!cor_field_bool(check, mount, "readOnly"))
        cor_check_forbidden(check, &recursive, "may only be specified when readOnly is true");
    if (!cor_str_eq(text, COR_STR("None")))
        cor_check_forbidden(check, &recursive,
                            "may only be specified when mountPropagation is None or not specified");
}

COR_HOOK(volume_mounts)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set points = {.nfew = 0};
    COR_CLEANUP(others_deinit) struct others devices = {.names = {.nfew = 0}};
    struct cor_place list, mount, name, path;

    if (!cor_place_field(check, place, "volumeMounts", &list))
        return;
    cor_str_set_init(&points, TEXTS_MAX);
    others_init(&devices, check, place, "volumeDevices", "devicePath");
    COR_EACH(check, &list, mount) {
        struct cor_str volume, point;
        bool is_new = true;

        cor_place_field(check, &mount, "name", &name);
        cor_place_field(check, &mount, "mountPath", &path);
        volume = cor_place_text(check, &name);
        point = cor_place_text(check, &path);
        if (volume.n == 0)
            cor_check_required(check, &name, NULL);
        if (!cor_check_has_seen(check, COR_SEEN_VOLUMES, volume))
            cor_check_not_found(check, &name, NULL);
        if (point.n == 0)
            cor_check_required(check, &path, NULL);
        cor_check_note(check, cor_str_set_add(&points, point, &is_new));
        if (!is_new)
            cor_check_invalid(check, &path, "must be unique");
        if (cor_str_set_has(&devices.names, volume))
            cor_check_invalid(check, &name, "must not already exist in volumeDevices");
        if (cor_str_set_has(&devices.paths, point))
            cor_check_invalid(check, &path, "must not already exist as a path in volumeDevices");
        check_sub_paths(check, &mount);
        check_propagation(check, &mount, place);
    }
}

/* Is one of the parts between slashes `..`? */
static bool has_backsteps(struct cor_str path)
{
    while (path.p) {
        if (cor_str_eq(cor_str_cut(&path, '/'), COR_STR("..")))
            return true;
    }
    return false;
}

COR_HOOK(volume_devices)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set names = {.nfew = 0}, paths = {.nfew = 0};
    COR_CLEANUP(others_deinit) struct others mounts = {.names = {.nfew = 0}};
    struct cor_place list, device, name, path;

    if (!cor_place_field(check, place, "volumeDevices", &list))
        return;
    cor_str_set_init(&names, TEXTS_MAX);
    cor_str_set_init(&paths, TEXTS_MAX);
    others_init(&mounts, check, place, "volumeMounts", "mountPath");
    COR_EACH(check, &list, device) {
        struct cor_str volume, point;
        bool is_new = true;

        cor_place_field(check, &device, "name", &name);
        cor_place_field(check, &device, "devicePath", &path);
        volume = cor_place_text(check, &name);
        point = cor_place_text(check, &path);
        if (volume.n == 0)
            cor_check_required(check, &name, NULL);
        else
            cor_check_note(check, cor_str_set_add(&names, volume, &is_new));
        if (!is_new)
            cor_check_invalid(check, &name, "must be unique");
        if (!cor_check_has_seen(check, COR_SEEN_VOLUMES, volume))
            cor_check_not_found(check, &name, NULL);
        else if (!cor_check_has_seen(check, COR_SEEN_CLAIM_VOLUMES, volume))
            cor_check_invalid(check, &name,
                              "can only use volume source type of PersistentVolumeClaim or "
                              "Ephemeral for block mode");
        if (point.n == 0)
            cor_check_required(check, &path, NULL);
        if (cor_str_set_has(&paths, point))
            cor_check_invalid(check, &path, "must be unique");
        if (has_backsteps(point))
            cor_check_invalid(check, &path, "can not contain backsteps ('..')");
        else
            cor_check_note(check, cor_str_set_add(&paths, point, &is_new));
        if (cor_str_set_has(&mounts.names, volume))
            cor_check_invalid(check, &name, "must not already exist in volumeMounts");
        if (cor_str_set_has(&mounts.paths, point))
            cor_check_invalid(check, &path, "must not already exist as a path in volumeMounts");
    }
}
