#include "codec/yaml_lines.h"

#include "base/buf.h"
#include "base/err.h"
#include "test.h"

static struct cor_yaml_lines *read_lines(const char *text)
{
    struct cor_yaml_lines *lines;

    assert_int_equal(cor_yaml_lines_read(cor_strz(text), &lines), 0);
    return lines;
}

static void check(const struct cor_yaml_lines *lines, const char *path, size_t line)
{
    assert_int_equal(cor_yaml_lines_find(lines, cor_strz(path)), line);
}

TEST(yaml_lines, are_those_of_keys_and_elements)
{
    struct cor_yaml_lines *lines = read_lines("# a comment\n"
                                              "clusters:\n"
                                              "- name: one\n"
                                              "  cluster:\n"
                                              "    server: x\n"
                                              "- name: two\n"
                                              "  cluster: {server: y,\n"
                                              "    tags: [1,\n"
                                              "      2]}\n"
                                              "last: |\n"
                                              "  text\n");

    check(lines, "clusters", 2);
    check(lines, "clusters[0]", 3);
    check(lines, "clusters[0].cluster", 4);
    check(lines, "clusters[0].cluster.server", 5);
    check(lines, "clusters[1].name", 6);
    check(lines, "clusters[1].cluster.server", 7);
    check(lines, "clusters[1].cluster.tags[1]", 9);
    check(lines, "last", 10);
    cor_yaml_lines_unref(lines);
}

TEST(yaml_lines, of_what_is_not_there_are_those_of_what_it_would_be_in)
{
    struct cor_yaml_lines *lines = read_lines("a: 1\nb:\n- c: 2\n- &x {d: 3}\n- *x\n");
    struct cor_yaml_lines *empty = read_lines("");

    check(lines, "b[0].none", 3);
    check(lines, "b[7].c", 2);
    check(lines, "b[2].d", 5);
    check(lines, "none.at.all", 1);
    check(lines, "", 1);
    check(empty, "a", 0);
    cor_yaml_lines_unref(lines);
    cor_yaml_lines_unref(empty);
}

TEST(yaml_lines, pass_over_what_has_no_name)
{
    struct cor_yaml_lines *lines = read_lines("? [a, b]\n: c\n? {d: e}\n: {f: g}\nh: i\n");

    check(lines, "h", 5);
    check(lines, "f", 1);
    cor_yaml_lines_unref(lines);
}

TEST(yaml_lines, have_a_depth_and_need_yaml)
{
    struct cor_yaml_lines *lines;
    struct cor_buf deep;

    cor_buf_init(&deep, 4096);
    for (int i = 0; i < 2 * COR_YAML_LINES_DEPTH; i++)
        assert_int_equal(cor_buf_addz(&deep, "[\n"), 0);
    for (int i = 0; i < 2 * COR_YAML_LINES_DEPTH; i++)
        assert_int_equal(cor_buf_addz(&deep, "]"), 0);
    lines = read_lines(cor_buf_z(&deep));
    check(lines, "[0][0]", 3);
    cor_yaml_lines_unref(lines);
    cor_buf_deinit(&deep);
    assert_int_equal(cor_yaml_lines_read(COR_STR("a: [1"), &lines), -COR_EINVAL);
}

TEST(yaml_lines, survive_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_yaml_lines *lines;
        int r = cor_yaml_lines_read(COR_STR("a: [{b: c}, d]\na: 2\n"), &lines);

        assert_true(r == (test_alloc_failed() ? -COR_ENOMEM : 0));
        if (r == 0)
            cor_yaml_lines_unref(lines);
    }
}
