/* Statuses for answers whose body is no Status, in the words of client-go's
 * NewGenericServerResponse(): by a table of codes, and in general words for the others. The body's
 * text becomes a cause. Without memory the error and the reason are right and a text may be
 * lacking. Thread: any. */
#include "base/mem.h"
#include "meta/status/quote.h"
#include "meta/status/status.h"

#define TEXT_MAX 2048 /* as client-go cuts it */

static const struct generic {
    int code, err;
    const char *reason;
    const char *message; /* NULL: the server's own words */
} answers[] = {
    {400, COR_EINVAL, "BadRequest", "the server rejected our request for an unknown reason"},
    {401, COR_EUNAUTHORIZED, "Unauthorized",
     "the server has asked for the client to provide credentials"},
    {403, COR_EFORBIDDEN, "Forbidden", NULL},
    {404, COR_ENOTFOUND, "NotFound", "the server could not find the requested resource"},
    {405, COR_ENOTSUP, "MethodNotAllowed",
     "the server does not allow this method on the requested resource"},
    {406, COR_ENOTACCEPTABLE, "NotAcceptable", NULL},
    {409, COR_ECONFLICT, "Conflict", "the server reported a conflict"},
    {415, COR_EMEDIATYPE, "UnsupportedMediaType", NULL},
    {422, COR_EINVALID, "Invalid",
     "the server rejected our request due to an error in our request"},
    {429, COR_EBUSY, "TooManyRequests",
     "the server has received too many requests and has asked us to try again later"},
    {503, COR_EUNAVAILABLE, "ServiceUnavailable",
     "the server is currently unable to handle the request"},
    {504, COR_ETIMEOUT, "Timeout",
     "the server was unable to return a response in the time allotted, but may still be "
     "processing the request"},
};

static int by_code(int code)
{
    switch (code) {
    case 410:
        return -COR_EEXPIRED;
    case 413:
        return -COR_ETOOBIG;
    default:
        return code >= 500 ? -COR_EINTERNAL : -COR_EINVAL;
    }
}

static void set_unknown(struct cor_status *st, int code, struct cor_str text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted;

    cor_buf_init(&quoted, 8 * TEXT_MAX);
    if (code < 500) {
        cor_status_untyped(st, by_code(code),
                           "the server responded with the status code %d but did not return more "
                           "information",
                           code);
        return;
    }
    cor_quote(text, &quoted);
    cor_status_untyped(st, code == 502 ? -COR_EUNAVAILABLE : -COR_EINTERNAL,
                       "an error on the server (%s) has prevented the request from succeeding",
                       cor_buf_z(&quoted));
    st->reason = "InternalError";
}

static void set_known(struct cor_status *st, const struct generic *g, struct cor_str text)
{
    if (g->message)
        cor_status_untyped(st, -g->err, "%s", g->message);
    else if (g->code == 406 && (text.n == 0 || cor_str_eqz(text, "unknown")))
        cor_status_untyped(
            st, -g->err,
            "the server was unable to respond with a content type that the client supports");
    else
        cor_status_untyped(st, -g->err, "%.*s", COR_STR_ARG(text));
    st->reason = g->reason;
}

int cor_status_generic(struct cor_status *st, int code, struct cor_str method, struct cor_str text,
                       int64_t retry_after_s)
{
    COR_CLEANUP(cor_freep) char *cause = NULL;
    const struct generic *known = NULL;

    text = cor_str_trim(cor_str(text.p, text.n < TEXT_MAX ? text.n : TEXT_MAX));
    for (size_t i = 0; i < COR_ARRAY_LEN(answers); i++)
        if (answers[i].code == code)
            known = &answers[i];
    if (known)
        set_known(st, known, text);
    else
        set_unknown(st, code, text);
    if (code == 409 && cor_str_eqz(method, "POST")) {
        st->err = -COR_EEXIST;
        st->reason = "AlreadyExists";
    }
    st->code = code;
    st->has_details = true;
    st->retry_after_s = retry_after_s;
    cause = cor_strndup(text.p, text.n);
    cor_status_add_cause(st, "UnexpectedServerResponse", cause, NULL);
    return st->err;
}
