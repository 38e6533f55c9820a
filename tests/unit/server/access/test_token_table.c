#include "server/access/token_table.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

static const char *write_file(const char *text)
{
    static char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/tokens.csv", test_tmpdir());
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

static struct cor_token_table *load(const char *text)
{
    struct cor_token_table *table;
    struct cor_status st = {0};

    assert_int_equal(cor_token_table_new(&table), 0);
    assert_int_equal(cor_token_table_load(table, write_file(text), &st), 0);
    return table;
}

TEST(token_table, reads_users_uids_and_groups)
{
    struct cor_token_table *table = load("t1,ann,u1,\"dev,ops\"\n"
                                         "\n"
                                         "t2,bob,u2\r\n"
                                         "t3,\"last, first\",u3,one\n");
    const struct cor_user *user = cor_token_table_find(table, COR_STR("t1"));

    assert_non_null(user);
    assert_str(user->name, "ann");
    assert_str(user->uid, "u1");
    assert_int_equal(user->ngroups, 3);
    assert_str(user->groups[0], "dev");
    assert_str(user->groups[1], "ops");
    assert_str(user->groups[2], "system:authenticated");
    user = cor_token_table_find(table, COR_STR("t2"));
    assert_int_equal(user->ngroups, 1);
    assert_str(cor_token_table_find(table, COR_STR("t3"))->name, "last, first");
    assert_null(cor_token_table_find(table, COR_STR("t4")));
    assert_null(cor_token_table_find(table, COR_STR("")));
    cor_token_table_free(table);
}

TEST(token_table, skips_empty_tokens_and_lets_the_last_of_equal_ones_win)
{
    struct cor_token_table *table = load(",nobody,u\nt,a,1\nt,b,2\n");

    assert_null(cor_token_table_find(table, COR_STR("")));
    assert_str(cor_token_table_find(table, COR_STR("t"))->name, "b");
    cor_token_table_free(table);
}

static void refuse(const char *text, const char *what)
{
    struct cor_token_table *table;
    struct cor_status st = {0};

    assert_int_equal(cor_token_table_new(&table), 0);
    assert_int_equal(cor_token_table_load(table, write_file(text), &st), -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&st), what));
    cor_status_deinit(&st);
    cor_token_table_free(table);
}

TEST(token_table, names_the_line_that_is_wrong)
{
    refuse("t,a,1\nx,y\n",
           "line 2: must have at least 3 columns (token, user name, user uid), found 2");
    refuse("t,a\"b,1\n", "line 1: bare \" in non-quoted field");
    refuse("t,\"a\nb\"x,1\n", "line 2: extraneous or missing \" in quoted-field");
    refuse("\nt,\"a,1\n", "a quoted field does not end");
}

TEST(token_table, says_when_there_is_no_file)
{
    struct cor_token_table *table;
    struct cor_status st = {0};

    assert_int_equal(cor_token_table_new(&table), 0);
    assert_int_equal(cor_token_table_load(table, "/nonexistent/tokens", &st), -COR_ENOTFOUND);
    assert_string_equal(cor_status_message(&st),
                        "token file '/nonexistent/tokens': No such file or directory");
    cor_status_deinit(&st);
    cor_token_table_free(table);
}

TEST(token_table, fails_cleanly_without_memory)
{
    const char *path = write_file("t1,ann,u1,\"dev,ops\"\nt2,bob,u2\n");
    int r = -1;

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_token_table *table = NULL;
        struct cor_status st = {0};

        r = cor_token_table_new(&table);
        if (r == 0)
            r = cor_token_table_load(table, path, &st);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_status_deinit(&st);
        cor_token_table_free(table);
    }
    assert_int_equal(r, 0);
}
