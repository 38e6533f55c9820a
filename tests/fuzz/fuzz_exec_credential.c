/* Input: what a credential plugin wrote. What is accepted has a token or both halves of a pair;
 * what is refused says why, and nothing is left behind. */
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "kit/config/exec_credential.h"

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_exec_credential c = {0};
    struct cor_status why = {0};
    int r = cor_exec_credential_read(cor_str((const char *)data, size),
                                     "client.authentication.k8s.io/v1", &c, &why);

    if (r == 0) {
        FUZZ_CHECK(c.token || (c.cert_pem && c.key_pem));
        FUZZ_CHECK(!c.cert_pem == !c.key_pem);
        FUZZ_CHECK(!c.token || strlen(c.token) <= size);
    } else {
        FUZZ_CHECK(r == -COR_EINVAL && r == why.err && cor_status_message(&why)[0]);
    }
    cor_exec_credential_deinit(&c);
    cor_status_deinit(&why);
    return 0;
}
