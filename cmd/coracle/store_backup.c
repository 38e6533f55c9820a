/* `coracle store backup`: copies the store at one revision into a new file, also beside a running
 * server. */
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "session.h"
#include "storage/engine/maintenance.h"
#include "store_commands.h"
#include "json/write/writer.h"

#define OUTPUT_BYTES_MAX (64u * 1024)

struct backup_opts {
    struct session_opts session;
    const char *to;
};

static void print_outcome(struct session *s, const char *to, uint64_t bytes)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted;

    cor_buf_init(&quoted, OUTPUT_BYTES_MAX);
    if (!session_wants_json(s))
        printf("%s: %" PRIu64 " bytes; as store.db in an empty folder it is the store again\n", to,
               bytes);
    else if (cor_json_quote(&quoted, cor_strz(to)) == 0)
        printf("{\"file\":%s,\"fileBytes\":%" PRIu64 "}\n", cor_buf_z(&quoted), bytes);
}

static int backup_store(struct session *s, const char *to)
{
    int status = session_check_files(s);
    struct stat st;

    if (status != EXIT_OK)
        return status;
    if (cor_store_backup(s->opts->data, to, NULL, NULL, &s->status) < 0)
        return session_report(s);
    print_outcome(s, to, stat(to, &st) == 0 ? (uint64_t)st.st_size : 0);
    return session_finish_output(s);
}

static int run_store_backup(const void *opts, const char *const *args, size_t nargs)
{
    const struct backup_opts *o = opts;
    struct session s;
    int status;

    (void)args, (void)nargs;
    session_init(&s, "store backup", &o->session);
    status = backup_store(&s, o->to);
    session_close(&s);
    return status;
}

static const struct backup_opts defaults = {.session = SESSION_OPTS_DEFAULT};
static const struct flag flags[] = {
    SESSION_FLAG_DATA,
    {.name = "to",
     .kind = FLAG_TEXT,
     .at = offsetof(struct backup_opts, to),
     .value = "FILE",
     .help = "where the copy goes; must not exist",
     .required = true},
    SESSION_FLAG_OUTPUT("text|json", "how to print the outcome (text)"),
    SESSION_FLAG_BACKEND,
};

const struct command store_backup = {
    .group = "store",
    .name = "backup",
    .args = "",
    .summary = "Copy the store to a file, at one revision",
    .details = "Works beside a process that holds the store and goes on writing.\n",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_store_backup,
};
