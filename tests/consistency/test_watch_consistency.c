/* Writers and watchers over HTTPS against a server in a process of its own, which is killed and
 * restarted meanwhile. What each watcher saw must be exactly its part of what happened.
 *
 * $COR_SERVER_PROGRAM is the server, $COR_SERVER_FLAGS are flags for it (the watch cache, the
 * engine), $COR_CONSISTENCY_SECONDS is how long the writers write; with $COR_CONSISTENCY_HTTP2 all
 * clients are streams of one HTTP/2 connection. With $COR_CONSISTENCY_COMPACTS the store is
 * compacted while the server is away, up to some revision that the history's watcher has passed: no
 * clock decides what is forgotten. On an etcd somebody else writes too, many keys in one revision.
 */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/rand.h"
#include "history.h"
#include "http_conn.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "outsider.h"
#include "server_process.h"
#include "test.h"
#include "watchers.h"
#include "writers.h"

#define WRITERS         6
#define WATCHERS        24
#define SECONDS         4
#define SETTLE_MS       180000
#define POLL_MS         5
#define HISTORY_SECONDS 240 /* compaction leaves at least as much */
#define COMPACT_MS      5000
#define LAG_MAX         12 /* revisions, whose events stay in the window of the smallest caches */

struct run {
    struct server_process server;
    struct cor_loop *loop;
    struct http_client *client;
    struct watchers *watchers;
    struct writers *writers;
    struct outsider *outsider; /* NULL: there is no etcd */
    struct verdict verdict;
    struct cor_rand rand;
    struct cor_timer trouble;
    struct cor_timer compaction; /* the next one by somebody else */
    uint64_t until_ms, pause_ms;
    uint64_t compacted;
    bool is_stopping, compacts;
    size_t nkills, nstops, ncompacted;
    int made; /* status of the last request of make() */
};

static const char *env_or(const char *name, const char *otherwise)
{
    const char *value = getenv(name);

    return value && *value ? value : otherwise;
}

static void on_made_head(int status, void *arg)
{
    ((struct run *)arg)->made = status;
}

static void on_made_body(struct cor_str piece, void *arg)
{
}

static void on_made(void *arg)
{
    struct run *r = arg;

    if (r->made != 201)
        verdict_set(&r->verdict, "a namespace was answered with %d", r->made);
    r->made = -1;
}

static const struct http_conn_cbs made_cbs = {on_made_head, on_made_body, on_made, on_made};

static bool is_made(void *arg)
{
    return ((struct run *)arg)->made < 0;
}

static void make_namespaces(struct run *r)
{
    for (unsigned i = 0; i < SPACES; i++) {
        struct http_conn *conn = http_conn_open(r->client, &made_cbs, r, false);
        char body[128];

        snprintf(body, sizeof(body),
                 "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"ns%u\"}}",
                 i);
        r->made = 0;
        http_conn_send(conn, "POST", "/api/v1/namespaces", "application/json", cor_strz(body));
        assert_true(cor_loop_run_until(r->loop, is_made, r, SETTLE_MS));
        http_conn_close(conn);
    }
    assert_false(r->verdict.is_wrong);
}

/* The flags of the server that say where its etcd is count for the command too. */
static _Noreturn void become_compactor(const struct run *r, const char *revision)
{
    const char *argv[32] = {r->server.program, "store",      "compact", "--data",
                            r->server.data,    "--revision", revision};
    size_t argc = 7;
    char flags[1024];

    snprintf(flags, sizeof(flags), "%s", r->server.flags);
    for (char *word = flags, *end; argc < 31; word = end + 1) {
        end = word + strcspn(word, " ");
        if (strncmp(word, "--etcd-", 7) == 0)
            argv[argc++] = word;
        if (!*end)
            break;
        *end = '\0';
    }
    if (!freopen("/dev/null", "w", stdout))
        _exit(127);
    execv(argv[0], (char *const *)argv);
    _exit(127);
}

static void run_compactor(struct run *r)
{
    char revision[24];
    int status = -1;
    pid_t pid;

    snprintf(revision, sizeof(revision), "%llu", (unsigned long long)r->compacted);
    pid = fork();
    if (pid == 0)
        become_compactor(r, revision);
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        verdict_set(&r->verdict, "the compaction of %s ended with %d", revision, status);
}

/* Old watches and lists are told 410 from now on; the history's watcher never. */
static void compact(struct run *r)
{
    uint64_t upto = watchers_history(r->watchers)->whole;

    if (!r->compacts || upto <= r->compacted + 2)
        return;
    r->compacted += 1 + cor_rand_below(&r->rand, (upto - r->compacted) / 2 + 1);
    watchers_compacting(r->watchers, r->compacted);
    if (r->outsider && cor_rand_below(&r->rand, 4) > 0)
        outsider_compact(r->outsider, r->compacted);
    else
        run_compactor(r);
    r->ncompacted++;
}

static void on_compaction(struct cor_timer *timer)
{
    struct run *r = COR_CONTAINER_OF(timer, struct run, compaction);

    compact(r);
    cor_timer_set(timer, 1 + cor_rand_below(&r->rand, COMPACT_MS));
}

static void start_again(struct run *r)
{
    r->is_stopping = false;
    compact(r);
    watchers_restarted(r->watchers);
    if (!server_process_start(&r->server))
        verdict_set(&r->verdict, "the server does not start again");
    cor_timer_set(&r->trouble, r->pause_ms / 2 + cor_rand_below(&r->rand, r->pause_ms));
}

/* A slow machine gets more time, so that both kinds of end are seen. */
static bool is_time_over(const struct run *r)
{
    return cor_loop_now_ms(r->loop) >= r->until_ms && r->nkills > 0 && r->nstops > 0;
}

/* Kills the server, or asks it to end and starts it when it has. */
static void on_trouble(struct cor_timer *timer)
{
    struct run *r = COR_CONTAINER_OF(timer, struct run, trouble);
    bool is_clean = true;

    if (r->is_stopping) {
        if (!server_process_has_ended(&r->server, &is_clean))
            cor_timer_set(&r->trouble, POLL_MS);
        else
            start_again(r);
        if (!is_clean)
            verdict_set(&r->verdict, "the server did not end well");
    } else if (!is_time_over(r)) {
        r->is_stopping = (r->nkills + r->nstops) % 2 == 1;
        if (r->is_stopping) {
            r->nstops++;
            server_process_ask(&r->server);
            cor_timer_set(&r->trouble, POLL_MS);
        } else {
            r->nkills++;
            server_process_kill(&r->server);
            start_again(r);
        }
    }
}

static bool is_over(void *arg)
{
    struct run *r = arg;

    return r->verdict.is_wrong || (is_time_over(r) && !cor_timer_is_set(&r->trouble));
}

/* Somebody else compacts: a 410 may be told for any revision. */
static bool is_forgetful(const struct run *r)
{
    return strstr(r->server.flags, "--etcd-compaction-interval") ||
           strstr(env_or("COR_ETCD_CLUSTER", ""), "compacted");
}

/* What small caches do not hold is read from etcd, which on a busy machine may take longer to begin
 * than a watcher stays. */
static bool is_slow_to_tell(const struct run *r)
{
    return getenv("COR_ETCD_URLS") && strstr(r->server.flags, "--watch-cache-bytes");
}

static void open_run(struct run *r, uint64_t seed)
{
    memset(r, 0, sizeof(*r));
    r->server.program = env_or("COR_SERVER_PROGRAM", "build/coracle");
    r->server.flags = env_or("COR_SERVER_FLAGS", "");
    r->server.data = test_tmpdir();
    cor_rand_init_seeded(&r->rand, seed);
    assert_true(server_process_start(&r->server));
    assert_int_equal(cor_loop_new(1024, &r->loop), 0);
    r->client = http_client_open(r->loop, &r->server, *env_or("COR_CONSISTENCY_HTTP2", ""));
    cor_timer_init(&r->trouble, r->loop, on_trouble);
    cor_timer_init(&r->compaction, r->loop, on_compaction);
    make_namespaces(r);
    r->watchers = watchers_start(r->loop, r->client, WATCHERS, seed + 1000, &r->verdict);
    assert_true(cor_loop_run_until(r->loop, watchers_have_begun, r->watchers, SETTLE_MS));
    r->writers = writers_start(r->loop, r->client, WRITERS, seed + 2000, &r->verdict);
    watchers_heed(r->watchers, r->writers);
    r->compacts = *env_or("COR_CONSISTENCY_COMPACTS", "");
    if (is_forgetful(r))
        watchers_allow_410(r->watchers);
    if (is_forgetful(r) || is_slow_to_tell(r))
        writers_follow(r->writers, watchers_history(r->watchers), LAG_MAX);
    r->outsider = outsider_start(r->loop, r->writers, seed + 3000, &r->verdict);
    if (r->outsider)
        cor_timer_set(&r->compaction, COMPACT_MS);
}

static void close_run(struct run *r)
{
    cor_timer_cancel(&r->trouble);
    cor_timer_cancel(&r->compaction);
    watchers_free(r->watchers);
    outsider_free(r->outsider);
    writers_free(r->writers);
    http_client_close(r->client);
    cor_loop_free(r->loop);
    server_process_deinit(&r->server);
}

static void finish(struct run *r)
{
    outsider_stop(r->outsider);
    cor_timer_cancel(&r->compaction);
    writers_finish(r->writers);
    if (!cor_loop_run_until(r->loop, writers_are_done, r->writers, SETTLE_MS))
        verdict_set(&r->verdict, "the writers hang");
    watchers_settle(r->watchers, writers_rev(r->writers));
    if (!cor_loop_run_until(r->loop, watchers_are_done, r->watchers, SETTLE_MS))
        watchers_blame(r->watchers);
    watchers_check(r->watchers);
    writers_check(r->writers, watchers_history(r->watchers), &r->verdict);
}

TEST(watch_consistency, every_watcher_sees_exactly_its_part_of_what_happened)
{
    static struct run r;
    uint64_t seconds = strtoull(env_or("COR_CONSISTENCY_SECONDS", ""), NULL, 10);
    uint64_t seed = test_random();
    struct watchers_totals totals;

    seconds = seconds ? seconds : SECONDS;
    open_run(&r, seed);
    r.pause_ms = seconds * 1000 / 4 < 5000 ? seconds * 1000 / 4 : 5000;
    r.until_ms = cor_loop_now_ms(r.loop) + seconds * 1000;
    cor_timer_set(&r.trouble, r.pause_ms);
    if (!cor_loop_run_until(r.loop, is_over, &r, seconds * 1000 + SETTLE_MS))
        verdict_set(&r.verdict, "the server hangs");
    finish(&r);
    totals = watchers_totals(r.watchers);
    print_message("# %zu writes, %zu outside, %zu kills, %zu stops, %zu compactions; %zu events, "
                  "%zu bookmarks, %zu lists in %zu starts (%zu from long ago) and %zu resumes, %zu "
                  "relists, %zu refusals, %.1f s the longest wait\n",
                  writers_acknowledged(r.writers), outsider_written(r.outsider), r.nkills, r.nstops,
                  r.ncompacted, totals.events, totals.bookmarks, totals.lists, totals.segments,
                  totals.olds, totals.resumes, totals.relists, totals.refusals,
                  (double)totals.longest_ms / 1000);
    close_run(&r);
    if (r.verdict.is_wrong)
        fail_msg("%s", r.verdict.text);
    assert_true(totals.resumes > 0);
    if (seconds < HISTORY_SECONDS && !r.compacts && !is_forgetful(&r))
        assert_int_equal(totals.relists, 0);
}
