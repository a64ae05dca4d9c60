import { compile } from "../../src/compile.ts"
import type { AgentNode, AskNode, Plan, PlanNode, WaitNode } from "../../src/plan/plan-shape.ts"
import type { ApprovalPlan, Entry, Expression, MatchBranch, Step } from "../../src/plan/expression.ts"
import { isError } from "../../src/source/diagnostic.ts"
import { LineMap } from "../../src/source/line-map.ts"
import { showType } from "../../src/types/show-type.ts"
import { sampleModules } from "../support/sample-modules.ts"
import { prettyJson } from "./pretty-json.ts"
import { renderDiagnostics } from "./render-diagnostics.ts"

/**
 * The nodes of the plan in their order, each with what it waits for and its lowered expressions; then the rest of the
 * plan, without the types. A workflow with errors has its errors instead.
 */
export function render(source: string): string {
  const { diagnostics, plan } = compile(source, { modules: sampleModules })
  const errors = diagnostics.filter(isError)
  if (plan === undefined) return renderDiagnostics(errors, new LineMap(source))
  const called = Object.values(plan.workflows ?? {}).map(({ name, file, description, secrets }) => {
    return `workflow ${name} ${file} ${JSON.stringify({ description, secrets })}`
  })
  return [...plan.nodes.map(renderNode), ...renderConnections(plan), ...called].join("\n\n")
}

function renderNode(node: PlanNode): string {
  const waits = node.depends_on.length === 0 ? "" : ` after ${node.depends_on.join(", ")}`
  return [`${node.id}${waits}`, ...partsOf(node).map((line) => `  ${line}`)].join("\n")
}

function partsOf(node: PlanNode): string[] {
  if (node.kind === "dynamic") return [show(node.value)]
  if (node.kind === "output") return node.fields.map(({ key, value }) => `${key}: ${show(value)}`)
  if (node.kind === "wait") return waitParts(node)
  return node.kind === "ask" ? askParts(node) : agentParts(node)
}

/** The loop and the condition. */
function headParts({ loop, when, concurrency }: Pick<AskNode, "loop" | "when" | "concurrency">): string[] {
  const parts: string[] = []
  if (loop !== null) {
    const variables =
      loop.pattern.kind === "item"
        ? loop.pattern.variable
        : `{ ${loop.pattern.fields.map(({ field, variable }) => `${field}: ${variable}`).join(", ")} }`
    parts.push(`for ${variables} in ${show(loop.items)}${concurrency === null ? "" : `, ${concurrency} at a time`}`)
  }
  if (when !== null) parts.push(`when ${show(when.condition)}, written ${JSON.stringify(when.text)}`)
  return parts
}

function waitParts(node: WaitNode): string[] {
  const { awaits } = node
  const head = headParts({ ...node, concurrency: null })
  if (awaits.kind === "seconds") return [...head, `seconds: ${show(awaits.seconds)}`]
  if (awaits.kind === "until") return [...head, `until: ${show(awaits.until)}`]
  const { event, key, expires_seconds, on_expiry } = awaits
  return [
    ...head,
    `event: ${JSON.stringify(event)}`,
    ...(key === null ? [] : [`key: ${show(key)}`]),
    `expires_seconds: ${show(expires_seconds)}`,
    ...(on_expiry === null ? [] : [`on_expiry: ${show(on_expiry)}`]),
  ]
}

function askParts(node: AskNode): string[] {
  const optional = (["show", "prefill", "to", "on_expiry"] as const).flatMap((name) => {
    const expression = node[name]
    return expression === null ? [] : [`${name}: ${show(expression)}`]
  })
  return [
    ...headParts(node),
    `question: ${show(node.question)}`,
    ...optional,
    `expires_seconds: ${show(node.expires_seconds)}`,
    `output: ${showType(node.output, 200)}`,
    ...requirementParts(node),
  ]
}

function requirementParts({ requires }: AgentNode | AskNode): string[] {
  return requires.map(({ condition, message, text, captures }) => {
    const said = message === null ? "" : ` else ${show(message)}`
    return `require ${show(condition)}${said}, written ${JSON.stringify(text)}, captures [${captures.map(show).join(" ")}]`
  })
}

function agentParts(node: AgentNode): string[] {
  const parts = headParts(node)
  const { context } = node
  const format = node.response_format === null ? "" : `, response_format ${node.response_format}`
  const skips = node.on_failure === "skip" ? ", on_failure skip" : ""
  parts.push(`model ${models(node.models)}, max_steps ${node.max_steps}${format}${skips}`)
  for (const { kind, name, bindings, max_calls, approval } of node.uses) {
    const most = max_calls === null ? "" : `, max_calls ${max_calls}`
    parts.push(`uses ${kind} ${name} ${entries(bindings)}${most}${showApproval(approval)}`)
  }
  for (const { workflow, bindings, max_calls, approval, description } of node.workflows ?? []) {
    const most = max_calls === null ? "" : `, max_calls ${max_calls}`
    const about = description === null ? "" : ` ${JSON.stringify(description)}`
    parts.push(`uses workflow ${workflow} ${entries(bindings)}${most}${showApproval(approval)}${about}`)
  }
  if (context !== null) {
    const { compact } = context
    const how =
      compact === null
        ? ""
        : ` compacted by ${models(compact.models)}: ${compact.instruction === null ? "-" : show(compact.instruction)}`
    parts.push(`context ${context.agent}${how}`)
  }
  for (const { key, value } of node.locals) parts.push(`local ${key}: ${show(value)}`)
  for (const { name, stem, content, media_type } of node.files) {
    parts.push(
      `file ${name === null ? `called ${stem ?? "?"}` : show(name)}: ${show(content)}${media_type === null ? "" : ` as ${show(media_type)}`}`,
    )
  }
  if (node.limits !== null) parts.push(`limits ${prettyJson({ ...node.limits })}`)
  if (node.system !== null) parts.push(`system: ${show(node.system)}`)
  if (node.messages !== undefined) parts.push(`messages: ${show(node.messages)}`)
  if (node.repeat !== undefined) {
    parts.push(`repeat until ${show(node.repeat.until)}, at most ${node.repeat.at_most}`)
  }
  parts.push(`instruction: ${show(node.instruction)}`, `output: ${showType(node.output, 200)}`)
  parts.push(...requirementParts(node))
  return parts
}

function models(uses: AgentNode["models"]): string {
  return uses.map(({ name, inference }) => `${name} ${prettyJson(inference)}`).join(", then ")
}

function renderConnections(plan: Plan): string[] {
  const { providers, models, servers, tools, resources, prompts } = plan
  const tables = { providers, models, servers, tools, resources, prompts, limits: plan.limits ?? {} }
  return Object.entries(tables).flatMap(([name, table]) =>
    Object.keys(table).length === 0 ? [] : [`${name} ${prettyJson(shown(table))}`],
  )
}

/** Expressions and types inside of a piece of the plan as text; what is empty is left out. */
function shown(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(shown)
  if ("op" in value) return show(value as Expression)
  if ("kind" in value && "fields" in value) return showType(value as never, 200)
  return Object.fromEntries(Object.entries(value).flatMap(([key, part]) => (isBare(part) ? [] : [[key, shown(part)]])))
}

/** What a declaration leaves out. */
function isBare(value: unknown): boolean {
  if (typeof value !== "object") return value === false
  return value === null || Object.keys(value).length === 0
}

// ---------------------------------------------------------------------------------------------------- expressions

/** A lowered expression as text: `(default (input .a?) "x")`. */
function show(expression: Expression): string {
  switch (expression.op) {
    case "literal":
      return JSON.stringify(expression.value)
    case "text":
      return `(text ${expression.parts.map((part) => (typeof part === "string" ? JSON.stringify(part) : show(part))).join(" ")})`
    case "array":
      return `[${expression.items.map(show).join(" ")}]`
    case "failure":
      return `(failure ${show(expression.of)}${expression.site === null ? "" : ` ${JSON.stringify(expression.site)}`})`
    case "list": {
      const { loop, when, by, value } = expression
      const { pattern } = loop
      const variables =
        pattern.kind === "item"
          ? pattern.variable
          : pattern.fields.map((one) => `${one.field}→${one.variable}`).join(" ")
      const condition = when === null ? "" : ` when ${show(when)}`
      const key = by === null ? "" : ` by ${show(by.key)}${by.descending ? " descending" : ""}`
      return `(list ${show(value)} for ${variables} in ${show(loop.items)}${condition}${key})`
    }
    case "object":
      return entries(expression.entries)
    case "reference": {
      const { root } = expression
      if (root.kind === "captured") return `captured:${root.index}`
      return "name" in root ? `${root.kind}:${root.name}` : root.kind
    }
    case "chain":
      return `(${show(expression.base)} ${expression.steps.map(showStep).join(" ")})`
    case "default":
      return `(default ${show(expression.left)} ${show(expression.right)})`
    case "binary":
    case "arithmetic":
      return `(${expression.operator} ${show(expression.left)} ${show(expression.right)})`
    case "function":
      return `(${expression.name} ${expression.items.map(show).join(" ")})`
    case "own-function":
      return `(function ${expression.name} ${expression.items.map(show).join(" ")})`
    case "negate":
      return `(- ${show(expression.value)})`
    case "not":
      return `(! ${show(expression.value)})`
    case "match": {
      const { tag } = expression
      const branches = expression.branches.map(({ takes, value }) => `${showTaken(takes)} → ${show(value)}`)
      return `(match ${show(expression.value)}${tag === null ? "" : ` by ${tag}`}: ${branches.join("; ")})`
    }
    case "call": {
      const { tool, input, bindings, max_calls, approval, site } = expression
      const most = `max ${String(max_calls)}${showApproval(approval)}`
      return `(call ${tool} input ${entries(input)} bindings ${entries(bindings)} ${most} at ${site})`
    }
    case "call-workflow": {
      const { workflow, input, approval, site, skips, repeat } = expression
      const more = `${showApproval(approval)}${skips === true ? " skips" : ""} at ${site}`
      if (repeat === undefined) return `(call workflow ${workflow} input ${entries(input)}${more})`
      const { until, next, at_most } = repeat
      const rounds = `until ${show(until)} next ${entries(next)} at most ${at_most}`
      return `(repeat workflow ${workflow} input ${entries(input)} ${rounds}${more})`
    }
    case "read":
      return `(read ${expression.resource} ${entries(expression.bindings)})`
    case "render":
      return `(render ${expression.prompt} ${entries(expression.bindings)})`
    case "asset": {
      const { type, value, media_type, title, context, citations } = expression
      const optional = [media_type, title].map((part) => (part === null ? "-" : show(part)))
      const options = Object.entries({ context, citations })
      const more = options.map(([name, part]) => (part === null ? "" : ` ${name} ${show(part)}`))
      return `(asset ${type ?? "?"} ${show(value)} ${optional.join(" ")}${more.join("")})`
    }
  }
}

function showApproval(approval: ApprovalPlan | null): string {
  if (approval === null) return ""
  const { question, show: shown, to, expires_seconds } = approval
  const words = [question, shown].map((one) => (one === undefined ? "" : ` ${show(one)}`)).join("")
  return `, approved by ${to === null ? "the caller" : show(to)} in ${expires_seconds} s${words}`
}

function showTaken(takes: MatchBranch["takes"]): string {
  if (takes.kind === "rest") return "_"
  return JSON.stringify(takes.kind === "case" ? takes.name : takes.value)
}

function showStep(step: Step): string {
  const mark = step.optional ? "?" : ""
  switch (step.step) {
    case "field":
      return `${mark}.${step.name}`
    case "index":
      return `${mark}[${step.index}]`
    case "pluck":
      return `${mark}.${{ keep: "*", drop: "**", refuse: "***" }[step.nulls]}.${step.name}`
    case "case":
      return `#${step.name} by ${String(step.tag)}`
  }
}

function entries(some: readonly Entry[]): string {
  return some.length === 0 ? "{}" : `{ ${some.map(({ key, value }) => `${key}: ${show(value)}`).join(", ")} }`
}
