// A program over @kubernetes/client-node for ../clients.py:
//   client.mjs modes | crud KUBECONFIG NAMESPACE | informer KUBECONFIG NAMESPACE
// The informer prints SYNCED, and ADDED, UPDATED and DELETED with name and resourceVersion.
import assert from 'node:assert/strict';
import * as k8s from '@kubernetes/client-node';

const [mode, kubeconfig, namespace] = process.argv.slice(2);
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
    await (mode === 'crud' ? crud : inform)(config);
}
