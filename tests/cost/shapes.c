/* clang-format off */
/* Requests of a growing size through the API over an engine in memory, for tests/cost/shapes.py,
 * which compares the work of each, as work.h counts it, or valgrind.
 *
 *   shapes_cost N...              every shape with N elements, one after the other
 *   shapes_cost --only NAME N...  the shape with this name
 *
 * Each request runs inside of drive_request(), so that valgrind can tell it from what prepares it.
 * One line is printed for each request, in the order in which they ran: its shape, its number of
 * elements, the bytes of request and answer, the answer's status, and the work. */
/* clang-format on */
#include <inttypes.h>
#include <stdlib.h>

#include "shapes.h"
#include "work.h"

void shape_add(struct cor_buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    assert_int_equal(cor_buf_addv(b, fmt, ap), 0);
    va_end(ap);
}

void shape_post(struct request *rq, const char *target)
{
    rq->method = "POST";
    shape_add(&rq->target, "%s", target);
    rq->status = 201;
}

void shape_patch(struct request *rq, const char *target, const char *type)
{
    rq->method = "PATCH";
    shape_add(&rq->target, "%s", target);
    rq->content_type = type;
    rq->status = 200;
}

void shape_store_map(struct request *rq, struct cor_buf *meta, struct cor_buf *data)
{
    struct cor_buf body;

    cor_buf_init(&body, TEXT_MAX);
    shape_add(&body, "{\"metadata\":{\"name\":\"x\"%s%s},\"data\":{%s}}", meta ? "," : "",
              meta ? cor_buf_z(meta) : "", data ? cor_buf_z(data) : "");
    (void)fx_do(rq->fx, 201, "POST", MAPS, cor_buf_z(&body));
    cor_buf_deinit(&body);
}

struct cor_buf shape_text(void)
{
    struct cor_buf b;

    cor_buf_init(&b, TEXT_MAX);
    return b;
}

void shape_finalizers(struct cor_buf *b, size_t n)
{
    shape_add(b, "\"finalizers\":[");
    EACH(b, n, "\"example.com/f%zu\"", i);
    shape_add(b, "]");
}

void shape_members(struct cor_buf *b, size_t n, const char *value)
{
    EACH(b, n, "\"k%06zu\":\"%s\"", i, value);
}

void shape_nest(struct cor_buf *b, size_t depth, const char *inner)
{
    for (size_t i = 0; i < depth; i++)
        shape_add(b, "{\"!\":1,\"a\":[1,2,3],\"b\":\"12345678901234567890\",\"n\":");
    shape_add(b, "%s", inner);
    for (size_t i = 0; i < depth; i++)
        shape_add(b, ",\"z\":\"12345678901234567890\"}");
}

void shape_store_pod(struct request *rq)
{
    TEXT body = shape_text();

    shape_add(&body, "{\"metadata\":{\"name\":\"x\",");
    shape_finalizers(&body, rq->n);
    shape_add(&body, "},\"spec\":{\"containers\":[");
    EACH(&body, rq->n, "{\"name\":\"c%06zu\",\"image\":\"a\"}", i);
    shape_add(&body, "]}}");
    (void)fx_do(rq->fx, 201, "POST", PODS, cor_buf_z(&body));
}

void shape_get(struct request *rq, const char *target)
{
    rq->method = "GET";
    shape_add(&rq->target, "%s", target);
    rq->status = 200;
}

/* Valgrind counts what happens in here. */
__attribute__((noinline)) static void drive_request(struct request *rq, struct fx_call *call)
{
    struct fx_headers headers = {.accept = cor_buf_z(&rq->accept),
                                 .content_type = rq->content_type};

    fx_start_with_body(rq->fx, call, rq->method, cor_buf_z(&rq->target), cor_buf_str(&rq->body),
                       &headers);
    fx_wait(call);
}

static void run_shape(const struct shape *shape, size_t n)
{
    struct fx fx = {.opts = {.random_seed = 1}};
    struct request rq = {.fx = &fx, .n = n};
    struct fx_call call;
    uint64_t work;

    fx_open(&fx);
    fx_bootstrap(&fx);
    cor_buf_init(&rq.target, TEXT_MAX);
    cor_buf_init(&rq.body, TEXT_MAX);
    cor_buf_init(&rq.accept, TEXT_MAX);
    shape->make(&rq);
    work = work_so_far();
    drive_request(&rq, &call);
    work = work_so_far() - work;
    printf("%s %zu %zu %d %" PRIu64 "\n", shape->name, n,
           rq.target.n + rq.body.n + call.sink.body.n, call.sink.status, work);
    fflush(stdout);
    if (call.sink.status != rq.status)
        fail_msg("%s: %d instead of %d: %.300s", shape->name, call.sink.status, rq.status,
                 cor_buf_z(&call.sink.body));
    fx_call_deinit(&call);
    cor_buf_deinit(&rq.target);
    cor_buf_deinit(&rq.body);
    cor_buf_deinit(&rq.accept);
    fx_close(&fx);
}

/* NULL: there are no more. */
static const struct shape *shape_at(size_t i)
{
    static const struct shapes *const all[] = {&shapes_of_objects, &shapes_of_applies,
                                               &shapes_of_patches, &shapes_of_yaml,
                                               &shapes_of_requests};

    for (size_t a = 0; a < COR_ARRAY_LEN(all); a++) {
        if (i < all[a]->n)
            return &all[a]->v[i];
        i -= all[a]->n;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char *only = NULL;
    const struct shape *shape;

    if (argc > 2 && strcmp(argv[1], "--only") == 0) {
        only = argv[2];
        argv += 2;
        argc -= 2;
    }
    for (size_t s = 0; (shape = shape_at(s)); s++) {
        for (int i = 1; i < argc; i++) {
            size_t n = strtoull(argv[i], NULL, 10), max = shape->max;

            /* A shape with a maximum is driven at the same ratios below it. */
            if (max > 0) {
                size_t largest = strtoull(argv[argc - 1], NULL, 10);

                if (largest > max)
                    n = n * max / largest;
            }
            if (!only || strcmp(only, shape->name) == 0)
                run_shape(shape, n);
        }
    }
    return 0;
}
