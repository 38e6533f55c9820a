#include "base/map.h"

#include <assert.h>
#include <pthread.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/siphash.h"

/* Entries are packed in one array; slots is an open-addressed table of indices into it, at most
 * three quarters full, probed one after the other. Removing an entry moves the last one into its
 * place, and closes the gap in the table by moving later slots of the same run back: there are no
 * tombstones, so a map that is used for long does not get slower. */

#define MAP_FIRST_CAP 8
#define MAP_MAX       ((size_t)1 << 31)
#define MAP_KEPT_CAP  1024 /* a map that was larger gives its memory back once it is empty */

struct cor_map_entry {
    const char *key;
    void *value;
    uint32_t key_n;
    uint32_t hash;
};

static uint64_t hash_key[2];
static pthread_once_t hash_key_once = PTHREAD_ONCE_INIT;

static void draw_hash_key(void)
{
    struct cor_rand r;

    cor_rand_init(&r);
    cor_rand_bytes(&r, hash_key, sizeof(hash_key));
}

static uint32_t hash_of(struct cor_str key)
{
    pthread_once(&hash_key_once, draw_hash_key);
    return (uint32_t)cor_siphash(key, hash_key[0], hash_key[1]);
}

void cor_map_init(struct cor_map *m, size_t max)
{
    assert(max <= MAP_MAX);
    *m = (struct cor_map){.max = max};
}

void cor_map_deinit(struct cor_map *m)
{
    cor_free(m->entries);
    cor_free(m->slots);
    cor_map_init(m, m->max);
}

void cor_map_clear(struct cor_map *m)
{
    if (m->slots)
        memset(m->slots, 0, (m->slot_mask + 1) * sizeof(*m->slots));
    m->n = 0;
}

static bool entry_is(const struct cor_map_entry *e, struct cor_str key, uint32_t hash)
{
    return e->hash == hash && cor_str_eq(cor_str(e->key, e->key_n), key);
}

/* The slot of `key`, or the free slot where it belongs. The table always has a free slot. */
static size_t slot_of(const struct cor_map *m, struct cor_str key, uint32_t hash)
{
    size_t at = hash & m->slot_mask;

    while (m->slots[at] && !entry_is(&m->entries[m->slots[at] - 1], key, hash))
        at = (at + 1) & m->slot_mask;
    return at;
}

static void fill_slots(uint32_t *slots, size_t mask, const struct cor_map_entry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t at = entries[i].hash & mask;

        while (slots[at])
            at = (at + 1) & mask;
        slots[at] = (uint32_t)i + 1;
    }
}

/* A table for `cap` entries that is at most three quarters full. */
static int grow_slots(struct cor_map *m, size_t cap)
{
    size_t count = m->slots ? m->slot_mask + 1 : MAP_FIRST_CAP;
    uint32_t *slots;

    while (count / 4 * 3 < cap)
        count *= 2;
    if (m->slots && count == m->slot_mask + 1)
        return 0;
    slots = cor_calloc(count, sizeof(*slots));
    if (!slots)
        return -COR_ENOMEM;
    fill_slots(slots, count - 1, m->entries, m->n);
    cor_free(m->slots);
    m->slots = slots;
    m->slot_mask = count - 1;
    return 0;
}

static int make_room(struct cor_map *m)
{
    struct cor_map_entry *entries;
    size_t cap;
    int r;

    if (m->n == m->max)
        return -COR_ETOOBIG;
    if (m->n < m->cap)
        return 0;
    cap = m->cap ? m->cap + m->cap / 2 : MAP_FIRST_CAP;
    if (cap > m->max)
        cap = m->max;
    r = grow_slots(m, cap);
    if (r < 0)
        return r;
    entries = cor_realloc(m->entries, cap * sizeof(*entries));
    if (!entries)
        return -COR_ENOMEM;
    m->entries = entries;
    m->cap = cap;
    return 0;
}

static struct cor_map_entry *find(const struct cor_map *m, struct cor_str key, uint32_t hash)
{
    uint32_t index;

    if (m->n == 0)
        return NULL;
    index = m->slots[slot_of(m, key, hash)];
    return index ? &m->entries[index - 1] : NULL;
}

int cor_map_put(struct cor_map *m, struct cor_str key, void *value, void **ret_old)
{
    uint32_t hash = hash_of(key);
    struct cor_map_entry *e = find(m, key, hash);
    void *old = e ? e->value : NULL;
    int r;

    assert(value && key.n <= UINT32_MAX);
    if (!e) {
        r = make_room(m);
        if (r < 0)
            return r;
        assert(m->slots && m->entries);
        m->slots[slot_of(m, key, hash)] = (uint32_t)m->n + 1;
        e = &m->entries[m->n++];
    }
    *e = (struct cor_map_entry){key.p, value, (uint32_t)key.n, hash};
    if (ret_old)
        *ret_old = old;
    return 0;
}

void *cor_map_peek(const struct cor_map *m, struct cor_str key)
{
    struct cor_map_entry *e = find(m, key, hash_of(key));

    return e ? e->value : NULL;
}

/* Frees slot `hole` and moves back what probing could no longer reach across the gap. */
static void close_gap(struct cor_map *m, size_t hole)
{
    size_t mask = m->slot_mask;

    for (size_t at = (hole + 1) & mask; m->slots[at]; at = (at + 1) & mask) {
        size_t home = m->entries[m->slots[at] - 1].hash & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            m->slots[hole] = m->slots[at];
            hole = at;
        }
    }
    m->slots[hole] = 0;
}

static void move_last_entry_to(struct cor_map *m, size_t index)
{
    size_t last = m->n - 1;
    size_t at = m->entries[last].hash & m->slot_mask;

    while (m->slots[at] != last + 1)
        at = (at + 1) & m->slot_mask;
    m->slots[at] = (uint32_t)index + 1;
    m->entries[index] = m->entries[last];
}

void *cor_map_remove(struct cor_map *m, struct cor_str key)
{
    size_t at, index;
    void *value;

    if (m->n == 0)
        return NULL;
    at = slot_of(m, key, hash_of(key));
    if (!m->slots[at])
        return NULL;
    index = m->slots[at] - 1;
    value = m->entries[index].value;
    close_gap(m, at);
    if (index != m->n - 1)
        move_last_entry_to(m, index);
    m->n--;
    if (m->n == 0 && m->cap > MAP_KEPT_CAP)
        cor_map_deinit(m);
    return value;
}

bool cor_map_next(const struct cor_map *m, struct cor_map_iter *it)
{
    const struct cor_map_entry *e;

    if (it->left == 0)
        return false;
    e = &m->entries[--it->left];
    it->key = cor_str(e->key, e->key_n);
    it->value = e->value;
    return true;
}
