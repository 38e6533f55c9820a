#include "loop/process.h"

#include <signal.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"
#include "test.h"

#define PATIENCE_MS 60000

struct run {
    struct cor_loop *loop;
    struct cor_process *process;
    int r, exit_code;
    struct cor_buf output;
    bool has_ended;
};

static void on_end(void *arg, const struct cor_process_end *end)
{
    struct run *run = arg;

    run->has_ended = true;
    run->r = end->r;
    run->exit_code = end->exit_code;
    cor_buf_adds(&run->output, end->output);
}

static bool has_ended(void *arg)
{
    return ((struct run *)arg)->has_ended;
}

static int begin(struct run *run, const char *script, size_t output_max, uint64_t timeout_ms)
{
    const char *argv[] = {"sh", "-c", script, NULL}, *envp[] = {"GREETING=hello", NULL};
    struct cor_process_opts opts = {.command = "sh",
                                    .argv = argv,
                                    .envp = envp,
                                    .output_max = output_max,
                                    .timeout_ms = timeout_ms,
                                    .on_end = on_end,
                                    .arg = run};

    *run = (struct run){0};
    cor_buf_init(&run->output, 1u << 20);
    assert_int_equal(cor_loop_new(8, &run->loop), 0);
    return cor_process_open(run->loop, &opts, &run->process);
}

static void end(struct run *run)
{
    cor_loop_free(run->loop);
    cor_buf_deinit(&run->output);
}

static void run_to_end(struct run *run, const char *script, size_t output_max, uint64_t timeout_ms)
{
    assert_int_equal(begin(run, script, output_max, timeout_ms), 0);
    assert_false(run->has_ended);
    assert_true(cor_loop_run_until(run->loop, has_ended, run, PATIENCE_MS));
}

TEST(process, its_output_and_its_exit_code)
{
    struct run run;

    run_to_end(&run, "echo $GREETING; exit 3", 1024, PATIENCE_MS);
    assert_int_equal(run.r, 0);
    assert_int_equal(run.exit_code, 3);
    assert_str(cor_buf_str(&run.output), "hello\n");
    end(&run);
}

TEST(process, output_larger_than_a_pipe)
{
    struct run run;

    run_to_end(&run,
               "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789;"
               "i=$((i+1)); done",
               1u << 20, PATIENCE_MS);
    assert_int_equal(run.r, 0);
    assert_int_equal(run.output.n, 3000 * 41);
    end(&run);
}

TEST(process, reads_nothing_and_begins_without_blocked_signals)
{
    struct run run;

    run_to_end(&run, "cat; grep SigBlk /proc/self/status", 1024, PATIENCE_MS);
    assert_int_equal(run.r, 0);
    assert_non_null(strstr(cor_buf_z(&run.output), "SigBlk:\t0000000000000000\n"));
    end(&run);
}

/* A shell cannot take back that a signal is ignored if it was so when it began. */
TEST(process, begins_without_ignored_signals)
{
    struct run run;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);

    run_to_end(&run, "(kill -PIPE $(exec sh -c 'echo $PPID'); echo ignored); echo over", 1024,
               PATIENCE_MS);
    signal(SIGPIPE, before);
    assert_int_equal(run.r, 0);
    assert_str(cor_buf_str(&run.output), "over\n");
    end(&run);
}

TEST(process, is_killed_at_its_time_limit)
{
    struct run run;

    run_to_end(&run, "exec sleep 1000", 1024, 20);
    assert_int_equal(run.r, -COR_ETIMEOUT);
    assert_int_equal(run.exit_code, 128 + SIGKILL);
    end(&run);
}

TEST(process, is_killed_when_it_writes_too_much)
{
    struct run run;

    run_to_end(&run, "while :; do echo 0123456789; done", 100, PATIENCE_MS);
    assert_int_equal(run.r, -COR_ETOOBIG);
    end(&run);
}

/* Whoever inherited its output does not keep it alive. */
TEST(process, its_end_counts_not_its_childrens)
{
    struct run run;
    long child;

    run_to_end(&run, "sleep 1000 2>/dev/null & echo $!", 1024, PATIENCE_MS);
    assert_int_equal(run.r, 0);
    child = strtol(cor_buf_z(&run.output), NULL, 10);
    assert_true(child > 1);
    assert_int_equal(kill((pid_t)child, SIGKILL), 0);
    end(&run);
}

TEST(process, a_command_that_is_not_there)
{
    const char *argv[] = {"x", NULL}, *envp[] = {NULL};
    struct cor_process_opts opts = {.argv = argv, .envp = envp, .on_end = on_end};
    struct cor_process *p;
    struct run run;
    char path[256];
    FILE *f;

    run_to_end(&run, "exit 0", 10, PATIENCE_MS);
    opts.command = "no-such-command-anywhere";
    assert_int_equal(cor_process_open(run.loop, &opts, &p), -COR_ENOTFOUND);
    opts.command = "/no/such/command";
    assert_int_equal(cor_process_open(run.loop, &opts, &p), -COR_ENOTFOUND);
    snprintf(path, sizeof(path), "%s/plain", test_tmpdir());
    f = fopen(path, "w");
    fclose(f);
    opts.command = path;
    assert_int_equal(cor_process_open(run.loop, &opts, &p), -COR_EFORBIDDEN);
    end(&run);
}

static void set_flag(void *arg)
{
    *(bool *)arg = true;
}

static bool is_flag(void *arg)
{
    return *(bool *)arg;
}

TEST(process, closing_kills_it_and_tells_nobody_else)
{
    struct run run;
    bool closed = false;

    assert_int_equal(begin(&run, "exec sleep 1000", 10, PATIENCE_MS), 0);
    cor_process_close(run.process, set_flag, &closed);
    assert_true(cor_loop_run_until(run.loop, is_flag, &closed, PATIENCE_MS));
    assert_false(run.has_ended);
    end(&run);
}

TEST(process, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct run run = {0};
        const char *argv[] = {"sh", "-c", "echo x", NULL}, *envp[] = {NULL};
        struct cor_process_opts opts = {.command = "sh",
                                        .argv = argv,
                                        .envp = envp,
                                        .output_max = 64,
                                        .timeout_ms = PATIENCE_MS,
                                        .on_end = on_end,
                                        .arg = &run};
        int r;

        cor_buf_init(&run.output, 64);
        test_fail_alloc(0, false);
        assert_int_equal(cor_buf_reserve(&run.output, 64), 0);
        test_fail_alloc(n, false);
        r = cor_loop_new(8, &run.loop);
        if (r == 0)
            r = cor_process_open(run.loop, &opts, &run.process);
        if (r == 0) {
            assert_true(cor_loop_run_until(run.loop, has_ended, &run, PATIENCE_MS));
            r = run.r;
        }
        assert_true(r == 0 || test_alloc_failed());
        if (r == 0) {
            assert_int_equal(run.exit_code, 0);
            assert_str(cor_buf_str(&run.output), "x\n");
        }
        cor_loop_free(run.loop);
        cor_buf_deinit(&run.output);
    }
}
