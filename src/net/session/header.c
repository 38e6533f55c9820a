#include "net/session/header.h"

static bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* Most letters are written alike; those that are not may differ in their case only. */
bool cor_header_name_eq(struct cor_str a, struct cor_str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++) {
        if (a.p[i] != b.p[i] && ((a.p[i] ^ b.p[i]) != 0x20 || !is_letter(a.p[i])))
            return false;
    }
    return true;
}

struct cor_str cor_header_find(const struct cor_http_header *headers, size_t n, struct cor_str name)
{
    for (size_t i = 0; i < n; i++) {
        if (cor_header_name_eq(headers[i].name, name))
            return headers[i].value;
    }
    return (struct cor_str){0};
}

size_t cor_header_count(const struct cor_http_header *headers, size_t n, struct cor_str name)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += cor_header_name_eq(headers[i].name, name);
    return count;
}

bool cor_header_has_token(struct cor_str value, struct cor_str token)
{
    while (value.p) {
        if (cor_header_name_eq(cor_str_trim(cor_str_cut(&value, ',')), token))
            return true;
    }
    return false;
}
