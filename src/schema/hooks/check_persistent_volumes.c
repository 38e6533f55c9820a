/* The hooks of validation for PersistentVolumes and PersistentVolumeClaims (schema/check/check.h
 * describes what they work with).
 *
 * Most of both specs must not change. A hook compares the new spec with the old one by meaning,
 * except for the members that may change in the state that the object is in. Upstream prints the
 * difference behind the last line of its message; here that line is the last. Thread: any. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "meta/value/quantity.h"
#include "schema/hooks/hooks.h"
#include "schema/walk/equal.h"

/* What volume and portal may have together when an initiator is named: a limit of iscsiadm. */
#define ISCSI_NAME_AND_PORTAL_MAX 64
#define CLASS_ANNOTATION          "volume.beta.kubernetes.io/storage-class"
#define MOUNT_ANNOTATION          "volume.beta.kubernetes.io/mount-options"

/* --- Quantities ------------------------------------------------------------------------------- */

COR_HOOK(basic_quantity)
{
    int64_t whole = 0;

    if (cor_quantity_scaled(cor_place_text(check, place), 0, &whole) == 0 && whole < 0)
        cor_check_add_value(
            check, COR_FIELD_INVALID, place,
            cor_field_json(cor_strz(cor_check_printf(check, "%lld", (long long)whole))),
            "must be a valid resource quantity");
}

COR_HOOK(positive_quantity)
{
    if (cor_place_is_present(place) && cor_quantity_sign(cor_place_text(check, place)) <= 0)
        cor_check_invalid(check, place, arg.p);
}

/* --- PersistentVolume ------------------------------------------------------------------------- */

COR_WHEN(is_inline_volume)
{
    return cor_place_around(place, "VolumeAttachment") != NULL;
}

COR_WHEN(is_root_path)
{
    struct cor_str rest = cor_place_text(check, place);
    size_t depth = 0;

    if (!cor_str_starts(rest, COR_STR("/")))
        return false;
    while (rest.n > 0) {
        struct cor_str name = cor_str_cut(&rest, '/');

        if (cor_str_eqz(name, ".."))
            depth -= depth > 0;
        else if (name.n > 0 && !cor_str_eqz(name, "."))
            depth++;
    }
    return depth == 0;
}

COR_HOOK(iscsi_volume_portal)
{
    const struct cor_place *volume = cor_place_around(place, "PersistentVolume");
    struct cor_place metadata, initiator, portal;
    struct cor_str name = COR_STR("");

    if (!cor_place_field(check, place, "initiatorName", &initiator))
        return;
    if (volume) {
        cor_place_field(check, volume, "metadata", &metadata);
        name = cor_field_text(check, &metadata, "name");
    }
    cor_place_field(check, place, "targetPortal", &portal);
    portal.path.name = COR_STR("targetportal");
    if (name.n + 1 + cor_place_text(check, &portal).n > ISCSI_NAME_AND_PORTAL_MAX)
        cor_check_invalid(check, &portal,
                          "Total length of <volume name>:<iscsi.targetPortal> must be under 64 "
                          "characters if iscsi.initiatorName is specified.");
}

COR_HOOK(mount_options)
{
    static const char *const with_options[] = {"gcePersistentDisk",
                                               "awsElasticBlockStore",
                                               "glusterfs",
                                               "nfs",
                                               "rbd",
                                               "quobyte",
                                               "iscsi",
                                               "cinder",
                                               "cephfs",
                                               "azureFile",
                                               "vsphereVolume",
                                               "azureDisk",
                                               "photonPersistentDisk"};
    struct cor_place metadata, annotations, options, spec, source;
    struct cor_field_path path;

    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, &metadata, "annotations", &annotations);
    if (!cor_place_entry(check, &annotations, COR_STR(MOUNT_ANNOTATION), &options))
        return;
    cor_place_field(check, place, "spec", &spec);
    for (size_t i = 0; i < COR_ARRAY_LEN(with_options); i++) {
        if (cor_place_field(check, &spec, with_options[i], &source))
            return;
    }
    path = cor_field_child(&annotations.path, COR_STR(MOUNT_ANNOTATION));
    cor_check_add(check, COR_FIELD_FORBIDDEN, &path, cor_field_none(),
                  "may not specify mount options for this volume type");
}

/* Is the struct at the place equal to the old one, except for the members of `skip`? */
static bool is_equal_but(const struct cor_check *check, const struct cor_place *place,
                         uint64_t skip)
{
    return cor_semantic_equal(place->type, place->is_pointer, &check->object.nodes, place->node,
                              &check->old.nodes, place->old, skip);
}

static uint64_t member_bit(const struct cor_place *place, const char *name)
{
    size_t index = cor_type_member_index(place->type, cor_strz(name));

    assert(index < 64);
    return UINT64_C(1) << index;
}

/* A secret for expansion may be added to a CSI volume. */
COR_HOOK(volume_source_stays)
{
    static const char *const not_sources[] = {"capacity",
                                              "accessModes",
                                              "claimRef",
                                              "persistentVolumeReclaimPolicy",
                                              "storageClassName",
                                              "mountOptions",
                                              "volumeMode",
                                              "nodeAffinity",
                                              "volumeAttributesClassName"};
    struct cor_place csi, old_csi, secret, old_secret;
    struct cor_field_path path = cor_field_child(&place->path, COR_STR("persistentvolumesource"));
    uint64_t skip = 0, skip_csi = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(not_sources); i++)
        skip |= member_bit(place, not_sources[i]);
    cor_place_field(check, place, "csi", &csi);
    old_csi = cor_place_old(&csi);
    if (cor_place_is_present(&csi) && cor_place_is_present(&old_csi)) {
        cor_place_field(check, &csi, "controllerExpandSecretRef", &secret);
        old_secret = cor_place_old(&secret);
        if (cor_place_is_present(&secret) && !cor_place_is_present(&old_secret))
            skip_csi = member_bit(&csi, "controllerExpandSecretRef");
    }
    if (!is_equal_but(check, place, skip | member_bit(place, "csi")) ||
        !is_equal_but(check, &csi, skip_csi))
        cor_check_add(check, COR_FIELD_FORBIDDEN, &path, cor_field_none(),
                      "spec.persistentvolumesource is immutable after creation\n");
}

/* Is the key that of today for the beta label? */
static bool is_label_of_today(struct cor_str beta, struct cor_str key)
{
    static const char *const pairs[][2] = {
        {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
        {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
        {"beta.kubernetes.io/os", "kubernetes.io/os"},
        {"beta.kubernetes.io/arch", "kubernetes.io/arch"},
        {"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"}};

    for (size_t i = 0; i < COR_ARRAY_LEN(pairs); i++) {
        if (cor_str_eqz(beta, pairs[i][0]))
            return cor_str_eqz(key, pairs[i][1]);
    }
    return false;
}

/* Are the requirements of two lists equal one by one, except for keys that became those of today?
 */
static bool are_requirements_kept(struct cor_check *check, const struct cor_place *list)
{
    struct cor_place old_list = cor_place_old(list), requirement, key, old_key;

    if (cor_place_length(check, list) != cor_place_length(check, &old_list))
        return false;
    COR_EACH(check, list, requirement) {
        cor_place_field(check, &requirement, "key", &key);
        old_key = cor_place_old(&key);
        if (cor_place_is_changed(check, &key) &&
            !is_label_of_today(cor_place_text(check, &old_key), cor_place_text(check, &key)))
            return false;
        if (!is_equal_but(check, &requirement, member_bit(&requirement, "key")))
            return false;
    }
    return true;
}

COR_HOOK(node_affinity_stays)
{
    struct cor_place required, terms, old_terms, term, list;
    bool is_kept = !cor_place_is_changed(check, place);
    struct cor_each each;

    if (!is_kept && cor_place_is_present(place)) {
        cor_place_field(check, place, "required", &required);
        cor_place_field(check, &required, "nodeSelectorTerms", &terms);
        old_terms = cor_place_old(&terms);
        is_kept = cor_place_is_present(&terms) &&
                  cor_place_length(check, &terms) == cor_place_length(check, &old_terms);
        each = cor_each(check, &terms);
        while (is_kept && cor_each_next(check, &each, &term)) {
            cor_place_field(check, &term, "matchExpressions", &list);
            is_kept = are_requirements_kept(check, &list);
            cor_place_field(check, &term, "matchFields", &list);
            is_kept = is_kept && are_requirements_kept(check, &list);
        }
    }
    if (!is_kept)
        cor_check_invalid(check, place,
                          "field is immutable, except for updating from beta label to GA");
}

/* --- PersistentVolumeClaim -------------------------------------------------------------------- */

COR_WHEN(data_sources_match)
{
    static const char *const fields[] = {"apiGroup", "kind", "name"};
    struct cor_place source, ref, one, two;

    cor_place_field(check, place, "dataSource", &source);
    cor_place_field(check, place, "dataSourceRef", &ref);
    for (size_t i = 0; i < COR_ARRAY_LEN(fields); i++) {
        cor_place_field(check, &source, fields[i], &one);
        cor_place_field(check, &ref, fields[i], &two);
        if (cor_place_is_set(check, &one) != cor_place_is_set(check, &two) ||
            !cor_str_eq(cor_place_text(check, &one), cor_place_text(check, &two)))
            return false;
    }
    return true;
}

COR_WHEN(had_data_source_group)
{
    static const char *const names[] = {"dataSource", "dataSourceRef"};
    const struct cor_place *claim = cor_place_around(place, "PersistentVolumeClaim");
    struct cor_place old, spec, source, group;

    if (!check->has_old || !claim)
        return false;
    old = cor_place_old(claim);
    cor_place_field(check, &old, "spec", &spec);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        if (cor_place_field(check, &spec, names[i], &source) &&
            cor_place_field(check, &source, "apiGroup", &group))
            return true;
    }
    return false;
}

static struct cor_place storage_of(struct cor_check *check, const struct cor_place *list)
{
    struct cor_place storage;

    cor_place_entry(check, list, COR_STR("storage"), &storage);
    return storage;
}

/* Are two quantities in this order? An absent one is 0. */
static int compare_sizes(struct cor_check *check, const struct cor_place *a,
                         const struct cor_place *b)
{
    struct cor_str one = cor_place_text(check, a), two = cor_place_text(check, b);
    int order = 0;

    (void)cor_quantity_cmp(one.n > 0 ? one : COR_STR("0"), two.n > 0 ? two : COR_STR("0"), &order);
    return order;
}

/* Are all requests but that of storage unchanged? */
static bool are_others_kept(struct cor_check *check, const struct cor_place *requests)
{
    struct cor_place old = cor_place_old(requests), entry;

    if (cor_place_length(check, requests) != cor_place_length(check, &old))
        return false;
    COR_EACH(check, requests, entry) {
        if (!cor_str_eq(entry.key, COR_STR("storage")) && cor_place_is_changed(check, &entry))
            return false;
    }
    return true;
}

/* The name of the class may be set once: where the old claim had it in an annotation, or nowhere.
 * True: the name that the claim has now is such a one. */
static bool is_class_set_once(struct cor_check *check, const struct cor_place *annotation,
                              const struct cor_place *class, bool *ret_is_upgrade)
{
    struct cor_place old_annotation = cor_place_old(annotation), old_class = cor_place_old(class);
    bool had_annotation = cor_place_is_present(&old_annotation);
    bool is_same = cor_str_eq(cor_place_text(check, class), cor_place_text(check, &old_annotation));

    *ret_is_upgrade = false;
    if (!cor_place_is_present(class) || cor_place_is_present(&old_class))
        return false;
    *ret_is_upgrade =
        had_annotation && is_same &&
        (!cor_place_is_present(annotation) || !cor_place_is_changed(check, annotation));
    return !had_annotation || is_same;
}

COR_HOOK(claim_stays)
{
    struct cor_place metadata, annotations, annotation, spec, class, volume, resources, requests;
    struct cor_place old_volume, status, old_status, capacity, size, old_size, old_capacity;
    struct cor_field_path path;
    bool is_bound, is_upgrade, is_set_once, is_kept;
    uint64_t skip;

    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, &metadata, "annotations", &annotations);
    cor_place_entry(check, &annotations, COR_STR(CLASS_ANNOTATION), &annotation);
    cor_place_field(check, place, "spec", &spec);
    cor_place_field(check, &spec, "storageClassName", &class);
    cor_place_field(check, &spec, "volumeName", &volume);
    cor_place_field(check, &spec, "resources", &resources);
    cor_place_field(check, &resources, "requests", &requests);
    cor_place_field(check, place, "status", &status);
    old_volume = cor_place_old(&volume);
    old_status = cor_place_old(&status);
    is_bound = cor_str_eqz(cor_field_text(check, &status, "phase"), "Bound");

    is_set_once = is_class_set_once(check, &annotation, &class, &is_upgrade);
    if (!is_upgrade && cor_place_is_changed(check, &annotation)) {
        path = cor_field_child(&annotations.path, COR_STR(CLASS_ANNOTATION));
        cor_check_add(check, COR_FIELD_INVALID, &path,
                      cor_field_string(cor_place_text(check, &annotation)), "field is immutable");
    }

    skip = member_bit(&spec, "resources");
    if (cor_place_is_empty(check, &old_volume))
        skip |= member_bit(&spec, "volumeName");
    if (is_set_once)
        skip |= member_bit(&spec, "storageClassName");
    if (is_bound)
        skip |= member_bit(&spec, "volumeAttributesClassName");
    is_kept =
        is_equal_but(check, &spec, skip) &&
        is_equal_but(check, &resources, member_bit(&resources, "requests")) &&
        (is_bound && cor_place_is_present(&requests) ? are_others_kept(check, &requests)
                                                     : !cor_place_is_changed(check, &requests));
    if (!is_kept)
        cor_check_forbidden(check, &spec,
                            "spec is immutable after creation except resources.requests and "
                            "volumeAttributesClassName for bound claims\n");

    size = storage_of(check, &requests);
    old_size = cor_place_old(&size);
    cor_place_field(check, &old_status, "capacity", &capacity);
    old_capacity = storage_of(check, &capacity);
    if (compare_sizes(check, &size, &old_size) < 0 &&
        compare_sizes(check, &size, &old_capacity) <= 0) {
        path = cor_field_child(&requests.path, COR_STR("storage"));
        cor_check_add(check, COR_FIELD_FORBIDDEN, &path, cor_field_none(),
                      "field can not be less than status.capacity");
    }
}

/* Is the key of a claim's resource one that may be there? Its mistakes are reported at the map. */
static bool is_claim_resource(struct cor_check *check, const struct cor_place *map,
                              struct cor_str key)
{
    static const char *const native[] = {"storage"};

    if (!cor_format_ok(COR_FORMAT_QUALIFIED_NAME, key)) {
        cor_format_add_text(COR_FORMAT_QUALIFIED_NAME, key, &map->path, check->errors);
        return false;
    }
    if (cor_str_eqz(key, native[0]) ||
        (cor_str_find(key, '/') >= 0 && !memmem(key.p, key.n, "kubernetes.io/", 14)))
        return true;
    cor_field_errors_add_not_supported(check->errors, &map->path, cor_field_string(key), native, 1);
    return false;
}

/* A bad status shows the key of the entry. */
COR_HOOK(allocated_statuses)
{
    static const char *const statuses[] = {"ControllerResizeInProgress",
                                           "ControllerResizeInfeasible", "NodeResizeInProgress",
                                           "NodeResizeInfeasible", "NodeResizePending"};
    struct cor_place entry;

    COR_EACH(check, place, entry) {
        struct cor_str status = cor_place_text(check, &entry);
        bool is_known = false;

        (void)is_claim_resource(check, place, entry.key);
        for (size_t i = 0; i < COR_ARRAY_LEN(statuses); i++)
            is_known = is_known || cor_str_eqz(status, statuses[i]);
        if (!is_known)
            cor_field_errors_add_not_supported(check->errors, &place->path,
                                               cor_field_string(entry.key), statuses,
                                               COR_ARRAY_LEN(statuses));
    }
}

COR_HOOK(allocated_resources)
{
    struct cor_place entry;

    COR_EACH(check, place, entry) {
        if (is_claim_resource(check, place, entry.key))
            cor_hook_basic_quantity(check, &entry, arg);
    }
}
