/* `coracle store compact`: reads the current revision, compacts up to the given or the current one,
 * and records that revision for the servers on the same store. A step that fails ends the command.
 */
#include <inttypes.h>
#include <stdio.h>

#include "session.h"
#include "store_commands.h"

/* Where servers on one engine read what was compacted; see storage/maintenance/compactor.h. */
#define COMPACT_KEY COR_STR("compact_rev_key")

struct compact_opts {
    struct session_opts session;
    uint64_t revision;
};

struct compaction {
    struct session session;
    struct cor_engine_status_req status;
    struct cor_compact_req compact;
    struct cor_write_req record;
};

static void on_status(struct cor_engine_req *req)
{
    COR_CONTAINER_OF(req, struct compaction, status.req)->session.done = true;
}

static void on_compacted(struct cor_engine_req *req)
{
    COR_CONTAINER_OF(req, struct compaction, compact.req)->session.done = true;
}

static void on_recorded(struct cor_engine_req *req)
{
    COR_CONTAINER_OF(req, struct compaction, record.req)->session.done = true;
}

/* Waits for the end of a request, and keeps its message when it failed. */
static int compaction_wait(struct compaction *c, struct cor_engine_req *req)
{
    int r;

    session_wait(&c->session);
    r = req->result;
    if (r < 0)
        cor_status_move(&c->session.status, &req->status);
    cor_engine_req_deinit(req);
    return r;
}

static int read_status(struct compaction *c)
{
    c->status = (struct cor_engine_status_req){.ret_rev = 0};
    cor_engine_req_init(&c->status.req, c->session.loop, on_status);
    cor_engine_status(c->session.engine, &c->status);
    return compaction_wait(c, &c->status.req);
}

static int compact_engine(struct compaction *c, cor_rev rev)
{
    c->compact = (struct cor_compact_req){.rev = rev};
    cor_engine_req_init(&c->compact.req, c->session.loop, on_compacted);
    cor_engine_compact(c->session.engine, &c->compact);
    return compaction_wait(c, &c->compact.req);
}

/* Takes a revision, so that a list after the compaction has another one than the lists that
 * expired. */
static int compaction_record(struct compaction *c, cor_rev rev)
{
    cor_rev expected = 0;
    char digits[24];
    int r;

    snprintf(digits, sizeof(digits), "%" PRIu64, rev);
    do {
        cor_write_req_init(&c->record, c->session.loop, on_recorded);
        c->record.key = COMPACT_KEY;
        c->record.value = cor_strz(digits);
        c->record.expected = expected;
        cor_engine_write(c->session.engine, &c->record);
        session_wait(&c->session);
        r = c->record.req.result;
        expected = c->record.ret_prev ? c->record.ret_prev->mod_rev : 0;
        if (r < 0 && r != -COR_ECONFLICT)
            cor_status_move(&c->session.status, &c->record.req.status);
        cor_write_req_deinit(&c->record);
    } while (r == -COR_ECONFLICT);
    return r;
}

static int compact_to(struct compaction *c, cor_rev rev)
{
    int r = read_status(c);

    if (r == 0) {
        rev = rev ? rev : c->status.ret_rev;
        r = compact_engine(c, rev);
    }
    if (r == 0 && rev > c->status.ret_compact_rev)
        r = compaction_record(c, rev);
    return r < 0 ? r : read_status(c);
}

static int compact_store(struct compaction *c, cor_rev rev)
{
    struct session *s = &c->session;
    int status = session_open(s, SESSION_CHANGES);

    if (status != EXIT_OK)
        return status;
    if (compact_to(c, rev) < 0)
        return session_report(s);
    if (session_wants_json(s))
        printf("{\"compactRevision\":\"%" PRIu64 "\",\"revision\":\"%" PRIu64 "\"}\n",
               c->status.ret_compact_rev, c->status.ret_rev);
    else
        printf("history up to revision %" PRIu64 " is gone, the store is at %" PRIu64 "\n",
               c->status.ret_compact_rev, c->status.ret_rev);
    return session_finish_output(s);
}

static int run_store_compact(const void *opts, const char *const *args, size_t nargs)
{
    const struct compact_opts *o = opts;
    struct compaction c;
    int status;

    (void)args, (void)nargs;
    session_init(&c.session, "store compact", opts);
    status = compact_store(&c, o->revision);
    session_close(&c.session);
    return status;
}

static const struct compact_opts defaults = {.session = SESSION_OPTS_DEFAULT};
static const struct flag flags[] = {
    SESSION_FLAG_DATA,
    {.name = "revision",
     .kind = FLAG_NUMBER,
     .at = offsetof(struct compact_opts, revision),
     .value = "REV",
     .min = 1,
     .help = "drop history up to this one (the current revision)"},
    SESSION_FLAG_OUTPUT("text|json", "how to print the outcome (text)"),
    SESSION_FLAG_BACKEND,
};

const struct command store_compact = {
    .group = "store",
    .name = "compact",
    .args = "",
    .summary = "Drop history and give space back",
    .details =
        "Objects stay as they are. Reads and watches from an earlier revision are answered with\n"
        "410 Expired afterwards.\n",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_store_compact,
};
