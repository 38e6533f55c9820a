#include "base/limits.h"
#include "server/shared/frames.h"

#include "test.h"

static struct cor_object *object(cor_rev rev)
{
    struct cor_object *made;

    assert_int_equal(cor_object_from_stored(
                         COR_STR("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{}}"),
                         rev, &made, NULL, NULL),
                     0);
    return made;
}

static struct cor_frame_key key_of(struct cor_object *source)
{
    return (struct cor_frame_key){
        .source = source,
        .rev = source->rev,
        .event = COR_WATCH_ADDED,
        .type = cor_api_builtin(COR_STR(""), COR_STR("v1"), COR_STR("configmaps"))};
}

/* A frame of `n` bytes of this object. */
static struct cor_frame *add(struct cor_frames *frames, const struct cor_frame_key *key, size_t n)
{
    struct cor_buf bytes;
    struct cor_frame *frame;

    cor_buf_init(&bytes, 64u << 20);
    assert_int_equal(cor_buf_reserve(&bytes, n), 0);
    assert_int_equal(cor_buf_addz(&bytes, "frame"), 0);
    frame = cor_frames_add(frames, key, &bytes);
    if (!frame)
        cor_buf_deinit(&bytes);
    return frame;
}

TEST(frames, are_found_by_what_they_show)
{
    struct cor_frames frames = {.next = 0};
    struct cor_object *source = object(7);
    struct cor_frame_key key = key_of(source), other = key;
    struct cor_frame *frame = add(&frames, &key, 100);

    assert_ptr_equal(cor_frames_find(&frames, &key), frame);
    other.event = COR_WATCH_DELETED;
    assert_null(cor_frames_find(&frames, &other));
    other = key;
    other.rev++;
    assert_null(cor_frames_find(&frames, &other));
    other = key;
    other.view = COR_VIEW_PARTIAL;
    assert_null(cor_frames_find(&frames, &other));
    other.is_v1beta1 = true;
    assert_null(cor_frames_find(&frames, &other));
    cor_frame_unref(frame);
    cor_frames_deinit(&frames);
    assert_int_equal(frames.bytes, 0);
    cor_object_unref(source);
}

/* A watch that still sends a frame has it longer than the frames that are kept. */
TEST(frames, leave_by_number_and_by_bytes)
{
    struct cor_frames frames = {.next = 0};
    struct cor_object *v[COR_FRAMES_MAX + 1];
    struct cor_frame_key key;
    struct cor_frame *first, *large;

    for (size_t i = 0; i <= COR_FRAMES_MAX; i++)
        v[i] = object(i + 1);
    key = key_of(v[0]);
    first = add(&frames, &key, 100);
    for (size_t i = 1; i <= COR_FRAMES_MAX; i++) {
        struct cor_frame_key next = key_of(v[i]);

        cor_frame_unref(add(&frames, &next, 100));
    }
    assert_null(cor_frames_find(&frames, &key));
    assert_str(cor_buf_str(&first->bytes), "frame");
    cor_frame_unref(first);
    key = key_of(v[COR_FRAMES_MAX]);
    assert_non_null(cor_frames_find(&frames, &key));
    key = key_of(v[0]);
    large = add(&frames, &key, COR_FRAMES_BYTES_MAX - 1000);
    assert_ptr_equal(cor_frames_find(&frames, &key), large);
    assert_true(frames.bytes <= COR_FRAMES_BYTES_MAX);
    cor_frame_unref(large);
    key.rev = 1000;
    large = add(&frames, &key, COR_FRAMES_BYTES_MAX + 1000);
    assert_null(cor_frames_find(&frames, &key));
    cor_frame_unref(large);
    cor_frames_deinit(&frames);
    for (size_t i = 0; i <= COR_FRAMES_MAX; i++)
        cor_object_unref(v[i]);
}

TEST(frames, that_cannot_be_kept_leave_the_bytes)
{
    struct cor_frames frames = {.next = 0};
    struct cor_object *source = object(7);
    struct cor_frame_key key = key_of(source);

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf bytes;
        struct cor_frame *frame = NULL;

        cor_buf_init(&bytes, 1 << 20);
        if (cor_buf_addz(&bytes, "frame") == 0) {
            frame = cor_frames_add(&frames, &key, &bytes);
            assert_true(frame ? bytes.n == 0 : bytes.n == 5);
        }
        cor_frame_unref(frame);
        cor_buf_deinit(&bytes);
        cor_frames_deinit(&frames);
    }
    cor_object_unref(source);
}

static size_t freed;

static void count_free(const struct cor_resource_row *row)
{
    freed++;
}

/* The row of a custom resource may be freed while frames of its objects are kept: its address must
 * not come to another row meanwhile. */
TEST(frames, hold_the_row_that_they_are_found_by)
{
    struct cor_row_life life = {.place = 9999, .free_row = count_free};
    struct cor_resource_row row = {.life = &life};
    struct cor_frames frames = {.next = 0};
    struct cor_object *source = object(7);
    struct cor_frame_key key = key_of(source);

    freed = 0;
    cor_ref_init(&life.refs);
    key.type = &row;
    cor_frame_unref(add(&frames, &key, 100));
    cor_row_unref(&row);
    assert_int_equal(freed, 0);
    cor_frames_deinit(&frames);
    assert_int_equal(freed, 1);
    cor_object_unref(source);
}
