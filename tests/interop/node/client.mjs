// A program over @kubernetes/client-node for ../clients.py:
//   client.mjs modes | crud KUBECONFIG NAMESPACE | apply KUBECONFIG NAMESPACE N | informer KUBECONFIG NAMESPACE
// The informer prints SYNCED, and ADDED, UPDATED and DELETED with name and resourceVersion.
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const [mode, kubeconfig, namespace, number] = process.argv.slice(2);
const RECONNECT_MS = 100;

function configMap(name) {
    return { metadata: { name, labels: { of: 'crud' } }, data: { k: 'v' } };
}

async function refused(promise, code) {
    await assert.rejects(promise, (error) => error.code === code && JSON.parse(error.body).code === code);
}

async function change(api) {
    const body = configMap('a');
    const made = await api.createNamespacedConfigMap({ namespace, body });
    assert.ok(made.metadata.creationTimestamp instanceof Date);
    await refused(api.createNamespacedConfigMap({ namespace, body }), 409);
    const body2 = { ...made, data: { k: 'w' } };
    const changed = await api.replaceNamespacedConfigMap({ name: 'a', namespace, body: body2 });
    assert.equal(changed.data.k, 'w');
    await refused(api.replaceNamespacedConfigMap({ name: 'a', namespace, body: made }), 409);
    const patches = [
        [k8s.PatchStrategy.MergePatch, { data: { merge: '1' } }],
        [k8s.PatchStrategy.JsonPatch, [{ op: 'add', path: '/data/json', value: '1' }]],
        [k8s.PatchStrategy.StrategicMergePatch, { data: { strategic: '1' } }],
    ];
    for (const [type, patch] of patches)
        await api.patchNamespacedConfigMap(
            { name: 'a', namespace, body: patch },
            k8s.setHeaderOptions('Content-Type', type),
        );
    const got = await api.readNamespacedConfigMap({ name: 'a', namespace });
    assert.equal(Object.keys(got.data).length, 4);
}

async function list(api) {
    for (let i = 0; i < 5; i++) await api.createNamespacedConfigMap({ namespace, body: configMap(`page-${i}`) });
    const names = [];
    let _continue;
    do {
        const page = await api.listNamespacedConfigMap({ namespace, limit: 2, _continue, labelSelector: 'of=crud' });
        names.push(...page.items.map((item) => item.metadata.name));
        _continue = page.metadata._continue;
    } while (_continue);
    assert.deepEqual(names, ['a', 'page-0', 'page-1', 'page-2', 'page-3', 'page-4']);
}

const MANAGER = 'client-node';

// What this manager wants of the deployment that all appliers share.
function shared(more) {
    const labels = { app: 'shared' };
    const template = { metadata: { labels }, spec: { containers: [{ name: MANAGER, image: 'registry.example/c:1' }] } };
    return {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'shared', labels: { [MANAGER]: '1' } },
        spec: { selector: { matchLabels: labels }, template, ...more },
    };
}

// Applies a label more, then without that label and with replicas, by force where another manager owns them.
async function apply(config, replicas) {
    const api = config.makeApiClient(k8s.AppsV1Api);
    const send = (body, force) =>
        api.patchNamespacedDeployment(
            { name: 'shared', namespace, body, fieldManager: MANAGER, force },
            k8s.setHeaderOptions('Content-Type', k8s.PatchStrategy.ServerSideApply),
        );
    const more = shared();
    more.metadata.labels.extra = MANAGER;
    await send(more);
    const wanted = shared({ replicas });
    let applied;
    try {
        applied = await send(wanted);
    } catch (error) {
        assert.equal(error.code, 409);
        for (const cause of JSON.parse(error.body).details.causes) {
            assert.equal(cause.reason, 'FieldManagerConflict');
            console.log('conflict', cause.field);
        }
        applied = await send(wanted, true);
    }
    assert.ok(!('extra' in applied.metadata.labels));
    console.log('applied', applied.spec.replicas);
}

async function crud(config) {
    const api = config.makeApiClient(k8s.CoreV1Api);
    await change(api);
    await list(api);
    await api.deleteNamespacedConfigMap({ name: 'a', namespace });
    await refused(api.deleteNamespacedConfigMap({ name: 'a', namespace }), 404);
    await api.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: 'of=crud' });
    assert.equal((await api.listNamespacedConfigMap({ namespace, labelSelector: 'of=crud' })).items.length, 0);
    const objects = k8s.KubernetesObjectApi.makeApiClient(config);
    const made = await objects.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o', namespace } });
    assert.equal((await objects.read({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'o', namespace } })).metadata.uid,
        made.metadata.uid);
}

async function inform(config) {
    const api = config.makeApiClient(k8s.CoreV1Api);
    const listed = () => api.listNamespacedConfigMap({ namespace });
    const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, listed);
    const show = (what) => (object) => console.log(what, object.metadata.name, object.metadata.resourceVersion);
    informer.on('add', show('ADDED'));
    informer.on('update', show('UPDATED'));
    informer.on('delete', show('DELETED'));
    informer.on('error', () => setTimeout(() => informer.start(), RECONNECT_MS));
    await informer.start();
    console.log('SYNCED');
}

if (mode === 'modes') {
    console.log('informer');
} else {
    const config = new k8s.KubeConfig();
    config.loadFromFile(kubeconfig);
    if (mode === 'apply') await apply(config, Number(number));
    else await (mode === 'crud' ? crud : inform)(config);
}
