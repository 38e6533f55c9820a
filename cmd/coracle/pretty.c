/* Prints JSON with indentation, for people who read a terminal. */
#include "pretty.h"

static void new_line(FILE *out, size_t depth)
{
    fprintf(out, "\n%*s", (int)(depth * 4), "");
}

/* Returns the end of the string that begins at `i`. */
static size_t string_end(struct cor_str json, size_t i)
{
    for (i++; i < json.n && json.p[i] != '"'; i++) {
        if (json.p[i] == '\\')
            i++;
    }
    return i < json.n ? i + 1 : json.n;
}

void pretty_print(struct cor_str json, FILE *out)
{
    size_t depth = 0;

    for (size_t i = 0; i < json.n;) {
        char c = json.p[i], next = i + 1 < json.n ? json.p[i + 1] : '\0';

        if (c == '"') {
            size_t end = string_end(json, i);

            fwrite(json.p + i, 1, end - i, out);
            i = end;
            continue;
        }
        if (c == '}' || c == ']')
            new_line(out, --depth);
        fputc(c, out);
        if ((c == '{' && next == '}') || (c == '[' && next == ']'))
            fputc(json.p[++i], out);
        else if (c == '{' || c == '[')
            new_line(out, ++depth);
        else if (c == ',')
            new_line(out, depth);
        else if (c == ':')
            fputc(' ', out);
        i++;
    }
    fputc('\n', out);
}
