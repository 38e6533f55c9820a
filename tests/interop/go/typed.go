package main

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

const protobufType = "application/vnd.kubernetes.protobuf"

// Answers that are not protobuf, as "METHOD PATH: TYPE".
type contentTypes struct {
	next   http.RoundTripper
	lock   sync.Mutex
	others []string
}

func (t *contentTypes) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(request)
	if err != nil {
		return answer, err
	}
	if found := answer.Header.Get("Content-Type"); !strings.HasPrefix(found, protobufType) {
		t.lock.Lock()
		defer t.lock.Unlock()
		t.others = append(t.others, fmt.Sprintf("%s %s: %s", request.Method, request.URL, found))
	}
	return answer, nil
}

// A client that accepts nothing but protobuf, and what it was answered otherwise.
func typedClient(config *rest.Config) (*kubernetes.Clientset, *contentTypes) {
	config = rest.CopyConfig(config)
	config.ContentType = protobufType
	config.AcceptContentTypes = protobufType
	seen := &contentTypes{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		seen.next = next
		return seen
	})
	client, err := kubernetes.NewForConfig(config)
	check(err, "typed client")
	return client, seen
}

func typedInformer(config *rest.Config, namespace string) cache.SharedIndexInformer {
	client, _ := typedClient(config)
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	return factory.Core().V1().ConfigMaps().Informer()
}

func container() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example/c:1", Args: []string{"a && b"},
		Env: []corev1.EnvVar{{Name: "E", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}}}}
}

func named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": "typed"}, Annotations: map[string]string{"note": "é \"\u2028<"}}
}

// What a handler was called with, and the object that it got.
type change struct {
	what   string
	object runtime.Object
}

func changesOf(informer cache.SharedIndexInformer) chan change {
	changes := make(chan change, 100)
	note := func(what string) func(any) {
		return func(object any) { changes <- change{what, object.(runtime.Object)} }
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    note("ADDED"),
		UpdateFunc: func(_, object any) { note("UPDATED")(object) },
		DeleteFunc: note("DELETED"),
	})
	check(err, "handler")
	return changes
}

func expectChange(ctx context.Context, changes chan change, what string, object runtime.Object) {
	select {
	case got := <-changes:
		expect(got.what == what && reflect.DeepEqual(got.object, object), fmt.Sprintf("%s %v", what, object), got)
	case <-ctx.Done():
		fatal("no change %s", what)
	}
}

// Typed clients and typed informers of several kinds in protobuf alone: what is created is what the informers list and
// watch, and what a client in JSON reads.
func typed(ctx context.Context, config *rest.Config, namespace string) {
	client, seen := typedClient(config)
	inJSON, err := kubernetes.NewForConfig(config)
	check(err, "client in JSON")
	pods, deployments := client.CoreV1().Pods(namespace), client.AppsV1().Deployments(namespace)
	leases := client.CoordinationV1().Leases(namespace)
	holder, now := "me", metav1.NowMicro()

	pod, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: named("p"), Spec: container()}, metav1.CreateOptions{})
	check(err, "create a pod")
	lease, err := leases.Create(ctx, &coordinationv1.Lease{ObjectMeta: named("l"),
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &now}}, metav1.CreateOptions{})
	check(err, "create a lease")
	expect(lease.Spec.RenewTime.Equal(&metav1.MicroTime{Time: now.Truncate(1000)}), "the time of the lease", lease.Spec.RenewTime)

	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	podChanges := changesOf(factory.Core().V1().Pods().Informer())
	deploymentChanges := changesOf(factory.Apps().V1().Deployments().Informer())
	leaseChanges := changesOf(factory.Coordination().V1().Leases().Informer())
	factory.Start(ctx.Done())
	for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
		expect(ok, "the cache", kind)
	}
	expectChange(ctx, podChanges, "ADDED", pod)
	expectChange(ctx, leaseChanges, "ADDED", lease)

	deployment, err := deployments.Create(ctx, &appsv1.Deployment{ObjectMeta: named("d"), Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"of": "typed"}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"of": "typed"}}, Spec: container()},
	}}, metav1.CreateOptions{})
	check(err, "create a deployment")
	expectChange(ctx, deploymentChanges, "ADDED", deployment)
	same, err := inJSON.AppsV1().Deployments(namespace).Get(ctx, "d", metav1.GetOptions{})
	check(err, "get in JSON")
	expect(reflect.DeepEqual(same, deployment), "the deployment in JSON and in protobuf", same)

	pod.Labels["more"] = "1"
	pod, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
	check(err, "update the pod")
	expectChange(ctx, podChanges, "UPDATED", pod)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "of=typed", Limit: 500})
	check(err, "list the pods")
	expect(len(list.Items) == 1 && reflect.DeepEqual(&list.Items[0], pod) && list.ResourceVersion != "", "the list", list)

	check(leases.Delete(ctx, "l", metav1.DeleteOptions{}), "delete the lease")
	gone := <-leaseChanges
	expect(gone.what == "DELETED" && gone.object.(*coordinationv1.Lease).UID == lease.UID, "the deletion", gone)
	check(deployments.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}), "delete the deployments")
	expect((<-deploymentChanges).what == "DELETED", "the deletion", "another change")
	zero := int64(0)
	check(pods.Delete(ctx, "p", metav1.DeleteOptions{GracePeriodSeconds: &zero}), "delete the pod")
	expect(len(seen.others) == 0, "answers in protobuf alone", seen.others)
}
