/* A program outside the tree, as C and as C++: what a user of the installed library compiles. */
#include <coracle.h>
#include <stdio.h>
#include <stdlib.h>

static size_t allocations;

static void *count_alloc(size_t n)
{
    allocations++;
    return malloc(n);
}

static int fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    return 1;
}

static int check_object(void)
{
    struct cor_str json =
        cor_strz("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\","
                 "\"labels\":{\"app\":\"web\"},\"resourceVersion\":\"7\"}}");
    struct cor_object *object = NULL;
    struct cor_label_selector *selector = NULL;
    struct cor_status why;
    int bad;

    cor_status_init(&why);
    if (cor_object_from_json(json, &object, &why) < 0 ||
        cor_label_selector_parse(COR_STR("app in (web)"), &selector, &why) < 0)
        return fail(cor_status_message(&why));
    bad = !cor_str_eqz(cor_object_name(object), "a") ||
          !cor_str_eqz(cor_object_resource_version(object), "7") ||
          !cor_label_selector_matches(selector, cor_object_labels(object));
    cor_label_selector_free(selector);
    cor_object_unref(object);
    if (cor_object_from_json(COR_STR("[]"), &object, &why) != -COR_EINVAL)
        bad = 1;
    cor_status_deinit(&why);
    return bad ? fail("the object is not as it was written") : 0;
}

static int check_queue(void)
{
    struct cor_workqueue *q;
    const char *key;
    int bad;

    if (cor_workqueue_new(NULL, &q) < 0)
        return fail("no queue");
    bad = cor_workqueue_add(q, "default/a") < 0 || cor_workqueue_get(q, &key) < 0 ||
          !cor_str_eqz(cor_strz(key), "default/a");
    if (!bad)
        cor_workqueue_done(q, key);
    cor_workqueue_free(q);
    return bad ? fail("the queue has lost its key") : 0;
}

static void on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    (void)object;
    *(bool *)arg = in_initial_list;
}

/* What a handler begins with is the same in both languages. */
static int check_handler(void)
{
    struct cor_handler_opts opts = cor_handler_defaults();
    bool seen = false;
#ifndef __cplusplus
    const struct cor_handler_opts initialised = {COR_HANDLER_DEFAULTS};

    if (initialised.bytes_max != opts.bytes_max)
        return fail("two defaults");
#endif
    opts.on.on_add = on_add;
    opts.on.arg = &seen;
    opts.on.on_add(opts.on.arg, NULL, true);
    return opts.bytes_max != COR_HANDLER_BYTES_MAX || !seen || opts.resync_ms || opts.on_removed
               ? fail("the defaults are not as documented")
               : 0;
}

/* Options that begin with their size, as both languages write them. */
static int check_sizes(void)
{
#ifdef __cplusplus
    struct cor_workqueue_opts opts = cor_workqueue_opts();
#else
    struct cor_workqueue_opts opts = {0};
    static const struct cor_workqueue_opts sized = {COR_WORKQUEUE_OPTS};

    if (sized.size != sizeof(opts))
        return fail("the macro sets another size");
#endif
    struct cor_workqueue *q;

    if (cor_workqueue_new(&opts, &q) != -COR_EINVAL)
        return fail("options without a size were accepted");
    opts.size = sizeof(opts);
    if (cor_workqueue_new(&opts, &q) < 0)
        return fail("options were not accepted");
    cor_workqueue_free(q);
    return 0;
}

static int check_version(void)
{
#if COR_VERSION_NUMBER < COR_VERSION_AT(0, 9, 0) || COR_VERSION_NUMBER > COR_VERSION_AT(1, 0, 0)
#error "the preprocessor cannot compare versions"
#endif
    char text[32];

    snprintf(text, sizeof(text), "%u.%u.%u", cor_version_number() >> 16,
             cor_version_number() >> 8 & 0xff, cor_version_number() & 0xff);
    return cor_version_number() != COR_VERSION_NUMBER || !cor_str_eqz(cor_strz(text), COR_VERSION)
               ? fail("text and number of the version differ")
               : 0;
}

/* The library has hidden functions of these names; the program's are its own. */
int cor_buf_init(void);
int cor_buf_init(void)
{
    return 1;
}

int main(void)
{
    static const struct cor_mem_fns fns = {count_alloc, realloc, free};

    cor_mem_set(&fns);
    if (check_object() || check_queue() || check_handler() || check_sizes() || check_version() ||
        cor_buf_init() != 1)
        return 1;
    if (allocations == 0)
        return fail("the allocator was not asked");
    puts(cor_version());
    return 0;
}
