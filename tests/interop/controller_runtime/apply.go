package main

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const fieldOwner = "controller-runtime"

// What this manager wants of the deployment that all appliers share.
func shared(namespace string) *appsv1.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "shared"}
	container := corev1.Container().WithName(fieldOwner).WithImage("registry.example/c:1")
	return appsv1.Deployment("shared", namespace).WithLabels(map[string]string{fieldOwner: "1"}).
		WithSpec(appsv1.DeploymentSpec().WithSelector(applymetav1.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1.PodTemplateSpec().WithLabels(labels).WithSpec(corev1.PodSpec().WithContainers(container))))
}

// Applies by client.Apply, which writes the answer into the configuration: a label more, then without that label and with
// replicas, by force where another manager owns them.
func apply(ctx context.Context, config *rest.Config, namespace, number string) {
	objects, err := client.New(config, client.Options{})
	check(err, "client")
	replicas, err := strconv.ParseInt(number, 10, 32)
	check(err, "replicas")
	wanted := func() *appsv1.DeploymentApplyConfiguration {
		wanted := shared(namespace)
		wanted.Spec.WithReplicas(int32(replicas))
		return wanted
	}

	check(objects.Apply(ctx, shared(namespace).WithLabels(map[string]string{"extra": fieldOwner}), client.FieldOwner(fieldOwner)), "apply")
	applied := wanted()
	err = objects.Apply(ctx, applied, client.FieldOwner(fieldOwner))
	if err != nil {
		expect(apierrors.IsConflict(err) && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict), "a conflict", err)
		for _, cause := range err.(apierrors.APIStatus).Status().Details.Causes {
			fmt.Println("conflict", cause.Field)
		}
		applied = wanted()
		check(objects.Apply(ctx, applied, client.FieldOwner(fieldOwner), client.ForceOwnership), "apply by force")
	}
	expect(applied.Labels["extra"] == "", "a label that was given up", applied.Labels)
	fmt.Println("applied", *applied.Spec.Replicas)
}
