#include "json/write/print.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

static void write_all(struct cor_json_writer *w)
{
    unsigned short port = 443;
    const char *z = "b\"c";
    bool is_ready = true;

    cor_json_print(w, "{kind:'Lease',metadata:{labels:{a.b/c-d_e:%s},name:%s},spec:{", z,
                   COR_STR("n"));
    cor_json_print(w, "items:[%d,%d,%d,%d],on:%b,off:%b,raw:%j", -1, (int64_t)INT64_MIN,
                   (uint64_t)UINT64_MAX, port, is_ready, z == NULL, COR_STR("[1.50]"));
    cor_json_print(w, "here?:%s,empty?:%s,none?:%j,zero?:%d,not?:%b,one?:%d,last?:%b", COR_STR("h"),
                   "", COR_STR(""), 0, false, 1, true);
    cor_json_print(w, "constants:[true,null,12,'a b',{},[]]}}");
}

static const char all[] =
    "{\"kind\":\"Lease\",\"metadata\":{\"labels\":{\"a.b/c-d_e\":\"b\\\"c\"},\"name\":\"n\"},"
    "\"spec\":{\"items\":[-1,-9223372036854775808,18446744073709551615,443],\"on\":true,"
    "\"off\":false,\"raw\":[1.50],\"here\":\"h\",\"one\":1,\"last\":true,"
    "\"constants\":[true,null,12,\"a b\",{},[]]}}";

TEST(json_print, writes_what_its_template_looks_like)
{
    struct cor_json_writer w;
    struct cor_buf b;

    cor_buf_init(&b, 1000);
    cor_json_writer_init(&w, &b);
    write_all(&w);
    assert_int_equal(cor_json_writer_finish(&w), 0);
    assert_string_equal(cor_buf_z(&b), all);
    cor_buf_deinit(&b);
}

TEST(json_print, remembers_the_first_failure)
{
    for (size_t max = 0; max < sizeof(all) - 1; max++) {
        struct cor_json_writer w;
        struct cor_buf b;

        cor_buf_init(&b, max);
        cor_json_writer_init(&w, &b);
        write_all(&w);
        assert_int_equal(cor_json_writer_finish(&w), -COR_ETOOBIG);
        assert_memory_equal(cor_buf_z(&b), all, b.n);
        cor_buf_deinit(&b);
    }
}

TEST(json_print, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_json_writer w;
        struct cor_buf b;

        cor_buf_init(&b, 1000);
        cor_json_writer_init(&w, &b);
        write_all(&w);
        assert_int_equal(cor_json_writer_finish(&w), test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_buf_deinit(&b);
    }
}

/* Does an assertion end a process that prints this? */
static bool is_refused(const char *template, const struct cor_json_arg *args, size_t nargs)
{
    const struct rlimit no_core = {0, 0};
    int status;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct cor_json_writer w;
        struct cor_buf b;

        close(STDERR_FILENO);
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGABRT, SIG_DFL);
        cor_buf_init(&b, 1000);
        cor_json_writer_init(&w, &b);
        cor_json_print_args(&w, template, args, nargs);
        cor_buf_deinit(&b);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

TEST(json_print, a_wrong_template_is_an_assertion)
{
    const struct cor_json_arg text = COR_JSON_ARG("x"), number = COR_JSON_ARG(1),
                              none = COR_JSON_ARG("");

    assert_false(is_refused("{a:%s}", &text, 1));
    assert_true(is_refused("{a:%s}", NULL, 0));
    assert_true(is_refused("{a:1}", &text, 1));
    assert_true(is_refused("{a:%s}", &number, 1));
    assert_true(is_refused("{a:%d}", &text, 1));
    assert_true(is_refused("{a:%b}", &text, 1));
    assert_false(is_refused("{a?:%j}", &none, 1));
    assert_true(is_refused("{a:%x}", &text, 1));
    assert_true(is_refused("{a?:1}", &text, 1));
    assert_true(is_refused("{a?:%s}", NULL, 0));
    assert_true(is_refused("{a:'b}", NULL, 0));
    assert_true(is_refused("{a'b'}", NULL, 0));
    assert_true(is_refused("}", NULL, 0));
}
