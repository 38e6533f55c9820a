#include <dirent.h>
#include <ftw.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "loop/loop.h"
#include "test.h"

#define TESTS_MAX 2048

static struct CMUnitTest tests[TESTS_MAX];
static const char *test_files[TESTS_MAX]; /* beside `tests` */
static size_t ntests;
#define NEEDS_MAX 16
static struct {
    const char *file, *variable;
} needs[NEEDS_MAX];
static size_t nneeds;
static _Atomic size_t live, live_bytes;
static uint64_t seed, random_state;
/* Descriptors above are not looked at. */
#define FDS_MAX 4096
static bool is_fd_known[FDS_MAX]; /* open before the test, or kept until the program ends */
static char tmpdirs[256][64];
static size_t ntmpdirs;

static _Thread_local size_t fail_in;
static _Thread_local bool fail_persistent, fail_seen;

static bool fails_now(void)
{
    if (fail_in == 0)
        return false;
    if (fail_in > 1) {
        fail_in--;
        return false;
    }
    fail_seen = true;
    if (!fail_persistent)
        fail_in = 0;
    return true;
}

static void *counting_alloc(size_t n)
{
    void *p = fails_now() ? NULL : malloc(n);

    if (p) {
        atomic_fetch_add(&live, 1);
        atomic_fetch_add(&live_bytes, malloc_usable_size(p));
    }
    return p;
}

static void *counting_realloc(void *p, size_t n)
{
    size_t before = p ? malloc_usable_size(p) : 0;
    void *q = fails_now() ? NULL : realloc(p, n);

    if (!q)
        return NULL;
    atomic_fetch_add(&live, p ? 0 : 1);
    atomic_fetch_add(&live_bytes, malloc_usable_size(q) - before);
    return q;
}

static void counting_free(void *p)
{
    atomic_fetch_sub(&live, 1);
    atomic_fetch_sub(&live_bytes, malloc_usable_size(p));
    free(p);
}

static const struct cor_mem_fns counting = {counting_alloc, counting_realloc, counting_free};

size_t test_live_allocs(void)
{
    return atomic_load(&live);
}

size_t test_live_bytes(void)
{
    return atomic_load(&live_bytes);
}

void test_fail_alloc(size_t n, bool persistent)
{
    fail_in = n;
    fail_persistent = persistent;
    if (n)
        fail_seen = false;
}

bool test_alloc_failed(void)
{
    return fail_seen;
}

uint64_t test_random(void)
{
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* How many allocations of a loop fail in turn before some are left out. */
static size_t allocs_in_turn(void)
{
    const char *text = getenv("COR_TEST_ALLOCATIONS");

    if (!text || !*text)
        return 64;
    return strcmp(text, "all") == 0 ? SIZE_MAX : (size_t)strtoull(text, NULL, 10);
}

size_t test_next_alloc(size_t n)
{
    bool is_over = n > 0 && !test_alloc_failed();
    size_t in_turn = allocs_in_turn();

    test_fail_alloc(0, false);
    if (is_over)
        return 0;
    /* The steps are as long as a tenth of what was passed on the way, on average. How many
     * allocations there are shows when a run meets no failure, so they cannot be drawn evenly. */
    n += n < in_turn ? 1 : 1 + test_random() % (1 + (n - in_turn) / 5);
    test_fail_alloc(n, false);
    return n;
}

const char *test_tmpdir(void)
{
    const char *base = getenv("TMPDIR");
    char *dir;

    assert_true(ntmpdirs < sizeof(tmpdirs) / sizeof(tmpdirs[0]));
    dir = tmpdirs[ntmpdirs++];
    snprintf(dir, sizeof(tmpdirs[0]), "%.40s/cor-test-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(dir));
    return dir;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    return remove(path);
}

static void remove_tmpdirs(void)
{
    for (size_t i = 0; i < ntmpdirs; i++)
        nftw(tmpdirs[i], remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void test_register(const char *file, const char *name, test_fn fn)
{
    const char *slash = strrchr(file, '/');

    if (ntests == TESTS_MAX)
        abort();
    test_files[ntests] = slash ? slash + 1 : file;
    tests[ntests].name = name;
    tests[ntests++].test_func = fn;
}

void test_register_need(const char *file, const char *variable)
{
    const char *slash = strrchr(file, '/');

    if (nneeds == NEEDS_MAX)
        abort();
    needs[nneeds].file = slash ? slash + 1 : file;
    needs[nneeds++].variable = variable;
}

static bool is_file(const char *arg)
{
    size_t n = strlen(arg);

    return n > 2 && strcmp(arg + n - 2, ".c") == 0;
}

/* Forgets the tests of the file, or of all other files. */
static void sift(const char *file, bool keeps)
{
    size_t kept = 0;

    for (size_t i = 0; i < ntests; i++) {
        if ((strcmp(test_files[i], file) == 0) != keeps)
            continue;
        test_files[kept] = test_files[i];
        tests[kept++] = tests[i];
    }
    ntests = kept;
}

/* Forgets the tests that cannot run here. Returns how many those were. */
static size_t skip_needy(void)
{
    size_t before = ntests;

    for (size_t i = 0; i < nneeds; i++) {
        if (getenv(needs[i].variable))
            continue;
        fprintf(stderr, "%s is skipped: there is no %s\n", needs[i].file, needs[i].variable);
        sift(needs[i].file, false);
    }
    return before - ntests;
}

/* Runs over this process' open descriptors. True, and which one: another is there. */
static bool next_fd(DIR *dir, int *ret_fd)
{
    struct dirent *entry;

    while ((entry = readdir(dir))) {
        *ret_fd = (int)strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && *ret_fd != dirfd(dir))
            return true;
    }
    return false;
}

void test_spend_ms(int ms)
{
    (void)poll(NULL, 0, ms);
}

void test_keep_fds(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int fd;

    while (dir && next_fd(dir, &fd))
        if (fd < FDS_MAX)
            is_fd_known[fd] = true;
    if (dir)
        closedir(dir);
}

/* Counts, and names, the descriptors that a test left open. */
static size_t fds_left(void)
{
    DIR *dir = opendir("/proc/self/fd");
    size_t left = 0;
    int fd;

    while (dir && next_fd(dir, &fd)) {
        char link[32], target[256];
        ssize_t n;

        if (fd >= FDS_MAX || is_fd_known[fd])
            continue;
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        print_error("descriptor %d (%s) left open\n", fd, target);
        left++;
    }
    if (dir)
        closedir(dir);
    return left;
}

/* Only of programs that have loops. */
extern __typeof__(cor_loop_new) cor_loop_new __attribute__((weak));
extern __typeof__(cor_loop_free) cor_loop_free __attribute__((weak));

/* libuv makes a pipe for signals with the first loop, and keeps it. */
static void open_what_stays(void)
{
    struct cor_loop *loop;

    if (cor_loop_new && cor_loop_new(1, &loop) == 0)
        cor_loop_free(loop);
}

static int setup(void **state)
{
    /* The previous test may have set functions of its own: then no allocation would fail. */
    cor_mem_set(&counting);
    memset(is_fd_known, 0, sizeof(is_fd_known));
    test_keep_fds();
    *state = (void *)(uintptr_t)test_live_allocs();
    return 0;
}

static int teardown(void **state)
{
    size_t before = (size_t)(uintptr_t)*state;

    test_fail_alloc(0, false);
    if (fds_left() > 0)
        return -1;
    if (test_live_allocs() == before)
        return 0;
    print_error("%zu allocations left behind (seed %llu)\n", test_live_allocs() - before,
                (unsigned long long)seed);
    return -1;
}

/* A program that has a main() of its own and needs the rest of this file replaces it. */
__attribute__((weak)) int main(int argc, char **argv)
{
    const char *text = getenv("COR_TEST_SEED");
    const char *file = argc > 1 && is_file(argv[1]) ? argv[1] : NULL;
    const char *pattern = argv[file ? 2 : 1];
    int failed;

    seed = text && *text ? strtoull(text, NULL, 10)
                         : (uint64_t)time(NULL) ^ ((uint64_t)getpid() << 32);
    random_state = seed;
    cor_mem_set(&counting);
    open_what_stays();
    if (file)
        sift(file, true);
    if (ntests == 0) {
        fprintf(stderr, "%s has no test in a file %s\n", argv[0], file ? file : "");
        return 1;
    }
    if (skip_needy() > 0 && ntests == 0) {
        printf("1..0 # SKIP a variable is missing\n");
        return 0;
    }
    if (pattern)
        cmocka_set_test_filter(pattern);
    else
        cmocka_set_message_output(CM_OUTPUT_TAP);
    for (size_t i = 0; i < ntests; i++) {
        tests[i].setup_func = setup;
        tests[i].teardown_func = teardown;
    }
    failed = _cmocka_run_group_tests(argv[0], tests, ntests, NULL, NULL);
    if (failed)
        fprintf(stderr, "seed: COR_TEST_SEED=%llu\n", (unsigned long long)seed);
    remove_tmpdirs();
    return failed ? 1 : 0;
}
