/* A watch is read in pieces of any size: the splitter finds each document, read_event() makes it an
 * event. A document without type and object, an object that is none, bytes that are no JSON, or an
 * event that is too large end the reading with words in `reterr`; a code that on_event returned
 * ends it without. A type that is not known is given as COR_WATCH_UNKNOWN: the user decides.
 * Thread: one at a time. */
#include "client/dynamic/watch_reader.h"

#include "base/err.h"
#include "client/dynamic/list_reader.h"
#include "meta/object_received.h"
#include "json/scan.h"

struct reading {
    struct cor_watch_reader *wr;
    struct cor_status *reterr;
    bool is_told; /* `reterr` is written, or on_event returned the error */
};

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
    cor_json_splitter_init(&wr->splitter, COR_JSON_SPLIT_DOCUMENTS, COR_LIST_READER_OBJECT_MAX,
                           &cbs, NULL);
}

void cor_watch_reader_deinit(struct cor_watch_reader *wr)
{
    cor_json_splitter_deinit(&wr->splitter);
}

int cor_watch_reader_feed(struct cor_watch_reader *wr, struct cor_str piece,
                          struct cor_status *reterr)
{
    struct reading now = {wr, reterr, false};
    int r;

    wr->splitter.arg = &now;
    r = cor_json_splitter_feed(&wr->splitter, piece);
    if (r < 0 && !now.is_told)
        cor_status_untyped(reterr, r, "unable to decode an event from the watch stream: %s",
                           r == -COR_EINVAL ? "it is not JSON" : cor_err_text(r));
    return now.is_told ? r : cor_status_received(reterr, r);
}
