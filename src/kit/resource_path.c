/* Paths of resources, escaped segment by segment. A segment is checked before it is written, in
 * upstream's words, since "." or "a/b" as a name would change which resource the path means.
 * Thread: any (values). */
#include "kit/resource_path.h"

#include "base/err.h"
#include "http/url.h"
#include "meta/names/validation.h"
#include "meta/status/quote.h"

#define TEXT_MAX (64u * 1024)

/* Refuses a segment; the complaints are printed as Go prints a list of strings, "[a b]". */
static int segment_refuse(const char *what, struct cor_str value,
                          const struct cor_complaints *complaints, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    int r;

    cor_buf_init(&text, TEXT_MAX);
    r = cor_quote(value, &text);
    if (r == 0)
        r = cor_buf_addz(&text, ": [");
    for (size_t i = 0; r == 0 && i < complaints->n; i++)
        r = cor_buf_addf(&text, "%s%s", i > 0 ? " " : "", complaints->text[i]);
    if (r == 0)
        r = cor_buf_addc(&text, ']');
    return r < 0 ? r : cor_status_set(reterr, -COR_EINVAL, "invalid %s %s", what, text.p);
}

static int path_add_segment(const char *what, struct cor_str segment, struct cor_buf *to,
                            struct cor_status *reterr)
{
    struct cor_complaints complaints = cor_name_check(COR_NAME_PATH_SEGMENT, segment);
    int r;

    if (complaints.n > 0)
        return segment_refuse(what, segment, &complaints, reterr);
    if (segment.n == 0)
        return cor_status_set(reterr, -COR_EINVAL, "%s is required", what);
    r = cor_buf_addc(to, '/');
    return r < 0 ? r : cor_url_escape(segment, COR_URL_PATH, to);
}

static int path_add_prefix(const struct cor_gvr *gvr, struct cor_buf *to, struct cor_status *reterr)
{
    int r = cor_buf_addz(to, gvr->group.n > 0 ? "/apis" : "/api");

    if (r == 0 && gvr->group.n > 0)
        r = path_add_segment("group", gvr->group, to, reterr);
    return r < 0 ? r : path_add_segment("version", gvr->version, to, reterr);
}

static int path_add_subresource(const struct cor_resource_path *path, struct cor_buf *to,
                                struct cor_status *reterr)
{
    struct cor_str rest = path->subresource;
    int r = 0;

    while (r == 0 && rest.p)
        r = path_add_segment("subresource", cor_str_cut(&rest, '/'), to, reterr);
    return r;
}

int cor_resource_path_write(const struct cor_resource_path *path, struct cor_buf *to,
                            struct cor_status *reterr)
{
    int r = path_add_prefix(&path->gvr, to, reterr);

    if (r == 0 && path->ns.n > 0)
        r = cor_buf_addz(to, "/namespaces");
    if (r == 0 && path->ns.n > 0)
        r = path_add_segment("namespace", path->ns, to, reterr);
    if (r == 0)
        r = path_add_segment("resource", path->gvr.resource, to, reterr);
    if (r == 0 && path->subresource.n > 0 && path->name.n == 0)
        r = cor_status_set(reterr, -COR_EINVAL, "name is required");
    if (r == 0 && path->name.n > 0)
        r = path_add_segment("resource name", path->name, to, reterr);
    if (r == 0 && path->subresource.n > 0)
        r = path_add_subresource(path, to, reterr);
    if (r == -COR_ENOMEM || r == -COR_ETOOBIG)
        cor_status_set(reterr, r, "%s", cor_err_text(r));
    return r;
}
