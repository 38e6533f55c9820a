/* What the stages that read an object of a custom resource share: the words of their refusals, and
 * what they find for the stage that checks the fields.
 * Failures: 400 for a body, 422 for what a patch made; no memory. Beyond their maximum findings are
 * left out.
 * Thread: the thread that has the call. */
#include "server/write/custom_body.h"

#include "base/err.h"
#include "meta/status/quote.h"
#include "server/write/write_body.h"

#define FINDING_MAX (64u * 1024)

int cor_custom_refuse(const struct cor_receiving *write, const char *why)
{
    if (write->asked->apply)
        return cor_body_refuse_patched(write->call, write->asked, write->received->json, why);
    return cor_body_cannot_handle(write->call, COR_STR(""), COR_STR(""), why);
}

struct cor_str cor_custom_version(const struct cor_object *object)
{
    struct cor_str version = cor_object_api_version(object);

    return version.n > 0 && version.p[0] == '/' ? cor_str_from(version, 1) : version;
}

bool cor_custom_is_of_kind(const struct cor_call *call, const struct cor_object *body)
{
    return cor_str_eq(cor_object_kind(body), call->type->kind);
}

int cor_custom_add_finding(struct cor_write_received *received, const char *what,
                           struct cor_str path)
{
    int r = path.n > FINDING_MAX ? -COR_ETOOBIG : cor_buf_addz(&received->findings, what);

    if (r == 0)
        r = cor_quote(path, &received->findings);
    if (r == 0)
        r = cor_buf_addc(&received->findings, '\0');
    return r == -COR_ETOOBIG ? 0 : r;
}
