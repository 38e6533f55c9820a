/* The engine over one SQLite file, or over memory. Thread and owner: as in storage/engine/engine.h.
 */
#ifndef COR_STORAGE_SQLITE_SQLITE_ENGINE_H
#define COR_STORAGE_SQLITE_SQLITE_ENGINE_H

#include "storage/engine/engine.h"

/* cor_engine_open() for the backend "sqlite". */
int cor_sqlite_engine_open(const struct cor_engine_config *config, struct cor_engine **ret_engine,
                           struct cor_status *reterr_status);

#endif
