/* The hooks of validation for dynamic resource allocation: what no line of a rule file can say.
 * X(name) ( what it checks ). A hook is cor_hook_NAME() in check_resource.c, a test of a condition
 * is cor_when_NAME() there; both are declared by hooks.h. tools/compile_validation.py reads the
 * names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_RESOURCE_H
#define COR_SCHEMA_HOOKS_CHECK_RESOURCE_H

/* clang-format off */
#define COR_RESOURCE_HOOKS(X)                                                                      \
    X(admin_access)        /* ResourceClaimSpec: the namespace lets its claims administer devices */ \
    X(claim_requests)      /* DeviceClaim: notes the names of its requests; finds nothing */       \
    X(request_reference)   /* text: the name of a request, or of a request and a subrequest */     \
    X(attribute_name)      /* text: the name of an attribute with its domain */                    \
    X(device_parameters)   /* any JSON: an object of at most 10 KB */                              \
    X(pool_name)           /* text: subdomains joined by slashes */                                \
    X(allocated_results)   /* ResourceClaimStatus: notes the allocated devices; finds nothing */   \
    X(is_allocated_device) /* AllocatedDeviceStatus: the claim has the device */                   \
    X(device_status_once)  /* list of AllocatedDeviceStatus: each device once */                   \
    X(interface_address)   /* text: an address with its prefix length, in canonical form */        \
    X(slice_nodes)         /* ResourceSliceSpec: one of the fields that choose nodes */            \
    X(device_names)        /* Device: its attributes and capacities */

#define COR_RESOURCE_WHENS(X)                                                                      \
    X(has_new_consumer) /* list of consumers: one that the old list does not have */
/* clang-format on */

#endif
