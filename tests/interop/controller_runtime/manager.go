package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer = "coracle.example/mark"
	lockName  = "marker"
)

// The object is being deleted; an event about that is on its way.
var errDeleted = errors.New("the object is being deleted")

// A reconciler of the config maps that have the label "mark": it sets the label "marked" to the same value, and keeps a
// copy of the data in a config map that they own. A finalizer lets it delete the copy before the config map is deleted;
// with the label "collect" it leaves the copy to the garbage collector.
type marker struct {
	client.Client
	recorder record.EventRecorder
}

func (m *marker) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	object := &corev1.ConfigMap{}
	if err := m.Get(ctx, request.NamespacedName, object); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if object.Labels["mark"] == "" {
		return reconcile.Result{}, nil
	}
	twin := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: object.Namespace, Name: object.Name + "-copy"}}
	old := object.DeepCopy()
	if object.DeletionTimestamp != nil {
		if object.Labels["collect"] == "" {
			if err := client.IgnoreNotFound(m.Delete(ctx, twin)); err != nil {
				return reconcile.Result{}, err
			}
		}
		if !controllerutil.RemoveFinalizer(object, finalizer) {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, client.IgnoreNotFound(m.Patch(ctx, object, client.MergeFrom(old)))
	}
	controllerutil.AddFinalizer(object, finalizer)
	object.Labels["marked"] = object.Labels["mark"]
	done, err := controllerutil.CreateOrUpdate(ctx, m.Client, twin, func() error {
		// The copy was read before this. When the answer has no deletion, the collector had not released the copy by then, so
		// that the update either finds the copy as it was read or is refused: it never makes an orphan owned again.
		if err := m.Patch(ctx, object, client.MergeFrom(old)); err != nil {
			return err
		}
		if object.DeletionTimestamp != nil {
			return errDeleted
		}
		twin.Data = object.Data
		return controllerutil.SetControllerReference(object, twin, m.Scheme())
	})
	if errors.Is(err, errDeleted) {
		return reconcile.Result{}, nil
	}
	if done == controllerutil.OperationResultCreated {
		m.recorder.Event(object, corev1.EventTypeNormal, "Copied", "made "+twin.Name)
	}
	return reconcile.Result{}, err
}

// A manager as operators have it, but without metrics and health probes. It runs until the returned function is called,
// which returns what Start() returned.
func startManager(ctx context.Context, restConfig *rest.Config, namespace string) (manager.Manager, func() error) {
	ctx, cancel := context.WithCancel(ctx)
	// The two managers of this process have controllers of the same name, which the library refuses otherwise.
	skip := true
	// The lease outlasts this program, however slow the machine is: it changes hands only because it is released.
	lease, renew := 2*patience, patience
	m, err := manager.New(restConfig, manager.Options{
		Cache:                         cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics:                       server.Options{BindAddress: "0"},
		HealthProbeBindAddress:        "0",
		LeaderElection:                true,
		LeaderElectionID:              lockName,
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		Controller:                    config.Controller{SkipNameValidation: &skip},
	})
	check(err, "manager")
	check(builder.ControllerManagedBy(m).For(&corev1.ConfigMap{}).Owns(&corev1.ConfigMap{}).
		Complete(&marker{m.GetClient(), m.GetEventRecorderFor("marker")}), "controller")
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	return m, func() error {
		cancel()
		return <-ended
	}
}

func becomesLeader(ctx context.Context, m manager.Manager) {
	select {
	case <-m.Elected():
	case <-ctx.Done():
		fatal("no leader: %v", ctx.Err())
	}
}

// Waits until an object that the fields choose is as wanted: by a change after a resourceVersion or, without one, also as
// it is now.
func until(ctx context.Context, c client.WithWatch, list client.ObjectList, namespace, after string, fields client.MatchingFields,
	wanted func(watch.Event) bool) {
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: after}}
	changes, err := c.Watch(ctx, list, from, client.InNamespace(namespace), fields)
	check(err, "watch")
	defer changes.Stop()
	for event := range changes.ResultChan() {
		if wanted(event) {
			return
		}
	}
	fatal("%v is not as wanted: %v", fields, ctx.Err())
}

// The config map of a name, once it exists and is as wanted.
func configMapOnce(ctx context.Context, c client.WithWatch, namespace, name, after string, wanted func(*corev1.ConfigMap) bool) *corev1.ConfigMap {
	var found *corev1.ConfigMap
	until(ctx, c, &corev1.ConfigMapList{}, namespace, after, client.MatchingFields{"metadata.name": name}, func(event watch.Event) bool {
		found, _ = event.Object.(*corev1.ConfigMap)
		return found != nil && event.Type != watch.Deleted && wanted(found)
	})
	return found
}

// Waits until a config map has the labels of the reconciler and its copy has the same data.
func expectMarked(ctx context.Context, c client.WithWatch, namespace, name, mark, value string) *corev1.ConfigMap {
	object := configMapOnce(ctx, c, namespace, name, "", func(object *corev1.ConfigMap) bool {
		return object.Labels["marked"] == mark && controllerutil.ContainsFinalizer(object, finalizer)
	})
	twin := configMapOnce(ctx, c, namespace, name+"-copy", "", func(twin *corev1.ConfigMap) bool { return twin.Data["k"] == value })
	expect(metav1.IsControlledBy(twin, object), "the owner of the copy", twin.OwnerReferences)
	return twin
}

// Waits until the object is deleted, which may have happened already.
func expectDeleted(ctx context.Context, c client.WithWatch, object *corev1.ConfigMap) {
	until(ctx, c, &corev1.ConfigMapList{}, object.Namespace, object.ResourceVersion, client.MatchingFields{"metadata.name": object.Name},
		func(event watch.Event) bool { return event.Type == watch.Deleted })
}

// The server's garbage collector deletes or releases the copies of a deleted config map, while the reconciler has a
// finalizer on it and SetControllerReference() has made the copy block a foreground deletion.
func collected(ctx context.Context, c client.WithWatch, namespace string) {
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground,
		metav1.DeletePropagationOrphan} {
		name := "owner-" + strings.ToLower(string(policy))
		owner := &corev1.ConfigMap{Data: map[string]string{"k": "4"}, ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{"mark": "d", "collect": "yes"}}}
		check(c.Create(ctx, owner), "create")
		twin := expectMarked(ctx, c, namespace, name, "d", "4")
		check(c.Delete(ctx, owner, client.PropagationPolicy(policy)), "delete")
		expectDeleted(ctx, c, owner)
		first := twin.UID
		err := c.Get(ctx, client.ObjectKeyFromObject(twin), twin)
		switch policy {
		case metav1.DeletePropagationBackground:
			if err == nil {
				expectDeleted(ctx, c, twin)
			}
		case metav1.DeletePropagationForeground:
			// The controller may have made another copy before it saw that the owner is being deleted; the collector
			// deletes that one too.
			expect(apierrors.IsNotFound(err) || twin.UID != first, "the copy, which is deleted before its owner", err)
			if err == nil {
				expectDeleted(ctx, c, twin)
			}
		default:
			check(err, "the orphan")
			expect(len(twin.OwnerReferences) == 0, "the owners of the orphan", twin.OwnerReferences)
		}
	}
}

// A manager becomes the leader and reconciles what is there and what changes; a second one waits until the first has
// released the lease, and goes on in its place.
func managers(ctx context.Context, restConfig *rest.Config, namespace string) {
	c, err := client.NewWithWatch(restConfig, client.Options{})
	check(err, "client")
	create := func(name, mark, value string) {
		check(c.Create(ctx, &corev1.ConfigMap{Data: map[string]string{"k": value},
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"mark": mark}}}), "create")
	}
	create("early", "a", "1")
	leader, stop := startManager(ctx, restConfig, namespace)
	becomesLeader(ctx, leader)
	twin := expectMarked(ctx, c, namespace, "early", "a", "1")
	about := client.MatchingFields{"involvedObject.name": "early", "reason": "Copied"}
	until(ctx, c, &corev1.EventList{}, namespace, "", about, func(event watch.Event) bool { return event.Type == watch.Added })

	next, stopNext := startManager(ctx, restConfig, namespace)
	for i := range 10 {
		create(fmt.Sprintf("late-%d", i), "b", "2")
	}
	for i := range 10 {
		expectMarked(ctx, c, namespace, fmt.Sprintf("late-%d", i), "b", "2")
	}
	// A change of the copy reaches the reconciler through its owner.
	old := twin.DeepCopy()
	twin.Data["k"] = "changed"
	check(c.Patch(ctx, twin, client.MergeFrom(old)), "patch of the copy")
	configMapOnce(ctx, c, namespace, twin.Name, twin.ResourceVersion, func(twin *corev1.ConfigMap) bool { return twin.Data["k"] == "1" })
	select {
	case <-next.Elected():
		fatal("there are two leaders")
	default:
	}
	check(stop(), "the end of the first manager")

	becomesLeader(ctx, next)
	lease := &coordinationv1.Lease{}
	check(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: lockName}, lease), "get of the lease")
	expect(*lease.Spec.HolderIdentity != "" && *lease.Spec.LeaseTransitions == 1, "the lease of the second leader", lease.Spec)
	create("last", "c", "3")
	twin = expectMarked(ctx, c, namespace, "last", "c", "3")
	deletions, err := c.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": "last"})
	check(err, "watch")
	defer deletions.Stop()
	check(c.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace), client.MatchingLabels{"mark": "c"}), "delete of all")
	for event := range deletions.ResultChan() {
		if event.Type == watch.Deleted {
			break
		}
	}
	err = c.Get(ctx, client.ObjectKeyFromObject(twin), twin)
	expect(apierrors.IsNotFound(err), "the copy, which is deleted before the finalizer is removed", err)
	collected(ctx, c, namespace)
	check(stopNext(), "the end of the second manager")
}
