/* What all `coracle store` commands share: opens the engine of the flags (read-only where that is
 * enough), the encryption file and a loop; runs the loop until an operation is done; prints
 * failures; closes all in reverse. */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "server/stored/kind_codec.h"
#include "storage/engine/data_dir.h"

#define MAIL_MAX         1024
#define FOREVER_MS       (UINT64_C(1) << 40)
#define STATUS_BYTES_MAX (256u * 1024)
/* What reads a value without a file. */
#define ENCRYPTED "identity transformer tried to read encrypted data"

bool session_wants_json(const struct session *s)
{
    return s->opts->output && strcmp(s->opts->output, "json") == 0;
}

void session_print(struct cor_str text)
{
    fwrite(text.p, 1, text.n, stdout);
    putchar('\n');
}

static void print_status(const struct cor_status *status)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, STATUS_BYTES_MAX);
    if (cor_status_write(status, &out) == 0)
        session_print(cor_buf_str(&out));
}

int session_report(struct session *s)
{
    fprintf(stderr, "coracle %s: %s%s\n", s->command, cor_status_message(&s->status),
            command_hint(s->status.err));
    if (!s->opts->encryption_config && strstr(cor_status_message(&s->status), ENCRYPTED))
        fprintf(stderr, "The store is encrypted: name the server's file with "
                        "--encryption-provider-config\n");
    if (session_wants_json(s))
        print_status(&s->status);
    return EXIT_FAILED;
}

int session_report_storage(struct session *s, enum cor_storage_op op)
{
    cor_storage_error_to_api(&s->status, op, &s->key.gr, s->key.name);
    return session_report(s);
}

bool session_answered(struct session *s, enum cor_storage_op op, int err, struct cor_status *status)
{
    s->done = true;
    if (err == 0)
        return true;
    cor_status_move(&s->status, status);
    s->exit_status = session_report_storage(s, op);
    return false;
}

int session_finish_output(struct session *s)
{
    if (s->exit_status != EXIT_OK)
        return s->exit_status;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return EXIT_OK;
    fprintf(stderr, "coracle %s: standard output: %s\n", s->command, strerror(errno));
    return EXIT_FAILED;
}

void session_init(struct session *s, const char *command, const struct session_opts *opts)
{
    *s = (struct session){.command = command, .opts = opts};
    cor_status_init(&s->status);
}

static int report_usage(struct session *s)
{
    session_report(s);
    return EXIT_USAGE;
}

int session_parse_key(struct session *s, const char *arg)
{
    return store_key_parse(arg, &s->key, &s->status) < 0 ? report_usage(s) : EXIT_OK;
}

static const char *backend(const struct session *s)
{
    return cor_engine_backend(s->opts->backend, &s->opts->etcd);
}

bool session_has_files(const struct session *s)
{
    return strcmp(backend(s), "sqlite") == 0;
}

int session_check_files(struct session *s)
{
    if (session_has_files(s))
        return EXIT_OK;
    if (s->opts->backend)
        cor_status_set(&s->status, -COR_EINVAL,
                       "flag --storage-backend: \"%s\" has no files here; expected sqlite",
                       backend(s));
    else
        cor_status_set(&s->status, -COR_EINVAL,
                       "flag --etcd-servers: an etcd has no files here; expected --data with the "
                       "folder of an embedded store");
    return report_usage(s);
}

static void on_waiting(void *arg, const char *servers)
{
    fprintf(stderr, "coracle: etcd at %s does not answer yet; waiting\n", servers);
}

int session_open(struct session *s, enum session_use use)
{
    const struct cor_engine_config config = {
        .backend = backend(s),
        .etcd = s->opts->etcd,
        .path_prefix = s->opts->path_prefix,
        .data_dir = s->opts->data,
        .read_only = use == SESSION_READS,
        .on_waiting = on_waiting,
    };
    int r;

    if (use == SESSION_CHANGES && session_has_files(s) && !cor_data_dir_has_store(s->opts->data)) {
        (void)cor_status_set(&s->status, -COR_ENOTFOUND, "there is no store in %s", s->opts->data);
        return session_report(s);
    }
    r = cor_loop_new(MAIL_MAX, &s->loop);
    if (r < 0)
        cor_status_set(&s->status, r, "event loop: %s", cor_err_text(r));
    else
        r = cor_engine_open(&config, &s->engine, &s->status);
    if (r == -COR_EINVAL || r == -COR_ENOTSUP)
        return report_usage(s);
    return r < 0 ? session_report(s) : EXIT_OK;
}

int session_open_encryption(struct session *s)
{
    const char *path = s->opts->encryption_config;

    if (!path)
        return EXIT_OK;
    if (cor_dynamic_transformers_new(path, &s->transformers, &s->status) < 0)
        return session_report(s);
    if (cor_dynamic_transformers_file_is_open(s->transformers))
        fprintf(stderr,
                "coracle %s: warning: others than its owner may read or write %s; make its mode "
                "0600\n",
                s->command, path);
    return EXIT_OK;
}

int session_transformer(struct session *s, const struct store_key *key,
                        const struct cor_transformer **ret_transformer)
{
    if (s->transformers)
        return cor_dynamic_transformers_peek(s->transformers, &key->gr, ret_transformer);
    *ret_transformer = NULL;
    return 0;
}

int session_open_store(struct session *s, enum session_use use)
{
    struct cor_store_opts opts = {.resource_prefix = s->key.resource_prefix,
                                  .path_prefix = s->opts->path_prefix};
    int status = session_open_encryption(s);

    if (status == EXIT_OK)
        status = session_open(s, use);
    if (status != EXIT_OK)
        return status;
    if (session_transformer(s, &s->key, &opts.transformer) < 0) {
        (void)cor_status_no_memory(&s->status);
        return session_report(s);
    }
    if (cor_kind_codec_new(&(struct cor_kind_codec_opts){0}, &opts.take_codec) < 0) {
        (void)cor_status_no_memory(&s->status);
        return session_report(s);
    }
    opts.engine = s->engine;
    opts.loop = s->loop;
    return cor_store_new(&opts, &s->store, &s->status) < 0 ? session_report(s) : EXIT_OK;
}

void session_close(struct session *s)
{
    cor_store_free(s->store);
    cor_engine_close(s->engine);
    cor_dynamic_transformers_free(s->transformers);
    cor_loop_free(s->loop);
    cor_status_deinit(&s->status);
}

static bool is_done(void *arg)
{
    return ((struct session *)arg)->done;
}

void session_wait(struct session *s)
{
    while (!cor_loop_run_until(s->loop, is_done, s, FOREVER_MS))
        continue;
    s->done = false;
}
