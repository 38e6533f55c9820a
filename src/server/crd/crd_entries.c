/* The CustomResourceDefinitions that are known, by name, each with its newest state.
 *
 * An entry reads its object once (schema/kinds/crd_versions.h): names, group and versions are texts
 * in the object's bytes, and are found again with each state that it takes. Failures: no memory, or
 * too many definitions; the entries are as before then. Thread: the first loop of the API. */
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "server/crd/crds_int.h"

size_t cor_crd_entries_at(const struct cor_crds *crds, struct cor_str name)
{
    size_t lo = 0, hi = crds->nentries;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (cor_str_cmp(crds->entries[mid]->name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

struct crd_entry *cor_crds_find(const struct cor_crds *crds, struct cor_str name)
{
    size_t at = cor_crd_entries_at(crds, name);

    return at < crds->nentries && cor_str_eq(crds->entries[at]->name, name) ? crds->entries[at]
                                                                            : NULL;
}

/* Takes the newest state of the definition. */
static int entry_set(struct crd_entry *entry, struct cor_object *object)
{
    struct cor_crd_versions versions = {0};
    struct cor_crd crd;
    int r = cor_crd_read(object, &crd, &versions);

    if (r < 0) {
        cor_crd_versions_deinit(&versions);
        return r;
    }
    cor_object_unref(entry->object);
    cor_crd_versions_deinit(&entry->versions);
    entry->object = cor_object_ref(object);
    entry->crd = crd;
    entry->versions = versions;
    entry->name = cor_object_name(object);
    entry->group = cor_crd_group(&entry->crd);
    entry->accepted = cor_crd_status(&entry->crd, "acceptedNames");
    entry->is_named = cor_str_eq(cor_crd_spec(&entry->crd, "names").json, entry->accepted.json);
    return 0;
}

/* An entry that is nowhere yet; NULL: out of memory. */
static struct crd_entry *entry_new(struct cor_object *crd)
{
    struct crd_entry *entry = cor_calloc(1, sizeof(*entry));

    if (!entry)
        return NULL;
    cor_buf_init(&entry->claimed, COR_CRD_STATUS_MAX);
    entry->gate = cor_creation_gate_new();
    return entry->gate && entry_set(entry, crd) == 0 ? entry : cor_crd_entry_free(entry);
}

struct crd_entry *cor_crd_entry_free(struct crd_entry *entry)
{
    if (entry->next)
        cor_row_unref(cor_definition_row(entry->next, 0));
    if (entry->served)
        cor_row_unref(cor_definition_row(entry->served, 0));
    cor_buf_deinit(&entry->claimed);
    cor_creation_gate_unref(entry->gate);
    cor_crd_versions_deinit(&entry->versions);
    cor_object_unref(entry->object);
    return cor_free(entry);
}

int cor_crd_entries_insert(struct cor_crds *crds, struct cor_object *crd,
                           struct crd_entry **ret_entry)
{
    int r = COR_ARRAY_RESERVE(&crds->entries, crds->nentries, &crds->entries_cap, COR_CRDS_MAX);
    struct crd_entry *entry;
    size_t at;

    if (r < 0)
        return r;
    entry = entry_new(crd);
    if (!entry)
        return -COR_ENOMEM;
    at = cor_crd_entries_at(crds, entry->name);
    memmove(&crds->entries[at + 1], &crds->entries[at],
            (crds->nentries - at) * sizeof(crds->entries[0]));
    crds->entries[at] = entry;
    crds->nentries++;
    *ret_entry = entry;
    return 0;
}

/* Another object of that name has a gate of its own: that of the one before stays closed. */
int cor_crd_entry_replace(struct crd_entry *entry, struct cor_object *crd)
{
    bool is_other = !cor_str_eq(cor_object_uid(entry->object), cor_object_uid(crd));
    struct cor_creation_gate *gate = is_other ? cor_creation_gate_new() : NULL;
    int r = is_other && !gate ? -COR_ENOMEM : entry_set(entry, crd);

    if (r < 0) {
        cor_creation_gate_unref(gate);
        return r;
    }
    if (is_other) {
        cor_creation_gate_unref(entry->gate);
        entry->gate = gate;
    }
    return 0;
}

void cor_crd_entries_take_out(struct cor_crds *crds, size_t at)
{
    crds->nentries--;
    memmove(&crds->entries[at], &crds->entries[at + 1],
            (crds->nentries - at) * sizeof(crds->entries[0]));
}
