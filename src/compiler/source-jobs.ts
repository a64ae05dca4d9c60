import type { ValidateIssue } from "../api/issue.ts"
import type { ValidateAnswer } from "../api/source.ts"
import type { JsonObject } from "../base/json-value.ts"
import { serverSecretExposed } from "../check/rules/secret-exposed.ts"
import { secretRoutes } from "../check/secret-routes.ts"
import type { Compiled } from "../compile.ts"
import { compile } from "../compile.ts"
import type { NodeChange } from "../plan/compare-plans.ts"
import { comparePlans } from "../plan/compare-plans.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { mayWait } from "../plan/may-wait.ts"
import { prepare } from "../plan/prepare.ts"
import type { WireError } from "../log/events.ts"
import { secretsOverLimits } from "../ports/secret-limits.ts"
import type { Issue } from "../source/diagnostic.ts"
import { isError, toIssue } from "../source/diagnostic.ts"
import { LineMap } from "../source/line-map.ts"
import { formatText } from "../syntax/format.ts"
import { toJsonSchema } from "../types/json-schema.ts"
import { validateValue } from "../types/validate-value.ts"
import { boundedIssues } from "./bounded-issues.ts"
import { sourceError } from "./source-error.ts"
import { sourceFormattedLength, sourceIssues } from "../base/limits.ts"

/** What can be asked of a source without running it. */
export type SourceJob =
  | { readonly kind: "plan"; readonly source: string }
  | { readonly kind: "format"; readonly source: string }
  | { readonly kind: "describe"; readonly source: string }
  | ValidateJob

export interface ValidateJob {
  readonly kind: "validate"
  readonly source: string
  readonly input?: JsonObject | null | undefined
  readonly secrets?: JsonObject | null | undefined
  /** An earlier run: the answer says of each node whether it changed since. */
  readonly earlier?: { readonly source: string; readonly input: JsonObject } | undefined
}

export type Planned = { readonly plan: Plan } | { readonly error: WireError }

export type Formatted = { readonly formatted: string; readonly changed: boolean } | { readonly error: WireError }

export function planSource(source: string): Planned {
  const { plan, diagnostics } = compile(source)
  return plan === undefined ? { error: sourceError(source, diagnostics) } : { plan }
}

export function formatSource(source: string): Formatted {
  const outcome = formatText(source)
  if ("diagnostics" in outcome) return { error: sourceError(source, outcome.diagnostics) }
  if (outcome.formatted.length <= sourceFormattedLength) return outcome
  const message = `Formatted, the source would have ${outcome.formatted.length} characters, and ${sourceFormattedLength} are allowed: nest less`
  return { error: { kind: "limit_exceeded", message, issues: [] } }
}

export function validateSource({ source, input, secrets, earlier }: ValidateJob): ValidateAnswer {
  const { program, diagnostics, plan } = compile(source)
  const issues: ValidateIssue[] = boundedIssues(source, diagnostics)
  let found = diagnostics.length
  const report = (path: string, message: string, hint?: string): void => {
    found++
    if (issues.length >= sourceIssues) return
    const issue = { code: "type-mismatch", severity: "error", path, message } as const
    issues.push(hint === undefined ? issue : { ...issue, hint })
  }
  const given = [
    { name: "input", value: input, type: program.input?.type, values: "shown" },
    { name: "secrets", value: secrets, type: program.secrets?.type, values: "hidden" },
  ] as const
  for (const { name, value, type, values } of given) {
    if (value === undefined || value === null) continue
    const misfits = validateValue(value, type ?? { kind: "record", fields: [] }, program.types, name, { values })
    for (const { path, message, hint } of misfits) report(path, message, hint)
  }
  for (const { path, message } of secretsOverLimits(secrets ?? {})) report(path, message)
  const omitted = found > issues.length ? { issues_omitted: found - issues.length } : {}
  const valid = plan !== undefined && !issues.some(isError)
  if (!valid) return { valid, issues, ...omitted, plan: null, schemas: null }
  const view = planView(plan)
  const changes = earlier === undefined ? null : changesSince(earlier, plan, input ?? earlier.input)
  const nodes = view.nodes.map((node) => {
    const rerun = changes?.get(node.id)
    return rerun === undefined ? node : { ...node, rerun }
  })
  return { valid, issues, ...omitted, plan: { ...view, nodes }, schemas: schemasOf(plan) }
}

/** Null where the earlier source cannot be compared: an older release took it, and today it is refused. Then all is new. */
function changesSince(
  earlier: NonNullable<ValidateJob["earlier"]>,
  plan: Plan,
  input: JsonObject,
): Map<string, NodeChange> | null {
  const before = compile(earlier.source).plan
  return before === undefined ? null : comparePlans(before, plan, { before: earlier.input, after: input })
}

/** All that a list of workflows shows of one, and what serving it needs to know. */
export interface Described extends ValidateAnswer {
  /** Neither a step nor an output, and nothing that could not be read: declarations alone. */
  readonly empty: boolean
  /** It may wait for people. */
  readonly waits: boolean
  /** Secrets that only a request may give, each with the issue of a server that has one. */
  readonly exposed: readonly { readonly secret: string; readonly issue: Issue }[]
  /** The backends whose address or headers a request may decide, with the secrets that they get. */
  readonly routes: NonNullable<Plan["secret_routes"]>
}

export function describeSource(source: string): Described {
  const compiled = compile(source)
  const { program, diagnostics, plan } = compiled
  const syntax = diagnostics.some(({ code }) => code === "syntax-error")
  const steps = program.agents.size + program.dynamics.size + (program.output === undefined ? 0 : 1)
  const lines = new LineMap(source)
  return {
    ...answerOf(source, compiled),
    empty: steps === 0 && !syntax,
    waits: plan !== undefined && mayWait(plan),
    exposed: plan === undefined ? [] : exposedIssues(program, lines),
    routes: plan?.secret_routes ?? [],
  }
}

/** Each secret once at each place, up to a number, and once at least: a text may name one tens of thousands of times. */
function exposedIssues(program: Compiled["program"], lines: LineMap): Described["exposed"] {
  const found = new Map<string, { readonly secret: string; readonly issue: Issue }>()
  const secrets = new Set<string>()
  const places = secretRoutes(program).flatMap((route) => (route.inputs.length === 0 ? [] : route.places))
  // Places that pass all secrets on share one list of names.
  const lists = new Set<readonly string[]>()
  for (const place of places) {
    const isFull = found.size >= sourceIssues
    if (isFull && lists.has(place.names)) continue
    lists.add(place.names)
    for (const secret of place.names) {
      const key = `${secret} ${place.path}`
      if (found.has(key) || (isFull && secrets.has(secret))) continue
      found.set(key, { secret, issue: toIssue(serverSecretExposed(secret, place), lines) })
      secrets.add(secret)
    }
  }
  return [...found.values()]
}

function answerOf(source: string, { diagnostics, plan }: Compiled): ValidateAnswer {
  const issues = boundedIssues(source, diagnostics)
  const omitted = diagnostics.length > issues.length ? { issues_omitted: diagnostics.length - issues.length } : {}
  if (plan === undefined) return { valid: false, issues, ...omitted, plan: null, schemas: null }
  return { valid: true, issues, ...omitted, plan: planView(plan), schemas: schemasOf(plan) }
}

function planView(plan: Plan): NonNullable<ValidateAnswer["plan"]> {
  const nodes = prepare(plan).planned
  return { nodes, edges: nodes.flatMap((node) => node.depends_on.map((from) => ({ from, to: node.id }))) }
}

function schemasOf(plan: Plan): ValidateAnswer["schemas"] {
  return {
    input: toJsonSchema(plan.input, plan.types),
    secrets: toJsonSchema(plan.secrets, plan.types),
    output: toJsonSchema(plan.output, plan.types),
  }
}
