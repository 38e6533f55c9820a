/* `coracle store rewrite`: writes every value again with the first key of the encryption file, or
 * in another form (JSON, protobuf). With an encryption file, and if all values could be read, it
 * then removes what was replaced from disk and history. Values that cannot be read are named, and
 * the command ends with status 1. */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"
#include "meta/names/key.h"
#include "schema/kinds/resource_row.h"
#include "server/stored/stored_form.h"
#include "session.h"
#include "storage/encryption/encryption_config.h"
#include "storage/engine/maintenance.h"
#include "storage/maintenance/rewriter.h"
#include "store_commands.h"

#define PROGRESS_MS 1000

struct rewrite_opts {
    struct session_opts session;
    const char *resources;
    const char *media_type; /* NULL: the form of values stays */
};

struct rewrite {
    struct session session;
    const struct rewrite_opts *opts;
    struct cor_buf prefix; /* of all keys, with its slashes */
    struct store_key key;  /* the last one that was looked at, for its resource */
    const struct cor_transformer *transformer; /* of that resource; NULL: it is left alone */
    enum cor_stored_form form;                 /* that is wanted, if there is a media type */
    uint64_t said_ms;
    bool is_clean; /* all values were seen, and could be read */
    int exit_status;
};

static bool is_wanted(const struct rewrite *rw, const struct cor_gr *gr)
{
    struct cor_str rest = cor_strz(rw->opts->resources);

    if (!rw->opts->resources)
        return true;
    while (rest.p) {
        struct cor_gr one = cor_encryption_gr(cor_str_cut(&rest, ','));

        if (cor_gr_eq(&one, gr))
            return true;
    }
    return false;
}

/* A name that can be no resource would silently rewrite nothing. */
static int check_resources(struct rewrite *rw)
{
    struct cor_str rest = cor_strz(rw->opts->resources);
    size_t n;
    const struct cor_resource_row *builtins = cor_api_builtins(&n);

    while (rw->opts->resources && rest.p) {
        struct cor_str name = cor_str_cut(&rest, ',');
        struct cor_gr gr = cor_encryption_gr(name);
        bool known = gr.group.n > 0;

        for (size_t i = 0; i < n && !known; i++) {
            struct cor_gr own = cor_api_gr(&builtins[i]);

            known = cor_gr_eq(&own, &gr);
        }
        if (known)
            continue;
        (void)cor_status_set(&rw->session.status, -COR_EINVAL,
                             "flag --resources: there is no resource \"%.*s\"; expected names such "
                             "as secrets,deployments.apps",
                             COR_STR_ARG(name));
        session_report(&rw->session);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}

/* Keys come in order, so that nearly each is of the resource of the one before. */
static bool is_same_resource(const struct rewrite *rw, struct cor_str logical)
{
    struct cor_str prefix = cor_strz(rw->key.resource_prefix);

    return prefix.n > 0 && cor_str_starts(logical, prefix) && logical.n > prefix.n &&
           logical.p[prefix.n] == '/';
}

static const struct cor_transformer *transformer_of(void *arg, struct cor_str key)
{
    struct rewrite *rw = arg;
    struct cor_str logical = cor_str_from(key, rw->prefix.n - 1);
    char text[STORE_KEY_MAX];

    if (is_same_resource(rw, logical))
        return rw->transformer;
    rw->transformer = NULL;
    rw->key.resource_prefix[0] = '\0';
    snprintf(text, sizeof(text), "%.*s", COR_STR_ARG(cor_str_from(logical, 1)));
    /* What is no resource (ranges of addresses, leases of masters) is never encrypted. */
    if (store_key_parse(text, &rw->key, NULL) < 0 || !is_wanted(rw, &rw->key.gr))
        return NULL;
    if (session_transformer(&rw->session, &rw->key, &rw->transformer) < 0)
        rw->transformer = NULL;
    else if (!rw->session.transformers)
        rw->transformer = cor_transformer_identity();
    return rw->transformer;
}

static int convert(void *arg, struct cor_str value, struct cor_buf *out, struct cor_str *ret_value,
                   struct cor_status *reterr_status)
{
    return cor_stored_form_convert(((struct rewrite *)arg)->form, value, out, ret_value,
                                   reterr_status);
}

static void on_failure(void *arg, struct cor_str key, const struct cor_status *why)
{
    struct rewrite *rw = arg;

    fprintf(stderr, "coracle store rewrite: %.*s: %s\n", COR_STR_ARG(key), cor_status_message(why));
    rw->exit_status = EXIT_FAILED;
}

static void print_counts(const struct cor_rewriter_counts *counts)
{
    fprintf(stderr, "%" PRIu64 " of %" PRIu64 " keys, %" PRIu64 " rewritten\n", counts->seen,
            counts->total, counts->rewritten);
}

static void on_progress(void *arg, const struct cor_rewriter_counts *counts)
{
    struct rewrite *rw = arg;
    uint64_t now_ms = cor_clock_mono_us(cor_clock_real()) / 1000;

    if (now_ms - rw->said_ms < PROGRESS_MS)
        return;
    rw->said_ms = now_ms;
    print_counts(counts);
}

static void rewrite_on_done(void *arg, int err, struct cor_status *status,
                            const struct cor_rewriter_counts *counts)
{
    struct rewrite *rw = arg;

    if (err < 0) {
        cor_status_move(&rw->session.status, status);
        rw->exit_status = session_report(&rw->session);
        rw->session.done = true;
        return;
    }
    rw->is_clean = counts->failed == 0;
    if (session_wants_json(&rw->session)) {
        printf("{\"keys\":%" PRIu64 ",\"rewritten\":%" PRIu64 ",\"failed\":%" PRIu64 "}\n",
               counts->seen, counts->rewritten, counts->failed);
    } else {
        printf("rewrote %" PRIu64 " of %" PRIu64 " keys", counts->rewritten, counts->seen);
        if (counts->failed)
            printf("; %" PRIu64 " could not be read", counts->failed);
        putchar('\n');
    }
    rw->session.done = true;
}

/* Removes what was replaced by encryption: it must not be readable on the disk, nor in history by
 * the old key. */
static int scrub_store(struct session *s)
{
    if (!session_has_files(s) || !s->transformers)
        return EXIT_OK;
    s->engine = cor_engine_close(s->engine);
    return cor_store_scrub(s->opts->data, &s->status) < 0 ? session_report(s) : EXIT_OK;
}

static int rewrite_store(struct rewrite *rw)
{
    struct session *s = &rw->session;
    const char *prefix =
        s->opts->path_prefix ? s->opts->path_prefix : COR_STORE_PATH_PREFIX_DEFAULT;
    struct cor_rewriter_opts opts = {.transformer_of = transformer_of,
                                     .convert = rw->opts->media_type ? convert : NULL,
                                     .on_failure = on_failure,
                                     .on_progress = on_progress,
                                     .on_done = rewrite_on_done,
                                     .arg = rw};
    int status = check_resources(rw);

    if (status == EXIT_OK && !s->opts->encryption_config && !rw->opts->media_type) {
        (void)cor_status_set(&s->status, -COR_EINVAL,
                             "flag --encryption-provider-config or --storage-media-type is "
                             "needed: what each value is to be written by, or as");
        session_report(s);
        status = EXIT_USAGE;
    }
    if (status == EXIT_OK && cor_stored_form_parse(rw->opts->media_type, &rw->form, NULL) < 0)
        status = EXIT_USAGE;
    if (status == EXIT_OK)
        status = session_open_encryption(s);
    if (status == EXIT_OK)
        status = session_open(s, SESSION_CHANGES);
    if (status != EXIT_OK)
        return status;
    if (cor_key_path_prefix(cor_strz(prefix), &rw->prefix) < 0) {
        cor_status_no_memory(&s->status);
        return session_report(s);
    }
    opts.prefix = cor_buf_str(&rw->prefix);
    opts.engine = s->engine;
    opts.loop = s->loop;
    rw->said_ms = cor_clock_mono_us(cor_clock_real()) / 1000;
    if (cor_rewriter_start(&opts, &s->status) < 0)
        return session_report(s);
    session_wait(s);
    if (rw->is_clean && scrub_store(s) != EXIT_OK)
        rw->exit_status = EXIT_FAILED;
    return rw->exit_status == EXIT_OK ? session_finish_output(s) : rw->exit_status;
}

static int run_store_rewrite(const void *opts, const char *const *args, size_t nargs)
{
    struct rewrite rw = {.opts = opts, .exit_status = EXIT_OK};
    int status;

    (void)args, (void)nargs;
    session_init(&rw.session, "store rewrite", opts);
    cor_buf_init(&rw.prefix, COR_KEY_BYTES_MAX);
    status = rewrite_store(&rw);
    session_close(&rw.session);
    cor_buf_deinit(&rw.prefix);
    return status;
}

static const struct rewrite_opts defaults = {.session = SESSION_OPTS_DEFAULT};
static const struct flag flags[] = {
    SESSION_FLAG_DATA,
    {.name = "encryption-provider-config",
     .kind = FLAG_TEXT,
     .at = offsetof(struct rewrite_opts, session.encryption_config),
     .value = "FILE",
     .help = "what each value is to be written by; it must also read what is there"},
    {.name = "storage-media-type",
     .kind = FLAG_CHOICE,
     .at = offsetof(struct rewrite_opts, media_type),
     .value = "application/json|application/vnd.kubernetes.protobuf",
     .help = "what objects of built-in kinds are to be written as (their form stays)"},
    {.name = "resources",
     .kind = FLAG_TEXT,
     .at = offsetof(struct rewrite_opts, resources),
     .value = "NAMES",
     .help = "only these, such as secrets,deployments.apps (all)"},
    SESSION_FLAG_OUTPUT("text|json", "a line that says what happened, or numbers (text)"),
    SESSION_FLAG_BACKEND,
    SESSION_FLAG_PREFIX,
};

const struct command store_rewrite = {
    .group = "store",
    .name = "rewrite",
    .args = "",
    .summary = "Encrypt everything with the present key, or change its form",
    .details =
        "Reads every value and writes those anew that the first key of the first provider did not\n"
        "write: after a rotation of keys, or to begin or end encryption. With --storage-media-type\n"
        "also those that have another form. Says on standard error, once a second, how far it is. It\n"
        "may be stopped at any time and run again. A write that comes between is never lost. After\n"
        "encryption a store of SQLite forgets its history and its file is written anew, so that no\n"
        "old value can be read in it; on etcd old values stay until it is compacted and\n"
        "defragmented.\n",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_store_rewrite,
};
