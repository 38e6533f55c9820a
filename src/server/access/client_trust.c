/* The present trust. Loops take a reference to the settings under the lock, and only for requests
 * of connections whose certificate is a proxy's. */
#include "server/access/client_trust.h"

#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"

struct cor_client_trust {
    struct cor_client_cas *cas;
    struct cor_lock lock; /* of the next; a leaf */
    struct cor_front_proxy *proxy;
};

int cor_client_trust_new(struct cor_client_trust **ret_trust)
{
    struct cor_client_trust *trust = cor_calloc(1, sizeof(*trust));
    int r;

    if (!trust)
        return -COR_ENOMEM;
    r = cor_client_cas_new(&trust->cas);
    if (r < 0) {
        cor_free(trust);
        return r;
    }
    cor_lock_init(&trust->lock, COR_LOCK_CLIENT_TRUST);
    *ret_trust = trust;
    return 0;
}

struct cor_client_trust *cor_client_trust_free(struct cor_client_trust *trust)
{
    if (!trust)
        return NULL;
    cor_client_cas_free(trust->cas);
    cor_front_proxy_unref(trust->proxy);
    cor_lock_deinit(&trust->lock);
    return cor_free(trust);
}

struct cor_client_cas *cor_client_trust_cas(const struct cor_client_trust *trust)
{
    return trust->cas;
}

void cor_client_trust_set_proxy(struct cor_client_trust *trust, struct cor_front_proxy *take_proxy)
{
    struct cor_front_proxy *old;

    cor_lock_acquire(&trust->lock);
    old = trust->proxy;
    trust->proxy = take_proxy;
    cor_lock_release(&trust->lock);
    cor_front_proxy_unref(old);
}

struct cor_front_proxy *cor_client_trust_get_proxy(struct cor_client_trust *trust)
{
    struct cor_front_proxy *proxy;

    cor_lock_acquire(&trust->lock);
    proxy = trust->proxy ? cor_front_proxy_ref(trust->proxy) : NULL;
    cor_lock_release(&trust->lock);
    return proxy;
}
