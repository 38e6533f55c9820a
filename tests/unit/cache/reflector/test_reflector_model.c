#include "script.h"

#include <stdio.h>

/* A model API server answers a reflector at random: writes, compactions, broken and short watches,
 * 410, 429, 500, stale and paged lists, streamed lists. At every moment the store must show exactly
 * the model's state at the revision it claims, and never an older one; once the faults stop, it
 * must arrive at the model's last state. */

#define KEYS     6
#define VERSIONS 240

struct version {
    struct cor_object *object; /* a deletion's: the last state at the deletion's revision */
    int key;                   /* -1: a write to another resource */
    bool deleted;
    bool created;
};

/* Version i has revision i + 1. All are made beforehand; a write moves the head. */
struct model {
    struct version log[VERSIONS];
    struct cor_object *table, *bookmarks[VERSIONS + 1];
    struct cor_rand rand;
    cor_rev head, compacted, seen;
    bool faults;
    bool cached; /* limits are ignored for "0" */
    bool streams;
    struct script s;

    cor_rev pos;   /* of the open watch */
    cor_rev until; /* of a streamed list: where its bookmark stands */
    int initial[KEYS];
    size_t ninitial; /* still to be sent */
    bool initial_end_due;
};

static struct cor_object *object_of(int key, cor_rev content, cor_rev rev)
{
    char json[200];

    snprintf(json, sizeof(json),
             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"v\":\"%llu\"},"
             "\"metadata\":{\"name\":\"k%d\",\"namespace\":\"n%d\"}}",
             (unsigned long long)content, key, key % 2);
    return script_json(json, rev);
}

static struct cor_object *bookmark_of(cor_rev rev)
{
    return script_json("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
                       "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}",
                       rev);
}

static void model_init(struct model *m, uint64_t seed)
{
    cor_rev content[KEYS] = {0};

    memset(m, 0, sizeof(*m));
    cor_rand_init_seeded(&m->rand, seed);
    for (size_t i = 0; i < VERSIONS; i++) {
        struct version *v = &m->log[i];
        cor_rev rev = i + 1;

        m->bookmarks[rev] = bookmark_of(rev);
        v->key = (int)cor_rand_below(&m->rand, KEYS + 2);
        if (v->key >= KEYS) {
            v->key = -1;
            continue;
        }
        v->created = content[v->key] == 0;
        v->deleted = !v->created && cor_rand_below(&m->rand, 4) == 0;
        v->object = object_of(v->key, v->deleted ? content[v->key] : rev, rev);
        content[v->key] = v->deleted ? 0 : rev;
    }
    m->table = script_json("{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\"}", 1);
    m->head = 1 + cor_rand_below(&m->rand, 20);
    m->compacted = 1;
    m->cached = cor_rand_below(&m->rand, 2);
    m->streams = cor_rand_below(&m->rand, 2);
}

static void model_deinit(struct model *m)
{
    for (size_t i = 0; i < VERSIONS; i++) {
        cor_object_unref(m->log[i].object);
        cor_object_unref(m->bookmarks[i + 1]);
    }
    cor_object_unref(m->table);
}

static bool chance(struct model *m, unsigned percent)
{
    return cor_rand_below(&m->rand, 100) < percent;
}

/* The object that `key` has at `rev`, or NULL. */
static struct cor_object *state(const struct model *m, int key, cor_rev rev)
{
    for (cor_rev at = rev; at > 0; at--) {
        const struct version *v = &m->log[at - 1];

        if (v->key == key)
            return v->deleted ? NULL : v->object;
    }
    return NULL;
}

static bool shows_state_at(const struct model *m, cor_rev rev)
{
    const struct script_content *c = &m->s.content;
    size_t alive = 0;

    for (int key = 0; key < KEYS; key++) {
        struct cor_object *object = state(m, key, rev);
        size_t found = 0;

        alive += object != NULL;
        for (size_t i = 0; object && i < c->n; i++)
            found += c->nodes[i]->object == object;
        if (object && found != 1)
            return false;
    }
    return alive == c->n;
}

static cor_rev number(const char *rv)
{
    uint64_t n;

    assert_int_equal(cor_str_to_u64(cor_strz(rv), &n), 0);
    return n;
}

static void check(struct model *m)
{
    cor_rev rev;

    script_forget(&m->s);
    if (m->s.commits == 0) {
        assert_int_equal(m->s.content.n, 0);
        return;
    }
    rev = number(m->s.store_rv);
    assert_true(rev >= m->seen);
    assert_true(rev <= m->head);
    m->seen = rev;
    assert_str(cor_reflector_last_sync_rv(m->s.r), m->s.store_rv);
    assert_true(shows_state_at(m, rev));
}

static int random_error(struct model *m)
{
    static const int errors[] = {-COR_EINTERNAL, -COR_EEXPIRED,     -COR_EFUTURE,
                                 -COR_EBUSY,     -COR_EUNREACHABLE, -COR_ETIMEOUT};

    return errors[cor_rand_below(&m->rand, COR_ARRAY_LEN(errors))];
}

static cor_rev between(struct model *m, cor_rev low, cor_rev high)
{
    return low + cor_rand_below(&m->rand, high - low + 1);
}

/* The revision at which a list or stream is answered (Contract client 1.14.2): from "" the newest,
 * else any that is not older than the request's, so that "0" may get an old one. */
static cor_rev read_rev(struct model *m)
{
    cor_rev low;

    if (m->s.rv[0] == '\0')
        return m->head;
    low = number(m->s.rv);
    assert_true(low <= m->head);
    return between(m, low > m->compacted ? low : m->compacted, m->head);
}

static void answer_list(struct model *m)
{
    struct cor_object *objects[KEYS];
    struct cor_list_page page = {.objects = objects};
    char rv[24], token[48];
    int64_t limit = m->s.limit > 0 && !(m->cached && strcmp(m->s.rv, "0") == 0) ? 2 : KEYS;
    unsigned long long rev;
    int key = 0;

    if (m->s.token[0] == '\0') {
        rev = read_rev(m);
    } else {
        key = m->s.token[0] - 'a';
        rev = number(m->s.token + 1);
    }
    if (m->s.token[0] != '\0' && rev < m->compacted) {
        script_list_fails(&m->s, -COR_EEXPIRED);
        return;
    }
    for (; key < KEYS && page.n < (size_t)limit; key++) {
        struct cor_object *object = state(m, key, rev);

        if (object)
            objects[page.n++] = object;
    }
    snprintf(rv, sizeof(rv), "%llu", rev);
    snprintf(token, sizeof(token), "%c%llu", 'a' + key, rev);
    page.resource_version = cor_strz(rv);
    page.continue_token = cor_strz(key < KEYS ? token : "");
    if (page.n > 0 && chance(m, 30)) {
        cor_reflector_list_page(
            m->s.r, m->s.now,
            &(struct cor_list_page){.objects = page.objects++, .n = 1, .more_parts = true});
        page.n--;
        if (m->s.request != SCRIPT_LIST)
            return;
    }
    m->s.request = SCRIPT_NONE;
    cor_reflector_list_page(m->s.r, m->s.now, &page);
}

static void open_stream(struct model *m)
{
    cor_rev rev;

    if (!m->streams) {
        script_ended(&m->s, -COR_EINVALID);
        return;
    }
    rev = read_rev(m);
    m->ninitial = 0;
    for (int key = 0; key < KEYS; key++)
        if (state(m, key, rev))
            m->initial[m->ninitial++] = key;
    for (size_t i = m->ninitial; i > 1; i--) {
        size_t k = cor_rand_below(&m->rand, i);
        int key = m->initial[k];

        m->initial[k] = m->initial[i - 1];
        m->initial[i - 1] = key;
    }
    m->pos = rev;
    m->until = between(m, rev, m->head);
    m->initial_end_due = true;
    script_opened(&m->s);
}

static void open_watch(struct model *m)
{
    m->pos = number(m->s.rv);
    if (m->pos < m->compacted && chance(m, 50)) {
        script_ended(&m->s, -COR_EEXPIRED);
        return;
    }
    m->initial_end_due = false;
    m->ninitial = 0;
    script_opened(&m->s);
    if (m->pos < m->compacted)
        script_error_event(&m->s, -COR_EEXPIRED);
}

static void send_event(struct model *m, enum cor_watch_type type, struct cor_object *object)
{
    cor_reflector_watch_event(m->s.r, m->s.now,
                              &(struct cor_reflector_event){.type = type, .object = object});
}

static void send_version(struct model *m)
{
    const struct version *v = &m->log[m->pos++];

    if (v->key < 0)
        return;
    send_event(m,
               v->deleted   ? COR_WATCH_DELETED
               : v->created ? COR_WATCH_ADDED
                            : COR_WATCH_MODIFIED,
               v->object);
}

static void send_bookmark(struct model *m)
{
    char rv[24];

    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)m->pos);
    cor_reflector_watch_event(m->s.r, m->s.now,
                              &(struct cor_reflector_event){.type = COR_WATCH_BOOKMARK,
                                                            .resource_version = cor_strz(rv)});
}

static void go_on_with_watch(struct model *m)
{
    if (m->ninitial > 0) {
        struct cor_object *object = state(m, m->initial[--m->ninitial], m->pos);

        send_event(m, COR_WATCH_ADDED, object);
    } else if (m->initial_end_due && m->pos == m->until) {
        m->initial_end_due = false;
        send_event(m, COR_WATCH_BOOKMARK, m->bookmarks[m->pos]);
    } else if (chance(m, 10)) {
        send_event(m, COR_WATCH_ADDED, m->table);
    } else if (m->pos < m->head && !chance(m, 20)) {
        send_version(m);
    } else if (!m->initial_end_due) {
        send_bookmark(m);
    }
}

static bool is_open(const struct model *m)
{
    enum cor_reflector_state at = cor_reflector_state(m->s.r);

    return at == COR_REFLECTOR_STREAMING || at == COR_REFLECTOR_WATCHING;
}

static bool fault(struct model *m)
{
    if (!m->faults || !chance(m, 12))
        return false;
    if (m->s.request == SCRIPT_LIST)
        script_list_fails(&m->s, random_error(m));
    else if (!is_open(m) || chance(m, 30))
        script_ended(&m->s, chance(m, 40) ? 0 : random_error(m));
    else
        script_error_event(&m->s, random_error(m));
    return true;
}

static void serve(struct model *m)
{
    static const char *const ops[] = {"begin", "stage", "commit", "add", "update", "del", "resync"};

    if (m->faults && chance(m, 3)) {
        m->s.fail_op = ops[cor_rand_below(&m->rand, COR_ARRAY_LEN(ops))];
        m->s.fail_err = -COR_ENOMEM;
    }
    if (fault(m))
        ;
    else if (m->s.request == SCRIPT_LIST)
        answer_list(m);
    else if (is_open(m))
        go_on_with_watch(m);
    else if (m->s.request == SCRIPT_STREAM)
        open_stream(m);
    else
        open_watch(m);
    m->s.fail_op = NULL;
}

static void pass_time(struct model *m)
{
    assert_true(m->s.request != SCRIPT_NONE || m->s.wake_ms != COR_REFLECTOR_NEVER);
    if (m->s.request == SCRIPT_NONE || (m->s.wake_ms != COR_REFLECTOR_NEVER && chance(m, 50)))
        script_tick(&m->s);
    else
        m->s.now += cor_rand_below(&m->rand, 1500);
    if (m->s.wake_ms < m->s.now)
        script_tick(&m->s);
}

static void act(struct model *m)
{
    if (m->s.request == SCRIPT_NONE || chance(m, 15))
        pass_time(m);
    else
        serve(m);
}

static bool arrived(const struct model *m)
{
    return m->s.commits > 0 && is_open(m) && m->seen == m->head;
}

static void settle(struct model *m)
{
    m->faults = false;
    for (int i = 0; i < 5000 && !arrived(m); i++) {
        act(m);
        check(m);
    }
    assert_true(arrived(m));
    assert_true(shows_state_at(m, m->head));
}

static void disturb(struct model *m, int steps)
{
    m->faults = true;
    for (int i = 0; i < steps; i++) {
        if (chance(m, 20) && m->head < VERSIONS)
            m->head++;
        if (chance(m, 3))
            m->compacted = between(m, m->compacted, m->head);
        act(m);
        check(m);
    }
}

static void configure(struct model *m)
{
    script_init(&m->s);
    cor_rand_init_seeded(&m->s.rand, cor_rand_u64(&m->rand));
    m->s.opts.stream_initial = chance(m, 60);
    m->s.opts.resync_ms = chance(m, 30) ? 2000 : 0;
    m->s.opts.page_size = chance(m, 30) ? 2 : 0;
    m->s.opts.internal_retry_ms = chance(m, 50) ? 30000 : 0;
    m->s.opts.round_delay_ms = chance(m, 20) ? 1000 : 0;
}

TEST(reflector_model, shows_only_states_that_were_and_converges)
{
    static struct model m;

    for (int run = 0; run < 300; run++) {
        model_init(&m, test_random());
        configure(&m);
        script_start(&m.s);
        for (int i = 0; i < 3; i++) {
            disturb(&m, 200);
            settle(&m);
        }
        script_deinit(&m.s);
        model_deinit(&m);
    }
}

/* One failed allocation anywhere costs at most a relist. */
static void survive_failed_allocs(uint64_t seed, bool stream)
{
    static struct model m;

    model_init(&m, seed);
    m.streams = true;
    FOR_EACH_FAILED_ALLOC(n) {
        cor_rand_init_seeded(&m.rand, seed);
        m.head = 20;
        m.seen = 0;
        script_init(&m.s);
        m.s.opts.stream_initial = stream;
        m.s.opts.page_size = 2;
        if (script_new(&m.s) == 0) {
            cor_reflector_start(m.s.r, m.s.now);
            settle(&m);
            m.head = 40;
            settle(&m);
            script_error_event(&m.s, -COR_EEXPIRED);
            m.head = 60;
            settle(&m);
        }
        script_deinit(&m.s);
    }
    model_deinit(&m);
}

TEST(reflector_model, a_failed_allocation_is_mended_by_a_relist)
{
    survive_failed_allocs(1, false);
    survive_failed_allocs(2, false);
}

TEST(reflector_model, a_failed_allocation_of_a_streamed_list_is_mended_by_a_list)
{
    survive_failed_allocs(1, true);
    survive_failed_allocs(2, true);
}

/* Once or for the whole input, in any state. */
TEST(reflector_model, faults_and_failed_allocations_together)
{
    static struct model m;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        model_init(&m, seed);
        configure(&m);
        script_start(&m.s);
        for (int i = 0; i < 300; i++) {
            m.faults = true;
            if (chance(&m, 20) && m.head < VERSIONS)
                m.head++;
            test_fail_alloc(1 + cor_rand_below(&m.rand, 3), chance(&m, 30));
            act(&m);
            test_fail_alloc(0, false);
            check(&m);
        }
        settle(&m);
        script_deinit(&m.s);
        model_deinit(&m);
    }
}
