/* `coracle store list`: prints objects page by page, as a table or as a JSON list; the next page is
 * asked for when the one before is printed. */
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "session.h"
#include "storage/store/store_list.h"
#include "store_commands.h"

/* Without --limit the list is fetched in pages, all at one revision, and printed as they come. */
#define PAGE 500

struct list_opts {
    struct session_opts session;
    uint64_t limit;
    const char *continue_token, *resource_version, *match, *selector, *field_selector;
};

struct list {
    struct session session;
    const struct list_opts *opts;
    struct cor_predicate predicate;
    char *next;    /* token of the page to come; NULL: none */
    uint64_t done; /* items printed */
};

static void print_row(const struct list *l, const struct cor_object *object)
{
    struct cor_str ns = cor_object_namespace(object), name = cor_object_name(object);
    struct cor_str kind = cor_object_kind(object);
    char key[STORE_KEY_MAX];

    snprintf(key, sizeof(key), "%s/%.*s%s%.*s", l->session.key.resource_prefix + 1, COR_STR_ARG(ns),
             ns.n ? "/" : "", COR_STR_ARG(name));
    printf("%-48s %-16" PRIu64 " %.*s\n", key, object->rev, COR_STR_ARG(kind));
}

static void print_page_json(struct list *l, const struct cor_store_list_reply *reply)
{
    if (l->done == 0) {
        printf(
            "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":\"%" PRIu64
            "\"",
            reply->rev);
        if (l->opts->limit && *reply->continue_token)
            printf(",\"continue\":\"%s\"", reply->continue_token);
        if (l->opts->limit && reply->remaining >= 0)
            printf(",\"remainingItemCount\":%" PRId64, reply->remaining);
        printf("},\"items\":[");
    }
    for (size_t i = 0; i < reply->nitems; i++) {
        struct cor_str json = cor_object_json(reply->items[i]);

        if (l->done++)
            putchar(',');
        fwrite(json.p, 1, json.n, stdout);
    }
    if (!l->next)
        puts("]}");
}

static void print_page_table(struct list *l, const struct cor_store_list_reply *reply)
{
    if (l->done == 0 && reply->nitems)
        printf("%-48s %-16s %s\n", "KEY", "RESOURCEVERSION", "KIND");
    for (size_t i = 0; i < reply->nitems; i++)
        print_row(l, reply->items[i]);
    l->done += reply->nitems;
    if (l->next)
        return;
    if (l->done == 0)
        fprintf(stderr, "No objects under %s at resourceVersion %" PRIu64 ".\n",
                l->session.key.text + 1, reply->rev);
    else if (*reply->continue_token && reply->remaining >= 0)
        fprintf(stderr, "%" PRId64 " more: --continue %s\n", reply->remaining,
                reply->continue_token);
    else if (*reply->continue_token)
        fprintf(stderr, "There is more: --continue %s\n", reply->continue_token);
}

static void on_page(void *arg, struct cor_store_list_reply *reply)
{
    struct list *l = arg;

    l->next = cor_free(l->next);
    if (!session_answered(&l->session, COR_STORAGE_OP_LIST, reply->err, reply->status))
        return;
    if (!l->opts->limit && *reply->continue_token) {
        l->next = cor_strdup(reply->continue_token);
        if (!l->next) {
            cor_status_no_memory(&l->session.status);
            l->session.exit_status = session_report(&l->session);
        }
    }
    if (session_wants_json(&l->session))
        print_page_json(l, reply);
    else
        print_page_table(l, reply);
}

/* A page's limit changes what a bare resourceVersion means (then the exact one, else not older), so
 * such a list is fetched whole. */
static int64_t limit_of(const struct list *l)
{
    if (l->opts->limit)
        return (int64_t)l->opts->limit;
    return l->opts->resource_version && !l->opts->match ? 0 : PAGE;
}

static int fetch_page(struct list *l)
{
    const struct cor_store_list_opts list_opts = {
        .options =
            {
                .recursive = true,
                .resource_version = l->next ? COR_STR("") : cor_strz(l->opts->resource_version),
                .resource_version_match = l->next ? COR_STR("") : cor_strz(l->opts->match),
                .limit = limit_of(l),
                .continue_token = cor_strz(l->next ? l->next : l->opts->continue_token),
            },
        .predicate = cor_predicate_empty(&l->predicate) ? NULL : &l->predicate,
    };

    if (cor_store_list(l->session.store, cor_strz(l->session.key.text), &list_opts, on_page, l,
                       &l->session.status) < 0)
        return session_report_storage(&l->session, COR_STORAGE_OP_LIST);
    session_wait(&l->session);
    return l->session.exit_status;
}

static int list_objects(struct list *l, const char *key_arg)
{
    struct session *s = &l->session;
    int status = session_parse_key(s, key_arg);

    if (status == EXIT_OK &&
        cor_predicate_parse(cor_strz(l->opts->selector), cor_strz(l->opts->field_selector), NULL,
                            &l->predicate, &s->status) < 0)
        status = session_report(s);
    if (status == EXIT_OK)
        status = session_open_store(s, SESSION_READS);
    if (status != EXIT_OK)
        return status;
    do
        status = fetch_page(l);
    while (status == EXIT_OK && l->next);
    return status == EXIT_OK ? session_finish_output(s) : status;
}

static int run_store_list(const void *opts, const char *const *args, size_t nargs)
{
    struct list l = {.opts = opts};
    int status;

    (void)nargs;
    session_init(&l.session, "store list", opts);
    status = list_objects(&l, args[0]);
    cor_free(l.next);
    cor_predicate_deinit(&l.predicate);
    session_close(&l.session);
    return status;
}

static const struct list_opts defaults = {.session = SESSION_OPTS_DEFAULT};
static const struct flag flags[] = {
    SESSION_FLAG_DATA,
    SESSION_FLAGS_SELECTORS(struct list_opts),
    {.name = "limit",
     .kind = FLAG_NUMBER,
     .at = offsetof(struct list_opts, limit),
     .value = "N",
     .min = 1,
     .help = "at most so many; says how to go on (all)"},
    {.name = "continue",
     .kind = FLAG_TEXT,
     .at = offsetof(struct list_opts, continue_token),
     .value = "TOKEN",
     .help = "go on where a list with --limit ended"},
    {.name = "resource-version",
     .kind = FLAG_TEXT,
     .at = offsetof(struct list_opts, resource_version),
     .value = "RV",
     .help = "the state at, or not older than, this version"},
    {.name = "resource-version-match",
     .kind = FLAG_CHOICE,
     .at = offsetof(struct list_opts, match),
     .value = "Exact|NotOlderThan",
     .help = "how --resource-version is meant"},
    SESSION_FLAG_OUTPUT("table|json", "a table, or a v1 List (table)"),
    SESSION_FLAG_ENCRYPTION,
    SESSION_FLAG_BACKEND,
    SESSION_FLAG_PREFIX,
};

const struct command store_list = {
    .group = "store",
    .name = "list",
    .args = "PREFIX",
    .summary = "List the objects of a resource or namespace",
    .details =
        "Works beside a process that holds the store. All of one list is from one revision.\n",
    .flags = flags,
    .nflags = COR_ARRAY_LEN(flags),
    .args_min = 1,
    .args_max = 1,
    .opts_default = &defaults,
    .opts_size = sizeof(defaults),
    .run = run_store_list,
};
