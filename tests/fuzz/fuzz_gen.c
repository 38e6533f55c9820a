/* Promises of coracle-gen on any input, which may be a stranger's: it is read, or told to be wrong
 * with the file's name; what is written is the same each time, and nothing of the input gets out of
 * the comments, texts and names that it stands in. The first byte chooses what the input is. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "fuzz.h"
#include "gen/clients.h"
#include "gen/from_crd.h"
#include "gen/from_openapi.h"
#include "gen/structs.h"
#include "gen/views.h"

#define TEXT_MAX (32u << 20)

static bool is_directive(struct cor_str line)
{
    static const char *const words[] = {"#include ", "#ifndef ", "#ifdef ", "#define ", "#endif"};

    for (size_t i = 0; i < COR_ARRAY_LEN(words); i++) {
        if (cor_str_starts(line, cor_strz(words[i])))
            return true;
    }
    return false;
}

/* The end of a comment or a text that begins at `i`. */
static size_t end_of(struct cor_str text, size_t i)
{
    const bool is_comment = text.p[i] == '/';

    for (i += is_comment ? 2 : 1; i < text.n; i++) {
        if (is_comment && i + 1 < text.n && text.p[i] == '*' && text.p[i + 1] == '/')
            return i + 2;
        if (is_comment) {
            FUZZ_CHECK(!(i + 1 < text.n && text.p[i] == '/' && text.p[i + 1] == '*'));
            continue;
        }
        FUZZ_CHECK(text.p[i] != '\n');
        if (text.p[i] == '"')
            return i + 1;
        i += text.p[i] == '\\';
    }
    FUZZ_CHECK(!"a comment or a text does not end");
    return i;
}

/* Is it C, as far as one sees without its grammar? */
static void check_text(struct cor_str text)
{
    long depth = 0;
    bool is_line_start = true;

    for (size_t i = 0; i < text.n;) {
        const char c = text.p[i];

        if (c == '"' || (c == '/' && i + 1 < text.n && text.p[i + 1] == '*')) {
            i = end_of(text, i);
            is_line_start = false;
            continue;
        }
        FUZZ_CHECK(c == '\n' || (c >= ' ' && c < 0x7f && c != '\'' && c != '`' && c != '@'));
        FUZZ_CHECK(c != '#' || (is_line_start && is_directive(cor_str_from(text, i))));
        depth += c == '{' || c == '(' ? 1 : c == '}' || c == ')' ? -1 : 0;
        is_line_start = c == '\n';
        i++;
    }
    /* `extern "C" {` and its end are counted, too. */
    FUZZ_CHECK(depth == 0);
}

struct written {
    struct cor_buf headers, sources;
};

/* Reads the input, and writes all that can be written. 0, or the failure. */
static int write_all(const struct cor_gen_input *input, bool is_crd, struct written *to)
{
    static const struct cor_gen_views_opts opts = {.source = "a fuzzer", .version = "1"};
    struct cor_gen_error why = {.message = ""};
    struct cor_gen_model model;
    int r;

    cor_gen_model_init(&model);
    r = is_crd ? cor_gen_from_crd(&model, input, &why) : cor_gen_from_openapi(&model, input, &why);
    FUZZ_CHECK(r != -COR_EINVAL || strncmp(why.message, "input: ", 7) == 0);
    if (r == 0)
        r = cor_gen_name(&model);
    if (r == 0)
        r = cor_gen_structs_choose(&model, COR_STR("all"), &why);
    for (const struct cor_gen_package *p = model.packages; r == 0 && p; p = p->next) {
        if (p->is_external)
            continue;
        r = cor_gen_views(&model, p, &opts, &to->headers, &to->sources);
        if (r == 0)
            r = cor_gen_clients(&model, p, &opts, &to->headers, &to->sources);
        if (r == 0 && cor_gen_has_structs(p))
            r = cor_gen_structs(&model, p, &opts, &to->headers, &to->sources);
    }
    cor_gen_model_deinit(&model);
    return r;
}

static void deinit(struct written *written)
{
    cor_buf_deinit(&written->headers);
    cor_buf_deinit(&written->sources);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    COR_CLEANUP(deinit)
    struct written first = {{.max = TEXT_MAX}, {.max = TEXT_MAX}},
                   second = {{.max = TEXT_MAX}, {.max = TEXT_MAX}};
    struct cor_gen_input input = {"input", {"", 0}, "", COR_STR_INIT("")};
    const bool is_crd = size > 0 && data[0] % 2 == 0;
    int r;

    if (size == 0)
        return 0;
    input.text = cor_str((const char *)data + 1, size - 1);
    r = write_all(&input, is_crd, &first);
    FUZZ_CHECK(r == 0 || r == -COR_EINVAL || r == -COR_ETOOBIG);
    if (r < 0)
        return 0;
    check_text(cor_buf_str(&first.headers));
    check_text(cor_buf_str(&first.sources));
    FUZZ_CHECK(write_all(&input, is_crd, &second) == 0);
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&first.headers), cor_buf_str(&second.headers)));
    FUZZ_CHECK(cor_str_eq(cor_buf_str(&first.sources), cor_buf_str(&second.sources)));
    return 0;
}
