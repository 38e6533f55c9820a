/* Promises of the kubeconfig reader: a text is taken, or refused with words; so is its current
 * context; and what is taken is let go of whole. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "kit/config/kubeconfig.h"

/* A context may name files, and the fuzzer must not read the machine's. */
static bool names_files(struct cor_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '\\' ||
            (text.p[i] == '/' && (i < 6 || memcmp(text.p + i - 6, "https:", 6) != 0) &&
             (i < 7 || memcmp(text.p + i - 7, "https:/", 7) != 0)))
            return true;
    return false;
}

static void check(int r, struct cor_status *st)
{
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL || r == -COR_ETOOBIG || r == -COR_ENOTFOUND);
    FUZZ_CHECK(r == 0 || cor_status_message(st)[0]);
    cor_status_deinit(st);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str text = cor_str((const char *)data, size);
    struct cor_kubeconfig *kc = cor_kubeconfig_new();
    struct cor_status st = {0};
    struct cor_client_config c;
    int r = cor_kubeconfig_add(kc, text, "fuzz/no-such-folder/config", &st);

    check(r, &st);
    if (r == 0 && !names_files(text)) {
        r = cor_kubeconfig_resolve(kc, NULL, &c, &st);
        check(r, &st);
        if (r == 0) {
            FUZZ_CHECK(c.server[0] && c.ns[0]);
            cor_client_config_deinit(&c);
        }
    }
    cor_kubeconfig_free(kc);
    return 0;
}
