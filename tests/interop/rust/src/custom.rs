//! A kind of this program's own, derived from a struct: its definition is applied, a controller keeps a config map for each of
//! its objects and says so in their status, and all goes away again.
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::channel::oneshot;
use futures::{FutureExt, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{self, finalizer, Event};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::watcher;
use kube::{Client, CustomResource, CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{refused, Result};

const MANAGER: &str = "kube-rs";
const FINALIZER: &str = "kube-rs.example.com/light";
const PATIENCE: Duration = Duration::from_secs(50);

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(group = "kube-rs.example.com", version = "v1", kind = "Buoy", namespaced)]
#[kube(status = "BuoyStatus", shortname = "by", printcolumn = r#"{"name":"Depth","type":"integer","jsonPath":".spec.depth"}"#)]
struct BuoySpec {
    #[schemars(range(min = 1))]
    depth: i32,
    #[serde(default = "ball")]
    shape: String,
    anchor: Anchor,
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Anchor {
    Stone { weight: i32 },
    Chain { links: Vec<String> },
}

#[derive(Serialize, Deserialize, Clone, Debug, JsonSchema)]
struct BuoyStatus {
    light: String,
}

fn ball() -> String {
    "ball".into()
}

struct Context {
    buoys: Api<Buoy>,
    maps: Api<ConfigMap>,
}

async fn light(context: &Context, buoy: &Buoy) -> kube::Result<Action> {
    let name = format!("{}-light", buoy.name_any());
    let light = ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            owner_references: buoy.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("shape".into(), buoy.spec.shape.clone())])),
        ..ConfigMap::default()
    };
    context.maps.patch(&name, &PatchParams::apply(MANAGER), &Patch::Apply(&light)).await?;
    let status = json!({"status": {"light": name}});
    context.buoys.patch_status(&buoy.name_any(), &PatchParams::default(), &Patch::Merge(&status)).await?;
    Ok(Action::await_change())
}

async fn darken(context: &Context, buoy: &Buoy) -> kube::Result<Action> {
    match context.maps.delete(&format!("{}-light", buoy.name_any()), &DeleteParams::default()).await {
        Err(kube::Error::Api(error)) if error.code == 404 => {}
        answer => drop(answer?),
    }
    Ok(Action::await_change())
}

async fn reconcile(buoy: Arc<Buoy>, context: Arc<Context>) -> std::result::Result<Action, finalizer::Error<kube::Error>> {
    finalizer(&context.buoys, FINALIZER, buoy, |event| async {
        match event {
            Event::Apply(buoy) => light(&context, &buoy).await,
            Event::Cleanup(buoy) => darken(&context, &buoy).await,
        }
    })
    .await
}

/// Another may have changed the object meanwhile.
fn error_policy(_: Arc<Buoy>, _: &finalizer::Error<kube::Error>, _: Arc<Context>) -> Action {
    Action::requeue(Duration::from_millis(50))
}

async fn scenario(context: &Context) -> Result<()> {
    let (buoys, post) = (&context.buoys, PostParams::default());
    let wrong = Buoy::new("wrong", BuoySpec { depth: 0, shape: ball(), anchor: Anchor::Stone { weight: 1 } });
    refused(buoys.create(&post, &wrong).await, 422)?;
    let anchors = [Anchor::Stone { weight: 3 }, Anchor::Chain { links: vec!["a".into(), "b".into()] }];
    for (i, anchor) in anchors.into_iter().enumerate() {
        buoys.create(&post, &Buoy::new(&format!("buoy-{i}"), BuoySpec { depth: 1 + i as i32, shape: "cone".into(), anchor })).await?;
    }
    for i in 0..2 {
        let name = format!("buoy-{i}");
        let is_lit = |buoy: Option<&Buoy>| buoy.is_some_and(|buoy| buoy.status.is_some());
        let lit = await_condition(buoys.clone(), &name, is_lit).await?.ok_or("no buoy")?;
        assert_eq!(lit.status.as_ref().map(|status| status.light.as_str()), Some(format!("{name}-light").as_str()));
        assert_eq!((lit.finalizers(), lit.metadata.generation), (&[FINALIZER.to_string()][..], Some(1)));
        let light = context.maps.get(&format!("{name}-light")).await?;
        assert_eq!(light.owner_references()[0].uid, lit.uid().unwrap_or_default());
        assert_eq!(light.data.unwrap_or_default()["shape"], "cone");
    }
    let listed = buoys.list(&ListParams::default()).await?.items;
    assert!(matches!(&listed[1].spec.anchor, Anchor::Chain { links } if links.len() == 2), "{listed:?}");
    for buoy in listed {
        buoys.delete(&buoy.name_any(), &DeleteParams::default()).await?;
        await_condition(buoys.clone(), &buoy.name_any(), conditions::is_deleted(&buoy.uid().unwrap_or_default())).await?;
        assert!(context.maps.get_opt(&format!("{}-light", buoy.name_any())).await?.is_none());
    }
    Ok(())
}

pub async fn run(client: Client, namespace: &str) -> Result<()> {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    let name = Buoy::crd_name();
    for _ in 0..2 {
        definitions.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(Buoy::crd())).await?;
    }
    await_condition(definitions.clone(), name, conditions::is_crd_established()).await?;
    let context = Arc::new(Context { buoys: Api::namespaced(client.clone(), namespace), maps: Api::namespaced(client, namespace) });
    let (stop, stopped) = oneshot::channel::<()>();
    let running = Controller::new(context.buoys.clone(), watcher::Config::default())
        .owns(context.maps.clone(), watcher::Config::default())
        .graceful_shutdown_on(stopped.map(|_| ()))
        .run(reconcile, error_policy, context.clone())
        .for_each(|_| futures::future::ready(()));
    let using = async {
        let done = tokio::time::timeout(PATIENCE, scenario(&context)).await;
        drop(stop);
        done?
    };
    let (_, done) = tokio::join!(running, using);
    done?;
    let definition = definitions.get(name).await?;
    definitions.delete(name, &DeleteParams::default()).await?;
    await_condition(definitions, name, conditions::is_deleted(&definition.uid().unwrap_or_default())).await?;
    refused(context.buoys.list(&ListParams::default()).await, 404)
}
