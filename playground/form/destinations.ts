import type { JsonObject, JsonValue } from "../../src/base/json-value.ts"
import type { Entry, Expression } from "../../src/plan/expression.ts"
import { children } from "../../src/plan/expression-traits.ts"
import type { Plan } from "../../src/plan/plan-shape.ts"
import { prepare } from "../../src/plan/prepare.ts"

/** A host that a workflow would call, and the secrets that it would receive. */
export interface Destination {
  /** `api.openai.com`, or words where it is not an address. */
  readonly host: string
  /** Whether `host` is a host, and not words for one that only the run knows: another workflow's may be quite another. */
  readonly isKnown: boolean
  /** What in the workflow calls it: `provider.llm`. */
  readonly callers: readonly string[]
  /** Names of secrets. */
  readonly secrets: readonly string[]
}

/** Stands for a secret within an address whose other parts are known. */
const hidden = "\u0000"

/** A plan, as far as it is known what its run is given. */
interface Level {
  readonly plan: Plan
  /** Null in a called file, whose input the run makes. */
  readonly input: JsonObject | null
  /** The name that one of its secrets has in the workflow itself; null for one that it is not given. */
  readonly secret: (name: string) => string | null
  /** Stands before the names of its declarations: `flows/triage.wire#`. */
  readonly prefix: string
}

type Found = Map<string, { isKnown: boolean; callers: string[]; secrets: Set<string> }>

/** Every host that a run with this input would call, in the order of the declarations; those of called files come after. */
export function destinationsOf(plan: Plan, input: JsonObject): Destination[] {
  const found: Found = new Map()
  // A file may be called with different secrets. Files cannot lead back to themselves.
  const levels: Level[] = [{ plan, input, secret: (name) => name, prefix: "" }]
  const seen = new Set<string>()
  for (const level of levels) {
    addHosts(level, found)
    for (const called of Object.values(level.plan.workflows ?? {})) {
      const secret = (name: string): string | null => {
        const bound = called.secrets[name] ?? null
        return bound === null ? null : level.secret(bound)
      }
      const bindings = called.plan.secrets.fields.map(({ name }) => [name, secret(name)])
      const key = JSON.stringify([called.file, bindings])
      if (seen.has(key)) continue
      seen.add(key)
      levels.push({ plan: called.plan, input: null, secret, prefix: `${called.file}#` })
    }
  }
  return [...found].map(([host, { secrets, ...rest }]) => ({ host, ...rest, secrets: [...secrets].sort() }))
}

function addHosts(level: Level, found: Found): void {
  const { plan, prefix } = level
  const add = ({ host, isKnown }: Host, caller: string, expressions: readonly (Expression | null)[]): void => {
    const known = found.get(host) ?? { isKnown, callers: [], secrets: new Set<string>() }
    found.set(host, known)
    known.callers.push(`${prefix}${caller}`)
    for (const expression of expressions) if (expression !== null) addSecrets(expression, level, known.secrets)
  }
  for (const name of usedProviders(plan)) {
    const provider = plan.providers[name]
    if (provider === undefined) continue
    const { endpoint, api_key, headers } = provider
    add(hostOf(endpoint, level), `provider.${name}`, [endpoint, api_key, ...valuesOf(headers)])
  }
  const servers = [
    ...Object.entries(plan.servers).map((entry) => ["mcp", ...entry] as const),
    ...Object.entries(plan.apis ?? {}).map((entry) => ["api", ...entry] as const),
  ]
  for (const [kind, name, { endpoint, headers }] of servers) {
    const tools = Object.entries(plan.tools).filter(([, { http }]) => (http === undefined) === (kind === "mcp"))
    const others = kind === "mcp" ? [plan.resources, plan.prompts].flatMap((table) => Object.entries(table)) : []
    const imports = [...tools, ...others].filter(([, one]) => one.server === name)
    if (imports.length === 0) continue
    const names = new Set(imports.map(([imported]) => imported))
    const bindings = [...imports.flatMap(([, one]) => one.bindings), ...bindingsOf(plan, names)]
    add(hostOf(endpoint, level), `${kind}.${name}`, [endpoint, ...valuesOf(headers), ...valuesOf(bindings)])
  }
}

function usedProviders(plan: Plan): Set<string> {
  const models = plan.nodes.flatMap((node) =>
    node.kind === "agent" ? [...node.models, ...(node.context?.compact?.models ?? [])] : [],
  )
  return new Set(models.flatMap(({ name }) => plan.models[name]?.provider ?? []))
}

/** What agents and calls bind on top of what the import binds. */
function bindingsOf(plan: Plan, names: ReadonlySet<string>): Entry[] {
  const uses = plan.nodes.flatMap((node) => (node.kind === "agent" ? node.uses : []))
  const found = uses.filter(({ name }) => names.has(name)).flatMap(({ bindings }) => bindings)
  for (const effect of prepare(plan).effects) {
    if (effect.op === "call" && names.has(effect.tool)) found.push(...effect.bindings)
    if (effect.op === "read" && names.has(effect.resource)) found.push(...effect.bindings)
  }
  return found
}

function valuesOf(entries: readonly Entry[]): Expression[] {
  return entries.map(({ value }) => value)
}

/** Adds the secrets whose fields an expression reads; all of them where it passes `secrets` on as a whole. */
function addSecrets(expression: Expression, level: Level, names: Set<string>): void {
  const take = (name: string): void => {
    const own = level.secret(name)
    if (own !== null) names.add(own)
  }
  if (isSecrets(expression)) {
    for (const { name } of level.plan.secrets.fields) take(name)
    return
  }
  if (expression.op === "chain" && isSecrets(expression.base)) {
    const [step] = expression.steps
    if (step?.step === "field") {
      take(step.name)
      return
    }
  }
  for (const part of children(expression)) addSecrets(part, level, names)
}

function isSecrets(expression: Expression): boolean {
  return expression.op === "reference" && expression.root.kind === "secrets"
}

type Host = Pick<Destination, "host" | "isKnown">

function hostOf(endpoint: Expression, level: Level): Host {
  const { input } = level
  const unknown = (host: string): Host => ({ host, isKnown: false })
  if (endpoint.op === "default" && evaluate(endpoint.left, input)?.includes(hidden) === true) {
    return unknown(`${hostOf(endpoint.left, level).host}, else ${hostOf(endpoint.right, level).host}`)
  }
  const address = evaluate(endpoint, input)
  if (address === "demo") return { host: "the demo model of this service", isKnown: true }
  if (address === undefined || address.startsWith(hidden)) {
    const names = new Set<string>()
    addSecrets(endpoint, level, names)
    if (names.size === 0) return unknown("an address made at run time")
    return unknown(`the address in ${[...names].map(secretName).join(", ")}`)
  }
  // A secret may contain anything: before the first slash it decides on the host.
  const authority = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(address)?.[1]
  if (authority === undefined) return unknown(address.replaceAll(hidden, "…"))
  const [host, other] = ["x", "y"].map((text) => URL.parse(address.replaceAll(hidden, text))?.host)
  if (authority.includes(hidden) || host !== other) return unknown("a host that a secret decides")
  return host === undefined ? unknown(authority) : { host, isKnown: true }
}

function secretName(name: string): string {
  return `secrets.${name}`
}

/** A text made of literals, input and secrets; undefined where more than that is needed to know it. */
function evaluate(expression: Expression, input: JsonObject | null): string | undefined {
  switch (expression.op) {
    case "literal":
      return typeof expression.value === "string" ? expression.value : JSON.stringify(expression.value)
    case "text": {
      const parts = expression.parts.map((part) => (typeof part === "string" ? part : evaluate(part, input)))
      return parts.includes(undefined) ? undefined : parts.join("")
    }
    case "chain": {
      if (expression.base.op !== "reference") return undefined
      if (expression.base.root.kind === "secrets") return hidden
      if (expression.base.root.kind !== "input" || input === null) return undefined
      let value: JsonValue | undefined = input
      for (const step of expression.steps) {
        const key = step.step === "field" ? step.name : step.step === "index" ? step.index : undefined
        if (key === undefined || typeof value !== "object" || value === null) return undefined
        value = Object.hasOwn(value, key) ? (value as Record<string | number, JsonValue>)[key] : undefined
      }
      return typeof value === "string" ? value : undefined
    }
    case "default":
      if (input === null && readsInput(expression.left)) return undefined
      return evaluate(expression.left, input) ?? evaluate(expression.right, input)
    default:
      return undefined
  }
}

function readsInput(expression: Expression): boolean {
  if (expression.op === "reference") return expression.root.kind === "input"
  return [...children(expression)].some(readsInput)
}
