import { ServiceMonitor } from "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor"
import { Deployment } from "kubernetes-models/apps/v1/Deployment"
import { StatefulSet } from "kubernetes-models/apps/v1/StatefulSet"
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy"
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget"
import { ConfigMap } from "kubernetes-models/v1/ConfigMap"
import { Service } from "kubernetes-models/v1/Service"

const models = [ConfigMap, Deployment, NetworkPolicy, PodDisruptionBudget, Service, ServiceMonitor, StatefulSet]

/** Throws if a manifest does not fit the schema that Kubernetes or the Prometheus operator has for it. */
export function checkManifest(manifest: { readonly apiVersion: string; readonly kind: string }): void {
  const Model = models.find(({ apiVersion, kind }) => apiVersion === manifest.apiVersion && kind === manifest.kind)
  if (Model === undefined) throw new Error(`No schema of ${manifest.kind} in ${manifest.apiVersion}`)
  new Model(manifest as never).validate()
}
