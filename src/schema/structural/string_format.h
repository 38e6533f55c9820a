/* The formats of strings in the schemas of custom resources: what `format: date-time` accepts
 * (contract crd 4.8). Formats that are not listed here are not checked.
 * Thread: any (pure).  Work is linear in the text. */
#ifndef COR_SCHEMA_STRING_FORMAT_H
#define COR_SCHEMA_STRING_FORMAT_H

#include <stdbool.h>

#include "base/str.h"

/* X(enumerator, name without dashes, function) */
/* clang-format off */
#define COR_STRING_FORMATS(X)                                                                      \
    X(BSON_OBJECT_ID, "bsonobjectid", bson_object_id)                                              \
    X(URI,            "uri",          uri)                                                         \
    X(EMAIL,          "email",        email)                                                       \
    X(HOSTNAME,       "hostname",     hostname)                                                    \
    X(IPV4,           "ipv4",         ipv4)                                                        \
    X(IPV6,           "ipv6",         ipv6)                                                        \
    X(CIDR,           "cidr",         cidr)                                                        \
    X(MAC,            "mac",          mac)                                                         \
    X(UUID,           "uuid",         uuid)                                                        \
    X(UUID3,          "uuid3",        uuid3)                                                       \
    X(UUID4,          "uuid4",        uuid4)                                                       \
    X(UUID5,          "uuid5",        uuid5)                                                       \
    X(ISBN,           "isbn",         isbn)                                                        \
    X(ISBN10,         "isbn10",       isbn10)                                                      \
    X(ISBN13,         "isbn13",       isbn13)                                                      \
    X(CREDIT_CARD,    "creditcard",   credit_card)                                                 \
    X(SSN,            "ssn",          ssn)                                                         \
    X(HEX_COLOR,      "hexcolor",     hex_color)                                                   \
    X(RGB_COLOR,      "rgbcolor",     rgb_color)                                                   \
    X(BYTE,           "byte",         byte)                                                        \
    X(PASSWORD,       "password",     password)                                                    \
    X(DATE,           "date",         date)                                                        \
    X(DURATION,       "duration",     duration)                                                    \
    X(DATE_TIME,      "datetime",     date_time)                                                   \
    X(K8S_SHORT_NAME, "k8sshortname", k8s_short_name)                                              \
    X(K8S_LONG_NAME,  "k8slongname",  k8s_long_name)
/* clang-format on */

enum cor_string_format {
    COR_STRING_FORMAT_NONE,
#define X(symbol, name, fn) COR_STRING_FORMAT_##symbol,
    COR_STRING_FORMATS(X)
#undef X
        COR_STRING_FORMATS_N,
    /* This format and those behind it are newer than the oldest release that a kube-apiserver of
     * 1.34 stays compatible with: the values of objects are not checked for them, defaults are. */
    COR_STRING_FORMAT_OF_DEFAULTS = COR_STRING_FORMAT_K8S_SHORT_NAME,
};

/* The format of that name, in which dashes do not count. COR_STRING_FORMAT_NONE: there is none. */
enum cor_string_format cor_string_format_find(struct cor_str name);

/* Does the format accept the text, which is valid UTF-8? 1, 0, -COR_ENOMEM, -COR_EINTERNAL (regular
 * expressions are not there, which a host name beyond ASCII needs). */
int cor_string_format_accepts(enum cor_string_format format, struct cor_str text);

#endif
