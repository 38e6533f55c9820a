/* The hooks of validation for Job and CronJob: what no line of a rule file can say. A hook is
 * cor_hook_NAME() in check_batch.c, a test of a condition is cor_when_NAME() there; both are
 * declared by hooks.h. tools/compile_validation.py reads the names here. */
#ifndef COR_SCHEMA_HOOKS_CHECK_BATCH_H
#define COR_SCHEMA_HOOKS_CHECK_BATCH_H

/* clang-format off */
#define COR_BATCH_HOOKS(X)                                                                         \
    X(generated_selector) /* Job: the labels and selector that the server has made are there */    \
    X(indexed_name)       /* Job: the name of its last pod is a DNS label */                       \
    X(job_template)       /* template of a JobSpec: what may change of it, and when */             \
    X(fail_index)         /* PodFailurePolicyRule: FailIndex needs a limit per index */            \
    X(policy_container)   /* containerName of onExitCodes: the template has it */                  \
    X(exit_codes)         /* values of onExitCodes: some, ordered, each once */                    \
    X(success_rule)       /* SuccessPolicyRule: indexes and counts within the completions */       \
    X(uncounted_pods)     /* JobStatus: uncountedTerminatedPods names each pod once */             \
    X(job_status)         /* Job: how its conditions, times and counts may change */               \
    X(schedule)           /* schedule of a CronJobSpec */

#define COR_BATCH_WHENS(X)
/* clang-format on */

#endif
