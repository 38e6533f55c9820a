/* The formats of paths: of files below a volume (contract validation 3.1.19), and of a webhook's
 * service (3.3.7). */
#include "base/err.h"
#include "schema/format/format_int.h"

#define DETAIL_MAX 4096 /* a number and literals */

void cor_format_check_local_path(struct cor_format_run *run)
{
    struct cor_str rest = run->text;

    if (cor_str_starts(run->text, COR_STR("/")))
        cor_format_invalid(run, "must be a relative path");
    do {
        if (cor_str_eq(cor_str_cut(&rest, '/'), COR_STR(".."))) {
            cor_format_invalid(run, "must not contain '..'");
            return;
        }
    } while (rest.p);
}

void cor_format_check_nonreserved_path(struct cor_format_run *run)
{
    cor_format_check_local_path(run);
    if (cor_str_starts(run->text, COR_STR("..")) && !cor_str_starts(run->text, COR_STR("../")))
        cor_format_invalid(run, "must not start with '..'");
}

static void check_webhook_segment(struct cor_format_run *run, size_t i, struct cor_str segment)
{
    struct cor_complaints complaints = {.n = 1, .text = {" may not be empty"}};
    const char *colon = "";

    if (segment.n > 0) {
        complaints = cor_name_check(COR_NAME_DNS1123_SUBDOMAIN, segment);
        colon = ": ";
    }
    for (size_t j = 0; j < complaints.n; j++) {
        struct cor_buf detail = {.max = DETAIL_MAX};
        int r = cor_buf_addf(&detail, "segment[%zu]%s%s", i, colon, complaints.text[j]);

        cor_format_invalid_made(run, run->text, &detail, r);
    }
}

/* Upstream drops the first character whether it is a slash or not, so that the path `x` has one
 * segment, which is empty. */
void cor_format_check_webhook_path(struct cor_format_run *run)
{
    struct cor_str rest = run->text;

    if (rest.n == 0 || cor_str_eq(rest, COR_STR("/")))
        return;
    if (cor_str_eq(rest, COR_STR("//"))) {
        cor_format_invalid(run, "segment[0] may not be empty");
        return;
    }
    if (rest.p[0] != '/')
        cor_format_invalid(run, "must start with a '/'");
    rest = cor_str_from(rest, 1);
    if (cor_str_ends(rest, COR_STR("/")))
        rest.n--;
    for (size_t i = 0; rest.p; i++)
        check_webhook_segment(run, i, cor_str_cut(&rest, '/'));
}
