/* A pod that is deleted is marked and then removed, by two writes. Somebody else may come between
 * them and remove it first; then the deletion is told the revision of its mark, and the removal is
 * looked for behind that. */
#include "notes.h"

#include <stdlib.h>

#include "base/mem.h"

enum fate { FATE_UNKNOWN, FATE_DONE, FATE_REMOVED, FATE_REFUSED };

struct note {
    enum op op;
    enum fate fate;
    uint16_t key;
    uint64_t rev;
    size_t next; /* the first write that began after the answer to this one */
};

const char *op_name(enum op op)
{
    static const char *const names[] = {
        "create", "patch", "read", "update", "delete", "deletecollection", "transaction"};

    return names[op];
}

void notes_init(struct notes *notes)
{
    *notes = (struct notes){0};
    notes_take(notes, OP_READ, 0);
}

void notes_deinit(struct notes *notes)
{
    cor_free(notes->v);
    *notes = (struct notes){0};
}

uint32_t notes_take(struct notes *notes, enum op op, unsigned key)
{
    if (notes->n == notes->cap) {
        notes->cap = notes->cap ? notes->cap * 2 : 1024;
        notes->v = cor_realloc(notes->v, notes->cap * sizeof(*notes->v));
        if (!notes->v)
            abort();
    }
    notes->v[notes->n] = (struct note){.op = op, .key = (uint16_t)key};
    return (uint32_t)notes->n++;
}

unsigned notes_key(const struct notes *notes, uint32_t token)
{
    return notes->v[token].key;
}

static void set_fate(struct notes *notes, uint32_t token, enum fate fate, uint64_t rev)
{
    struct note *note = &notes->v[token];

    note->fate = fate;
    note->rev = rev;
    note->next = notes->n;
}

void notes_done(struct notes *notes, uint32_t token, uint64_t rev)
{
    set_fate(notes, token, FATE_DONE, rev);
    notes->ndone++;
}

void notes_removed(struct notes *notes, uint32_t token, uint64_t rev)
{
    set_fate(notes, token, FATE_REMOVED, rev);
}

void notes_refused(struct notes *notes, uint32_t token)
{
    set_fate(notes, token, FATE_REFUSED, 0);
}

/* A pod is marked before it is removed: a write of the server's, of what somebody else wrote. */
static bool is_mark(const struct event *e)
{
    return e->type == EVENT_MODIFIED && e->is_marked && e->previous.token == e->content.token;
}

static void check_event(const struct notes *notes, const struct event *e, bool *is_seen,
                        struct verdict *verdict)
{
    const struct note *note = e->content.token < notes->n ? &notes->v[e->content.token] : NULL;

    if (!note || note->key != e->key)
        verdict_set(verdict, "key %u at %llu: nobody wrote token %u", e->key,
                    (unsigned long long)e->rev, e->content.token);
    else if (is_mark(e) || e->type == EVENT_DELETED)
        return;
    else if (note->fate == FATE_REFUSED || note->fate == FATE_REMOVED)
        verdict_set(verdict, "key %u at %llu: token %u was %s", e->key, (unsigned long long)e->rev,
                    e->content.token,
                    note->fate == FATE_REFUSED ? "refused" : "not written, as its writer was told");
    else if (note->fate == FATE_DONE && note->rev != e->rev)
        verdict_set(verdict, "key %u at %llu: token %u was acknowledged at %llu", e->key,
                    (unsigned long long)e->rev, e->content.token, (unsigned long long)note->rev);
    else
        is_seen[e->content.token] = true;
}

/* The event of a key at a revision; NULL: there is none. */
static const struct event *find_event(const struct history *h, uint16_t key, uint64_t rev)
{
    size_t low = 0, high = h->events.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (h->events.v[middle].rev < rev)
            low = middle + 1;
        else
            high = middle;
    }
    while (low < h->events.n && h->events.v[low].rev == rev && h->events.v[low].key != key)
        low++;
    return low < h->events.n && h->events.v[low].rev == rev ? &h->events.v[low] : NULL;
}

/* Is the removal there? Or the mark of one that somebody else may have finished: then the pod is
 * gone before a write that began after the answer finds it there. */
static bool has_removal(const struct history *h, const struct note *note)
{
    const struct event *e = find_event(h, note->key, note->rev);

    if (!e || (e->type != EVENT_DELETED && !is_mark(e)))
        return false;
    for (; e < h->events.v + h->events.n; e++) {
        if (e->key != note->key)
            continue;
        if (e->type == EVENT_DELETED)
            return true;
        if (e->content.token >= note->next)
            return false;
    }
    return false;
}

static void blame(const struct note *note, const struct history *h, struct verdict *verdict)
{
    static const char *const types[] = {"it was made there", "it was changed there",
                                        "it was removed there"};
    const struct event *e = find_event(h, note->key, note->rev);

    verdict_set(verdict, "the %s of key %u at %llu was acknowledged and is lost: %s",
                op_name(note->op), note->key, (unsigned long long)note->rev,
                !e           ? "nothing was changed there"
                : is_mark(e) ? "it was marked there, and not removed"
                             : types[e->type]);
}

void notes_check(const struct notes *notes, const struct history *h, struct verdict *verdict)
{
    bool *is_seen = cor_calloc(notes->n, sizeof(*is_seen));

    if (!is_seen)
        abort();
    for (size_t i = 0; i < h->events.n; i++)
        check_event(notes, &h->events.v[i], is_seen, verdict);
    for (size_t i = 0; i < notes->n; i++) {
        const struct note *note = &notes->v[i];
        bool removes =
            note->fate == FATE_REMOVED || (note->fate == FATE_DONE && note->op == OP_DELETE);

        if (removes ? !has_removal(h, note) : note->fate == FATE_DONE && !is_seen[i])
            blame(note, h, verdict);
    }
    cor_free(is_seen);
}
