/* The cells of PersistentVolumes, their claims, and StorageClasses. */
#include "base/cleanup.h"
#include "schema/print/cell_hooks.h"

static void put_modes(struct cor_cells *cells, struct cor_str modes)
{
    static const struct {
        const char *mode, *text;
    } known[] = {{"ReadWriteOnce", "RWO"},
                 {"ReadOnlyMany", "ROX"},
                 {"ReadWriteMany", "RWX"},
                 {"ReadWriteOncePod", "RWOP"}};
    struct cor_json_iter it = cor_json_iter(modes);
    bool is_there[COR_ARRAY_LEN(known)] = {false}, is_begun = false;

    while (cor_json_iter_elem(&it)) {
        for (size_t i = 0; i < COR_ARRAY_LEN(known); i++)
            is_there[i] = is_there[i] || cor_cell_is(cor_json_iter_open_value(&it), known[i].mode);
    }
    cor_json_begin_string(cells->w);
    for (size_t i = 0; i < COR_ARRAY_LEN(known); i++) {
        if (!is_there[i])
            continue;
        if (is_begun)
            cor_json_add_text(cells->w, COR_STR(","));
        is_begun = true;
        cor_json_add_text(cells->w, cor_strz(known[i].text));
    }
    cor_json_end_string(cells->w);
}

void cor_cell_volume_modes(struct cor_cells *cells)
{
    put_modes(cells, cor_cells_at(cells, "spec", "accessModes"));
}

static bool claim_is_bound(struct cor_cells *cells)
{
    return cor_cell_raw(cor_cells_at(cells, "spec", "volumeName")).n > 0;
}

void cor_cell_claim_modes(struct cor_cells *cells)
{
    if (claim_is_bound(cells))
        put_modes(cells, cor_cells_at(cells, "status", "accessModes"));
    else
        cor_cells_put(cells, "");
}

void cor_cell_claim_capacity(struct cor_cells *cells)
{
    struct cor_str capacity = cor_cells_at(cells, "status", "capacity");

    if (claim_is_bound(cells))
        cor_cells_put_raw(cells, cor_cell_raw(cor_cell_member(capacity, "storage")), "0");
    else
        cor_cells_put(cells, "");
}

void cor_cell_volume_phase(struct cor_cells *cells)
{
    if (cor_cells_is_deleted(cells))
        cor_cells_put(cells, "Terminating");
    else
        cor_cells_put_raw(cells, cor_cell_raw(cor_cells_at(cells, "status", "phase")), "");
}

void cor_cell_volume_class(struct cor_cells *cells)
{
    struct cor_str annotation = cor_cell_member(cor_cell_member(cells->metadata, "annotations"),
                                                "volume.beta.kubernetes.io/storage-class");

    cor_cells_put_raw(
        cells,
        cor_cell_raw(annotation.p ? annotation : cor_cells_at(cells, "spec", "storageClassName")),
        "");
}

void cor_cell_storage_class_name(struct cor_cells *cells)
{
    struct cor_str annotations = cor_cell_member(cells->metadata, "annotations");

    cor_json_begin_string(cells->w);
    cor_json_add_raw_text(cells->w, cor_cell_raw(cells->name));
    if (cor_cell_is(cor_cell_member(annotations, "storageclass.kubernetes.io/is-default-class"),
                    "true") ||
        cor_cell_is(
            cor_cell_member(annotations, "storageclass.beta.kubernetes.io/is-default-class"),
            "true"))
        cor_json_add_text(cells->w, COR_STR(" (default)"));
    cor_json_end_string(cells->w);
}
