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

int main(void)
{
    static const struct cor_mem_fns fns = {count_alloc, realloc, free};

    cor_mem_set(&fns);
    if (check_object() || check_queue() || check_handler())
        return 1;
    if (allocations == 0)
        return fail("the allocator was not asked");
    puts(cor_version());
    return 0;
}
