/* The storage backends by their names: the one place that knows both engines. */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "storage/engine/engine.h"
#include "storage/etcd/etcd_engine.h"
#include "storage/sqlite/sqlite_engine.h"

typedef int (*open_fn)(const struct cor_engine_config *config, struct cor_engine **ret_engine,
                       struct cor_status *reterr_status);

static const struct {
    const char *name;
    open_fn open;
} backends[] = {
    {"sqlite", cor_sqlite_engine_open},
    {"etcd3", cor_etcd_engine_open},
};

static int unknown_backend(const char *name, struct cor_status *reterr_status)
{
    struct cor_buf known;
    int r = 0;

    if (strcmp(name, "etcd2") == 0)
        return cor_status_set(reterr_status, -COR_ENOTSUP,
                              "%s is no longer a supported storage backend", name);
    cor_buf_init(&known, 256);
    for (size_t i = 0; i < COR_ARRAY_LEN(backends) && r == 0; i++)
        r = cor_buf_addf(&known, "%s%s", i ? ", " : "", backends[i].name);
    r = cor_status_set(reterr_status, -COR_EINVAL,
                       "--storage-backend invalid, allowed values: %s. If not specified, it will "
                       "default to 'sqlite'",
                       cor_buf_z(&known));
    cor_buf_deinit(&known);
    return r;
}

const char *cor_engine_backend(const char *name, const struct cor_etcd_config *etcd)
{
    return name ? name : etcd->servers ? "etcd3" : "sqlite";
}

int cor_engine_open(const struct cor_engine_config *config, struct cor_engine **ret_engine,
                    struct cor_status *reterr_status)
{
    const char *name = cor_engine_backend(config->backend, &config->etcd);

    for (size_t i = 0; i < COR_ARRAY_LEN(backends); i++) {
        if (strcmp(name, backends[i].name) == 0)
            return backends[i].open(config, ret_engine, reterr_status);
    }
    return unknown_backend(name, reterr_status);
}
