import type { JsonValue } from "../../src/base/json-value.ts"
import type { RecordType, TypeTable } from "../../src/types/types.ts"
import type { CallExpression, Entry, Expression, Root, Step } from "../../src/plan/expression.ts"
import type { AgentNode, ModelPlan, Plan, PlanNode, ProviderPlan, ToolPlan } from "../../src/plan/plan-shape.ts"
import { expressionsOf } from "../../src/plan/prepare.ts"
import { children } from "../../src/plan/expression-traits.ts"
import { record, string } from "./build-types.ts"

// Plans as short as a test can write them. A node's `depends_on` is found from its expressions.

export const lit = (value: JsonValue): Expression => ({ op: "literal", value })

export const text = (...parts: (string | Expression)[]): Expression => ({ op: "text", parts })

/** `input.a`, `agent.x.f`, `dynamic.d`, `secrets.s`, `local.l`, `variable.v`, then fields, `?.`, `[0]`, `.*.`, `#case`. */
export function ref(path: string): Expression {
  const [, head = "", name = ""] = /^(\w+)(?:\.(\w+))?/.exec(path) ?? []
  const named = head === "agent" || head === "dynamic" || head === "local" || head === "variable"
  const root = (named ? { kind: head, name } : { kind: head }) as Root
  const base: Expression = { op: "reference", root, text: named ? `${head}.${name}` : head }
  const rest = path.slice(named ? head.length + 1 + name.length : head.length)
  const steps = stepsOf(rest)
  return steps.length === 0 ? base : { op: "chain", base, steps, text: path }
}

export function stepsOf(path: string): Step[] {
  const steps: Step[] = []
  let rest = path
  while (rest !== "") {
    const optional = rest.startsWith("?")
    if (optional) rest = rest.slice(1)
    const found =
      /^\.(\*{1,3})\.(\w+)/.exec(rest) ?? /^\.(\w+)/.exec(rest) ?? /^\.?\[(-?\d+)\]/.exec(rest) ?? /^#(\w+)/.exec(rest)
    if (found === null) throw new Error(`Not a chain: ${rest}`)
    const [whole, one = "", two] = found
    if (two !== undefined) {
      const nulls = one === "*" ? "keep" : one === "**" ? "drop" : "refuse"
      steps.push({ step: "pluck", name: two, nulls, optional })
    } else if (whole.includes("[")) steps.push({ step: "index", index: Number(one), optional })
    else if (whole.startsWith("#")) steps.push({ step: "case", tag: "kind", name: one, optional })
    else steps.push({ step: "field", name: one, optional })
    rest = rest.slice(whole.length)
  }
  return steps
}

export const entries = (fields: Readonly<Record<string, Expression>>): Entry[] =>
  Object.entries(fields).map(([key, value]) => ({ key, value }))

export const object = (fields: Readonly<Record<string, Expression>>): Expression => ({
  op: "object",
  entries: entries(fields),
})

export function call(
  tool: string,
  input: Readonly<Record<string, Expression>>,
  more: Partial<CallExpression> = {},
): CallExpression {
  return {
    op: "call",
    tool,
    input: entries(input),
    bindings: [],
    max_calls: null,
    approval: null,
    site: `site.${tool}`,
    text: `call tool.${tool}`,
    ...more,
  }
}

export const loopOver = (items: Expression, ...fields: string[]): NonNullable<AgentNode["loop"]> => ({
  items,
  pattern:
    fields.length === 1
      ? { kind: "item", variable: fields[0] ?? "" }
      : { kind: "fields", fields: fields.map((field) => ({ field, variable: field })) },
})

type LooseAgent = Partial<Omit<AgentNode, "kind" | "id" | "name">>

export const agent = (name: string, more: LooseAgent = {}): AgentNode => ({
  id: `agent.${name}`,
  kind: "agent",
  name,
  depends_on: [],
  loop: null,
  when: null,
  concurrency: null,
  on_failure: "fail",
  models: [{ name: "m", inference: {} }],
  response_format: null,
  max_steps: 16,
  uses: [],
  context: null,
  locals: [],
  files: [],
  instruction: text(`Do ${name}.`),
  system: null,
  limits: null,
  requires: [],
  output: record({ message: string }),
  ...more,
})

export const dynamic = (name: string, value: Expression): PlanNode => ({
  id: `dynamic.${name}`,
  kind: "dynamic",
  name,
  depends_on: [],
  value,
})

export const output = (fields: Readonly<Record<string, Expression>>): PlanNode => ({
  id: "output",
  kind: "output",
  name: "output",
  depends_on: [],
  fields: entries(fields),
})

export const tool = (more: Partial<ToolPlan> = {}): ToolPlan => ({
  server: "s",
  remote: "remote",
  bindings: [],
  input: null,
  output: null,
  max_calls: null,
  description: null,
  idempotent: false,
  pin: null,
  ...more,
})

export const use = (
  kind: "tool" | "resource" | "prompt",
  name: string,
  more: Partial<AgentNode["uses"][number]> = {},
): AgentNode["uses"][number] => ({
  kind,
  name,
  site: `uses/use ${name}`,
  bindings: [],
  max_calls: null,
  approval: null,
  ...more,
})

interface LoosePlan extends Partial<Omit<Plan, "nodes" | "providers">> {
  readonly provider?: Partial<ProviderPlan>
  readonly model?: Partial<ModelPlan>
  readonly types?: TypeTable
  readonly input?: RecordType
}

export function plan(nodes: readonly PlanNode[], more: LoosePlan = {}): Plan {
  const { provider, model, ...rest } = more
  const tools = more.tools ?? {}
  return {
    types: {},
    input: record({}),
    secrets: record({}),
    output: record({}),
    providers: {
      p: {
        kind: "openai",
        api: "responses",
        endpoint: lit("demo"),
        api_key: null,
        headers: [],
        inference: {},
        ...provider,
      },
    },
    models: {
      m: {
        provider: "p",
        api: null,
        id: lit("demo"),
        inference: {},
        assets: [],
        response_format: null,
        system: null,
        price: null,
        ...model,
      },
    },
    servers: Object.keys(tools).length === 0 ? {} : { s: { endpoint: lit("http://127.0.0.1:1/mcp"), headers: [] } },
    tools: {},
    resources: {},
    prompts: {},
    limits: null,
    ...rest,
    nodes: nodes.map((node) => ({ ...node, depends_on: dependsOn(node, nodes) })),
  }
}

function dependsOn(node: PlanNode, nodes: readonly PlanNode[]): string[] {
  const found = new Set<string>()
  const visit = (expression: Expression | null): void => {
    if (expression === null) return
    if (expression.op === "reference") {
      const { root } = expression
      if (root.kind === "agent" || root.kind === "ask" || root.kind === "wait" || root.kind === "dynamic")
        found.add(`${root.kind}.${root.name}`)
    }
    for (const child of children(expression)) visit(child)
  }
  if (node.kind === "dynamic") visit(node.value)
  else if (node.kind === "output") for (const { value } of node.fields) visit(value)
  else if (node.kind === "ask") {
    const { loop, when, question, show, to, on_expiry } = node
    for (const part of [loop?.items, when?.condition, question, show, to, on_expiry]) visit(part ?? null)
  } else if (node.kind === "wait") for (const part of expressionsOf(node)) visit(part)
  else {
    visit(node.loop?.items ?? null)
    for (const { value } of node.locals) visit(value)
    visit(node.instruction)
    for (const file of node.files) for (const part of [file.name, file.content, file.media_type]) visit(part)
    for (const { bindings } of node.uses) for (const { value } of bindings) visit(value)
    visit(node.context?.compact?.instruction ?? null)
    if (node.context !== null) found.add(`agent.${node.context.agent}`)
  }
  return nodes.map(({ id }) => id).filter((id) => found.has(id))
}
