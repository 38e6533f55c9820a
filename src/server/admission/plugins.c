/* The list of the server's plugins, in upstream's order: it decides which refusal a client sees.
 * Thread: any (constants). */
#include "server/admission/plugins.h"

static const struct cor_admission_row rows[] = {
    {.plugin = "NamespaceLifecycle",
     .point = COR_ADMISSION_MUTATES,
     .ops = COR_ADMISSION_CREATE,
     .applies = cor_namespace_lifecycle_applies,
     .start = cor_namespace_lifecycle_start},
    {.plugin = "NamespaceLifecycle",
     .point = COR_ADMISSION_MUTATES,
     .ops = COR_ADMISSION_DELETE,
     .applies = cor_namespace_lifecycle_protects,
     .start = cor_namespace_lifecycle_start_deletion},
    {.plugin = "StorageObjectInUseProtection",
     .point = COR_ADMISSION_MUTATES,
     .ops = COR_ADMISSION_CREATE,
     .applies = cor_storage_in_use_applies,
     .run = cor_storage_in_use_run},
};

const struct cor_admission_list cor_admission_plugins = {rows, COR_ARRAY_LEN(rows)};
