/* The engine over an etcd cluster. Thread and owner: as in storage/engine/engine.h. */
#ifndef COR_STORAGE_ETCD_ETCD_ENGINE_H
#define COR_STORAGE_ETCD_ETCD_ENGINE_H

#include "storage/engine/engine.h"

/* cor_engine_open() for the backend "etcd3". Also -COR_EUNREACHABLE. */
int cor_etcd_engine_open(const struct cor_engine_config *config, struct cor_engine **ret_engine,
                         struct cor_status *reterr_status);

#endif
