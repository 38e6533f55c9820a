/* The encryption file of an instance: read at the start, and again each minute or on SIGHUP. At the
 * start a file that cannot be used is a failure. Later the transformers that are in force stay, the
 * failure is logged and counted, and the file is tried again.
 * Thread: home; the counters are atomics, which metrics read from any thread. */
#include <assert.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "server/instance/instance_int.h"

/* Upstream's interval. */
#define RELOAD_MS 60000

static void warn_if_open(const struct cor_instance *in)
{
    if (cor_dynamic_transformers_file_is_open(in->transformers))
        COR_LOG_WARN("the encryption file holds keys, and others than its owner may read or write "
                     "it; make its mode 0600",
                     COR_F_STR("path", in->opts.encryption_config));
}

static void log_loaded(struct cor_instance *in, const char *message)
{
    char hash[COR_ENCRYPTION_HASH_MAX];

    cor_dynamic_transformers_hash(in->transformers, hash);
    COR_LOG_INFO(message, COR_F_STR("path", in->opts.encryption_config), COR_F_STR("hash", hash));
    warn_if_open(in);
}

static void count_reload(_Atomic uint64_t *counter, _Atomic uint64_t *when_s)
{
    atomic_fetch_add(counter, 1);
    atomic_store(when_s, cor_clock_wall_ms(cor_clock_real()) / 1000);
}

void cor_instance_reload(struct cor_instance *in)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status st = {.reason = ""};
    bool changed;

    assert(cor_loop_is_current(in->home));
    if (!in->transformers)
        return;
    if (cor_dynamic_transformers_reload(in->transformers, &changed, &st) < 0) {
        count_reload(&in->reloads_failed, &in->reload_failed_s);
        COR_LOG_ERROR("error processing encryption config file; the one before stays in force",
                      COR_F_STR("error", cor_status_message(&st)));
    } else if (changed) {
        count_reload(&in->reloads, &in->reloaded_s);
        log_loaded(in, "Loaded new encryption config content");
    }
}

void cor_instance_check_encryption(struct cor_timer *timer)
{
    struct cor_instance *in = COR_CONTAINER_OF(timer, struct cor_instance, encryption_timer);

    cor_instance_reload(in);
    if (cor_timer_set(timer, RELOAD_MS) < 0)
        COR_LOG_ERROR("no memory for the timer: the encryption file is not looked at any more");
}

int cor_instance_open_encryption(struct cor_instance *in, struct cor_status *reterr_status)
{
    int r;

    if (!in->opts.encryption_config)
        return 0;
    r = cor_dynamic_transformers_new(in->opts.encryption_config, &in->transformers, reterr_status);
    if (r < 0)
        return r;
    log_loaded(in, "Loaded encryption config");
    r = cor_instance_add_encryption_metrics(in);
    if (r == 0 && in->opts.encryption_reload)
        r = cor_timer_set(&in->encryption_timer, RELOAD_MS);
    return r;
}
