//! A controller over kube-rs, with a finalizer and objects that it owns. It keeps a copy of each config map that has the
//! label of=controller; the copy is left to the server's garbage collector when its owner is deleted.
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{self, finalizer, Event};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Resource, ResourceExt};
use serde_json::json;

use crate::Result;

const FINALIZER: &str = "coracle.example/copy";
const PATIENCE: Duration = Duration::from_secs(50);

struct Context {
    maps: Api<ConfigMap>,
    cleanups: AtomicUsize,
}

async fn copy(maps: &Api<ConfigMap>, source: &ConfigMap) -> kube::Result<Action> {
    let mut owner = source.controller_owner_ref(&());
    if let Some(owner) = &mut owner {
        owner.block_owner_deletion = Some(true);
    }
    let copy = ConfigMap {
        metadata: ObjectMeta {
            name: Some(format!("{}-copy", source.name_any())),
            owner_references: owner.map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: source.data.clone(),
        ..ConfigMap::default()
    };
    match maps.create(&PostParams::default(), &copy).await {
        Err(kube::Error::Api(error)) if error.code == 409 => Ok(Action::await_change()),
        Err(error) => Err(error),
        Ok(_) => Ok(Action::await_change()),
    }
}

async fn reconcile(source: Arc<ConfigMap>, context: Arc<Context>) -> std::result::Result<Action, finalizer::Error<kube::Error>> {
    finalizer(&context.maps, FINALIZER, source, |event| async {
        match event {
            Event::Apply(source) => copy(&context.maps, &source).await,
            Event::Cleanup(_) => {
                context.cleanups.fetch_add(1, Ordering::SeqCst);
                Ok(Action::await_change())
            }
        }
    })
    .await
}

/// Another may have changed the finalizers meanwhile.
fn error_policy(_: Arc<ConfigMap>, _: &finalizer::Error<kube::Error>, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_millis(50))
}

async fn deleted(maps: &Api<ConfigMap>, object: &ConfigMap) -> Result<()> {
    let uid = object.uid().unwrap_or_default();
    await_condition(maps.clone(), &object.name_any(), conditions::is_deleted(&uid)).await?;
    Ok(())
}

/// A config map with this controller's finalizer, and its copy.
async fn make(maps: &Api<ConfigMap>, name: &str) -> Result<(ConfigMap, ConfigMap)> {
    let value = json!({"metadata": {"name": name, "labels": {"of": "controller"}}, "data": {"k": "v"}});
    let owner = maps.create(&PostParams::default(), &serde_json::from_value(value)?).await?;
    let is_there = |object: Option<&ConfigMap>| object.is_some();
    let copy = await_condition(maps.clone(), &format!("{name}-copy"), is_there).await?.ok_or("no copy")?;
    assert_eq!(copy.owner_references()[0].uid, owner.uid().unwrap_or_default());
    assert_eq!(maps.get(name).await?.finalizers(), [FINALIZER]);
    Ok((owner, copy))
}

async fn scenario(context: &Context) -> Result<()> {
    let maps = &context.maps;
    let (owner, copy) = make(maps, "background").await?;
    maps.delete("background", &DeleteParams::background()).await?;
    deleted(maps, &owner).await?;
    deleted(maps, &copy).await?;
    assert_eq!(context.cleanups.load(Ordering::SeqCst), 1);

    let (owner, copy) = make(maps, "foreground").await?;
    maps.delete("foreground", &DeleteParams::foreground()).await?;
    deleted(maps, &owner).await?;
    // The controller may have made another copy before it saw that the owner is being deleted; the
    // collector deletes that one too.
    let left = maps.get_opt(&copy.name_any()).await?;
    assert!(left.as_ref().is_none_or(|left| left.uid() != copy.uid()), "the copy is deleted before its owner: {left:?}");
    if let Some(left) = left {
        deleted(maps, &left).await?;
    }

    let (owner, copy) = make(maps, "orphan").await?;
    maps.delete("orphan", &DeleteParams::orphan()).await?;
    deleted(maps, &owner).await?;
    assert!(maps.get(&copy.name_any()).await?.owner_references().is_empty());
    Ok(())
}

pub async fn run(maps: Api<ConfigMap>) -> Result<()> {
    let context = Arc::new(Context { maps: maps.clone(), cleanups: AtomicUsize::new(0) });
    let (stop, stopped) = oneshot::channel::<()>();
    let running = Controller::new(maps.clone(), watcher::Config::default().labels("of=controller"))
        .owns(maps, watcher::Config::default())
        .graceful_shutdown_on(stopped.map(|_| ()))
        .run(reconcile, error_policy, context.clone())
        .for_each(|_| futures::future::ready(()));
    let using = async {
        let done = tokio::time::timeout(PATIENCE, scenario(&context)).await;
        drop(stop);
        done?
    };
    let (_, done) = tokio::join!(running, using);
    done
}
