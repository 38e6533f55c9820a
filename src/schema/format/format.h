/* The shared validators of Kubernetes, by name: what a DNS label, a port, an IP address, a cron
 * schedule … may look like, with upstream's messages in upstream's order
 * (docs/internals/formats.md).
 *
 * A value that breaks its format has findings, often more than one. A finding is most of what a
 * field error needs; the caller adds the path:
 *
 *   cor_format_add_text(COR_FORMAT_DNS_LABEL, name, &path, &errs);
 *
 * Rule files name a format by its text: `port format port`. tools/compile_validation.py reads the
 * list below.
 * Thread: any (no state).  Work and memory are linear in the value. */
#ifndef COR_SCHEMA_FORMAT_FORMAT_H
#define COR_SCHEMA_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/names/field_error.h"

/* What a format is asked about: a text, an integer, or an IntOrString, which is one of both.
 * Quantities are texts in their canonical form. */
enum cor_format_input {
    COR_FORMAT_OF_TEXT = 1 << 0,
    COR_FORMAT_OF_INT = 1 << 1,
    COR_FORMAT_OF_INT_OR_TEXT = COR_FORMAT_OF_TEXT | COR_FORMAT_OF_INT,
};

/* X(enumerator, name in rule files, input, function). The numbers are those of the contract. */
/* clang-format off */
#define COR_FORMATS(X)                                                                             \
    X(DNS_LABEL,               "dns-label",               TEXT, dns_label)               /* 3.1.1 */ \
    X(DNS_SUBDOMAIN,           "dns-subdomain",           TEXT, dns_subdomain)           /* 3.1.2 */ \
    X(DNS_SUBDOMAIN_UNDERSCORE, "dns-subdomain_",         TEXT, dns_subdomain_underscore) /* 3.1.3 */ \
    X(DNS_1035,                "dns-1035",                TEXT, dns_1035)                /* 3.1.4 */ \
    X(WILDCARD_DNS,            "wildcard-dns",            TEXT, wildcard_dns)            /* 3.1.5 */ \
    X(QUALIFIED_NAME,          "qualified-name",          TEXT, qualified_name)          /* 3.1.6 */ \
    X(ANNOTATION_KEY,          "annotation-key",          TEXT, annotation_key)          /* 2.1.7 */ \
    X(LABEL_VALUE,             "label-value",             TEXT, label_value)             /* 3.1.7 */ \
    X(PATH_SEGMENT,            "path-segment",            TEXT, path_segment)            /* 3.1.8 */ \
    X(FQDN3,                   "fqdn3",                   TEXT, fqdn3)                   /* 3.1.9 */ \
    X(FQDN2,                   "fqdn2",                   TEXT, fqdn2)                   /* 3.1.10 */ \
    X(DOMAIN_PATH,             "domain-path",             TEXT, domain_path)             /* 3.1.11 */ \
    X(CONFIG_KEY,              "config-key",              TEXT, config_key)              /* 3.1.12 */ \
    X(ENV_NAME,                "env-name",                TEXT, env_name)                /* 3.1.13 */ \
    X(C_IDENTIFIER,            "c-identifier",            TEXT, c_identifier)            /* 3.1.14 */ \
    X(HTTP_HEADER,             "http-header",             TEXT, http_header)             /* 3.1.15 */ \
    X(SIGNER_NAME,             "signer-name",             TEXT, signer_name)             /* 3.1.16 */ \
    X(CONDITION_REASON,        "condition-reason",        TEXT, condition_reason)        /* 3.1.17 */ \
    X(CSI_DRIVER_NAME,         "csi-driver-name",         TEXT, csi_driver_name)         /* 3.1.18 */ \
    X(LOCAL_PATH,              "local-path",              TEXT, local_path)              /* 3.1.19 */ \
    X(NONRESERVED_PATH,        "nonreserved-path",        TEXT, nonreserved_path)        /* 3.1.19 */ \
    X(FILE_MODE,               "file-mode",               INT,  file_mode)               /* 3.1.20 */ \
    X(PORT,                    "port",                    INT,  port)                    /* 3.2.1 */ \
    X(PORT_NAME,               "port-name",               TEXT, port_name)               /* 3.2.2 */ \
    X(PORT_OR_NAME,            "port-or-name",            INT_OR_TEXT, port_or_name)     /* 3.2.3 */ \
    X(INT_OR_PERCENT,          "int-or-percent",          INT_OR_TEXT, int_or_percent)   /* 3.2.4 */ \
    X(MAX_100_PERCENT,         "max-100%",                INT_OR_TEXT, max_100_percent)  /* 3.2.4 */ \
    X(UID,                     "uid",                     INT,  id)                      /* 3.2.5 */ \
    X(GID,                     "gid",                     INT,  id)                      /* 3.2.5 */ \
    X(QUANTITY,                "quantity>=0",             TEXT, quantity)                /* 3.2.6 */ \
    X(RESOURCE_NAME,           "resource-name",           TEXT, resource_name)           /* 3.2.8 */ \
    X(CONTAINER_RESOURCE_NAME, "container-resource-name", TEXT, container_resource_name) /* 3.2.9 */ \
    X(QUOTA_RESOURCE_NAME,     "quota-resource-name",     TEXT, quota_resource_name)     /* 3.2.10 */ \
    X(IP,                      "ip-legacy",               TEXT, ip)                      /* 3.3.1 */ \
    X(IP_CANONICAL,            "ip-canonical",            TEXT, ip_canonical)            /* 3.3.2 */ \
    X(CIDR,                    "cidr-legacy",             TEXT, cidr)                    /* 3.3.3 */ \
    X(CIDR_CANONICAL,          "cidr-canonical",          TEXT, cidr_canonical)          /* 3.3.3 */ \
    X(ENDPOINT_IP,             "endpoint-ip",             TEXT, endpoint_ip)             /* 3.3.4 */ \
    X(WEBHOOK_URL,             "webhook-url",             TEXT, webhook_url)             /* 3.3.6 */ \
    X(WEBHOOK_PATH,            "webhook-path",            TEXT, webhook_path)            /* 3.3.7 */ \
    X(CRON,                    "cron",                    TEXT, cron)                    /* 3.3.8 */ \
    X(TIME_ZONE,               "time-zone",               TEXT, time_zone)               /* 3.3.9 */
/* clang-format on */

enum cor_format {
#define X(symbol, name, input, fn) COR_FORMAT_##symbol,
    COR_FORMATS(X)
#undef X
        COR_FORMATS_N
};

/* What a format finds wrong with a value. A finding and its texts are valid only while the function
 * that gets the finding runs. */
struct cor_format_finding {
    enum cor_field_error_type type; /* COR_FIELD_INVALID, _REQUIRED or _TOO_LONG */
    /* What an Invalid error prints: the value that was asked about, or the part of it that is
     * wrong. */
    struct cor_field_value value;
    const char *detail; /* NULL: none */
    size_t max;         /* bytes, of COR_FIELD_TOO_LONG */
};

typedef void (*cor_format_fn)(void *arg, const struct cor_format_finding *finding);

/* The format of that name. False: there is none. */
bool cor_format_find(struct cor_str name, enum cor_format *ret_format);

enum cor_format_input cor_format_input(enum cor_format format);

/* Calls `fn` for each finding, in upstream's order; `fn` may be NULL. Which of the two is called is
 * decided by the value; the format must be for it. Returns the number of findings, or -COR_ENOMEM
 * when a message could not be made (`fn` may have been called for those before). */
int cor_format_check_text(enum cor_format format, struct cor_str text, cor_format_fn fn, void *arg);
int cor_format_check_int(enum cor_format format, int64_t number, cor_format_fn fn, void *arg);

/* Adds an error at `path` for each finding. A failure shows in errs->error. */
void cor_format_add_text(enum cor_format format, struct cor_str text,
                         const struct cor_field_path *path, struct cor_field_errors *errs);
void cor_format_add_int(enum cor_format format, int64_t number, const struct cor_field_path *path,
                        struct cor_field_errors *errs);

/* Appends the details of all findings, with `separator` between two; nothing when the text has the
 * format. For the rules that make one error of several messages. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_format_join(enum cor_format format, struct cor_str text, const char *separator,
                    struct cor_buf *out);

/* Does Go's url.ParseRequestURI() accept the text? 1, 0, -COR_ENOMEM. */
int cor_format_is_request_uri(struct cor_str text);

static inline bool cor_format_ok(enum cor_format format, struct cor_str text)
{
    return cor_format_check_text(format, text, NULL, NULL) == 0;
}

#endif
