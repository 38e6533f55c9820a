/* `coracle store watch`: prints events as lines of JSON until a signal, the timeout, an ERROR
 * event, or a standard output that cannot be written. */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "interrupt.h"
#include "loop/timer.h"
#include "session.h"
#include "storage/store/store_watch.h"
#include "store_commands.h"

#define STATUS_BYTES_MAX (256u * 1024)

struct watch_opts {
    struct session_opts session;
    uint64_t from, timeout_s;
    const char *selector, *field_selector;
};

struct watch {
    struct session session;
    const struct watch_opts *opts;
    struct cor_predicate predicate;
    struct interrupt interrupt;
    struct cor_timer timer;
    struct cor_store_watch *watch; /* NULL once it is being closed */
};

static const char *const type_names[] = {
    [COR_WATCH_ADDED] = "ADDED",     [COR_WATCH_MODIFIED] = "MODIFIED",
    [COR_WATCH_DELETED] = "DELETED", [COR_WATCH_BOOKMARK] = "BOOKMARK",
    [COR_WATCH_ERROR] = "ERROR",
};

static void watch_on_closed(void *arg)
{
    ((struct watch *)arg)->session.done = true;
}

static void end_watch(void *arg)
{
    struct watch *w = arg;

    if (w->watch)
        cor_store_watch_close(COR_STEAL(w->watch), watch_on_closed, w);
}

static void watch_on_timeout(struct cor_timer *timer)
{
    end_watch(COR_CONTAINER_OF(timer, struct watch, timer));
}

static void print_event(const char *type, struct cor_str object)
{
    printf("{\"type\":\"%s\",\"object\":%.*s}\n", type, COR_STR_ARG(object));
}

static void print_error(struct watch *w, const struct cor_reader_event *event)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;

    cor_buf_init(&json, STATUS_BYTES_MAX);
    if (cor_status_write(event->status, &json) == 0)
        print_event(type_names[event->type], cor_buf_str(&json));
    fprintf(stderr, "coracle store watch: %s\n", cor_status_message(event->status));
    w->session.exit_status = EXIT_FAILED;
}

static void watch_on_event(void *arg, const struct cor_reader_event *event)
{
    struct watch *w = arg;

    if (event->type == COR_WATCH_ERROR) {
        print_error(w, event);
        end_watch(w);
        return;
    }
    print_event(type_names[event->type], cor_object_json(event->object));
    if (fflush(stdout) != 0)
        end_watch(w);
}

static int parse_predicate(struct watch *w)
{
    return cor_predicate_parse(cor_strz(w->opts->selector), cor_strz(w->opts->field_selector), NULL,
                               &w->predicate, &w->session.status);
}

static int open_watch(struct watch *w)
{
    char from[24] = "";
    struct cor_store_watch_opts watch_opts = {
        .options = {.recursive = true, .watch = true},
        .predicate = cor_predicate_empty(&w->predicate) ? NULL : &w->predicate,
        .on_event = watch_on_event,
        .arg = w,
    };

    if (w->opts->from)
        snprintf(from, sizeof(from), "%" PRIu64, w->opts->from);
    watch_opts.options.resource_version = cor_strz(from);
    return cor_store_watch_open(w->session.store, cor_strz(w->session.key.text), &watch_opts,
                                &w->watch, &w->session.status);
}

/* Runs until a signal, the timeout, an ERROR event or a reader that went away. */
static int watch_until_end(struct watch *w)
{
    int r;

    cor_timer_init(&w->timer, w->session.loop, watch_on_timeout);
    r = interrupt_start(&w->interrupt, w->session.loop, end_watch, w);
    if (r < 0)
        return cor_status_set(&w->session.status, r, "no thread could be made for signals");
    r = open_watch(w);
    if (r == 0 && w->opts->timeout_s)
        r = cor_timer_set(&w->timer, w->opts->timeout_s * 1000);
    if (w->watch) {
        if (r < 0)
            end_watch(w);
        session_wait(&w->session);
    }
    cor_timer_cancel(&w->timer);
    interrupt_stop(&w->interrupt);
    return r;
}

static int watch_objects(struct watch *w, const char *key_arg)
{
    struct session *s = &w->session;
    int status = session_parse_key(s, key_arg);

    if (status == EXIT_OK && parse_predicate(w) < 0)
        status = session_report(s);
    if (status == EXIT_OK)
        status = session_open_store(s, SESSION_CHANGES);
    if (status == EXIT_OK && watch_until_end(w) < 0)
        status = session_report_storage(s, COR_STORAGE_OP_WATCH);
    return status == EXIT_OK ? session_finish_output(s) : status;
}

static int run_store_watch(const void *opts, const char *const *args, size_t nargs)
{
    struct watch w = {.opts = opts};
    int status;

    (void)nargs;
    interrupt_block(&w.interrupt);
    session_init(&w.session, "store watch", opts);
    status = watch_objects(&w, args[0]);
    cor_predicate_deinit(&w.predicate);
    session_close(&w.session);
    return status;
}

static const struct watch_opts defaults = {.session = SESSION_OPTS_DEFAULT};
static const struct flag flags[] = {
    SESSION_FLAG_DATA,
    {.name = "from",
     .kind = FLAG_NUMBER,
     .at = offsetof(struct watch_opts, from),
     .value = "RV",
     .min = 1,
     .help = "changes after this resourceVersion (the current state first)"},
    {.name = "timeout",
     .kind = FLAG_NUMBER,
     .at = offsetof(struct watch_opts, timeout_s),
     .value = "SECONDS",
     .min = 1,
     .max = 31536000,
     .help = "end after this time (until interrupted)"},
    SESSION_FLAGS_SELECTORS(struct watch_opts),
    SESSION_FLAG_OUTPUT("json", "events as they are on the wire (json)"),
    SESSION_FLAG_ENCRYPTION,
    SESSION_FLAG_BACKEND,
    SESSION_FLAG_PREFIX,
};

const struct command store_watch = {
    .group = "store",
    .name = "watch",
    .args = "PREFIX",
    .summary = "Print changes, one event per line",
    .details =
        "Each line is what a Kubernetes watch sends: {\"type\":\"ADDED\",\"object\":{...}}. Without\n"
        "--from the current state comes first, as ADDED. Ends with status 0 on SIGINT and SIGTERM.\n"
        "On SQLite the watch has the store to itself while it runs: what it shows is the history\n"
        "since --from, and objects whose time runs out. On etcd it also shows what others write.\n",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .args_min = 1,
    .args_max = 1,
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_store_watch,
};
