#include "meta/status/resource_version.h"

#include "base/err.h"
#include "meta/status/quote.h"

/* Far longer than any number; the rest of a longer text is not repeated to the client. */
#define QUOTED_MAX 1024

static int refuse(struct cor_str text, const char *why, struct cor_status *st)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = QUOTED_MAX};

    if (cor_quote(text, &quoted) < 0)
        return cor_status_untyped(st, -COR_EINVAL,
                                  "resourceVersion: Invalid value: strconv.ParseUint: %s", why);
    return cor_status_untyped(
        st, -COR_EINVAL, "resourceVersion: Invalid value: %s: strconv.ParseUint: parsing %s: %s",
        cor_buf_z(&quoted), cor_buf_z(&quoted), why);
}

int cor_resource_version_parse(struct cor_str text, cor_rev *ret_rev,
                               struct cor_status *reterr_status)
{
    int r;

    if (text.n == 0) {
        *ret_rev = 0;
        return 0;
    }
    r = cor_str_to_u64(text, ret_rev);
    if (r == 0)
        return 0;
    return refuse(text, r == -COR_ETOOBIG ? "value out of range" : "invalid syntax", reterr_status);
}

int cor_resource_version_parse_object(struct cor_str text, cor_rev *ret_rev,
                                      struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = QUOTED_MAX};
    int r = text.n > 0 ? cor_str_to_u64(text, ret_rev) : 0;

    if (text.n == 0)
        *ret_rev = 0;
    if (r == 0)
        return 0;
    (void)cor_quote(text, &quoted);
    return cor_status_untyped(reterr_status, -COR_EINVAL, "strconv.ParseUint: parsing %s: %s",
                              cor_buf_z(&quoted),
                              r == -COR_ETOOBIG ? "value out of range" : "invalid syntax");
}

int cor_resource_version_parse_request(struct cor_str text, cor_rev *ret_rev,
                                       struct cor_status *reterr_status)
{
    int r = cor_resource_version_parse(text, ret_rev, reterr_status);

    if (r < 0 && reterr_status)
        cor_status_bad_request(reterr_status, "invalid resource version: %s",
                               cor_status_message(reterr_status));
    return r;
}
