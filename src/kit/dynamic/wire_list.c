/* Whatever is next (the prefix, an item of the envelope, an item of the list) is taken out of the
 * piece itself when all of it is there; else its beginning waits in `pending` until the rest has
 * come, and no more than the rest is added there. The list's own tag in the envelope is taken
 * without what it announces: the items follow.
 * What fails: bytes that are no such thing, a kind that is not "PodList" for items that are "Pod",
 * an item above the maximum, no memory. Thread: one at a time. */
#include "kit/dynamic/wire_list.h"

#include "base/err.h"
#include "base/wire.h"
#include "meta/value/wire_json.h"

/* Numbers: of an envelope, and of every list. */
enum { TYPE = 1, RAW = 2 };
enum { METADATA = 1, ITEM = 2 };

#define HEAD_MAX 20 /* a tag and a length */

void cor_wire_list_init(struct cor_wire_list *wl, size_t item_max)
{
    *wl = (struct cor_wire_list){0};
    cor_buf_init(&wl->pending, item_max + HEAD_MAX);
}

void cor_wire_list_deinit(struct cor_wire_list *wl)
{
    cor_buf_deinit(&wl->pending);
}

bool cor_wire_list_is_whole(const struct cor_wire_list *wl)
{
    return wl->has_list && wl->state == COR_WIRE_LIST_ENVELOPE && wl->pending.n == 0;
}

/* How many bytes what is next has, as far as `in` tells; 0: `in` is too short to tell. The list
 * itself ends behind its length. */
static int next_size(const struct cor_wire_list *wl, struct cor_str in, uint64_t *ret)
{
    const char *p = in.p, *end = in.p + in.n;
    uint64_t tag, n = 0;

    *ret = 0;
    if (wl->state == COR_WIRE_LIST_PREFIX) {
        *ret = COR_WIRE_PREFIX.n;
        return 0;
    }
    p = cor_wire_varint(p, end, &tag);
    if (p && (tag & 7) == COR_WIRE_LEN)
        p = cor_wire_varint(p, end, &n);
    else if (p && (tag & 7) == COR_WIRE_VARINT)
        p = cor_wire_varint(p, end, &n);
    else if (p)
        return -COR_EINVAL;
    if (!p)
        return in.n < HEAD_MAX ? 0 : -COR_EINVAL;
    if ((tag & 7) == COR_WIRE_VARINT || (wl->state == COR_WIRE_LIST_ENVELOPE && tag >> 3 == RAW))
        n = 0;
    if (n > UINT64_MAX / 2)
        return -COR_EINVAL;
    *ret = (uint64_t)(p - in.p) + n;
    return 0;
}

/* "PodList" for "Pod". */
static bool is_list_of(struct cor_str type, const struct cor_wire_type *items)
{
    struct cor_str kind = cor_wire_bytes(type, 2), of = cor_strz(items->kind);

    return cor_str_eqz(cor_wire_bytes(type, 1), items->api_version) && cor_str_starts(kind, of) &&
           cor_str_eqz(cor_str_from(kind, of.n), "List");
}

static int take_of_envelope(struct cor_wire_list *wl, struct cor_str whole)
{
    const char *end = whole.p + whole.n, *p;
    struct cor_wire_item item;
    uint64_t tag;

    p = cor_wire_varint(whole.p, end, &tag);
    if (p && tag == (RAW << 3 | COR_WIRE_LEN)) {
        if (wl->has_list || !cor_wire_varint(p, end, &wl->left))
            return -COR_EINVAL;
        wl->has_list = true;
        wl->state = wl->left > 0 ? COR_WIRE_LIST_ITEMS : COR_WIRE_LIST_ENVELOPE;
        return 0;
    }
    if (!cor_wire_next(whole.p, end, &item))
        return -COR_EINVAL;
    return item.number != TYPE || is_list_of(item.bytes, wl->type) ? 0 : -COR_EINVAL;
}

static int take_of_list(struct cor_wire_list *wl, struct cor_str whole,
                        const struct cor_wire_list_cbs *cbs, void *arg)
{
    struct cor_wire_item item;

    if (whole.n > wl->left || !cor_wire_next(whole.p, whole.p + whole.n, &item))
        return -COR_EINVAL;
    wl->left -= whole.n;
    if (wl->left == 0)
        wl->state = COR_WIRE_LIST_ENVELOPE;
    if (item.number == ITEM && item.wire == COR_WIRE_LEN)
        return cbs->on_item(arg, item.bytes);
    return item.number == METADATA ? cbs->on_metadata(arg, item.bytes) : 0;
}

static int take(struct cor_wire_list *wl, struct cor_str whole, const struct cor_wire_list_cbs *cbs,
                void *arg)
{
    if (wl->state == COR_WIRE_LIST_ITEMS)
        return take_of_list(wl, whole, cbs, arg);
    if (wl->state == COR_WIRE_LIST_ENVELOPE)
        return take_of_envelope(wl, whole);
    wl->state = COR_WIRE_LIST_ENVELOPE;
    return cor_str_eq(whole, COR_WIRE_PREFIX) ? 0 : -COR_EINVAL;
}

/* Adds to what waits as much as is certain to belong to it, and takes it when it is whole. */
static int feed_pending(struct cor_wire_list *wl, struct cor_str *piece,
                        const struct cor_wire_list_cbs *cbs, void *arg)
{
    uint64_t size;
    size_t n;
    int r = next_size(wl, cor_buf_str(&wl->pending), &size);

    if (r < 0)
        return r;
    if (size > wl->pending.max)
        return -COR_ETOOBIG;
    n = size == 0 ? 1 : (size_t)size - wl->pending.n;
    n = n < piece->n ? n : piece->n;
    r = size > 0 ? cor_buf_reserve(&wl->pending, (size_t)size - wl->pending.n) : 0;
    if (r == 0)
        r = cor_buf_add(&wl->pending, piece->p, n);
    if (r < 0)
        return r;
    *piece = cor_str_from(*piece, n);
    if (size == 0 || wl->pending.n < size) {
        r = next_size(wl, cor_buf_str(&wl->pending), &size);
        if (r == 0 && size > wl->pending.max)
            r = -COR_ETOOBIG;
        if (r < 0 || size != wl->pending.n)
            return r;
    }
    r = take(wl, cor_buf_str(&wl->pending), cbs, arg);
    if (r == 0)
        cor_buf_reset(&wl->pending);
    return r;
}

int cor_wire_list_feed(struct cor_wire_list *wl, struct cor_str piece,
                       const struct cor_wire_list_cbs *cbs, void *arg)
{
    int r = 0;

    while (r == 0 && piece.n > 0) {
        uint64_t size;

        if (wl->pending.n > 0) {
            r = feed_pending(wl, &piece, cbs, arg);
            continue;
        }
        r = next_size(wl, piece, &size);
        if (r == 0 && size > wl->pending.max)
            r = -COR_ETOOBIG;
        if (r < 0)
            return r;
        if (size == 0 || size > piece.n)
            return cor_buf_adds(&wl->pending, piece);
        r = take(wl, cor_str(piece.p, (size_t)size), cbs, arg);
        piece = cor_str_from(piece, (size_t)size);
    }
    return r;
}
