#include "storage/encryption/dynamic_transformers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "test.h"

#define HEAD                                                                                       \
    "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources:\n"          \
    "- resources: [secrets]\n  providers:\n"
#define KEY1 "  - aescbc: {keys: [{name: key1, secret: c2VjcmV0IGlzIHNlY3VyZQ==}]}\n"
#define KEY2 "  - aescbc: {keys: [{name: key2, secret: dGhpcyBpcyBwYXNzd29yZA==}]}\n"

static const struct cor_gr secrets = {.group = {"", 0}, .resource = {"secrets", 7}};
static char path[512];

static void write_file(const char *text, mode_t mode)
{
    FILE *file;

    if (!path[0])
        snprintf(path, sizeof(path), "%s/encryption.yaml", test_tmpdir());
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static struct cor_dynamic_transformers *make(const char *text)
{
    struct cor_dynamic_transformers *d;
    struct cor_status st;

    write_file(text, 0600);
    cor_status_init(&st);
    if (cor_dynamic_transformers_new(path, &d, &st) < 0)
        fail_msg("%s", cor_status_message(&st));
    return d;
}

static const struct cor_transformer *peek(struct cor_dynamic_transformers *d)
{
    const struct cor_transformer *t;

    assert_int_equal(cor_dynamic_transformers_peek(d, &secrets, &t), 0);
    return t;
}

static void writes(const struct cor_transformer *t, const char *prefix)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = 4096};
    struct cor_str out;

    assert_int_equal(t->to_storage(t, COR_STR("/k"), COR_STR("{}"), &scratch, &out, NULL), 0);
    assert_true(cor_str_starts(out, cor_strz(prefix)));
}

TEST(dynamic_transformers, a_changed_file_takes_effect_on_the_transformers_in_use)
{
    struct cor_dynamic_transformers *d = make(HEAD KEY1);
    const struct cor_transformer *t = peek(d);
    char before[COR_ENCRYPTION_HASH_MAX], after[COR_ENCRYPTION_HASH_MAX];
    COR_CLEANUP(cor_buf_deinit) struct cor_buf old = {.max = 4096};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = 4096};
    struct cor_str out, back;
    bool changed, stale;

    assert_ptr_equal(peek(d), t);
    assert_int_equal(t->to_storage(t, COR_STR("/k"), COR_STR("{}"), &old, &out, NULL), 0);
    assert_int_equal(cor_dynamic_transformers_reload(d, &changed, NULL), 0);
    assert_false(changed);
    cor_dynamic_transformers_hash(d, before);
    write_file(HEAD KEY2 KEY1, 0600);
    assert_int_equal(cor_dynamic_transformers_reload(d, &changed, NULL), 0);
    assert_true(changed);
    cor_dynamic_transformers_hash(d, after);
    assert_string_not_equal(before, after);
    assert_int_equal(strlen(after), strlen("sha256:") + 64);
    writes(t, "k8s:enc:aescbc:v1:key2:");
    assert_int_equal(t->from_storage(t, COR_STR("/k"), out, &scratch, &back, &stale, NULL), 0);
    assert_str(back, "{}");
    assert_true(stale);
    cor_dynamic_transformers_free(d);
}

TEST(dynamic_transformers, a_broken_or_missing_file_keeps_the_old_one_in_force)
{
    struct cor_dynamic_transformers *d = make(HEAD KEY1);
    const struct cor_transformer *t = peek(d);
    COR_CLEANUP(cor_status_deinit) struct cor_status st;
    bool changed;

    cor_status_init(&st);
    write_file("kind: Pod\n", 0600);
    assert_int_equal(cor_dynamic_transformers_reload(d, &changed, &st), -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&st), path));
    assert_non_null(strstr(cor_status_message(&st), "error while parsing file: "));
    writes(t, "k8s:enc:aescbc:v1:key1:");
    write_file("", 0600);
    assert_int_equal(cor_dynamic_transformers_reload(d, &changed, &st), -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&st), "is empty"));
    unlink(path);
    assert_int_equal(cor_dynamic_transformers_reload(d, &changed, &st), -COR_ENOTFOUND);
    writes(t, "k8s:enc:aescbc:v1:key1:");
    write_file(HEAD KEY2, 0600);
    assert_int_equal(cor_dynamic_transformers_reload(d, &changed, &st), 0);
    assert_true(changed);
    writes(t, "k8s:enc:aescbc:v1:key2:");
    cor_dynamic_transformers_free(d);
}

TEST(dynamic_transformers, resources_without_a_rule_have_identity)
{
    const struct cor_gr jobs = {.group = COR_STR("batch"), .resource = COR_STR("jobs")};
    struct cor_dynamic_transformers *d = make(HEAD KEY1);
    const struct cor_transformer *t;

    assert_int_equal(cor_dynamic_transformers_peek(d, &jobs, &t), 0);
    writes(t, "{}");
    cor_dynamic_transformers_free(d);
}

struct seen {
    uint64_t wrote, read, failed, unknown, others;
};

static void visit(void *arg, const struct cor_gr *gr, const struct cor_transform_counts *counts)
{
    struct seen *seen = arg;

    if (!cor_gr_eq(gr, &secrets)) {
        for (int i = 0; i < COR_TRANSFORM_PREFIXES; i++)
            seen->others += counts->ok[COR_TRANSFORM_TO_STORAGE][i];
        return;
    }
    seen->wrote = counts->ok[COR_TRANSFORM_TO_STORAGE][COR_TRANSFORM_AESCBC];
    seen->read = counts->ok[COR_TRANSFORM_FROM_STORAGE][COR_TRANSFORM_AESCBC];
    seen->failed = counts->failed[COR_TRANSFORM_FROM_STORAGE][COR_TRANSFORM_AESCBC];
    seen->unknown = counts->failed[COR_TRANSFORM_FROM_STORAGE][COR_TRANSFORM_UNKNOWN];
}

static void try_read(const struct cor_transformer *t, struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf scratch = {.max = 4096};
    struct cor_str out;
    bool stale;

    (void)t->from_storage(t, COR_STR("/k"), value, &scratch, &out, &stale, NULL);
}

TEST(dynamic_transformers, counts_what_was_done_over_reloads)
{
    const struct cor_gr maps = {.group = {"", 0}, .resource = {"configmaps", 10}};
    struct cor_dynamic_transformers *d = make(HEAD KEY1);
    const struct cor_transformer *t = peek(d), *other;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf value = {.max = 4096};
    const struct cor_transform_times *times = cor_dynamic_transformers_times(d);
    struct seen seen = {0};
    struct cor_str out;
    uint64_t timed = 0;
    bool changed;

    assert_int_equal(t->to_storage(t, COR_STR("/k"), COR_STR("{}"), &value, &out, NULL), 0);
    try_read(t, out);
    try_read(t, COR_STR("{}"));
    try_read(t, COR_STR("k8s:enc:aesgcm:v1:key1:x"));
    assert_int_equal(cor_dynamic_transformers_peek(d, &maps, &other), 0);
    writes(other, "{}");
    write_file(HEAD KEY2, 0600);
    assert_int_equal(cor_dynamic_transformers_reload(d, &changed, NULL), 0);
    try_read(t, out);
    cor_dynamic_transformers_counts(d, visit, &seen);
    assert_int_equal(seen.wrote, 1);
    assert_int_equal(seen.read, 1);
    assert_int_equal(seen.failed, 1);
    assert_int_equal(seen.unknown, 2);
    assert_int_equal(seen.others, 0);
    for (size_t i = 0; i <= COR_TRANSFORM_BUCKETS; i++)
        timed += times->at[COR_TRANSFORM_FROM_STORAGE][COR_TRANSFORM_AESCBC].counts[i];
    assert_int_equal(timed, 1);
    cor_dynamic_transformers_free(d);
}

TEST(dynamic_transformers, tells_when_others_can_read_the_file)
{
    static const struct {
        mode_t mode;
        bool is_open;
    } rows[] = {{0600, false}, {0400, false}, {0640, true}, {0604, true}, {0620, true}};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_dynamic_transformers *d;

        write_file(HEAD KEY1, rows[i].mode);
        assert_int_equal(cor_dynamic_transformers_new(path, &d, NULL), 0);
        assert_int_equal(cor_dynamic_transformers_file_is_open(d), rows[i].is_open);
        cor_dynamic_transformers_free(d);
        unlink(path);
    }
}

struct worker {
    const struct cor_transformer *transformer;
    atomic_bool *stop;
    int rounds;
};

static void *work(void *arg)
{
    struct worker *w = arg;
    const struct cor_transformer *t = w->transformer;

    do {
        struct cor_buf sealed = {.max = 4096}, plain = {.max = 4096};
        struct cor_str out, back;
        bool stale;

        if (t->to_storage(t, COR_STR("/k"), COR_STR("{}"), &sealed, &out, NULL) < 0 ||
            t->from_storage(t, COR_STR("/k"), out, &plain, &back, &stale, NULL) < 0 ||
            !cor_str_eq(back, COR_STR("{}")))
            abort();
        cor_buf_deinit(&sealed);
        cor_buf_deinit(&plain);
        w->rounds++;
    } while (!atomic_load(w->stop));
    return NULL;
}

TEST(dynamic_transformers, reloads_beside_threads_that_use_it)
{
    struct cor_dynamic_transformers *d = make(HEAD KEY1 KEY2);
    atomic_bool stop = false;
    struct worker workers[3];
    pthread_t threads[COR_ARRAY_LEN(workers)];
    bool changed;

    for (size_t i = 0; i < COR_ARRAY_LEN(workers); i++) {
        workers[i] = (struct worker){peek(d), &stop, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 50; i++) {
        write_file(i % 2 ? HEAD KEY1 KEY2 : HEAD KEY2 KEY1, 0600);
        assert_int_equal(cor_dynamic_transformers_reload(d, &changed, NULL), 0);
        assert_true(changed);
    }
    atomic_store(&stop, true);
    for (size_t i = 0; i < COR_ARRAY_LEN(workers); i++) {
        pthread_join(threads[i], NULL);
        assert_true(workers[i].rounds > 0);
    }
    cor_dynamic_transformers_free(d);
}

TEST(dynamic_transformers, survives_every_failed_allocation)
{
    write_file(HEAD KEY1, 0600);
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_status_deinit) struct cor_status st;
        struct cor_dynamic_transformers *d = NULL;
        const struct cor_transformer *t;
        int r;

        cor_status_init(&st);
        r = cor_dynamic_transformers_new(path, &d, &st);
        if (r == 0)
            r = cor_dynamic_transformers_peek(d, &secrets, &t);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_dynamic_transformers_free(d);
    }
}
