//! Server-side apply to the deployment of ../../appliers.py.
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, Patch, PatchParams};
use kube::ResourceExt;
use serde_json::{json, Value};

use crate::Result;

const MANAGER: &str = "kube-rs";

/// What this manager wants of the deployment that all appliers share.
fn shared() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "shared", "labels": {MANAGER: "1"}},
        "spec": {
            "selector": {"matchLabels": {"app": "shared"}},
            "template": {
                "metadata": {"labels": {"app": "shared"}},
                "spec": {"containers": [{"name": MANAGER, "image": "registry.example/c:1"}]},
            },
        },
    })
}

/// Applies a label more, then without that label and with replicas, by force where another manager owns them.
pub async fn run(deployments: Api<Deployment>, replicas: i32) -> Result<()> {
    let params = PatchParams::apply(MANAGER);
    let mut more = shared();
    more["metadata"]["labels"]["extra"] = json!(MANAGER);
    deployments.patch("shared", &params, &Patch::Apply(&more)).await?;
    let mut wanted = shared();
    wanted["spec"]["replicas"] = json!(replicas);
    let applied = match deployments.patch("shared", &params, &Patch::Apply(&wanted)).await {
        Err(kube::Error::Api(error)) if error.code == 409 => {
            // The library's error has the message alone.
            let field = error.message.rsplit(": ").next().unwrap_or_default();
            println!("conflict {field}");
            deployments.patch("shared", &params.force(), &Patch::Apply(&wanted)).await?
        }
        answer => answer?,
    };
    assert!(!applied.labels().contains_key("extra"), "{:?}", applied.labels());
    println!("applied {}", applied.spec.and_then(|spec| spec.replicas).unwrap_or_default());
    Ok(())
}
