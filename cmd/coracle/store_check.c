/* `coracle store check`: reads all of the store and reports what is not consistent. Status 1 when
 * there are findings. */
#include <inttypes.h>
#include <stdio.h>

#include "session.h"
#include "storage/engine/maintenance.h"
#include "store_commands.h"
#include "json/write/writer.h"

#define OUTPUT_BYTES_MAX (1u << 20)

struct check {
    struct session session;
    struct cor_buf findings; /* JSON strings, a comma before each but the first */
};

static void on_finding(void *arg, const char *finding)
{
    struct check *c = arg;

    if (!session_wants_json(&c->session)) {
        printf("%s\n", finding);
        return;
    }
    if (c->findings.n && cor_buf_addc(&c->findings, ',') < 0)
        return;
    cor_json_quote(&c->findings, cor_strz(finding));
}

static void print_summary(struct check *c, const struct cor_store_summary *s)
{
    if (session_wants_json(&c->session)) {
        printf("{\"revision\":\"%" PRIu64 "\",\"compactRevision\":\"%" PRIu64 "\",\"keys\":%" PRIu64
               ",\"rows\":%" PRIu64 ",\"leases\":%" PRIu64 ",\"fileBytes\":%" PRIu64
               ",\"findings\":%" PRIu64 ",\"found\":[%s]}\n",
               s->rev, s->compact_rev, s->keys, s->rows, s->leases, s->file_bytes, s->findings,
               cor_buf_z(&c->findings));
        return;
    }
    printf("revision %" PRIu64 ", compacted up to %" PRIu64 ", %" PRIu64 " keys, %" PRIu64
           " rows, %" PRIu64 " leases, %" PRIu64 " bytes: %s\n",
           s->rev, s->compact_rev, s->keys, s->rows, s->leases, s->file_bytes,
           s->findings ? "NOT sound" : "sound");
}

static int check_store(struct check *c)
{
    struct cor_store_summary summary = {.rev = 0};
    struct session *s = &c->session;
    int status = session_check_files(s), r;

    if (status != EXIT_OK)
        return status;
    r = cor_store_check(s->opts->data, on_finding, c, &summary, &s->status);
    if (r == 0 || summary.findings)
        print_summary(c, &summary);
    return r < 0 ? session_report(s) : session_finish_output(s);
}

static int run_store_check(const void *opts, const char *const *args, size_t nargs)
{
    struct check c;
    int status;

    (void)args, (void)nargs;
    session_init(&c.session, "store check", opts);
    cor_buf_init(&c.findings, OUTPUT_BYTES_MAX);
    status = check_store(&c);
    cor_buf_deinit(&c.findings);
    session_close(&c.session);
    return status;
}

static const struct session_opts defaults = SESSION_OPTS_DEFAULT;
static const struct flag flags[] = {
    SESSION_FLAG_DATA,
    SESSION_FLAG_OUTPUT("text|json", "how to print what was found (text)"),
    SESSION_FLAG_BACKEND,
};

const struct command store_check = {
    .group = "store",
    .name = "check",
    .args = "",
    .summary = "Read everything and say whether it is sound",
    .details = "Works beside a process that holds the store, and changes nothing. Status 1 when a\n"
               "fault was found.\n",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_store_check,
};
