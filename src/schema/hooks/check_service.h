/* The hooks of validation for Services: what no line of a rule file can
 * say. A hook is cor_hook_NAME() in check_service.c, a test of a condition is
 * cor_when_NAME() there; both are declared by hooks.h. tools/compile_validation.py reads the names
 * here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_SERVICE_H
#define COR_SCHEMA_HOOKS_CHECK_SERVICE_H

/* clang-format off */
#define COR_SERVICE_HOOKS(X)                                                                       \
    X(external_name)        /* externalName: a name, which may end with a dot */                   \
    X(port_name_once)       /* name of a ServicePort: no port before it has it */                  \
    X(cluster_ips)          /* ServiceSpec: clusterIP, clusterIPs and ipFamilies fit together */   \
    X(external_ip)          /* an element of externalIPs that is new */                            \
    X(repeated_node_ports)  /* []ServicePort: by protocol and port of the nodes */                 \
    X(repeated_ports)       /* []ServicePort: by protocol and port */                              \
    X(source_ranges)        /* ServiceSpec: loadBalancerSourceRanges, or their annotation */       \
    X(cluster_ip_changes)   /* Service: what an update may do to clusterIPs */                     \
    X(ip_family_changes)    /* Service: the same for ipFamilies */                                 \
    X(ingress_ip)           /* ip of a LoadBalancerIngress or IngressLoadBalancerIngress */        \
    X(ingress_host)         /* hostname of the same: a name, not an address */

#define COR_SERVICE_WHENS(X)                                                                       \
    X(is_headless) /* ServiceSpec: its one address is None */                                      \
    X(is_external) /* ServiceSpec: it can be reached from outside the cluster */
/* clang-format on */

#endif
