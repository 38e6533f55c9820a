//! A program over kube-rs for ../clients.py: `modes`, or MODE KUBECONFIG NAMESPACE.
//! Its watchers print SYNCED, and ADDED, UPDATED and DELETED with name and resourceVersion.
mod apply;
mod controller;
mod custom;

use std::error::Error;

use futures::{Stream, StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, Event};
use kube::runtime::WatchStreamExt;
use kube::{Client, Config, Resource, ResourceExt};
use serde_json::json;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn show<K: Resource>(what: &str, object: &K) {
    println!("{what} {} {}", object.name_any(), object.resource_version().unwrap_or_default());
}

/// A streaming watcher asks for the initial events at every reconnect, so what is known may come again.
fn tell_applied<K: Resource<DynamicType = ()> + Clone>(store: &Store<K>, object: &K) {
    match store.get(&ObjectRef::from_obj(object)) {
        None => show("ADDED", object),
        Some(known) if known.resource_version() != object.resource_version() => show("UPDATED", object),
        Some(_) => {}
    }
}

/// Comes before the store has taken the event.
fn tell<K: Resource<DynamicType = ()> + Clone>(store: &Store<K>, event: &Event<K>) {
    match event {
        Event::Init => {}
        Event::InitApply(object) => show("ADDED", object),
        Event::InitDone => println!("SYNCED"),
        Event::Apply(object) => tell_applied(store, object),
        Event::Delete(object) => show("DELETED", object),
    }
}

async fn follow<K>(events: impl Stream<Item = watcher::Result<Event<K>>>) -> Result<()>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    let (store, writer) = reflector::store();
    let mut events = std::pin::pin!(events
        .default_backoff()
        .inspect_ok(|event| tell(&store, event))
        .reflect(writer));
    while events.next().await.is_some() {}
    Err("the watcher ended".into())
}

fn config_map(name: &str) -> Result<ConfigMap> {
    let value = json!({"metadata": {"name": name, "labels": {"of": "crud"}}, "data": {"k": "v"}});
    Ok(serde_json::from_value(value)?)
}

fn refused<T>(answer: kube::Result<T>, code: u16) -> Result<()> {
    match answer {
        Err(kube::Error::Api(error)) if error.code == code => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(format!("success instead of {code}").into()),
    }
}

async fn crud(maps: Api<ConfigMap>) -> Result<()> {
    let post = PostParams::default();
    let made = maps.create(&post, &config_map("a")?).await?;
    refused(maps.create(&post, &config_map("a")?).await, 409)?;
    let mut changed = made.clone();
    changed.data.get_or_insert_default().insert("k".into(), "w".into());
    maps.replace("a", &post, &changed).await?;
    refused(maps.replace("a", &post, &made).await, 409)?;
    let patch = json!({"data": {"merge": "1"}});
    maps.patch("a", &PatchParams::default(), &Patch::Merge(&patch)).await?;
    let patch = json!({"data": {"strategic": "1"}});
    maps.patch("a", &PatchParams::default(), &Patch::Strategic(&patch)).await?;
    assert_eq!(maps.get("a").await?.data.unwrap_or_default().len(), 3);
    assert_eq!(maps.get_metadata("a").await?.labels()["of"], "crud");
    for i in 0..5 {
        maps.create(&post, &config_map(&format!("page-{i}"))?).await?;
    }
    let mut params = ListParams::default().labels("of=crud").limit(2);
    let mut seen = 0;
    loop {
        let page = maps.list(&params).await?;
        seen += page.items.len();
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(seen, 6);
    assert_eq!(maps.list_metadata(&ListParams::default()).await?.items.len(), 6);
    maps.delete("a", &DeleteParams::default()).await?;
    refused(maps.delete("a", &DeleteParams::default()).await, 404)?;
    maps.delete_collection(&DeleteParams::default(), &ListParams::default().labels("of=crud")).await?;
    assert!(maps.list(&ListParams::default().labels("of=crud")).await?.items.is_empty());
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["modes"] {
        println!("watcher\nmetadata-watcher\nstreaming-watcher\ncustom ends");
        return Ok(());
    }
    let [mode, kubeconfig, namespace, number @ ..] = &words[..] else {
        return Err("usage: client modes | MODE KUBECONFIG NAMESPACE | apply KUBECONFIG NAMESPACE N".into());
    };
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    if let ("apply", [number]) = (mode.as_str(), number) {
        return apply::run(Api::namespaced(client, namespace), number.parse()?).await;
    }
    if mode == "custom" {
        return custom::run(client, namespace).await;
    }
    let maps = Api::<ConfigMap>::namespaced(client, namespace);
    let listing = watcher::Config::default();
    let streaming = watcher::Config::default().streaming_lists();
    match mode.as_str() {
        "crud" => {
            crud(maps.clone()).await?;
            controller::run(maps).await
        }
        "watcher" => follow(watcher::watcher(maps, listing)).await,
        "metadata-watcher" => follow(watcher::metadata_watcher(maps, listing)).await,
        "streaming-watcher" => follow(watcher::watcher(maps, streaming)).await,
        _ => Err(format!("unknown mode {mode}").into()),
    }
}
