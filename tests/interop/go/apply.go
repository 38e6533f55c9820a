package main

import (
	"context"
	"fmt"
	"reflect"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const manager = "client-go"

// What this manager wants of the deployment that all appliers share.
func shared(namespace string) *appsv1.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "shared"}
	container := corev1.Container().WithName(manager).WithImage("registry.example/c:1")
	return appsv1.Deployment("shared", namespace).WithLabels(map[string]string{manager: "1"}).
		WithSpec(appsv1.DeploymentSpec().WithSelector(applymetav1.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1.PodTemplateSpec().WithLabels(labels).WithSpec(corev1.PodSpec().WithContainers(container))))
}

// Applies by typed apply configurations: a label more, then without that label and with replicas, which it takes by force
// from another manager. What it extracts afterwards is what it has applied.
func apply(ctx context.Context, config *rest.Config, namespace, number string) {
	client, err := kubernetes.NewForConfig(config)
	check(err, "client")
	deployments := client.AppsV1().Deployments(namespace)
	replicas, err := strconv.ParseInt(number, 10, 32)
	check(err, "replicas")

	_, err = deployments.Apply(ctx, shared(namespace).WithLabels(map[string]string{"extra": manager}), metav1.ApplyOptions{FieldManager: manager})
	check(err, "apply")
	wanted := shared(namespace)
	wanted.Spec.WithReplicas(int32(replicas))
	applied, err := deployments.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager})
	if err != nil {
		expect(apierrors.IsConflict(err) && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict), "a conflict", err)
		for _, cause := range err.(apierrors.APIStatus).Status().Details.Causes {
			fmt.Println("conflict", cause.Field)
		}
		applied, err = deployments.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager, Force: true})
		check(err, "apply by force")
	}
	expect(applied.Labels["extra"] == "", "a label that was given up", applied.Labels)
	extracted, err := appsv1.ExtractDeployment(applied, manager)
	check(err, "extract")
	expect(reflect.DeepEqual(extracted, wanted), "what was extracted", extracted)
	extracted, err = appsv1.ExtractDeploymentStatus(applied, manager)
	check(err, "extract of the status")
	expect(reflect.DeepEqual(extracted, appsv1.Deployment("shared", namespace)), "what was extracted of the status", extracted)
	fmt.Println("applied", *applied.Spec.Replicas)
}
