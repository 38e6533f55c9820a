/* A watch is read in pieces of any size: the splitter finds each document, read_event() makes it an
 * event. A document without type and object, an object that is none, bytes that are not JSON, or an
 * event that is too large end the reading with a message in `reterr`; a code that on_event returned
 * ends it without. A type that is not known is given as COR_WATCH_UNKNOWN: the user decides.
 * Thread: one at a time. */
#include "kit/dynamic/watch_reader.h"

#include "base/err.h"
#include "base/wire.h"
#include "kit/dynamic/list_reader.h"
#include "meta/object/object_received.h"
#include "meta/object/object_wire.h"
#include "meta/value/wire_json.h"
#include "json/text/scan.h"

#define FRAME_HEAD 4u

struct reading {
    struct cor_watch_reader *wr;
    struct cor_status *reterr;
    bool is_told; /* `reterr` is written, or on_event returned the error */
};

/* The length before a frame, the highest byte first. */
static size_t frame_len(const char *head)
{
    size_t n = 0;

    for (size_t i = 0; i < FRAME_HEAD; i++)
        n = n << 8 | (unsigned char)head[i];
    return n;
}

static enum cor_watch_type type_of(struct cor_str raw)
{
    static const struct {
        const char *name;
        enum cor_watch_type type;
    } types[] = {
        {"ADDED", COR_WATCH_ADDED},     {"MODIFIED", COR_WATCH_MODIFIED},
        {"DELETED", COR_WATCH_DELETED}, {"BOOKMARK", COR_WATCH_BOOKMARK},
        {"ERROR", COR_WATCH_ERROR},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(types); i++)
        if (cor_str_eqz(raw, types[i].name))
            return types[i].type;
    return COR_WATCH_UNKNOWN;
}

/* Reads one document, {"type":…,"object":…}, and gives the event. */
static int read_event(struct cor_watch_reader *wr, struct cor_str json, struct cor_status *reterr)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_watch_event event = {.type = COR_WATCH_UNKNOWN};
    struct cor_str type, raw, body;
    int r = 0;

    if (cor_json_get(json, COR_STR("type"), COR_JSON_ANY_ORDER, &type) < 0 ||
        cor_json_to_raw(type, &raw) < 0 ||
        cor_json_get(json, COR_STR("object"), COR_JSON_ANY_ORDER, &body) < 0)
        return cor_status_untyped(reterr, -COR_EPROTOCOL,
                                  "unable to decode an event from the watch stream: type and "
                                  "object are expected");
    event.type = type_of(raw);
    if (event.type == COR_WATCH_ERROR) {
        cor_status_read(&status, 500, body);
        event.status = &status;
    } else {
        r = cor_object_received(body, COR_STR(""), COR_STR(""), &object, reterr);
        r = cor_status_received(reterr, r);
    }
    if (r < 0)
        return r;
    event.object = object;
    return wr->on_event(wr->arg, &event);
}

/* Reads one frame in protobuf, an event with the envelope of an object in it. A bookmark, whose
 * annotations are read at once, becomes JSON. */
static int read_frame(struct cor_watch_reader *wr, struct cor_str frame, struct cor_status *reterr)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_str body = cor_wire_bytes(cor_wire_bytes(frame, 2), 1);
    struct cor_watch_event event = {.type = type_of(cor_wire_bytes(frame, 1))};
    struct cor_wire_envelope e;
    int r = 0;

    if (event.type == COR_WATCH_ERROR) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json;

        cor_buf_init(&json, COR_LIST_READER_OBJECT_MAX);
        r = cor_wire_status_json(body, &json);
        if (r == -COR_ENOMEM)
            return cor_status_received(reterr, cor_status_no_memory(reterr));
        cor_status_read(&status, 500, cor_buf_str(&json));
        event.status = &status;
        return wr->on_event(wr->arg, &event);
    }
    if (!cor_wire_open(body, &e) || !cor_str_eqz(e.kind, wr->wire->kind) ||
        !cor_str_eqz(e.api_version, wr->wire->api_version))
        return cor_status_untyped(reterr, -COR_EPROTOCOL,
                                  "unable to decode an event from the watch stream: type and an "
                                  "object of the kind %s are expected",
                                  wr->wire->kind);
    r = event.type == COR_WATCH_BOOKMARK
            ? cor_object_received_wire_as_json(e.message, wr->wire, &object, reterr)
            : cor_object_received_wire(e.message, wr->wire, &object, reterr);
    r = cor_status_received(reterr, r);
    if (r < 0)
        return r;
    event.object = object;
    return wr->on_event(wr->arg, &event);
}

/* Cuts a piece into frames, which have their length before them. What has not come whole waits. */
static int feed_frames(struct reading *now, struct cor_str piece)
{
    struct cor_watch_reader *wr = now->wr;

    while (piece.n > 0) {
        struct cor_buf *pending = &wr->pending;
        size_t head = pending->n < FRAME_HEAD ? FRAME_HEAD - pending->n : 0, want, n;
        int r;

        if (head > 0) {
            n = head < piece.n ? head : piece.n;
            r = cor_buf_add(pending, piece.p, n);
            if (r < 0)
                return r;
            piece = cor_str_from(piece, n);
            continue;
        }
        want = FRAME_HEAD + frame_len(pending->p) - pending->n;
        if (frame_len(pending->p) > COR_LIST_READER_OBJECT_MAX)
            return -COR_ETOOBIG;
        n = want < piece.n ? want : piece.n;
        if (n == want && pending->n == FRAME_HEAD) {
            /* All of it is in this piece. */
            cor_buf_reset(pending);
            r = read_frame(wr, cor_str(piece.p, n), now->reterr);
        } else {
            r = cor_buf_add(pending, piece.p, n);
            if (r < 0)
                return r;
            if (n < want)
                return 0;
            r = read_frame(wr, cor_str(pending->p + FRAME_HEAD, pending->n - FRAME_HEAD),
                           now->reterr);
            cor_buf_reset(pending);
        }
        now->is_told = r < 0;
        if (r < 0)
            return r;
        piece = cor_str_from(piece, n);
    }
    return 0;
}

static int on_document(void *arg, struct cor_str json)
{
    struct reading *now = arg;
    int r = read_event(now->wr, json, now->reterr);

    now->is_told = r < 0;
    return r;
}

static const struct cor_json_splitter_cbs cbs = {on_document, NULL};

void cor_watch_reader_init(struct cor_watch_reader *wr, cor_watch_event_cb on_event, void *arg)
{
    wr->on_event = on_event;
    wr->arg = arg;
    cor_buf_init(&wr->pending, COR_LIST_READER_OBJECT_MAX + FRAME_HEAD);
    cor_json_splitter_init(&wr->splitter, COR_JSON_SPLIT_DOCUMENTS, COR_LIST_READER_OBJECT_MAX,
                           &cbs, NULL);
}

void cor_watch_reader_deinit(struct cor_watch_reader *wr)
{
    cor_json_splitter_deinit(&wr->splitter);
    cor_buf_deinit(&wr->pending);
}

int cor_watch_reader_feed(struct cor_watch_reader *wr, struct cor_str piece,
                          struct cor_status *reterr)
{
    struct reading now = {wr, reterr, false};
    int r;

    wr->splitter.arg = &now;
    r = wr->wire ? feed_frames(&now, piece) : cor_json_splitter_feed(&wr->splitter, piece);
    wr->splitter.arg = NULL;
    if (r < 0 && !now.is_told)
        cor_status_untyped(reterr, r, "unable to decode an event from the watch stream: %s",
                           r == -COR_EINVAL ? "it is not JSON" : cor_err_text(r));
    return now.is_told ? r : cor_status_received(reterr, r);
}
