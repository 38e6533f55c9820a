#include "test.h"

#include "meta/select/selector_lexer.h"

static void assert_words(struct cor_str text, const enum cor_selector_token *want, size_t n)
{
    struct cor_selector_lexer lexer = {text};
    struct cor_str word;

    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_selector_lexer_next(&lexer, &word), want[i]);
    assert_int_equal(cor_selector_lexer_next(&lexer, &word), COR_SELECTOR_TOKEN_END);
    assert_int_equal(cor_selector_lexer_next(&lexer, &word), COR_SELECTOR_TOKEN_END);
    assert_str(word, "");
}

#define ASSERT_WORDS(text, ...)                                                                    \
    do {                                                                                           \
        const enum cor_selector_token want_[] = {__VA_ARGS__};                                     \
        assert_words(COR_STR(text), want_, sizeof(want_) / sizeof(want_[0]));                      \
    } while (0)

#define ID COR_SELECTOR_TOKEN_IDENTIFIER

TEST(selector_lexer, single_words_keep_their_text)
{
    static const struct {
        const char *text;
        enum cor_selector_token token;
    } cases[] = {
        {"", COR_SELECTOR_TOKEN_END},           {",", COR_SELECTOR_TOKEN_COMMA},
        {"notin", COR_SELECTOR_TOKEN_NOT_IN},   {"in", COR_SELECTOR_TOKEN_IN},
        {"=", COR_SELECTOR_TOKEN_EQUALS},       {"==", COR_SELECTOR_TOKEN_DOUBLE_EQUALS},
        {">", COR_SELECTOR_TOKEN_GREATER},      {"<", COR_SELECTOR_TOKEN_LESS},
        {"!", COR_SELECTOR_TOKEN_NOT},          {"!=", COR_SELECTOR_TOKEN_NOT_EQUALS},
        {"(", COR_SELECTOR_TOKEN_OPEN},         {")", COR_SELECTOR_TOKEN_CLOSE},
        {"~", COR_SELECTOR_TOKEN_IDENTIFIER},   {"||", COR_SELECTOR_TOKEN_IDENTIFIER},
        {"inn", COR_SELECTOR_TOKEN_IDENTIFIER}, {"NOTIN", COR_SELECTOR_TOKEN_IDENTIFIER},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cor_selector_lexer lexer = {cor_strz(cases[i].text)};
        struct cor_str word;

        assert_int_equal(cor_selector_lexer_next(&lexer, &word), cases[i].token);
        assert_str(word, cases[i].text);
    }
}

TEST(selector_lexer, sequences)
{
    ASSERT_WORDS("key in ( value1, value2 )", ID, COR_SELECTOR_TOKEN_IN, COR_SELECTOR_TOKEN_OPEN,
                 ID, COR_SELECTOR_TOKEN_COMMA, ID, COR_SELECTOR_TOKEN_CLOSE);
    ASSERT_WORDS("!key", COR_SELECTOR_TOKEN_NOT, ID);
    ASSERT_WORDS("x in (),y", ID, COR_SELECTOR_TOKEN_IN, COR_SELECTOR_TOKEN_OPEN,
                 COR_SELECTOR_TOKEN_CLOSE, COR_SELECTOR_TOKEN_COMMA, ID);
    ASSERT_WORDS("== != (), = notin", COR_SELECTOR_TOKEN_DOUBLE_EQUALS,
                 COR_SELECTOR_TOKEN_NOT_EQUALS, COR_SELECTOR_TOKEN_OPEN, COR_SELECTOR_TOKEN_CLOSE,
                 COR_SELECTOR_TOKEN_COMMA, COR_SELECTOR_TOKEN_EQUALS, COR_SELECTOR_TOKEN_NOT_IN);
    ASSERT_WORDS("key>2", ID, COR_SELECTOR_TOKEN_GREATER, ID);
    ASSERT_WORDS(" \t\r\n key<1", ID, COR_SELECTOR_TOKEN_LESS, ID);
}

TEST(selector_lexer, the_longest_operator_wins)
{
    ASSERT_WORDS("===", COR_SELECTOR_TOKEN_DOUBLE_EQUALS, COR_SELECTOR_TOKEN_EQUALS);
    ASSERT_WORDS("!==", COR_SELECTOR_TOKEN_NOT_EQUALS, COR_SELECTOR_TOKEN_EQUALS);
    ASSERT_WORDS("=!", COR_SELECTOR_TOKEN_EQUALS, COR_SELECTOR_TOKEN_NOT);
    ASSERT_WORDS("!!", COR_SELECTOR_TOKEN_NOT, COR_SELECTOR_TOKEN_NOT);
}

TEST(selector_lexer, nul_ends_a_word_or_the_text)
{
    ASSERT_WORDS("a\0b", ID, ID);
    ASSERT_WORDS("a \0b", ID);
    ASSERT_WORDS("a=\0b", ID, COR_SELECTOR_TOKEN_EQUALS);
}

TEST(selector_lexer, terms_end_at_commas_without_a_backslash)
{
    struct cor_str rest = COR_STR("a=1,,b=\\,2,c\\\\,d\\");

    assert_str(cor_selector_cut_term(&rest), "a=1");
    assert_str(cor_selector_cut_term(&rest), "");
    assert_str(cor_selector_cut_term(&rest), "b=\\,2");
    assert_str(cor_selector_cut_term(&rest), "c\\\\");
    assert_non_null(rest.p);
    assert_str(cor_selector_cut_term(&rest), "d\\");
    assert_null(rest.p);
}

TEST(selector_lexer, terms_are_split_at_their_first_operator)
{
    static const struct {
        const char *term, *field, *value;
        enum cor_selector_token token;
    } cases[] = {
        {"a=b", "a", "b", COR_SELECTOR_TOKEN_EQUALS},
        {"a==b", "a", "b", COR_SELECTOR_TOKEN_DOUBLE_EQUALS},
        {"a!=b", "a", "b", COR_SELECTOR_TOKEN_NOT_EQUALS},
        {"a===b", "a", "=b", COR_SELECTOR_TOKEN_DOUBLE_EQUALS},
        {"a!b=c!=d", "a!b", "c!=d", COR_SELECTOR_TOKEN_EQUALS},
        {"a\\=b", "a\\", "b", COR_SELECTOR_TOKEN_EQUALS},
        {" a > (b) = c ", " a > (b) ", " c ", COR_SELECTOR_TOKEN_EQUALS},
        {"!=", "", "", COR_SELECTOR_TOKEN_NOT_EQUALS},
    };
    struct cor_str field, value;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(cor_selector_split_term(cor_strz(cases[i].term), &field, &value),
                         cases[i].token);
        assert_str(field, cases[i].field);
        assert_str(value, cases[i].value);
    }
    assert_int_equal(cor_selector_split_term(COR_STR("a!b"), &field, &value),
                     COR_SELECTOR_TOKEN_END);
    assert_int_equal(cor_selector_split_term(COR_STR(""), &field, &value), COR_SELECTOR_TOKEN_END);
}
