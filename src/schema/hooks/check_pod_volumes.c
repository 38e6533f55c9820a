/* The hooks of validation for the volumes of pods, and for the sources that PersistentVolumes share
 * with them (schema/check/check.h describes what they work with).
 *
 * A volume has one source. The rules check the first one that is set; cor_hook_volume_sources()
 * adds an error for each other one. Names and paths that must not be repeated are remembered by the
 * check (cor_check_see()). Thread: any. */
#include "schema/hooks/check_pod_volumes.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/err.h"
#include "base/limits.h"
#include "meta/status/quote.h"
#include "meta/value/quantity.h"
#include "schema/hooks/hooks.h"

/* What volume and portal may have together when an initiator is named: a limit of iscsiadm. */
#define ISCSI_NAME_AND_PORTAL_MAX 64

/* Was an error added at the place or below it? Those of the place that is checked now are the last.
 */
static bool has_mistake(struct cor_check *check, const struct cor_place *place)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf path = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};

    if (check->errors->n == 0)
        return false;
    cor_check_note(check, cor_field_path_print(&place->path, &path));
    return cor_str_starts(cor_strz(check->errors->v[check->errors->n - 1].field),
                          cor_buf_str(&path));
}

/* Reports the name of a claim as upstream does: as that of a volume that refers to the claim,
 * before the volumes of the template. True: nothing is wrong with the name. */
static bool check_claim_volume(struct cor_check *check, const struct cor_place *pod_spec,
                               size_t index, struct cor_str claim)
{
    struct cor_field_path volumes = cor_field_child(&pod_spec->path, COR_STR("volumes"));
    struct cor_field_path volume = cor_field_index(&volumes, index);
    struct cor_field_path source = cor_field_child(&volume, COR_STR("persistentVolumeClaim"));
    struct cor_field_path claim_name = cor_field_child(&source, COR_STR("claimName"));
    struct cor_field_path name = cor_field_child(&volume, COR_STR("name"));

    if (claim.n == 0) {
        cor_check_add(check, COR_FIELD_REQUIRED, &claim_name, cor_field_none(), NULL);
        cor_check_add(check, COR_FIELD_REQUIRED, &name, cor_field_none(), NULL);
        return false;
    }
    if (cor_format_ok(COR_FORMAT_DNS_LABEL, claim))
        return true;
    cor_format_add_text(COR_FORMAT_DNS_LABEL, claim, &name, check->errors);
    return false;
}

/* The claims that a StatefulSet makes are volumes of its pods, in place of those with their names.
 */
COR_HOOK(claim_template_volumes)
{
    struct cor_place template, spec, list, claim, metadata;
    size_t n = 0;

    cor_place_field(check, place, "template", &template);
    cor_place_field(check, &template, "spec", &spec);
    cor_place_field(check, place, "volumeClaimTemplates", &list);
    COR_EACH(check, &list, claim) {
        struct cor_str name;

        cor_place_field(check, &claim, "metadata", &metadata);
        name = cor_field_text(check, &metadata, "name");
        if (!cor_check_see(check, COR_SEEN_TEMPLATE_VOLUMES, &spec, name) ||
            !check_claim_volume(check, &spec, n++, name))
            continue;
        (void)cor_check_see(check, COR_SEEN_VOLUMES, &spec, name);
        (void)cor_check_see(check, COR_SEEN_CLAIM_VOLUMES, &spec, name);
    }
}

/* Comes last of a volume's rules. Only a volume without a mistake can be mounted, and its name
 * cannot be used again. */
COR_HOOK(volume_name)
{
    struct cor_place name, source;
    struct cor_str text;
    bool is_right = !has_mistake(check, place);

    cor_place_field(check, place, "name", &name);
    text = cor_place_text(check, &name);
    if (cor_check_has_seen(check, COR_SEEN_TEMPLATE_VOLUMES, text))
        return;
    if (cor_check_has_seen(check, COR_SEEN_VOLUMES, text)) {
        cor_check_duplicate(check, &name);
        return;
    }
    if (!is_right)
        return;
    (void)cor_check_see(check, COR_SEEN_VOLUMES, place->parent->parent, text);
    if (cor_place_field(check, place, "persistentVolumeClaim", &source) ||
        cor_place_field(check, place, "ephemeral", &source))
        (void)cor_check_see(check, COR_SEEN_CLAIM_VOLUMES, place->parent->parent, text);
}

COR_WHEN(is_replaced_volume)
{
    return check->seen && cor_check_has_seen(check, COR_SEEN_TEMPLATE_VOLUMES,
                                             cor_field_text(check, place, "name"));
}

/* --- Tests of texts --------------------------------------------------------------------------- */

COR_WHEN(begins_with)
{
    return cor_str_starts(cor_place_text(check, place), arg);
}

COR_WHEN(contains)
{
    struct cor_str text = cor_place_text(check, place);

    return memmem(text.p, text.n, arg.p, arg.n) != NULL;
}

COR_WHEN(has_backsteps)
{
    struct cor_str rest = cor_place_text(check, place);

    while (rest.n > 0) {
        if (cor_str_eqz(cor_str_cut(&rest, '/'), ".."))
            return true;
    }
    return false;
}

COR_WHEN(is_negative_quantity)
{
    return cor_place_is_present(place) && cor_quantity_sign(cor_place_text(check, place)) < 0;
}

/* Does the text end with `suffix`, in any case? `suffix` is in lower case. */
static bool ends_in_any_case(struct cor_str text, const char *suffix)
{
    size_t n = strlen(suffix);

    return text.n >= n && strncasecmp(text.p + text.n - n, suffix, n) == 0;
}

COR_WHEN(is_reserved_option)
{
    struct cor_str rest = place->key, domain = cor_str_cut(&rest, '/');

    return ends_in_any_case(domain, ".kubernetes.io") || ends_in_any_case(domain, ".k8s.io") ||
           (domain.n == strlen("kubernetes.io") && ends_in_any_case(domain, "kubernetes.io")) ||
           (domain.n == strlen("k8s.io") && ends_in_any_case(domain, "k8s.io"));
}

/* --- One source ------------------------------------------------------------------------------- */

/* A source and the name that messages have for it as a second one. */
struct source_name {
    const char *field, *shown;
};

COR_HOOK(iscsi_portal)
{
    struct cor_place iscsi, initiator, name;

    cor_place_field(check, place, "name", &name);
    if (cor_place_field(check, place, "iscsi", &iscsi) &&
        cor_place_field(check, &iscsi, "initiatorName", &initiator) &&
        cor_place_text(check, &name).n + 1 + cor_field_text(check, &iscsi, "targetPortal").n >
            ISCSI_NAME_AND_PORTAL_MAX)
        cor_check_invalid(check, &name,
                          "Total length of <volume name>:<iscsi.targetPortal> must be under 64 "
                          "characters if iscsi.initiatorName is specified.");
}

/* Adds an error for each source after the first, in upstream's order; also when there is none. A
 * flexVolume of a PersistentVolume may come after another source. */
COR_HOOK(volume_sources)
{
    static const struct source_name of_pods[] = {
        {"emptyDir", "emptyDir"},
        {"hostPath", "hostPath"},
        {"gitRepo", "gitRepo"},
        {"gcePersistentDisk", "gcePersistentDisk"},
        {"awsElasticBlockStore", "awsElasticBlockStore"},
        {"secret", "secret"},
        {"nfs", "nfs"},
        {"iscsi", "iscsi"},
        {"glusterfs", "glusterfs"},
        {"flocker", "flocker"},
        {"persistentVolumeClaim", "persistentVolumeClaim"},
        {"rbd", "rbd"},
        {"cinder", "cinder"},
        {"cephfs", "cephFS"},
        {"quobyte", "quobyte"},
        {"downwardAPI", "downwarAPI"},
        {"fc", "fc"},
        {"flexVolume", "flexVolume"},
        {"configMap", "configMap"},
        {"azureFile", "azureFile"},
        {"vsphereVolume", "vsphereVolume"},
        {"photonPersistentDisk", "photonPersistentDisk"},
        {"portworxVolume", "portworxVolume"},
        {"azureDisk", "azureDisk"},
        {"storageos", "storageos"},
        {"projected", "projected"},
        {"scaleIO", "scaleIO"},
        {"csi", "csi"},
        {"ephemeral", "ephemeral"},
        {"image", "image"},
    };
    static const struct source_name persistent[] = {
        {"hostPath", "hostPath"},
        {"gcePersistentDisk", "gcePersistentDisk"},
        {"awsElasticBlockStore", "awsElasticBlockStore"},
        {"glusterfs", "glusterfs"},
        {"flocker", "flocker"},
        {"nfs", "nfs"},
        {"rbd", "rbd"},
        {"quobyte", "quobyte"},
        {"cephfs", "cephFS"},
        {"iscsi", "iscsi"},
        {"cinder", "cinder"},
        {"fc", "fc"},
        {"flexVolume", NULL},
        {"azureFile", "azureFile"},
        {"vsphereVolume", "vsphereVolume"},
        {"photonPersistentDisk", "photonPersistentDisk"},
        {"portworxVolume", "portworxVolume"},
        {"azureDisk", "azureDisk"},
        {"scaleIO", "scaleIO"},
        {"local", "local"},
        {"storageos", "storageos"},
        {"csi", "csi"},
    };
    bool is_pod = cor_str_eqz(arg, "pod");
    const struct source_name *names = is_pod ? of_pods : persistent;
    size_t n = is_pod ? COR_ARRAY_LEN(of_pods) : COR_ARRAY_LEN(persistent), found = 0;
    struct cor_place source;

    /* Most volumes are a name and a source. */
    if (is_pod && cor_place_length(check, place) == 2 &&
        cor_place_field(check, place, "name", &source))
        return;
    for (size_t i = 0; i < n; i++) {
        struct cor_field_path path;

        if (!cor_place_field(check, place, names[i].field, &source))
            continue;
        if (found++ == 0 || !names[i].shown)
            continue;
        path = cor_field_child(&place->path, cor_strz(names[i].shown));
        cor_check_add(check, COR_FIELD_FORBIDDEN, &path, cor_field_none(),
                      "may not specify more than 1 volume type");
        if (is_pod && cor_str_eqz(COR_STR("iscsi"), names[i].field))
            cor_hook_iscsi_portal(check, place, COR_STR(""));
    }
    if (found == 0)
        cor_check_required(check, place, "must specify a volume type");
}

COR_WHEN(has_several_sources)
{
    return cor_place_length(check, place) > 1;
}

/* --- Claims ----------------------------------------------------------------------------------- */

/* The name of the pod that a place is in; "": it is in a template. */
static struct cor_str pod_name(struct cor_check *check, const struct cor_place *place)
{
    const struct cor_place *pod = cor_place_around(place, "Pod");
    struct cor_place metadata;

    if (!pod)
        return COR_STR("");
    cor_place_field(check, pod, "metadata", &metadata);
    return cor_field_text(check, &metadata, "name");
}

/* The claim of an ephemeral volume, whose name is checked. */
struct claim_name {
    struct cor_check *check;
    const struct cor_place *volume; /* name of the volume */
    struct cor_str claim;
};

static void add_claim_mistake(void *arg, const struct cor_format_finding *finding)
{
    const struct claim_name *about = arg;

    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = 8 * COR_OBJECT_BYTES_MAX_DEFAULT};

    cor_check_note(about->check, cor_quote(about->claim, &quoted));
    cor_check_invalid(
        about->check, about->volume,
        cor_check_printf(about->check, "PVC name %s: %s", cor_buf_z(&quoted), finding->detail));
}

COR_HOOK(ephemeral_claim_name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf claim = {.max = COR_OBJECT_BYTES_MAX_DEFAULT};
    struct cor_str pod = pod_name(check, place), volume;
    struct cor_place name;
    struct claim_name about = {.check = check, .volume = &name};

    cor_place_field(check, place, "name", &name);
    volume = cor_place_text(check, &name);
    if (pod.n == 0 || volume.n == 0)
        return;
    cor_check_note(check, cor_buf_adds(&claim, pod));
    cor_check_note(check, cor_buf_addc(&claim, '-'));
    cor_check_note(check, cor_buf_adds(&claim, volume));
    about.claim = cor_buf_str(&claim);
    cor_check_note(check, cor_format_check_text(COR_FORMAT_DNS_SUBDOMAIN, about.claim,
                                                add_claim_mistake, &about));
}

/* The first volume of a list looks for all ephemeral ones, which may come behind the volume that
 * names one of their claims. */
COR_HOOK(claim_is_not_made)
{
    struct cor_str pod = pod_name(check, place), claim;
    struct cor_place source, name;

    if (pod.n == 0)
        return;
    if (place->path.index == 0) {
        struct cor_each each = cor_each(check, place->parent);
        struct cor_place volume;

        cor_check_forget(check, COR_SEEN_EPHEMERAL_VOLUMES);
        while (cor_each_next(check, &each, &volume)) {
            if (cor_place_field(check, &volume, "ephemeral", &source))
                (void)cor_check_see(check, COR_SEEN_EPHEMERAL_VOLUMES, place->parent,
                                    cor_field_text(check, &volume, "name"));
        }
    }
    if (!cor_place_field(check, place, "persistentVolumeClaim", &source))
        return;
    cor_place_field(check, &source, "claimName", &name);
    claim = cor_place_text(check, &name);
    if (claim.n > pod.n && cor_str_starts(claim, pod) && claim.p[pod.n] == '-' &&
        cor_check_has_seen(check, COR_SEEN_EPHEMERAL_VOLUMES, cor_str_from(claim, pod.n + 1)))
        cor_check_invalid(check, &name,
                          "must not reference a PVC that gets created for an ephemeral volume");
}

/* Fields in the order of the declaration; the names are upstream's, which begin in lower case. */
COR_HOOK(template_meta)
{
    static const struct source_name refused[] = {
        {"name", "name"},
        {"generateName", "generateName"},
        {"namespace", "namespace"},
        {"selfLink", "selfLink"},
        {"uid", "uID"},
        {"resourceVersion", "resourceVersion"},
        {"generation", "generation"},
        {"creationTimestamp", "creationTimestamp"},
        {"deletionTimestamp", "deletionTimestamp"},
        {"deletionGracePeriodSeconds", "deletionGracePeriodSeconds"},
        {"ownerReferences", "ownerReferences"},
        {"finalizers", "finalizers"},
        {"managedFields", "managedFields"},
    };
    struct cor_place field;

    cor_place_field(check, place, "annotations", &field);
    cor_hook_annotations(check, &field, arg);
    cor_place_field(check, place, "labels", &field);
    cor_hook_labels(check, &field, arg);
    for (size_t i = 0; i < COR_ARRAY_LEN(refused); i++) {
        struct cor_field_path path = cor_field_child(&place->path, cor_strz(refused[i].shown));

        cor_place_field(check, place, refused[i].field, &field);
        if (cor_place_is_set(check, &field))
            cor_check_add(check, COR_FIELD_FORBIDDEN, &path, cor_field_none(), "cannot be set");
    }
}

/* --- Projected volumes ------------------------------------------------------------------------ */

COR_HOOK(projected_sources)
{
    cor_check_forget(check, COR_SEEN_PROJECTED_PATHS);
}

/* Prints the name of the Secret or ConfigMap; a file of the downward API has none and shows its
 * path. */
COR_HOOK(projected_path)
{
    const struct cor_place *volume = cor_place_around(place, "ProjectedVolumeSource");
    struct cor_str path = cor_field_text(check, place, "path"), shown = path;

    assert(volume);
    if (path.n == 0 || cor_check_see(check, COR_SEEN_PROJECTED_PATHS, volume, path))
        return;
    if (cor_str_eqz(cor_type_name(place->type), "KeyToPath"))
        shown = cor_field_text(check, place->parent->parent, "name");
    cor_check_add(check, COR_FIELD_INVALID, &volume->path, cor_field_string(shown),
                  "conflicting duplicate paths");
}

/* Has a token of the old pod a path that is refused now? Then all may have one. */
static bool had_bad_token_path(struct cor_check *check, const struct cor_place *place)
{
    const struct cor_place *spec = cor_place_around(place, "PodSpec");
    struct cor_place old, volumes, volume, projected, sources, source, token;
    struct cor_each each, inner;

    if (!check->has_old || !spec)
        return false;
    old = cor_place_old(spec);
    cor_place_field(check, &old, "volumes", &volumes);
    each = cor_each(check, &volumes);
    while (cor_each_next(check, &each, &volume)) {
        if (!cor_place_field(check, &volume, "projected", &projected))
            continue;
        cor_place_field(check, &projected, "sources", &sources);
        inner = cor_each(check, &sources);
        while (cor_each_next(check, &inner, &source)) {
            if (cor_place_field(check, &source, "serviceAccountToken", &token) &&
                !cor_format_ok(COR_FORMAT_NONRESERVED_PATH, cor_field_text(check, &token, "path")))
                return true;
        }
    }
    return false;
}

COR_HOOK(token_path)
{
    const struct cor_place *volume = cor_place_around(place, "ProjectedVolumeSource");
    struct cor_str text = cor_place_text(check, place);
    struct cor_field_path path;

    assert(volume);
    path = cor_field_child(&volume->path, COR_STR("path"));
    if (text.n == 0)
        cor_check_add(check, COR_FIELD_REQUIRED, &path, cor_field_none(), NULL);
    else if (!cor_format_ok(COR_FORMAT_NONRESERVED_PATH, text) &&
             check->errors->n < COR_STATUS_CAUSES_MAX && !had_bad_token_path(check, place))
        cor_format_add_text(COR_FORMAT_NONRESERVED_PATH, text, &path, check->errors);
}

/* --- iSCSI and Quobyte ------------------------------------------------------------------------ */

static bool is_in_authority(char c)
{
    return cor_is_alphanumeric(c) || c == '-' || c == '.';
}

/* iqn.2001-04.com.example */
static bool begins_iqn(struct cor_str text)
{
    static const char form[] = "iqn.####-##.";

    if (text.n < strlen(form))
        return false;
    for (size_t i = 0; i < strlen(form); i++) {
        if (form[i] == '#' ? text.p[i] < '0' || text.p[i] > '9' : text.p[i] != form[i])
            return false;
    }
    return true;
}

/* Upstream searches for iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$ anywhere in the text.
 * From the end to the beginning: where the letters of an authority end, and whether only good
 * characters follow. */
static bool is_iqn(struct cor_str text)
{
    size_t end = text.n, good = text.n; /* of the authority; from here on all are good */

    while (good > 0 && !memchr(",;*&$|\t\n\f\r ", text.p[good - 1], 11))
        good--;
    for (size_t i = text.n; i-- > 0;) {
        if (!is_in_authority(text.p[i]))
            end = i;
        else if (end > i + strlen("iqn.####-##.") && end + 1 < text.n && text.p[end] == ':' &&
                 good <= end + 1 && begins_iqn(cor_str_from(text, i)))
            return true;
    }
    return false;
}

/* Three letters, any character, and n letters or digits: eui.0123456789ABCDEF */
static bool is_eui(struct cor_str text, size_t n)
{
    struct cor_str any;

    if (text.n < 3 + 1 + n)
        return false;
    any = (struct cor_str){text.p + 3, text.n - 3 - n};
    for (size_t i = text.n - n; i < text.n; i++) {
        if (!cor_is_alphanumeric(text.p[i]))
            return false;
    }
    for (size_t i = 1; i < any.n; i++) {
        if (((unsigned char)any.p[i] & 0xc0) != 0x80)
            return false;
    }
    return any.p[0] != '\n';
}

COR_HOOK(iscsi_name)
{
    struct cor_str text = cor_place_text(check, place);
    bool is_valid;

    if (!cor_place_is_present(place))
        return;
    if (cor_str_starts(text, COR_STR("iqn")))
        is_valid = is_iqn(text);
    else if (cor_str_starts(text, COR_STR("eui")))
        is_valid = is_eui(text, 16);
    else if (cor_str_starts(text, COR_STR("naa")))
        is_valid = is_eui(text, 32);
    else {
        cor_check_invalid(check, place, arg.p);
        return;
    }
    if (!is_valid)
        cor_check_invalid(check, place, "must be valid format");
}

/* As Go's net.SplitHostPort() accepts it. */
static bool is_host_port(struct cor_str text)
{
    ptrdiff_t close = -1, colon = -1;
    struct cor_str host, behind = text;

    for (size_t i = text.n; i > 0 && colon < 0; i--) {
        if (text.p[i - 1] == ':')
            colon = (ptrdiff_t)i - 1;
    }
    if (colon < 0)
        return false;
    if (text.p[0] == '[') {
        close = cor_str_find(text, ']');
        if (close < 0 || close + 1 != colon)
            return false;
        host = cor_str_from(text, 1);
        behind = cor_str_from(text, (size_t)close + 1);
    } else {
        host = (struct cor_str){text.p, (size_t)colon};
        if (cor_str_find(host, ':') >= 0)
            return false;
        host = text;
    }
    return cor_str_find(host, '[') < 0 && cor_str_find(behind, ']') < 0;
}

COR_HOOK(host_port_pairs)
{
    struct cor_str rest = cor_place_text(check, place);
    bool is_last = false;

    while (!is_last && !cor_check_is_over(check)) {
        is_last = cor_str_find(rest, ',') < 0;
        if (!is_host_port(cor_str_cut(&rest, ',')))
            cor_check_invalid(check, place,
                              "must be a host:port pair or multiple pairs separated by commas");
    }
}
