#include "cache/tweaked_driver.h"

#include "base/cleanup.h"

static struct cor_tweaked_driver *of(struct cor_reflector_driver *d)
{
    return COR_CONTAINER_OF(d, struct cor_tweaked_driver, driver);
}

static struct cor_list_options tweaked(struct cor_tweaked_driver *t,
                                       const struct cor_list_options *opts)
{
    struct cor_list_options own = *opts;

    t->tweak(t->arg, &own);
    return own;
}

static void on_list(struct cor_reflector_driver *d, const struct cor_list_options *opts)
{
    struct cor_tweaked_driver *t = of(d);
    struct cor_list_options own = tweaked(t, opts);

    t->inner->ops->list(t->inner, &own);
}

static void on_watch(struct cor_reflector_driver *d, const struct cor_list_options *opts,
                     uint32_t timeout_s)
{
    struct cor_tweaked_driver *t = of(d);
    struct cor_list_options own = tweaked(t, opts);

    t->inner->ops->watch(t->inner, &own, timeout_s);
}

static void on_cancel(struct cor_reflector_driver *d)
{
    of(d)->inner->ops->cancel(of(d)->inner);
}

static void on_wake_at(struct cor_reflector_driver *d, uint64_t at_ms)
{
    of(d)->inner->ops->wake_at(of(d)->inner, at_ms);
}

static const struct cor_reflector_driver_ops driver_ops = {on_list, on_watch, on_cancel,
                                                           on_wake_at};

void cor_tweaked_driver_init(struct cor_tweaked_driver *t, struct cor_reflector_driver *inner,
                             cor_list_tweak_fn tweak, void *arg)
{
    *t = (struct cor_tweaked_driver){{&driver_ops}, inner, tweak, arg};
}
