/* Promises of the readers of lists and watches in protobuf: however the bytes are cut, the same
 * objects and events come out, each whole, and an end that is not the stream's is told. */
#include "base/err.h"
#include "coracle/types/core_v1.h"
#include "fuzz.h"
#include "kit/dynamic/list_reader.h"
#include "kit/dynamic/watch_reader.h"

struct sum {
    uint64_t hash;
    size_t n;
};

static int on_item(void *arg, struct cor_object *object)
{
    struct sum *sum = arg;

    FUZZ_CHECK(object->len >= 2 && object->bytes[0] == '{');
    sum->hash = sum->hash * 31 + cor_str_hash(cor_object_json(object));
    sum->n++;
    return 0;
}

static int on_event(void *arg, const struct cor_watch_event *event)
{
    struct sum *sum = arg;

    FUZZ_CHECK(!event->object == (event->type == COR_WATCH_ERROR));
    FUZZ_CHECK(!event->status == (event->type != COR_WATCH_ERROR));
    sum->hash = sum->hash * 31 + (uint64_t)event->type;
    return event->object ? on_item(arg, event->object) : 0;
}

static int read_list(struct cor_str text, size_t step, struct sum *sum)
{
    struct cor_list_reader lr;
    struct cor_status why = {0};
    int r = 0;

    cor_list_reader_init(&lr, on_item, sum);
    lr.wire.type = &cor_core_v1_pod_wire;
    for (size_t at = 0; r == 0 && at < text.n; at += step)
        r = cor_list_reader_feed(&lr, cor_str(text.p + at, text.n - at < step ? text.n - at : step),
                                 &why);
    if (r == 0)
        r = cor_list_reader_end(&lr, &why);
    FUZZ_CHECK(r == why.err);
    cor_list_reader_deinit(&lr);
    cor_status_deinit(&why);
    return r;
}

static int read_watch(struct cor_str text, size_t step, struct sum *sum)
{
    struct cor_watch_reader wr;
    struct cor_status why = {0};
    int r = 0;

    cor_watch_reader_init(&wr, on_event, sum);
    wr.wire = &cor_core_v1_pod_wire;
    for (size_t at = 0; r == 0 && at < text.n; at += step)
        r = cor_watch_reader_feed(
            &wr, cor_str(text.p + at, text.n - at < step ? text.n - at : step), &why);
    FUZZ_CHECK(r == why.err);
    cor_watch_reader_deinit(&wr);
    cor_status_deinit(&why);
    return r;
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct cor_str text = cor_str((const char *)data, size);
    struct sum whole = {0}, cut = {0};
    int r = read_list(text, size + 1, &whole);

    FUZZ_CHECK(r == read_list(text, 3, &cut));
    FUZZ_CHECK(whole.n == cut.n && whole.hash == cut.hash);
    whole = cut = (struct sum){0};
    r = read_watch(text, size + 1, &whole);
    FUZZ_CHECK(r == read_watch(text, 3, &cut));
    FUZZ_CHECK(whole.n == cut.n && whole.hash == cut.hash);
    return 0;
}
