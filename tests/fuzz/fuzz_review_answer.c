/* Promises of what a delegating server reads: an answer to a review is one, or it is refused; a
 * token is accepted only with a user that has a name; nothing is both allowed and denied; what is
 * made is let go of whole. A ConfigMap of trust changes the trust or leaves it. */
#include "base/err.h"
#include "base/mem.h"
#include "fuzz.h"
#include "server/access/review_bodies.h"
#include "server/access/trust_lookup.h"
#include "json/text/json.h"

static void check(int r, struct cor_review_answer *answer)
{
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL || r == -COR_EPROTOCOL);
    FUZZ_CHECK(r == 0 || (!answer->user && !answer->is_allowed));
    FUZZ_CHECK(!(answer->is_allowed && answer->is_denied));
    FUZZ_CHECK(!answer->user || answer->user->identity.user.name.n > 0);
    cor_kept_user_unref(answer->user);
    cor_free(answer->text);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    static const struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_str body = cor_str((const char *)data, size);
    struct cor_review_answer token = {0}, access = {0};
    struct cor_client_trust *trust;
    bool is_canonical;
    int r;

    if (cor_json_check(body, &limits, &is_canonical, NULL) < 0)
        return 0;
    check(cor_token_review_read(body, &token), &token);
    check(cor_access_review_read(body, &access), &access);
    FUZZ_CHECK(cor_client_trust_new(&trust) == 0);
    r = cor_trust_lookup_apply(body, trust, true, true);
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL || r == -COR_ETOOBIG);
    cor_client_trust_free(trust);
    return 0;
}
