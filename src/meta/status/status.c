#include "meta/status/status.h"

#include "base/mem.h"
#include "meta/status/gvk.h"
#include "meta/status/quote.h"
#include "json/write/print.h"

void cor_status_init(struct cor_status *st)
{
    *st = (struct cor_status){.reason = ""};
}

static void free_causes(struct cor_status_cause *causes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cor_free(causes[i].type);
        cor_free(causes[i].message);
        cor_free(causes[i].field);
    }
    cor_free(causes);
}

void cor_status_deinit(struct cor_status *st)
{
    cor_free(st->message);
    cor_free(st->name);
    cor_free(st->group);
    cor_free(st->kind);
    cor_free(st->uid);
    cor_free(st->continue_token);
    free_causes(st->causes, st->ncauses);
    cor_status_init(st);
}

void cor_status_move(struct cor_status *to, struct cor_status *from)
{
    struct cor_status moved = *from;

    cor_status_init(from);
    cor_status_deinit(to);
    *to = moved;
}

static int dup_text(const char *s, char **ret)
{
    if (!s)
        return 0;
    *ret = cor_strdup(s);
    return *ret ? 0 : -COR_ENOMEM;
}

int cor_status_copy(struct cor_status *to, const struct cor_status *from)
{
    struct cor_status copy;
    int r;

    cor_status_init(&copy);
    copy.err = from->err;
    copy.code = from->code;
    copy.reason = from->reason;
    copy.retry_after_s = from->retry_after_s;
    copy.has_details = from->has_details;
    if ((r = dup_text(from->message, &copy.message)) == 0 &&
        (r = dup_text(from->name, &copy.name)) == 0 &&
        (r = dup_text(from->group, &copy.group)) == 0 &&
        (r = dup_text(from->kind, &copy.kind)) == 0 && (r = dup_text(from->uid, &copy.uid)) == 0)
        r = dup_text(from->continue_token, &copy.continue_token);
    for (size_t i = 0; r == 0 && i < from->ncauses; i++)
        r = cor_status_add_cause(&copy, from->causes[i].type, from->causes[i].message,
                                 from->causes[i].field);
    cor_status_move(to, &copy);
    return r;
}

/* The new status is built aside and then moved in, so that arguments may point into the old one. */
static struct cor_status begin(int err)
{
    return (struct cor_status){
        .err = err, .code = cor_err_http(err), .reason = cor_err_reason(err)};
}

/* A cut must not leave half a UTF-8 sequence. */
static void cut_to(struct cor_buf *text, size_t n)
{
    while (n > 0 && ((unsigned char)text->p[n] & 0xc0) == 0x80)
        n--;
    cor_buf_truncate(text, n);
}

static void take_message(struct cor_status *st, struct cor_buf *text, int r)
{
    if (r == 0 && text->n > COR_STATUS_MESSAGE_MAX)
        cut_to(text, COR_STATUS_MESSAGE_MAX);
    if (r == 0)
        st->message = cor_buf_steal(text, NULL);
    cor_buf_deinit(text);
}

/* Room to format a message before it is cut. */
static void init_text(struct cor_buf *text)
{
    cor_buf_init(text, 16 * COR_STATUS_MESSAGE_MAX);
}

static void format_message(struct cor_status *st, const char *prefix, const char *fmt, va_list ap)
{
    struct cor_buf text;
    int r;

    init_text(&text);
    r = cor_buf_addz(&text, prefix);
    if (r == 0)
        r = cor_buf_addv(&text, fmt, ap);
    take_message(st, &text, r);
}

int cor_status_set_err(struct cor_status *st, int err)
{
    return cor_status_set(st, err, "%s", cor_err_text(err));
}

int cor_status_no_memory(struct cor_status *st)
{
    return cor_status_set_err(st, -COR_ENOMEM);
}

int cor_status_set(struct cor_status *st, int err, const char *fmt, ...)
{
    struct cor_status next = begin(err);
    va_list ap;

    if (!st)
        return err;
    va_start(ap, fmt);
    format_message(&next, "", fmt, ap);
    va_end(ap);
    cor_status_move(st, &next);
    return err;
}

int cor_status_untyped(struct cor_status *st, int err, const char *fmt, ...)
{
    struct cor_status next = {.err = err, .code = 500, .reason = ""};
    va_list ap;

    if (!st)
        return err;
    va_start(ap, fmt);
    format_message(&next, "", fmt, ap);
    va_end(ap);
    cor_status_move(st, &next);
    return err;
}

int cor_status_received(struct cor_status *st, int r)
{
    if (r != -COR_EINVAL)
        return r;
    if (st && st->err == -COR_EINVAL) {
        st->err = -COR_EPROTOCOL;
        st->code = 500;
        st->reason = "";
    }
    return -COR_EPROTOCOL;
}

static int add_subject(struct cor_buf *text, const struct cor_gr *gr, struct cor_str name)
{
    int r = cor_gr_print(gr, text);

    if (r == 0)
        r = cor_buf_addc(text, ' ');
    return r < 0 ? r : cor_quote(name, text);
}

static int set_about(struct cor_status *st, int err, const struct cor_gr *gr, struct cor_str name,
                     const char *what)
{
    struct cor_status next = begin(err);
    struct cor_buf text;
    int r;

    if (!st)
        return err;
    (void)cor_status_set_details(&next, name, gr->group, gr->resource);
    init_text(&text);
    r = add_subject(&text, gr, name);
    if (r == 0)
        r = cor_buf_addz(&text, what);
    take_message(&next, &text, r);
    cor_status_move(st, &next);
    return err;
}

int cor_status_not_found(struct cor_status *st, const struct cor_gr *gr, struct cor_str name)
{
    return set_about(st, -COR_ENOTFOUND, gr, name, " not found");
}

int cor_status_already_exists(struct cor_status *st, const struct cor_gr *gr, struct cor_str name)
{
    return set_about(st, -COR_EEXIST, gr, name, " already exists");
}

/* `<before><subject><after><fmt …>`. What is forbidden may have no name yet. */
static int fill_about(struct cor_status *st, int err, const struct cor_gr *gr, struct cor_str name,
                      const char *before, const char *after, const char *fmt, va_list ap)
{
    struct cor_status next = begin(err);
    struct cor_buf text;
    int r;

    if (!st)
        return err;
    (void)cor_status_set_details(&next, name, gr->group, gr->resource);
    init_text(&text);
    r = cor_buf_addz(&text, before);
    if (r == 0)
        r = err == -COR_EFORBIDDEN && name.n == 0 ? cor_gr_print(gr, &text)
                                                  : add_subject(&text, gr, name);
    if (r == 0)
        r = cor_buf_addz(&text, after);
    if (r == 0)
        r = cor_buf_addv(&text, fmt, ap);
    take_message(&next, &text, r);
    cor_status_move(st, &next);
    return err;
}

int cor_status_conflict(struct cor_status *st, const struct cor_gr *gr, struct cor_str name,
                        const char *fmt, ...)
{
    va_list ap;
    int r;

    va_start(ap, fmt);
    r = fill_about(st, -COR_ECONFLICT, gr, name, "Operation cannot be fulfilled on ", ": ", fmt,
                   ap);
    va_end(ap);
    return r;
}

int cor_status_forbidden(struct cor_status *st, const struct cor_gr *gr, struct cor_str name,
                         const char *fmt, ...)
{
    va_list ap;
    int r;

    va_start(ap, fmt);
    r = fill_about(st, -COR_EFORBIDDEN, gr, name, "", " is forbidden: ", fmt, ap);
    va_end(ap);
    return r;
}

int cor_status_bad_request(struct cor_status *st, const char *fmt, ...)
{
    struct cor_status next = begin(-COR_EINVAL);
    va_list ap;

    if (!st)
        return -COR_EINVAL;
    va_start(ap, fmt);
    format_message(&next, "", fmt, ap);
    va_end(ap);
    cor_status_move(st, &next);
    return -COR_EINVAL;
}

int cor_status_internal(struct cor_status *st, const char *fmt, ...)
{
    static const char prefix[] = "Internal error occurred: ";
    struct cor_status next = begin(-COR_EINTERNAL);
    va_list ap;

    if (!st)
        return -COR_EINTERNAL;
    next.has_details = true;
    va_start(ap, fmt);
    format_message(&next, prefix, fmt, ap);
    va_end(ap);
    if (next.message)
        (void)cor_status_add_cause(&next, NULL, next.message + sizeof(prefix) - 1, NULL);
    cor_status_move(st, &next);
    return -COR_EINTERNAL;
}

int cor_status_expired(struct cor_status *st, const char *fmt, ...)
{
    struct cor_status next = begin(-COR_EEXPIRED);
    va_list ap;

    if (!st)
        return -COR_EEXPIRED;
    va_start(ap, fmt);
    format_message(&next, "", fmt, ap);
    va_end(ap);
    cor_status_move(st, &next);
    return -COR_EEXPIRED;
}

int cor_status_timeout(struct cor_status *st, int64_t retry_after_s, const char *fmt, ...)
{
    struct cor_status next = begin(-COR_ETIMEOUT);
    va_list ap;

    if (!st)
        return -COR_ETIMEOUT;
    next.has_details = true;
    next.retry_after_s = retry_after_s;
    va_start(ap, fmt);
    format_message(&next, "Timeout: ", fmt, ap);
    va_end(ap);
    cor_status_move(st, &next);
    return -COR_ETIMEOUT;
}

int cor_status_too_large_rv(struct cor_status *st, uint64_t want, uint64_t have,
                            int64_t retry_after_s)
{
    if (!st)
        return -COR_EFUTURE;
    cor_status_set(st, -COR_EFUTURE, "Timeout: Too large resource version: %llu, current: %llu",
                   (unsigned long long)want, (unsigned long long)have);
    st->has_details = true;
    st->retry_after_s = retry_after_s;
    (void)cor_status_add_cause(st, "ResourceVersionTooLarge", "Too large resource version", NULL);
    return -COR_EFUTURE;
}

int cor_status_server_timeout(struct cor_status *st, const struct cor_gr *gr, const char *operation,
                              int64_t retry_after_s)
{
    struct cor_status next = begin(-COR_EUNREACHABLE);
    struct cor_buf text;
    int r;

    if (!st)
        return -COR_EUNREACHABLE;
    (void)cor_status_set_details(&next, cor_strz(operation), gr->group, gr->resource);
    next.retry_after_s = retry_after_s;
    init_text(&text);
    if ((r = cor_buf_addf(&text, "The %s operation against ", operation)) == 0 &&
        (r = cor_gr_print(gr, &text)) == 0)
        r = cor_buf_addz(&text, " could not be completed at this time, please try again.");
    take_message(&next, &text, r);
    cor_status_move(st, &next);
    return -COR_EUNREACHABLE;
}

int cor_status_too_many_requests(struct cor_status *st, const char *message, int64_t retry_after_s)
{
    if (!st)
        return -COR_EBUSY;
    cor_status_set(st, -COR_EBUSY, "%s", message);
    st->has_details = true;
    st->retry_after_s = retry_after_s;
    return -COR_EBUSY;
}

int cor_status_add_cause(struct cor_status *st, const char *type, const char *message,
                         const char *field)
{
    struct cor_status_cause cause = {0}, *grown;
    int r;

    if (st->ncauses == COR_STATUS_CAUSES_MAX)
        return 0;
    grown = cor_realloc(st->causes, (st->ncauses + 1) * sizeof(*grown));
    if (!grown)
        return -COR_ENOMEM;
    st->causes = grown;
    if ((r = dup_text(type, &cause.type)) < 0 || (r = dup_text(message, &cause.message)) < 0 ||
        (r = dup_text(field, &cause.field)) < 0) {
        cor_free(cause.type);
        cor_free(cause.message);
        return r;
    }
    st->causes[st->ncauses++] = cause;
    st->has_details = true;
    return 0;
}

static int dup_part(struct cor_str s, char **ret)
{
    if (!s.n)
        return 0;
    *ret = cor_strndup(s.p, s.n);
    return *ret ? 0 : -COR_ENOMEM;
}

int cor_status_set_details(struct cor_status *st, struct cor_str name, struct cor_str group,
                           struct cor_str kind)
{
    COR_CLEANUP(cor_freep) char *new_name = NULL, *new_group = NULL, *new_kind = NULL;
    int r;

    st->has_details = true;
    if ((r = dup_part(name, &new_name)) < 0 || (r = dup_part(group, &new_group)) < 0 ||
        (r = dup_part(kind, &new_kind)) < 0)
        return r;
    cor_free(st->name);
    cor_free(st->group);
    cor_free(st->kind);
    st->name = COR_STEAL(new_name);
    st->group = COR_STEAL(new_group);
    st->kind = COR_STEAL(new_kind);
    return 0;
}

int cor_status_set_continue(struct cor_status *st, struct cor_str token)
{
    char *copy = NULL;
    int r = dup_part(token, &copy);

    if (r < 0)
        return r;
    cor_free(st->continue_token);
    st->continue_token = copy;
    return 0;
}

const char *cor_status_message(const struct cor_status *st)
{
    return st->message ? st->message : cor_err_text(st->err);
}

static void write_details(struct cor_json_writer *w, const struct cor_status *st)
{
    cor_json_print(w, "details:{name?:%s,group?:%s,kind?:%s,uid?:%s", st->name, st->group, st->kind,
                   st->uid);
    if (st->ncauses > 0) {
        cor_json_print(w, "causes:[");
        for (size_t i = 0; i < st->ncauses; i++)
            cor_json_print(w, "{reason?:%s,message?:%s,field?:%s}", st->causes[i].type,
                           st->causes[i].message, st->causes[i].field);
        cor_json_end_array(w);
    }
    cor_json_print(w, "retryAfterSeconds?:%d}", st->retry_after_s > 0 ? st->retry_after_s : 0);
}

int cor_status_write(const struct cor_status *st, struct cor_buf *out)
{
    size_t mark = out->n;
    struct cor_json_writer w;
    int r;

    cor_json_writer_init(&w, out);
    cor_json_print(&w,
                   "{kind:'Status',apiVersion:'v1',metadata:{continue?:%s},status:'Failure',"
                   "message?:%s,reason?:%s",
                   st->continue_token, cor_status_message(st), st->reason);
    if (st->has_details)
        write_details(&w, st);
    cor_json_print(&w, "code:%d}", st->code);
    r = cor_json_writer_finish(&w);
    if (r < 0)
        cor_buf_truncate(out, mark);
    return r;
}
