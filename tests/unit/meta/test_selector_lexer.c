#include "test.h"

#include "meta/label_lexer.h"

static void assert_words(struct cor_str text, const enum cor_label_token *want, size_t n)
{
    struct cor_label_lexer lexer = {text};
    struct cor_str word;

    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_label_lexer_next(&lexer, &word), want[i]);
    assert_int_equal(cor_label_lexer_next(&lexer, &word), COR_LABEL_TOKEN_END);
    assert_int_equal(cor_label_lexer_next(&lexer, &word), COR_LABEL_TOKEN_END);
    assert_str(word, "");
}

#define ASSERT_WORDS(text, ...)                                                                    \
    do {                                                                                           \
        const enum cor_label_token want_[] = {__VA_ARGS__};                                        \
        assert_words(COR_STR(text), want_, sizeof(want_) / sizeof(want_[0]));                      \
    } while (0)

#define ID COR_LABEL_TOKEN_IDENTIFIER

TEST(label_lexer, single_words_keep_their_text)
{
    static const struct {
        const char *text;
        enum cor_label_token token;
    } cases[] = {
        {"", COR_LABEL_TOKEN_END},           {",", COR_LABEL_TOKEN_COMMA},
        {"notin", COR_LABEL_TOKEN_NOT_IN},   {"in", COR_LABEL_TOKEN_IN},
        {"=", COR_LABEL_TOKEN_EQUALS},       {"==", COR_LABEL_TOKEN_DOUBLE_EQUALS},
        {">", COR_LABEL_TOKEN_GREATER},      {"<", COR_LABEL_TOKEN_LESS},
        {"!", COR_LABEL_TOKEN_NOT},          {"!=", COR_LABEL_TOKEN_NOT_EQUALS},
        {"(", COR_LABEL_TOKEN_OPEN},         {")", COR_LABEL_TOKEN_CLOSE},
        {"~", COR_LABEL_TOKEN_IDENTIFIER},   {"||", COR_LABEL_TOKEN_IDENTIFIER},
        {"inn", COR_LABEL_TOKEN_IDENTIFIER}, {"NOTIN", COR_LABEL_TOKEN_IDENTIFIER},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct cor_label_lexer lexer = {cor_strz(cases[i].text)};
        struct cor_str word;

        assert_int_equal(cor_label_lexer_next(&lexer, &word), cases[i].token);
        assert_str(word, cases[i].text);
    }
}

TEST(label_lexer, sequences)
{
    ASSERT_WORDS("key in ( value1, value2 )", ID, COR_LABEL_TOKEN_IN, COR_LABEL_TOKEN_OPEN, ID,
                 COR_LABEL_TOKEN_COMMA, ID, COR_LABEL_TOKEN_CLOSE);
    ASSERT_WORDS("!key", COR_LABEL_TOKEN_NOT, ID);
    ASSERT_WORDS("x in (),y", ID, COR_LABEL_TOKEN_IN, COR_LABEL_TOKEN_OPEN, COR_LABEL_TOKEN_CLOSE,
                 COR_LABEL_TOKEN_COMMA, ID);
    ASSERT_WORDS("== != (), = notin", COR_LABEL_TOKEN_DOUBLE_EQUALS, COR_LABEL_TOKEN_NOT_EQUALS,
                 COR_LABEL_TOKEN_OPEN, COR_LABEL_TOKEN_CLOSE, COR_LABEL_TOKEN_COMMA,
                 COR_LABEL_TOKEN_EQUALS, COR_LABEL_TOKEN_NOT_IN);
    ASSERT_WORDS("key>2", ID, COR_LABEL_TOKEN_GREATER, ID);
    ASSERT_WORDS(" \t\r\n key<1", ID, COR_LABEL_TOKEN_LESS, ID);
}

TEST(label_lexer, the_longest_operator_wins)
{
    ASSERT_WORDS("===", COR_LABEL_TOKEN_DOUBLE_EQUALS, COR_LABEL_TOKEN_EQUALS);
    ASSERT_WORDS("!==", COR_LABEL_TOKEN_NOT_EQUALS, COR_LABEL_TOKEN_EQUALS);
    ASSERT_WORDS("=!", COR_LABEL_TOKEN_EQUALS, COR_LABEL_TOKEN_NOT);
    ASSERT_WORDS("!!", COR_LABEL_TOKEN_NOT, COR_LABEL_TOKEN_NOT);
}

TEST(label_lexer, nul_ends_a_word_or_the_text)
{
    ASSERT_WORDS("a\0b", ID, ID);
    ASSERT_WORDS("a \0b", ID);
    ASSERT_WORDS("a=\0b", ID, COR_LABEL_TOKEN_EQUALS);
}
