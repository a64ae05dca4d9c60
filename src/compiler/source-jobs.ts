import type { ValidateAnswer, ValidateIssue } from "../api/shapes.ts"
import type { JsonObject } from "../base/json-value.ts"
import { exposedSecrets } from "../check/exposed-secrets.ts"
import { serverSecretExposed } from "../check/rules/secret-exposed.ts"
import type { Compiled } from "../compile.ts"
import { compile } from "../compile.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { mayWait } from "../plan/may-wait.ts"
import { prepare } from "../plan/prepare.ts"
import type { WireError } from "../ports/events.ts"
import { secretsOverLimits } from "../run/secrets/secret-limits.ts"
import type { Issue } from "../source/diagnostic.ts"
import { isError, toIssue } from "../source/diagnostic.ts"
import { LineMap } from "../source/line-map.ts"
import { formatText } from "../syntax/format.ts"
import { toJsonSchema } from "../types/json-schema.ts"
import { validateValue } from "../types/validate-value.ts"
import { boundedIssues, mostIssues } from "./bounded-issues.ts"
import { sourceError } from "./source-error.ts"

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
}

export type Planned = { readonly plan: Plan } | { readonly error: WireError }

export type Formatted = { readonly formatted: string; readonly changed: boolean } | { readonly error: WireError }

export function planSource(source: string): Planned {
  const { plan, diagnostics } = compile(source)
  return plan === undefined ? { error: sourceError(source, diagnostics) } : { plan }
}

export function formatSource(source: string): Formatted {
  const outcome = formatText(source)
  return "diagnostics" in outcome ? { error: sourceError(source, outcome.diagnostics) } : outcome
}

export function validateSource({ source, input, secrets }: ValidateJob): ValidateAnswer {
  const { program, diagnostics, plan } = compile(source)
  const issues: ValidateIssue[] = boundedIssues(source, diagnostics)
  let found = diagnostics.length
  const report = (path: string, message: string, hint?: string): void => {
    found++
    if (issues.length >= mostIssues) return
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
  return { valid, issues, ...omitted, plan: planView(plan), schemas: schemasOf(plan) }
}

/** All that a list of workflows shows of one, and what serving it needs to know. */
export interface Described extends ValidateAnswer {
  /** Neither a step nor an output, and nothing that could not be read: declarations alone. */
  readonly empty: boolean
  /** It may wait for people. */
  readonly waits: boolean
  /** Secrets that only a request may give, each with the issue of a server that has one. */
  readonly exposed: readonly { readonly secret: string; readonly issue: Issue }[]
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
    exposed:
      plan === undefined
        ? []
        : exposedSecrets(program).map((found) => ({
            secret: found.secret,
            issue: toIssue(serverSecretExposed(found), lines),
          })),
  }
}

function answerOf(source: string, { diagnostics, plan }: Compiled): ValidateAnswer {
  const issues = boundedIssues(source, diagnostics)
  const omitted = diagnostics.length > issues.length ? { issues_omitted: diagnostics.length - issues.length } : {}
  if (plan === undefined) return { valid: false, issues, ...omitted, plan: null, schemas: null }
  return { valid: true, issues, ...omitted, plan: planView(plan), schemas: schemasOf(plan) }
}

function planView(plan: Plan): ValidateAnswer["plan"] {
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
