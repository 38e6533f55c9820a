/* No block that the token of a question stood in goes back with it. A file of its own, because it
 * takes the place of the tests' allocator. */
#include "loop/loop.h"
#include "net/stream/net.h"
#include "server/access/delegate.h"
#include "server/access/review_bodies.h"
#include "test.h"
#include "traces.h"

#define PATIENCE_MS 60000

struct asking {
    struct cor_delegate_call call;
    bool is_done, is_closed;
};

static void asking_on_done(struct cor_delegate_call *call, int r, struct cor_object *answer,
                           const char *text)
{
    assert_true(r < 0);
    assert_null(strstr(text, SECRET));
    COR_CONTAINER_OF(call, struct asking, call)->is_done = true;
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

/* Nobody listens, so that no other part of this program is sent the token. */
TEST(delegate_secrets, the_token_of_a_question_leaves_no_trace)
{
    struct cor_client_config config = {.server = (char *)"http://127.0.0.1:1"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf question;
    struct cor_delegate *delegate;
    struct cor_loop *loop;
    struct cor_net *net;
    struct asking a = {
        .call = {.on_done = asking_on_done, .req.at.gvr = cor_token_review_resource}};
    bool is_net_closed = false;

    cor_mem_set(&traces_looking);
    traces_found = 0;
    assert_int_equal(cor_loop_new(64, &loop), 0);
    assert_int_equal(cor_net_open(loop, &net), 0);
    assert_int_equal(cor_delegate_open(net, &config, &delegate, NULL), 0);
    cor_buf_init_secret(&question, COR_REVIEW_QUESTION_MAX);
    assert_int_equal(cor_token_review_write(COR_STR(SECRET), &question), 0);
    assert_int_equal(cor_delegate_send(delegate, &a.call, cor_buf_str(&question), 10000), 0);
    assert_true(cor_loop_run_until(loop, is_true, &a.is_done, PATIENCE_MS));
    cor_delegate_close(delegate, set_true, &a.is_closed);
    assert_true(cor_loop_run_until(loop, is_true, &a.is_closed, PATIENCE_MS));
    cor_net_close(net, set_true, &is_net_closed);
    assert_true(cor_loop_run_until(loop, is_true, &is_net_closed, PATIENCE_MS));
    cor_loop_free(loop);
    cor_buf_deinit(&question);
    assert_int_equal(traces_found, 0);
    cor_mem_set(NULL);
}
