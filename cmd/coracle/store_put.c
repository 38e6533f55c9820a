/* `coracle store put`: creates an object or replaces it, from a file or standard input. The input
 * is read and checked before the store is opened, so that nobody waits for the store meanwhile. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/limits.h"
#include "schema/walk/read.h"
#include "server/stored/stored_form.h"
#include "session.h"
#include "store_commands.h"

struct put_opts {
    struct session_opts session;
    uint64_t ttl_s;
    bool create_only;
};

struct put {
    struct session session;
    const struct put_opts *opts;
    struct cor_buf input;
    struct cor_object *object;
    struct cor_str input_rv; /* into input */
    cor_rev found_rev;       /* of the object that is replaced; 0: it is created */
};

static enum cor_storage_op operation(const struct put *put)
{
    return put->opts->create_only ? COR_STORAGE_OP_CREATE : COR_STORAGE_OP_UPDATE;
}

static void put_on_done(void *arg, const struct cor_store_reply *reply)
{
    struct put *put = arg;
    const char *what = "updated";

    if (!session_answered(&put->session, operation(put), reply->err, reply->status))
        return;
    if (session_wants_json(&put->session)) {
        session_print(cor_object_json(reply->object));
        return;
    }
    if (put->found_rev == 0)
        what = "created";
    else if (put->found_rev == reply->object->rev)
        what = "unchanged";
    printf("%s %s, resourceVersion %llu\n", put->session.key.text + 1, what,
           (unsigned long long)reply->object->rev);
}

static void put_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct put *put = arg;

    put->found_rev = current ? current->rev : 0;
    cor_store_change_write(change, cor_object_ref(put->object), (int64_t)put->opts->ttl_s);
}

static int read_all(struct put *put, const char *path)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    char chunk[16384];
    size_t n;
    int r = 0;

    if (!f)
        return cor_status_set(&put->session.status, -COR_EIO, "%s: %s", path, strerror(errno));
    while (r == 0 && (n = fread(chunk, 1, sizeof(chunk), f)) > 0)
        r = cor_buf_add(&put->input, chunk, n);
    if (ferror(f))
        r = cor_status_set(&put->session.status, -COR_EIO, "%s: %s", path, strerror(errno));
    else if (r < 0)
        cor_status_set(&put->session.status, r, "%s: %s", path, cor_err_text(r));
    if (f != stdin)
        fclose(f);
    return r;
}

/* Brings an object of a built-in kind into the form that the server would store: its members have
 * the types of their fields, unknown ones are dropped, and defaults are filled in. */
static int follow_schema(struct put *put)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
    const struct cor_type *type =
        cor_stored_form_type(cor_object_api_version(put->object), cor_object_kind(put->object));
    int r;

    if (!type)
        return 0;
    r = report ? cor_read(cor_buf_str(&put->input), type, report) : -COR_ENOMEM;
    if (r == -COR_EINVAL)
        return cor_status_set(&put->session.status, -COR_EINVALID, "%s", cor_buf_z(&report->error));
    if (r == 0)
        r = cor_stored_form_renew(&put->object);
    return r < 0 ? cor_status_set_err(&put->session.status, r) : 0;
}

static int read_object(struct put *put, const char *path)
{
    int r = read_all(put, path);

    if (r == 0)
        r = cor_object_parse(cor_buf_str(&put->input), NULL, NULL, &put->input_rv, &put->object,
                             &put->session.status);
    if (r == 0)
        r = follow_schema(put);
    if (r == 0)
        r = store_key_check_object(&put->session.key, put->object, &put->session.status);
    if (r == 0 && put->opts->create_only && put->input_rv.n)
        r = cor_status_set(&put->session.status, -COR_EINVALID,
                           "metadata.resourceVersion: \"%.*s\": resourceVersion should not be set "
                           "on objects to be created",
                           COR_STR_ARG(put->input_rv));
    return r;
}

static int put_begin(struct put *put)
{
    const struct cor_store_update_opts update = {
        .ignore_not_found = true,
        .preconditions.resource_version = put->input_rv.n ? put->input_rv : cor_str(NULL, 0),
        .step = put_step,
        .on_done = put_on_done,
        .arg = put,
    };
    struct cor_str key = cor_strz(put->session.key.text);

    if (put->opts->create_only)
        return cor_store_create(put->session.store, key, put->object, (int64_t)put->opts->ttl_s,
                                put_on_done, put, &put->session.status);
    return cor_store_update(put->session.store, key, &update, &put->session.status);
}

/* The object is read and checked first: a mistake in it makes no store, and nobody else waits for
 * the store while a slow standard input is read. */
static int put_object(struct put *put, const char *key_arg, const char *path)
{
    struct session *s = &put->session;
    int status = session_parse_key(s, key_arg);

    if (status == EXIT_OK && read_object(put, path) < 0)
        status = session_report(s);
    if (status == EXIT_OK)
        status = session_open_store(s, SESSION_MAKES);
    if (status != EXIT_OK)
        return status;
    if (put_begin(put) < 0)
        return session_report_storage(s, operation(put));
    session_wait(s);
    return session_finish_output(s);
}

static int run_store_put(const void *opts, const char *const *args, size_t nargs)
{
    struct put put = {.opts = opts};
    int status;

    session_init(&put.session, "store put", opts);
    cor_buf_init(&put.input, COR_PUT_INPUT_MAX);
    status = put_object(&put, args[0], nargs > 1 ? args[1] : "-");
    cor_object_unref(put.object);
    cor_buf_deinit(&put.input);
    session_close(&put.session);
    return status;
}

static const struct put_opts defaults = {.session = SESSION_OPTS_DEFAULT};
static const struct flag flags[] = {
    SESSION_FLAG_DATA,
    {.name = "create-only",
     .kind = FLAG_SWITCH,
     .at = offsetof(struct put_opts, create_only),
     .help = "fail when the object is already there"},
    {.name = "ttl",
     .kind = FLAG_NUMBER,
     .at = offsetof(struct put_opts, ttl_s),
     .value = "SECONDS",
     .min = 1,
     .max = 315360000,
     .help = "delete the object after this time"},
    SESSION_FLAG_OUTPUT("text|json", "a line that says what happened, or the object (text)"),
    SESSION_FLAG_ENCRYPTION,
    SESSION_FLAG_BACKEND,
    SESSION_FLAG_PREFIX,
};

const struct command store_put = {
    .group = "store",
    .name = "put",
    .args = "KEY [FILE]",
    .summary = "Create or replace an object",
    .details =
        "Reads one JSON object from FILE, or from standard input without FILE or with \"-\". Its\n"
        "metadata.name must be the last part of KEY. An object of a built-in kind is stored as the\n"
        "server would store it: without unknown fields, with defaults; a value of another type than\n"
        "its field's is refused. With metadata.resourceVersion it is written\n"
        "only if the stored object has that version. Nothing is written when nothing changes.\n",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .args_min = 1,
    .args_max = 2,
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_store_put,
};
