#include "test.h"

#include "http_fixture.h"

TEST(pipelining, pipelined_requests_are_answered_in_order)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    client_send(
        &cl,
        COR_STR(
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\noneGET /hold HTTP/1.1\r\nHost: x\r\n\r\n"
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nthree"));
    assert_false(cor_loop_run_until(h.loop, client_has_three, &cl, 50));
    assert_string_equal(cor_buf_z(&cl.text), "200 one.");
    assert_string_equal(cor_buf_z(&h.seen), "POST /echo? one\nGET /hold? \n");
    cor_http_response_send(h.held, 201, NULL, 0, COR_STR("two"));
    await(&h, client_has_three, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 one.201 two.200 three.");
    part(&h, &cl);
}

TEST(pipelining, a_flood_of_pipelined_requests_is_held_back)
{
    struct http h;
    struct client cl;
    struct cor_str one = COR_STR("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n");
    char body[900] = {0};

    meet(&h, &cl, (struct cor_http_limits){0});
    for (int i = 0; i < 1000; i++) {
        client_send(&cl, one);
        client_send(&cl, cor_str(body, sizeof(body)));
    }
    await(&h, http_has_seen, &h);
    for (size_t i = 1; i <= 1000; i++) {
        while (!h.held)
            cor_loop_run_until(h.loop, client_has_ended, &cl, 1);
        assert_int_equal(h.nheld, i);
        cor_http_response_send(COR_STEAL(h.held), 200, NULL, 0, COR_STR(""));
    }
    while (cl.nresponses < 1000)
        cor_loop_run_until(h.loop, client_has_ended, &cl, 1);
    part(&h, &cl);
}
