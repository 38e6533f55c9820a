/* What an operation on the Kubernetes API (kit/api_operation.h) names and asks for: the resource or
 * object, and the options of each verb. They are written as path, query and body by
 * kit/resource_path.h and kit/request_options.h.
 *
 * Thread: any (values).  Owner: the strings are borrowed. */
#ifndef COR_KIT_API_OPTIONS_H
#define COR_KIT_API_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "meta/select/list_options.h"
#include "meta/status/gvk.h"

/* A resource, an object, or a subresource of an object. */
struct cor_resource_path {
    struct cor_gvr gvr;         /* the resource is the plural, in lower case: "pods" */
    struct cor_str ns;          /* empty: not namespaced, or all namespaces */
    struct cor_str name;        /* empty: the collection */
    struct cor_str subresource; /* empty: none; else segments: "status", "proxy/metrics" */
};

/* ListOptions. The verb sets `list.watch`; `list.recursive` is not sent. */
struct cor_list_query {
    struct cor_str label_selector, field_selector;
    struct cor_list_options list;
    uint32_t timeout_s; /* when the server ends a watch, or a list; 0: the server chooses */
};

/* CreateOptions, UpdateOptions and PatchOptions. */
struct cor_write_options {
    bool dry_run;
    struct cor_str field_manager;
    struct cor_str field_validation; /* "", "Ignore", "Warn" or "Strict" */
    enum cor_tristate force;         /* only for an apply patch */
};

/* DeleteOptions. */
struct cor_removal_options {
    bool dry_run;
    bool has_grace;
    int64_t grace_s;
    struct cor_str propagation;           /* "", "Orphan", "Background" or "Foreground" */
    struct cor_str uid, resource_version; /* preconditions; empty: none */
};

#endif
