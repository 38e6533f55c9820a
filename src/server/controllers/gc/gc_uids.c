/* An open-addressing table with linear probing. An entry is removed by moving the entries behind it
 * back, so there are no tombstones, and a look-up ends at the first free entry. The table grows by
 * half: doubling would leave it half empty, at more than 40 bytes for each object. */
#include "server/controllers/gc/gc_uids.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/siphash.h"

#define UIDS_FIRST 64 /* entries of the smallest table */

/* Keys of the hashes. The texts come from the server itself, so the keys need no secret. */
#define UID_KEY_A 0x9e3779b97f4a7c15u
#define UID_KEY_B 0xc2b2ae3d27d4eb4fu

#define NS_BITS       20
#define RESOURCE_BITS 10
#define MARK_BIT      (1u << (NS_BITS + RESOURCE_BITS))
#define USED_BIT      (1u << 31)

/* Words of 4 bytes, so that an entry has 20 bytes and no padding. */
struct cor_gc_uid_entry {
    uint32_t uid[4];
    uint32_t place; /* 0: the entry is free */
};

_Static_assert(sizeof(struct cor_gc_uid_entry) == 20, "an entry has grown");
_Static_assert(COR_GC_RESOURCES_MAX < 1u << RESOURCE_BITS, "a resource's number does not fit");

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* False when the text is not the lower-case form of RFC 4122. */
static bool uid_read(struct cor_str text, struct cor_gc_uid *ret)
{
    uint64_t halves[2] = {0, 0};
    size_t ndigits = 0;

    if (text.n != 36)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        int digit = hex_digit(text.p[i]);

        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (text.p[i] != '-')
                return false;
            continue;
        }
        if (digit < 0)
            return false;
        halves[ndigits / 16] = halves[ndigits / 16] << 4 | (unsigned)digit;
        ndigits++;
    }
    *ret = (struct cor_gc_uid){halves[0], halves[1]};
    return true;
}

struct cor_gc_uid cor_gc_uid(struct cor_str text)
{
    struct cor_gc_uid uid;

    if (!uid_read(text, &uid)) {
        uid.a = cor_siphash(text, UID_KEY_A, UID_KEY_B);
        uid.b = cor_siphash(text, UID_KEY_B, UID_KEY_A);
    }
    return uid;
}

uint32_t cor_gc_namespace_hash(struct cor_str ns)
{
    uint32_t hash = (uint32_t)cor_str_hash(ns) & ((1u << NS_BITS) - 1);

    if (ns.n == 0)
        return 0;
    return hash ? hash : 1;
}

static struct cor_gc_uid_entry entry_of(struct cor_gc_uid uid, struct cor_gc_place place, bool mark)
{
    struct cor_gc_uid_entry e;

    assert(place.resource < COR_GC_RESOURCES_MAX && place.ns < 1u << NS_BITS);
    memcpy(e.uid, &uid, sizeof(e.uid));
    e.place = USED_BIT | (mark ? MARK_BIT : 0) | place.resource << NS_BITS | place.ns;
    return e;
}

/* Where the uid's entry would be if no other entry were in the way. Uids are random except for
 * those that a time is in, so the halves are mixed. */
static size_t home_of(const struct cor_gc_uids *t, const uint32_t uid[4])
{
    struct cor_gc_uid u;

    memcpy(&u, uid, sizeof(u));
    return (size_t)(((__uint128_t)((u.a ^ u.b * UID_KEY_A) * UID_KEY_B) * t->cap) >> 64);
}

static size_t after(const struct cor_gc_uids *t, size_t i)
{
    return i + 1 < t->cap ? i + 1 : 0;
}

/* The entry of the uid, or the free entry where it would be added. */
static size_t slot_of(const struct cor_gc_uids *t, const uint32_t uid[4])
{
    size_t i = home_of(t, uid);

    while (t->entries[i].place && memcmp(t->entries[i].uid, uid, 16) != 0)
        i = after(t, i);
    return i;
}

static int uids_grow(struct cor_gc_uids *t)
{
    struct cor_gc_uids grown = {.n = t->n, .cap = t->cap ? t->cap + t->cap / 2 : UIDS_FIRST};

    grown.entries = cor_calloc(grown.cap, sizeof(grown.entries[0]));
    if (!grown.entries)
        return -COR_ENOMEM;
    for (size_t i = 0; i < t->cap; i++) {
        if (t->entries[i].place)
            grown.entries[slot_of(&grown, t->entries[i].uid)] = t->entries[i];
    }
    cor_free(t->entries);
    *t = grown;
    return 0;
}

void cor_gc_uids_deinit(struct cor_gc_uids *t)
{
    cor_free(t->entries);
    *t = (struct cor_gc_uids){0};
}

int cor_gc_uids_put(struct cor_gc_uids *t, struct cor_gc_uid uid, struct cor_gc_place place,
                    bool mark)
{
    struct cor_gc_uid_entry e = entry_of(uid, place, mark);
    size_t i;

    if (t->cap > 0) {
        i = slot_of(t, e.uid);
        if (t->entries[i].place) {
            t->entries[i].place = e.place;
            return 0;
        }
    }
    if (t->n + 1 > t->cap - t->cap / 8) {
        int r = uids_grow(t);

        if (r < 0)
            return r;
    }
    t->entries[slot_of(t, e.uid)] = e;
    t->n++;
    return 0;
}

bool cor_gc_uids_find(const struct cor_gc_uids *t, struct cor_gc_uid uid,
                      struct cor_gc_place *ret_place)
{
    uint32_t words[4], place;

    if (t->cap == 0)
        return false;
    memcpy(words, &uid, sizeof(words));
    place = t->entries[slot_of(t, words)].place;
    if (!place)
        return false;
    *ret_place = (struct cor_gc_place){
        .resource = place >> NS_BITS & ((1u << RESOURCE_BITS) - 1),
        .ns = place & ((1u << NS_BITS) - 1),
    };
    return true;
}

/* Frees the entry at `hole`, then moves back each entry behind it that a look-up would no longer
 * find: one whose home is not after the hole. */
static void uids_close(struct cor_gc_uids *t, size_t hole)
{
    t->n--;
    if (t->n == 0) {
        cor_gc_uids_deinit(t);
        return;
    }
    for (size_t i = after(t, hole); t->entries[i].place; i = after(t, i)) {
        size_t home = home_of(t, t->entries[i].uid);
        /* How far the entry and the hole are behind the entry's home, around the end. */
        size_t entry_off = i >= home ? i - home : i + t->cap - home;
        size_t hole_off = hole >= home ? hole - home : hole + t->cap - home;

        if (hole_off < entry_off) {
            t->entries[hole] = t->entries[i];
            hole = i;
        }
    }
    t->entries[hole].place = 0;
}

void cor_gc_uids_remove(struct cor_gc_uids *t, struct cor_gc_uid uid)
{
    uint32_t words[4];
    size_t i;

    if (t->cap == 0)
        return;
    memcpy(words, &uid, sizeof(words));
    i = slot_of(t, words);
    if (t->entries[i].place)
        uids_close(t, i);
}

void cor_gc_uids_sweep(struct cor_gc_uids *t, uint32_t resource, bool mark)
{
    const uint32_t mask = USED_BIT | MARK_BIT | ((1u << RESOURCE_BITS) - 1) << NS_BITS;
    const uint32_t stale = USED_BIT | (mark ? 0 : MARK_BIT) | resource << NS_BITS;

    /* Removing an entry may move one that is behind it into its slot, so this slot is looked at
     * again. Entries that move around the end of the table come from slots that were looked at. */
    for (size_t i = 0; i < t->cap;) {
        if ((t->entries[i].place & mask) == stale)
            uids_close(t, i);
        else
            i++;
    }
}

void cor_gc_uids_set_mark(struct cor_gc_uids *t, uint32_t resource, bool mark)
{
    const uint32_t mask = USED_BIT | ((1u << RESOURCE_BITS) - 1) << NS_BITS;

    for (size_t i = 0; i < t->cap; i++) {
        uint32_t *place = &t->entries[i].place;

        if ((*place & mask) == (USED_BIT | resource << NS_BITS))
            *place = mark ? *place | MARK_BIT : *place & ~MARK_BIT;
    }
}

size_t cor_gc_uids_bytes(const struct cor_gc_uids *t)
{
    return t->cap * sizeof(t->entries[0]);
}
