/* The kept frames are a ring: a new frame takes the place of the oldest one, and more of the oldest
 * leave while the bytes are too many. A frame that a watch still sends outlives its place. Thread:
 * its loop. */
#include "server/shared/frames.h"

#include <assert.h>

#include "base/limits.h"
#include "base/mem.h"

struct cor_frame *cor_frame_unref(struct cor_frame *frame)
{
    assert(!frame || frame->nrefs > 0);
    if (frame && --frame->nrefs == 0) {
        cor_buf_deinit(&frame->bytes);
        cor_free(frame);
    }
    return NULL;
}

static void frames_drop(struct cor_frames *frames, struct cor_kept_frame *kept)
{
    if (!kept->frame)
        return;
    frames->bytes -= kept->frame->bytes.cap + kept->key.source->len;
    cor_frame_unref(kept->frame);
    cor_object_unref(kept->key.source);
    cor_row_unref(kept->key.type);
    *kept = (struct cor_kept_frame){.frame = NULL};
}

void cor_frames_deinit(struct cor_frames *frames)
{
    for (size_t i = 0; i < COR_FRAMES_MAX; i++)
        frames_drop(frames, &frames->v[i]);
}

void cor_frames_drop_retired(struct cor_frames *frames)
{
    for (size_t i = 0; i < COR_FRAMES_MAX; i++) {
        if (frames->v[i].frame && cor_row_is_retired(frames->v[i].key.type))
            frames_drop(frames, &frames->v[i]);
    }
}

bool cor_frame_key_is_same(const struct cor_frame_key *a, const struct cor_frame_key *b)
{
    return a->source == b->source && a->rev == b->rev && a->event == b->event &&
           a->type == b->type && a->view == b->view && a->is_v1beta1 == b->is_v1beta1;
}

struct cor_frame *cor_frames_find(const struct cor_frames *frames, const struct cor_frame_key *key)
{
    /* The newest first: most watches ask for the event that was just made. */
    for (size_t i = 1; i <= COR_FRAMES_MAX; i++) {
        const struct cor_kept_frame *kept =
            &frames->v[(frames->next + COR_FRAMES_MAX - i) % COR_FRAMES_MAX];

        if (kept->frame && cor_frame_key_is_same(&kept->key, key))
            return kept->frame;
    }
    return NULL;
}

struct cor_frame *cor_frame_new(struct cor_buf *take_bytes)
{
    struct cor_frame *frame = cor_calloc(1, sizeof(*frame));

    if (!frame)
        return NULL;
    frame->nrefs = 1;
    frame->bytes = *take_bytes;
    cor_buf_init(take_bytes, take_bytes->max);
    return frame;
}

struct cor_frame *cor_frames_add(struct cor_frames *frames, const struct cor_frame_key *key,
                                 struct cor_buf *take_bytes)
{
    struct cor_frame *frame;
    struct cor_kept_frame *kept = &frames->v[frames->next];
    size_t bytes = take_bytes->cap + key->source->len;

    assert(take_bytes->n > 0 && !cor_frames_find(frames, key));
    frame = cor_frame_new(take_bytes);
    if (!frame)
        return NULL;
    if (bytes > COR_FRAMES_BYTES_MAX || cor_row_is_retired(key->type))
        return frame;
    for (size_t i = 0;
         i < COR_FRAMES_MAX && (i == 0 || frames->bytes + bytes > COR_FRAMES_BYTES_MAX); i++)
        frames_drop(frames, &frames->v[(frames->next + i) % COR_FRAMES_MAX]);
    *kept = (struct cor_kept_frame){*key, cor_frame_ref(frame)};
    (void)cor_object_ref(kept->key.source);
    (void)cor_row_ref(kept->key.type);
    frames->bytes += bytes;
    frames->next = (frames->next + 1) % COR_FRAMES_MAX;
    return frame;
}
