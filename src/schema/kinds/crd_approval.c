/* The annotation api-approved.kubernetes.io: what it says, and the condition that reports it.
 * Failures: no memory for the message. Thread: any (pure). */
#include "schema/kinds/crd_approval.h"

#include "coracle/view.h"
#include "meta/status/quote.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Has the text a scheme and a host, as Go's url.ParseRequestURI() finds them? */
static bool is_url(struct cor_str text)
{
    struct cor_str rest = text, scheme = cor_str_cut(&rest, ':');
    size_t n;

    if (scheme.n == 0 || !is_letter(scheme.p[0]) || !rest.p || !cor_str_starts(rest, COR_STR("//")))
        return false;
    for (size_t i = 0; i < scheme.n; i++) {
        if (!is_letter(scheme.p[i]) && !(scheme.p[i] >= '0' && scheme.p[i] <= '9') &&
            scheme.p[i] != '+' && scheme.p[i] != '-' && scheme.p[i] != '.')
            return false;
    }
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f)
            return false;
    }
    rest = cor_str_from(rest, 2);
    for (n = 0; n < rest.n && rest.p[n] != '/' && rest.p[n] != '?'; n++) {
        if (rest.p[n] == ' ')
            return false;
    }
    return n > 0;
}

enum cor_crd_approval cor_crd_approval_of(struct cor_str text)
{
    if (text.n == 0)
        return COR_APPROVAL_MISSING;
    if (cor_str_starts(text, COR_STR("unapproved")))
        return COR_APPROVAL_BYPASSED;
    return is_url(text) ? COR_APPROVAL_GIVEN : COR_APPROVAL_INVALID;
}

bool cor_crd_is_protected(struct cor_str group)
{
    return cor_str_eqz(group, "k8s.io") || cor_str_ends(group, COR_STR(".k8s.io")) ||
           cor_str_eqz(group, "kubernetes.io") || cor_str_ends(group, COR_STR(".kubernetes.io"));
}

/* The value of the annotation, unescaped; empty: there is none, or it is longer than any URL. */
static struct cor_str annotation_of(const struct cor_object *crd, char *room, size_t max)
{
    struct cor_view metadata = cor_view_member(cor_object_view(crd), COR_STR("metadata"));

    return cor_view_text_or(cor_view_member(cor_view_member(metadata, COR_STR("annotations")),
                                            COR_STR(COR_CRD_APPROVAL)),
                            room, max, "");
}

int cor_crd_judge_approval(const struct cor_crd *crd, struct cor_buf *message,
                           struct cor_crd_condition *ret_condition)
{
    static const char *const reasons[] = {
        [COR_APPROVAL_MISSING] = "MissingAnnotation",
        [COR_APPROVAL_BYPASSED] = "UnapprovedAnnotation",
        [COR_APPROVAL_GIVEN] = "ApprovedAnnotation",
        [COR_APPROVAL_INVALID] = "InvalidAnnotation",
    };
    char room[COR_CRD_APPROVAL_BYTES];
    struct cor_str text;
    enum cor_crd_approval approval;
    int r = 0;

    if (!cor_crd_is_protected(cor_crd_group(crd)))
        return 0;
    text = annotation_of(crd->object, room, sizeof(room));
    approval = cor_crd_approval_of(text);
    switch (approval) {
    case COR_APPROVAL_MISSING:
        r = cor_buf_addz(message, COR_CRD_APPROVAL_MISSING);
        break;
    case COR_APPROVAL_INVALID:
        r = cor_buf_addz(message, COR_CRD_APPROVAL_INVALID);
        break;
    case COR_APPROVAL_GIVEN:
        r = cor_buf_addf(message, "approved in %.*s", COR_STR_ARG(text));
        break;
    case COR_APPROVAL_BYPASSED:
        r = cor_buf_addz(message, "not approved: ");
        if (r == 0)
            r = cor_quote(text, message);
        break;
    }
    if (r < 0)
        return r;
    *ret_condition = (struct cor_crd_condition){
        .type = "KubernetesAPIApprovalPolicyConformant",
        .reason = reasons[approval],
        .message = cor_buf_str(message),
        .is_true = approval == COR_APPROVAL_GIVEN,
    };
    return !cor_crd_has_condition(crd, ret_condition);
}
