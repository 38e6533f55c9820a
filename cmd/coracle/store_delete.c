/* `coracle store delete`: removes one object, with uid and resourceVersion as preconditions. */
#include <stdio.h>

#include "session.h"
#include "store_commands.h"

struct delete_opts {
    struct session_opts session;
    const char *uid;
    const char *resource_version;
};

static void on_deleted(void *arg, const struct cor_store_reply *reply)
{
    struct session *s = arg;

    if (!session_answered(s, COR_STORAGE_OP_DELETE, reply->err, reply->status))
        return;
    if (session_wants_json(s))
        session_print(cor_object_json(reply->object));
    else
        printf("%s deleted, resourceVersion %llu\n", s->key.text + 1,
               (unsigned long long)reply->object->rev);
}

static struct cor_str wanted(const char *text)
{
    return cor_str(text, text ? strlen(text) : 0);
}

static int delete_object(struct session *s, const struct delete_opts *o, const char *key_arg)
{
    const struct cor_store_delete_opts opts = {
        .preconditions = {.uid = wanted(o->uid), .resource_version = wanted(o->resource_version)},
        .on_done = on_deleted,
        .arg = s,
    };
    int status = session_parse_key(s, key_arg);

    if (status == EXIT_OK)
        status = session_open_store(s, SESSION_CHANGES);
    if (status != EXIT_OK)
        return status;
    if (cor_store_delete(s->store, cor_strz(s->key.text), &opts, &s->status) < 0)
        return session_report_storage(s, COR_STORAGE_OP_DELETE);
    session_wait(s);
    return session_finish_output(s);
}

static int run_store_delete(const void *opts, const char *const *args, size_t nargs)
{
    struct session s;
    int status;

    (void)nargs;
    session_init(&s, "store delete", opts);
    status = delete_object(&s, opts, args[0]);
    session_close(&s);
    return status;
}

static const struct delete_opts defaults = {.session = SESSION_OPTS_DEFAULT};
static const struct flag flags[] = {
    SESSION_FLAG_DATA,
    {.name = "uid",
     .kind = FLAG_TEXT,
     .at = offsetof(struct delete_opts, uid),
     .value = "UID",
     .help = "only if the object has this metadata.uid"},
    {.name = "resource-version",
     .kind = FLAG_TEXT,
     .at = offsetof(struct delete_opts, resource_version),
     .value = "RV",
     .help = "only if the object has this resourceVersion"},
    SESSION_FLAG_OUTPUT("text|json", "a line that says what happened, or the last state (text)"),
    SESSION_FLAG_ENCRYPTION,
    SESSION_FLAG_BACKEND,
    SESSION_FLAG_PREFIX,
};

const struct command store_delete = {
    .group = "store",
    .name = "delete",
    .args = "KEY",
    .summary = "Delete an object",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .args_min = 1,
    .args_max = 1,
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_store_delete,
};
