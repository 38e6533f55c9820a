/* `coracle store get`: prints one object as it is served. */
#include <stdio.h>
#include <string.h>

#include "pretty.h"
#include "session.h"
#include "store_commands.h"

static void print_object(struct session *s, const struct cor_object *object)
{
    if (s->opts->output && strcmp(s->opts->output, "pretty") == 0)
        pretty_print(cor_object_json(object), stdout);
    else
        session_print(cor_object_json(object));
}

static void on_got(void *arg, const struct cor_store_reply *reply)
{
    struct session *s = arg;

    if (session_answered(s, COR_STORAGE_OP_GET, reply->err, reply->status))
        print_object(s, reply->object);
}

static int get_object(struct session *s, const char *key_arg)
{
    const struct cor_store_get_opts opts = {.resource_version = COR_STR("")};
    int status = session_parse_key(s, key_arg);

    if (status == EXIT_OK)
        status = session_open_store(s, SESSION_READS);
    if (status != EXIT_OK)
        return status;
    if (cor_store_get(s->store, cor_strz(s->key.text), &opts, on_got, s, &s->status) < 0)
        return session_report_storage(s, COR_STORAGE_OP_GET);
    session_wait(s);
    return session_finish_output(s);
}

static int run_store_get(const void *opts, const char *const *args, size_t nargs)
{
    struct session s;
    int status;

    (void)nargs;
    session_init(&s, "store get", opts);
    status = get_object(&s, args[0]);
    session_close(&s);
    return status;
}

static const struct session_opts defaults = SESSION_OPTS_DEFAULT;
static const struct flag flags[] = {
    SESSION_FLAG_DATA,
    SESSION_FLAG_OUTPUT("json|pretty", "one line as stored, or indented (json)"),
    SESSION_FLAG_ENCRYPTION,
    SESSION_FLAG_BACKEND,
    SESSION_FLAG_PREFIX,
};

const struct command store_get = {
    .group = "store",
    .name = "get",
    .args = "KEY",
    .summary = "Print one object",
    .details = "Works beside a process that holds the store.\n",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .args_min = 1,
    .args_max = 1,
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_store_get,
};
