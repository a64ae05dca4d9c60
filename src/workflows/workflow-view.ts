import { filesOf } from "../source/source-files.ts"
import type { ValidateIssue } from "../api/issue.ts"
import type { WorkflowAnswer, WorkflowDetail, WorkflowIssue } from "../api/workflows.ts"
import { isError } from "../source/diagnostic.ts"
import { whyUnusable } from "./triggers/webhook-signature.ts"
import type { ServerSecrets } from "./server-secrets.ts"
import type { NamedWorkflow } from "./workflow-folder.ts"

type AnyIssue = ValidateIssue | WorkflowIssue

/** A workflow as `GET /workflows` shows it. */
export function workflowAnswer(workflow: NamedWorkflow, secrets: Pick<ServerSecrets, "of">): WorkflowAnswer {
  const { name, serving, broken } = workflow
  const shown = serving ?? broken
  const issues = [...workflow.issues, ...exposures(workflow, secrets), ...unsigned(workflow, secrets)]
  const schemas = serving?.described.schemas ?? null
  const fixed = fixedSecrets(workflow, secrets)
  return {
    name,
    description: shown?.description ?? null,
    version: shown?.version ?? workflow.version,
    valid: serving !== null && !issues.some(isError),
    ...(workflow.pinned === true && { pinned: true }),
    issues,
    schemas: schemas === null ? null : { input: schemas.input, output: schemas.output },
    secrets: secretStates(workflow, secrets),
    ...(fixed.length > 0 && { fixed_secrets: fixed }),
  }
}

/** A workflow as `GET /workflows/{name}` shows it. */
export function workflowDetail(workflow: NamedWorkflow, secrets: Pick<ServerSecrets, "of">): WorkflowDetail {
  const { serving, broken } = workflow
  return {
    ...workflowAnswer(workflow, secrets),
    source: (serving ?? broken)?.source ?? null,
    ...filesOf(serving ?? {}),
    plan: serving?.described.plan ?? null,
  }
}

/** Problems that keep a workflow from being executed; empty for one that serves, even while its file has errors. */
export function obstacles(workflow: NamedWorkflow, secrets: Pick<ServerSecrets, "of">): readonly AnyIssue[] {
  if (workflow.serving === null) return workflow.issues.filter(isError)
  return exposures(workflow, secrets)
}

/** Secrets of the server that would go where a caller's input says. */
function exposures({ name, serving }: NamedWorkflow, secrets: Pick<ServerSecrets, "of">): AnyIssue[] {
  const exposed = serving?.described.exposed ?? []
  if (exposed.length === 0) return []
  const own = secrets.of(
    name,
    exposed.map(({ secret }) => secret),
  )
  return exposed.filter(({ secret }) => Object.hasOwn(own, secret)).map(({ issue }) => issue)
}

/** Webhooks that take no deliveries for want of a secret. */
function unsigned({ name, serving }: NamedWorkflow, secrets: Pick<ServerSecrets, "of">): WorkflowIssue[] {
  return (serving?.described.triggers ?? []).flatMap((trigger): WorkflowIssue[] => {
    if (trigger.kind !== "webhook") return []
    const own = secrets.of(name, trigger.secrets)
    return trigger.secrets.flatMap((secret): WorkflowIssue[] => {
      const isSet = Object.hasOwn(own, secret)
      const reason = whyUnusable(isSet ? own[secret] : undefined, trigger.verify)
      if (reason === null) return []
      const message = `The secret \`${secret}\` of the webhook ${trigger.name} ${reason}`
      const variable = `WIRE_SECRET_${secret.toUpperCase()}`
      const hint = isSet
        ? `Change ${variable}, or its value in WIRE_SECRETS_FILE.`
        : `Set ${variable}, or put it into WIRE_SECRETS_FILE.`
      return [{ code: "workflow-secret", severity: "warning", path: `webhook.${trigger.name}.secret`, message, hint }]
    })
  })
}

/** Secrets of runs and of webhooks. */
function declaredSecrets({ serving }: NamedWorkflow): readonly string[] {
  const ofRuns = Object.keys(serving?.described.schemas?.secrets["properties"] ?? {})
  const signing = (serving?.described.triggers ?? []).flatMap((one) => (one.kind === "webhook" ? one.secrets : []))
  return [...new Set([...ofRuns, ...signing])]
}

function secretStates(workflow: NamedWorkflow, secrets: Pick<ServerSecrets, "of">): Record<string, "set" | "missing"> {
  const declared = declaredSecrets(workflow)
  if (declared.length === 0) return {}
  const own = secrets.of(workflow.name, declared)
  return Object.fromEntries(declared.map((secret) => [secret, Object.hasOwn(own, secret) ? "set" : "missing"]))
}

/** The secrets that decide where others of the server's own go: a request that sends one must send those, too. */
function fixedSecrets(workflow: NamedWorkflow, secrets: Pick<ServerSecrets, "of">): string[] {
  const fixed = new Set<string>()
  const declared = declaredSecrets(workflow)
  for (const { destinationInputs, sent } of workflow.serving?.described.routes ?? []) {
    const own = Object.keys(secrets.of(workflow.name, sent === "all" ? declared : sent))
    for (const secret of destinationInputs === "all" ? declared : destinationInputs)
      if (own.some((other) => other !== secret)) fixed.add(secret)
  }
  return [...fixed]
}
