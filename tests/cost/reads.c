/* clang-format off */
/* Reads of odd objects through the API over an engine in memory, for tests/cost/reads.py, which
 * counts the instructions of each under valgrind.
 *
 *   reads_cost N   every form of a read, of every shape of an object with N elements
 *
 * All shapes have the same number of bytes: an annotation fills what a shape leaves. Each read runs
 * inside of drive_read(), so that valgrind can tell it from what prepares it. One line is printed
 * for each, in the order in which they ran: form, shape, the bytes of an object, how many watches
 * there were. An object is written anew inside of the drive where its delivery is counted; what the
 * write costs is the same for few watches as for many. */
/* clang-format on */
#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"
#include "base/mem.h"

#define PODS      "/api/v1/namespaces/default/pods"
#define BYTES     40 /* of an object, for each of its elements */
#define TEXT_MAX  (16u << 20)
#define DEPTH     900
#define FEW       4
#define MANY      16
#define REPEATS   2
#define TABLE     "application/json;as=Table;v=v1;g=meta.k8s.io"
#define METADATA  "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
#define METADATAS "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
#define PROTOBUF  "application/vnd.kubernetes.protobuf"

static void add(struct cor_buf *b, const char *fmt, ...) COR_PRINTF(2, 3);
static void add(struct cor_buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    assert_int_equal(cor_buf_addv(b, fmt, ap), 0);
    va_end(ap);
}

/* Appends `n` times the format with the element's number, between commas. */
#define EACH(b, count, ...)                                                                        \
    for (size_t i = 0; i < (count); i++) {                                                         \
        if (i > 0)                                                                                 \
            add((b), ",");                                                                         \
        add((b), __VA_ARGS__);                                                                     \
    }

/* Each appends members with commas behind them: to the metadata, to the annotations, to the spec.
 */
struct shape {
    const char *name;
    void (*metadata)(struct cor_buf *b, size_t n);
    void (*annotations)(struct cor_buf *b, size_t n);
    void (*spec)(struct cor_buf *b, size_t n);
};

static void manager(struct cor_buf *b)
{
    add(b, "{\"manager\":\"m\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"fieldsType\":"
           "\"FieldsV1\",\"fieldsV1\":");
}

static void managed_fields(struct cor_buf *b, size_t n)
{
    add(b, "\"managedFields\":[");
    manager(b);
    add(b, "{\"f:metadata\":{\"f:labels\":{");
    EACH(b, n, "\"f:label-%05zu\":{}", i);
    add(b, "}}}}],");
}

static void deep_fields(struct cor_buf *b, size_t n)
{
    add(b, "\"managedFields\":[");
    for (size_t made = 0; made < n; made += DEPTH) {
        add(b, made ? "," : "");
        manager(b);
        for (size_t i = 0; i < DEPTH; i++)
            add(b, "{\"f:a\":");
        add(b, "{}");
        for (size_t i = 0; i < DEPTH; i++)
            add(b, "}");
        add(b, "}");
    }
    add(b, "],");
}

static void labels(struct cor_buf *b, size_t n)
{
    add(b, "\"labels\":{");
    EACH(b, n, "\"label-%05zu\":\"value\"", i);
    add(b, ",\"own\":\"yes\"},");
}

static void owners(struct cor_buf *b, size_t n)
{
    add(b, "\"ownerReferences\":[");
    EACH(b, n / 2, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u%zu\"}", i);
    add(b, "],");
}

static void many_annotations(struct cor_buf *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(b, "\"note-%05zu\":\"value\",", i);
}

static void escapes(struct cor_buf *b, size_t n)
{
    add(b, "\"escapes\":\"");
    for (size_t i = 0; i < n; i++)
        add(b, "\\\"\\n\\u00e9\\\\ \\/\\t");
    add(b, "\",");
}

static void items(struct cor_buf *b, size_t n)
{
    add(b, "\"tolerations\":[");
    EACH(b, 2 * n, "{\"key\":\"%06zu\"}", i);
    add(b, "],");
}

static const struct shape shapes[] = {
    {.name = "plain"},
    {"managed-fields", managed_fields, NULL, NULL},
    {"deep", deep_fields, NULL, NULL},
    {"labels", labels, NULL, NULL},
    {"owners", owners, NULL, NULL},
    {"annotations", NULL, many_annotations, NULL},
    {"escapes", NULL, escapes, NULL},
    {"items", NULL, NULL, items},
};

static const struct form {
    const char *name, *target, *accept;
    bool is_watch, is_first; /* the first read of an object is counted, not a later one */
} forms[] = {
    {"get", PODS "/x001", "", false, false},
    {"get-metadata", PODS "/x001", METADATA, false, false},
    {"get-table", PODS "/x001", TABLE, false, false},
    {"list", PODS, "", false, false},
    {"list-by-label", PODS "?labelSelector=own=yes", "", false, false},
    {"list-by-field", PODS "?fieldSelector=spec.nodeName=n", "", false, false},
    {"list-metadata", PODS, METADATAS, false, false},
    {"list-table", PODS, TABLE, false, false},
    {"list-protobuf-first", PODS, PROTOBUF, false, true},
    {"list-protobuf", PODS, PROTOBUF, false, false},
    {"watch", PODS "?watch=1", "", true, false},
    {"watch-by-label", PODS "?watch=1&labelSelector=own=yes", "", true, false},
    {"watch-metadata", PODS "?watch=1", METADATA, true, false},
    {"watch-table", PODS "?watch=1", TABLE, true, false},
    {"watch-protobuf", PODS "?watch=1", PROTOBUF ";stream=watch", true, false},
};

static size_t npods;

/* The key of the pod that was made last. */
static const char *pod_key(void)
{
    static char key[64];

    snprintf(key, sizeof(key), "/registry/pods/default/x%03zu", npods);
    return key;
}

/* The next pod, of `size` bytes. */
static void make_pod(struct cor_buf *b, const struct shape *shape, size_t n, size_t size)
{
    static const char end[] = "\"}},\"spec\":{";
    struct cor_buf spec;

    cor_buf_init(&spec, TEXT_MAX);
    if (shape->spec)
        shape->spec(&spec, n);
    add(&spec, "\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    cor_buf_init(b, TEXT_MAX);
    add(b,
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x%03zu\",\"namespace\":"
        "\"default\",\"uid\":\"u\",\"creationTimestamp\":\"2025-01-01T00:00:00Z\",",
        ++npods);
    if (shape->metadata)
        shape->metadata(b, n);
    if (shape->metadata != labels)
        add(b, "\"labels\":{\"own\":\"yes\"},");
    add(b, "\"annotations\":{");
    if (shape->annotations)
        shape->annotations(b, n);
    add(b, "\"pad\":\"");
    assert_true(b->n + strlen(end) + spec.n < size);
    add(b, "%0*d%s%s", (int)(size - b->n - strlen(end) - spec.n), 0, end, cor_buf_z(&spec));
    cor_buf_deinit(&spec);
}

static bool is_synced(void *arg)
{
    return cor_api_is_synced(((struct fx *)arg)->api);
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

static bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct fx *)arg)->api, 0)) == 0;
}

static void open_cached(struct fx *fx)
{
    static const struct cor_api_cachers_opts opts = {.bytes_max = 0};

    fx_open(fx);
    assert_int_equal(cor_api_open_cachers(fx->api, &opts, NULL), 0);
    assert_true(cor_loop_run_until(fx->loop, is_synced, fx, FX_TIMEOUT_MS));
    fx_bootstrap(fx);
}

static void close_cached(struct fx *fx)
{
    bool is_closed = false;

    assert_true(cor_loop_run_until(fx->loop, has_no_calls, fx, FX_TIMEOUT_MS));
    cor_api_loop_release(cor_api_loop(fx->api, 0));
    if (cor_api_close_cachers(fx->api, set_true, &is_closed))
        assert_true(cor_loop_run_until(fx->loop, is_true, &is_closed, FX_TIMEOUT_MS));
    fx_close(fx);
}

struct read {
    struct fx *fx;
    const struct form *form;
    struct fx_call *calls;
    size_t ncalls;
    size_t had;             /* bytes that each watch had before */
    const char *key, *json; /* written, and delivered to the calls; NULL: the form is read */
};

/* Each has the event's last byte: they are read in the order in which they are given it. */
static bool all_are_told(void *arg)
{
    const struct read *read = arg;

    for (size_t i = 0; i < read->ncalls; i++) {
        if (read->calls[i].sink.body.n <= read->had)
            return false;
    }
    return true;
}

/* Valgrind counts what happens in here. */
__attribute__((noinline)) static void drive_read(struct read *read)
{
    const struct fx_headers headers = {.accept = read->form->accept};

    if (read->json) {
        fx_put_raw(read->fx, read->key, read->json);
        assert_true(cor_loop_run_until(read->fx->loop, all_are_told, read, FX_TIMEOUT_MS));
    } else {
        fx_start(read->fx, read->calls, "GET", read->form->target, "", &headers);
        fx_wait(read->calls);
    }
}

/* One line, and what valgrind has counted for it. */
static void run(struct read *read, const char *shape, size_t bytes)
{
    drive_read(read);
    printf("%s %s %zu %zu\n", read->form->name, shape, bytes, read->ncalls);
    fflush(stdout);
}

static void run_read(struct fx *fx, const struct form *form, const struct shape *shape,
                     size_t bytes)
{
    for (size_t i = 0; i < (form->is_first ? 1 : REPEATS + 1); i++) {
        struct fx_call call;
        struct read read = {.fx = fx, .form = form, .calls = &call, .ncalls = 1};

        if (i > 0 || form->is_first) {
            run(&read, shape->name, bytes);
        } else {
            /* What is made once and kept is not counted. */
            struct fx_headers headers = {.accept = form->accept};

            fx_start(fx, &call, "GET", form->target, "", &headers);
            fx_wait(&call);
        }
        if (call.sink.status != 200)
            fail_msg("%s of %s: %.300s", form->name, shape->name, cor_buf_z(&call.sink.body));
        fx_call_deinit(&call);
    }
}

static bool all_are_open(void *arg)
{
    const struct read *read = arg;

    for (size_t i = 0; i < read->ncalls; i++) {
        if (read->calls[i].sink.status != 200)
            return false;
    }
    return true;
}

/* Each write makes another object, and the watches begin behind those that are there. */
static void run_watch(struct fx *fx, const struct form *form, const struct shape *shape, size_t n)
{
    static struct fx_call calls[MANY];
    struct fx_headers headers = {.accept = form->accept};

    for (size_t ncalls = FEW; ncalls <= MANY; ncalls += MANY - FEW) {
        struct read read = {.fx = fx, .form = form, .calls = calls, .ncalls = ncalls};
        const char *list = fx_do(fx, 200, "GET", PODS "?limit=1", "");
        char target[256];

        snprintf(target, sizeof(target), "%s&resourceVersion=%s", form->target,
                 fx_at(list, ".metadata.resourceVersion"));
        for (size_t i = 0; i < ncalls; i++)
            fx_start(fx, &calls[i], "GET", target, "", &headers);
        assert_true(cor_loop_run_until(fx->loop, all_are_open, &read, FX_TIMEOUT_MS));
        for (size_t i = 0; i < REPEATS + 1; i++) {
            struct cor_buf pod;

            make_pod(&pod, shape, n, n * BYTES);
            read.had = calls[ncalls - 1].sink.body.n;
            read.key = pod_key();
            read.json = cor_buf_z(&pod);
            run(&read, i ? shape->name : "warm", pod.n);
            cor_buf_deinit(&pod);
        }
        for (size_t i = 0; i < ncalls; i++)
            fx_call_deinit(&calls[i]);
    }
}

static void run_shape(const struct shape *shape, size_t n)
{
    struct fx fx = {.opts = {.random_seed = 1, .protobuf_cache_bytes = 64u << 20},
                    .has_no_offload = true};
    struct cor_buf pod;

    open_cached(&fx);
    npods = 0;
    make_pod(&pod, shape, n, n * BYTES);
    fx_put_raw(&fx, pod_key(), cor_buf_z(&pod));
    for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
        if (forms[i].is_watch)
            run_watch(&fx, &forms[i], shape, n);
        else
            run_read(&fx, &forms[i], shape, pod.n);
    }
    cor_buf_deinit(&pod);
    close_cached(&fx);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < COR_ARRAY_LEN(shapes); i++)
        run_shape(&shapes[i], strtoull(argv[1], NULL, 10));
    return argc != 2;
}
