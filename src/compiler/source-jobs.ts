import { hash } from "node:crypto"
import { compiledBeside } from "../diff/check-candidate.ts"
import { planRelease, type ReleasePlan } from "../plan/plan-release.ts"
import { isLibrary } from "../check/declare.ts"
import { openAgents, reachOf } from "../trust/reach.ts"
import type { ValidateIssue } from "../api/issue.ts"
import type { ValidateAnswer } from "../api/source.ts"
import type { JsonObject } from "../base/json-value.ts"
import { serverSecretExposed } from "../check/rules/secret-exposed.ts"
import { secretRoutes } from "../check/secret-routes.ts"
import { compile, Files, type CodeRules, type Compiled } from "../compile.ts"
import type { CheckedCode, CodeFiles } from "../source/code-files.ts"
import type { WorkflowDiff } from "../diff/diff-shape.ts"
import { diffWorkflows } from "../diff/diff-workflows.ts"
import { comparePlans, type NodeChange } from "../plan/compare-plans.ts"
import { workflowsOf } from "../plan/workflows-of.ts"
import type { Plan, PlannedGraph, PlannedNode, PlannedWorkflow } from "../plan/plan-shape.ts"
import { mayWait } from "../plan/may-wait.ts"
import { planTriggers, secretsOfRuns, type TriggerPlan } from "../plan/plan-triggers.ts"
import { prepare } from "../plan/prepare.ts"
import type { WireError, ErrorIssue } from "../log/events.ts"
import type { RunState } from "../log/run-state.ts"
import type { TextRange } from "../origins/shared-words.ts"
import { inputOf, unfulfilled } from "../run/values/input-of.ts"
import { secretsOverLimits } from "../ports/secret-limits.ts"
import { isError, toIssue, type Issue, type Diagnostic } from "../source/diagnostic.ts"
import { LineMap } from "../source/line-map.ts"
import type { SourceText } from "../source/source-files.ts"
import { formatText } from "../syntax/format.ts"
import { toJsonSchema } from "../types/json-schema.ts"
import { validateValue } from "../types/validate-value.ts"
import { boundedIssues } from "./bounded-issues.ts"
import { versionOf } from "./version-of.ts"
import { sourceFormattedLength, sourceIssues } from "../base/limits.ts"

/** What can be asked of a source without running it. */
export type SourceJob =
  | ({ readonly kind: "plan" } & SourceToCompile)
  | { readonly kind: "format"; readonly source: string }
  | ({ readonly kind: "describe" } & SourceToDescribe)
  | ({ readonly kind: "code" } & SourceText)
  | ValidateJob
  | OriginsJob

export interface SourceToCompile extends SourceText {
  /** Workflows that a run may call, nested ones included. */
  readonly maxCalled?: number
  /** Set where the source may have code: what is known of its code files, by their paths. */
  readonly code?: Readonly<Record<string, CheckedCode>> | undefined
}

export interface SourceToDescribe extends SourceToCompile {
  /** Of a candidate: the current file, or null where there is none. Absent for all others. */
  readonly current?: SourceText | null | undefined
}

export function sha256(text: string): string {
  return hash("sha256", text)
}

export function rulesOf({ code }: SourceToCompile): CodeRules {
  if (code === undefined) return { allowed: false }
  return { allowed: true, checked: ({ entry }) => (Object.hasOwn(code, entry) ? code[entry] : undefined) }
}

/** The code files of a source, each with all that it may import. */
export function codeOf(text: SourceText): readonly CodeFiles[] {
  const { source, file = "main.wire", modules = {} } = text
  const read = (path: string): string | undefined =>
    path === file ? source : Object.hasOwn(modules, path) ? modules[path] : undefined
  return new Files({ read, near: () => [] }).codeOf(file)
}

export interface EarlierSource extends SourceText {
  readonly input: JsonObject
  /** A re-run would have the same `run.date`. */
  readonly sameDay: boolean
}

export interface ValidateJob extends SourceToCompile {
  readonly kind: "validate"
  readonly input?: JsonObject | null | undefined
  readonly secrets?: JsonObject | null | undefined
  /** An earlier run: the answer says of each node whether it changed since. */
  readonly earlier?: EarlierSource | undefined
  /** Whether to say what the workflow can reach. */
  readonly reach?: boolean | undefined
  /** An older version: the answer says what the change means. */
  readonly compareWith?: SourceText | undefined
}

/** A run that is followed backwards from a part of its output. */
export interface OriginsJob extends SourceToCompile {
  readonly kind: "origins"
  readonly input: JsonObject
  readonly state: RunState
  readonly path: string
  readonly part: Partial<TextRange>
}

export type Planned = { readonly plan: Plan } | { readonly error: WireError }

export type Formatted = { readonly formatted: string; readonly changed: boolean } | { readonly error: WireError }

export function planSource(text: SourceToCompile): Planned {
  const { source } = text
  const { plan, diagnostics } = compile(source, text, versionOf, text.maxCalled, rulesOf(text))
  return plan === undefined ? { error: sourceError(source, diagnostics) } : { plan }
}

export function formatSource(source: string): Formatted {
  const outcome = formatText(source)
  if ("diagnostics" in outcome) return { error: sourceError(source, outcome.diagnostics) }
  if (outcome.formatted.length <= sourceFormattedLength) return outcome
  const message = `Formatted, the source would have ${outcome.formatted.length} characters, and ${sourceFormattedLength} are allowed: nest less`
  return { error: { kind: "limit_exceeded", message, issues: [] } }
}

export function validateSource(job: ValidateJob): ValidateAnswer {
  const { source, input, secrets, earlier, reach, compareWith } = job
  const { program, diagnostics, plan } = compile(source, job, undefined, job.maxCalled, rulesOf(job))
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
    { name: "secrets", value: secrets, type: secretsOfRuns(program), values: "hidden" },
  ] as const
  for (const { name, value, type, values } of given) {
    if (value === undefined || value === null) continue
    const known = type ?? { kind: "record", fields: [] }
    const whole = name === "input" ? inputOf({ input: known, types: program.types }, value) : value
    const misfits = validateValue(whole, known, program.types, name, { values })
    for (const { path, message, hint } of misfits) report(path, message, hint)
    if (name !== "input" || misfits.length > 0 || plan === undefined) continue
    for (const { path, message } of unfulfilled(plan, whole)) report(path, message)
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
  const reached = reach === true ? { reach: reachOf(program, sha256) } : {}
  const differs = compareWith === undefined ? {} : { diff: diffSince({ ...compareWith, code: job.code }, program) }
  return { valid, issues, ...omitted, plan: { ...view, nodes }, ...reached, ...differs, schemas: schemasOf(plan) }
}

/** Null where the earlier source cannot be compared: an older release took it, and today it is refused. Then all is new. */
function changesSince(earlier: EarlierSource, plan: Plan, input: JsonObject): Map<string, NodeChange> | null {
  // Nothing is loaded: the texts of code are compared.
  const before = compile(earlier.source, earlier).plan
  return before === undefined
    ? null
    : comparePlans(before, plan, { before: earlier.input, after: input }, earlier.sameDay)
}

/** Null where the older version has errors. */
function diffSince(older: SourceToCompile, program: Compiled["program"]): WorkflowDiff | null {
  const before = compile(older.source, older, undefined, undefined, { allowed: older.code !== undefined })
  return before.plan === undefined ? null : diffWorkflows(before.program, program)
}

/** All that a list of workflows shows of one, and what serving it needs to know. */
export interface Described extends ValidateAnswer {
  /** Neither a step nor an output, and nothing that could not be read: declarations alone. */
  readonly empty: boolean
  /** It may wait for people. */
  readonly waits: boolean
  /** Its agents that read what strangers wrote and may act on the world, with nothing between. */
  readonly open: readonly string[]
  /** `limits { time_seconds }` of the file; null without it. */
  readonly timeSeconds: number | null
  /** It has a `chat` block. */
  readonly chats: boolean
  /** Secrets that only a request may give, each with the issue of a server that has one. */
  readonly exposed: readonly { readonly secret: string; readonly issue: Issue }[]
  /** What starts its runs without a caller. */
  readonly triggers: readonly TriggerPlan[]
  /** The backends whose address or headers a request may decide, with the secrets that they get. */
  readonly routes: NonNullable<Plan["secret_routes"]>
  /** Of a candidate; null for all others, and for one without a `release` block. */
  readonly release: ReleasePlan | null
}

export function describeSource(text: SourceToDescribe): Described {
  const { source } = text
  const compiled = asCandidate(text, compile(source, text, undefined, text.maxCalled, rulesOf(text)))
  const { program, diagnostics, plan } = compiled
  const syntax = diagnostics.some(({ code }) => code === "syntax-error")
  const lines = new LineMap(source)
  return {
    ...answerOf(source, compiled),
    empty: isLibrary(program.tree) && !syntax,
    waits: plan !== undefined && mayWait(plan),
    open: plan === undefined ? [] : openAgents(program),
    timeSeconds: plan?.limits?.time_seconds ?? null,
    chats: plan?.chat !== undefined,
    exposed: plan === undefined ? [] : exposedIssues(program, lines),
    triggers: plan === undefined ? [] : planTriggers(program),
    routes: plan?.secret_routes ?? [],
    release: plan === undefined ? null : planRelease(program),
  }
}

/** A candidate that breaks the contract of the current file has no plan. */
function asCandidate({ current, code }: SourceToDescribe, compiled: Compiled): Compiled {
  if (current === undefined) return compiled
  const allowed = code !== undefined
  const before = current === null ? undefined : compile(current.source, current, undefined, undefined, { allowed })
  return compiledBeside(compiled, before)
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

/** Nodes of called files that an answer shows: files that call many, which call many, could fill it. */
const maxShown = 10_000

function planView(plan: Plan, shown = { left: maxShown }): PlannedGraph {
  const nodes = plan.nodes.map((node, index): PlannedNode => {
    const { id, kind, name, depends_on } = node
    const own = prepare(plan).planned[index] ?? { id, kind, name, depends_on }
    const called = workflowsOf(node).flatMap((one) => plan.workflows?.[one] ?? [])
    const [first, ...others] = called.map((one): PlannedWorkflow => {
      shown.left -= one.plan.nodes.length
      return { name: one.name, file: one.file, plan: shown.left < 0 ? noNodes : planView(one.plan, shown) }
    })
    if (first === undefined) return own
    return { ...own, workflow: first, ...(others.length === 0 ? {} : { workflows: [first, ...others] }) }
  })
  return { nodes, edges: nodes.flatMap((node) => node.depends_on.map((from) => ({ from, to: node.id }))) }
}

const noNodes: PlannedGraph = { nodes: [], edges: [] }

function schemasOf(plan: Plan): ValidateAnswer["schemas"] {
  return {
    input: toJsonSchema(plan.input, plan.types, "answer"),
    secrets: toJsonSchema(plan.secrets, plan.types),
    output: toJsonSchema(plan.output, plan.types),
  }
}

/** A source's errors as the body of a refusal. Warnings stay out of it. */
export function sourceError(text: string, diagnostics: readonly Diagnostic[]): WireError {
  const errors = diagnostics.filter(isError)
  const issues = boundedIssues(text, errors).map((issue): ErrorIssue => {
    const { path, message, code, hint, file, range } = issue
    return {
      path,
      message,
      code,
      ...(hint !== undefined && { hint }),
      ...(file !== undefined && { file }),
      range: { start: { ...range.start }, end: { ...range.end } },
    }
  })
  const [first] = issues
  if (first === undefined) throw new Error("There is no error to report")
  const more = errors.length - 1
  const message = more > 0 ? `${first.message} (and ${more} more)` : first.message
  return { kind: "validation_error", message, issues }
}
