import type { JsonObject, JsonValue } from "../base/json-value.ts"
import type { Entry } from "../plan/expression.ts"
import type { Plan } from "../plan/plan-shape.ts"
import { prepare } from "../plan/prepare.ts"
import { RunFailure } from "../ports/run-failure.ts"
import type { HostedTool, HostRequest, HostSession, HostWatch, Imported, ToolHost } from "../ports/tools.ts"
import type { GivenOne, GivenValue } from "./given-results.ts"

/** What a test gives to tools, resources and prompts, by `tool.name`. */
export type GivenValues = ReadonlyMap<string, GivenValue>

/** The results that calls have been given, by their ids. */
export type GivenCalls = ReadonlyMap<string, GivenOne>

/**
 * Tools that answer what a test gives. Servers are opened for the rest: an import that is given, or that only agents with
 * given results use, needs no server.
 */
export class GivenTools implements ToolHost {
  readonly #host: ToolHost
  readonly #given: GivenValues
  readonly #needed: ReadonlySet<string>
  readonly #bound: BoundNames
  readonly #calls: GivenCalls

  constructor(host: ToolHost, plan: Plan, given: GivenValues, givenSteps: ReadonlySet<string>, calls: GivenCalls) {
    this.#host = host
    this.#given = given
    this.#calls = calls
    this.#needed = neededImports(plan, given, givenSteps)
    this.#bound = boundNames(plan)
  }

  async open(request: HostRequest, watch: HostWatch): Promise<HostSession> {
    const needs = (kind: string) => (one: Imported) => this.#needed.has(`${kind}.${one.name}`)
    const tools = request.tools.filter(needs("tool"))
    const resources = request.resources.filter(needs("resource"))
    const prompts = request.prompts.filter(needs("prompt"))
    const used = new Set([...tools, ...resources, ...prompts].map(({ server }) => server))
    const servers = request.servers.filter(({ name }) => used.has(name))
    const apis = request.apis.filter(({ name }) => used.has(name))
    const needed = { ...request, servers, apis, tools, resources, prompts }
    const session = servers.length + apis.length === 0 ? null : await this.#host.open(needed, watch)
    return new GivenSession(request, session, this.#given, this.#calls, this.#bound)
  }
}

function neededImports(plan: Plan, given: GivenValues, givenSteps: ReadonlySet<string>): Set<string> {
  const needed = new Set<string>()
  for (const effect of prepare(plan).effects) {
    if (effect.op === "call") needed.add(`tool.${effect.tool}`)
    else if (effect.op === "read") needed.add(`resource.${effect.resource}`)
    else needed.add(`prompt.${effect.prompt}`)
  }
  for (const node of plan.nodes) {
    if (node.kind !== "agent" || givenSteps.has(node.id)) continue
    for (const use of node.uses) needed.add(`${use.kind}.${use.name}`)
  }
  for (const id of given.keys()) needed.delete(id)
  return needed
}

/** The arguments that the workflow binds, by `resource.name`. */
type BoundNames = ReadonlyMap<string, readonly string[]>

function boundNames(plan: Plan): BoundNames {
  const names = new Map<string, string[]>()
  const add = (id: string, bindings: readonly Entry[]): void => {
    names.set(id, [...(names.get(id) ?? []), ...bindings.map(({ key }) => key)])
  }
  for (const [name, { bindings }] of Object.entries(plan.resources)) add(`resource.${name}`, bindings)
  for (const [name, { bindings }] of Object.entries(plan.prompts)) add(`prompt.${name}`, bindings)
  for (const effect of prepare(plan).effects) {
    if (effect.op === "read") add(`resource.${effect.resource}`, effect.bindings)
    else if (effect.op === "render") add(`prompt.${effect.prompt}`, effect.bindings)
  }
  for (const node of plan.nodes) {
    for (const use of node.kind === "agent" ? node.uses : []) add(`${use.kind}.${use.name}`, use.bindings)
  }
  return names
}

class GivenSession implements HostSession {
  readonly problems: HostSession["problems"]
  readonly tools: HostSession["tools"]
  readonly resources: HostSession["resources"]
  readonly prompts: HostSession["prompts"]
  readonly #session: HostSession | null
  readonly #given: GivenValues
  readonly #calls: GivenCalls

  constructor(
    request: HostRequest,
    session: HostSession | null,
    given: GivenValues,
    calls: GivenCalls,
    bound: BoundNames,
  ) {
    const all = <T>(
      imports: readonly Imported[],
      real: ReadonlyMap<string, T> | undefined,
      make: (name: string) => T,
    ): Map<string, T> => new Map(imports.map(({ name }) => [name, real?.get(name) ?? make(name)]))
    const bindings = (id: string): readonly string[] => bound.get(id) ?? []
    this.#session = session
    this.#given = given
    this.#calls = calls
    this.problems = session?.problems ?? []
    this.tools = all(request.tools, session?.tools, () => anyTool)
    this.resources = all(request.resources, session?.resources, (name) => ({
      description: "",
      variables: bindings(`resource.${name}`),
      required: [],
    }))
    this.prompts = all(request.prompts, session?.prompts, (name) => ({
      arguments: bindings(`prompt.${name}`).map((key) => ({ name: key, required: false })),
    }))
  }

  async published(...args: Parameters<HostSession["published"]>): ReturnType<HostSession["published"]> {
    const [tool] = args
    if (this.#given.has(`tool.${tool}`)) return this.tools.get(tool)?.definition ?? null
    return this.#open(`tool.${tool}`).published(...args)
  }

  async call(...args: Parameters<HostSession["call"]>): ReturnType<HostSession["call"]> {
    const [tool, , call_id] = args
    const one = this.#calls.get(call_id)
    if (one === undefined) return this.#open(`tool.${tool}`).call(...args)
    if ("error" in one) throw new RunFailure(one.error)
    if ("fails" in one) return { text: one.fails, is_error: true }
    const { value } = one
    return { structured: value, text: typeof value === "string" ? value : JSON.stringify(value), is_error: false }
  }

  async read(...args: Parameters<HostSession["read"]>): ReturnType<HostSession["read"]> {
    const [resource] = args
    const value = this.#taken(`resource.${resource}`)
    if (value === undefined) return this.#open(`resource.${resource}`).read(...args)
    return typeof value === "string"
      ? { text: value, media_type: null }
      : { text: JSON.stringify(value), media_type: "application/json" }
  }

  async render(...args: Parameters<HostSession["render"]>): ReturnType<HostSession["render"]> {
    const [prompt] = args
    const value = this.#taken(`prompt.${prompt}`)
    if (value === undefined) return this.#open(`prompt.${prompt}`).render(...args)
    return [{ role: "user", text: typeof value === "string" ? value : JSON.stringify(value), images: [] }]
  }

  async close(): Promise<void> {
    await this.#session?.close()
  }

  #taken(id: string): JsonValue | undefined {
    const given = this.#given.get(id)
    if (given === undefined) return undefined
    if ("error" in given) throw new RunFailure(given.error)
    if ("value" in given) return given.value
    throw new Error(`${id} is given one result for all calls`)
  }

  #open(id: string): HostSession {
    if (this.#session === null) throw new Error(`${id} was taken for one that is not used`)
    return this.#session
  }
}

/** A tool that is not looked up on its server: it accepts all arguments. */
const anyTool: HostedTool = {
  definition: {},
  description: "",
  parameters: { type: "object", additionalProperties: true } satisfies JsonObject,
  typed: false,
  idempotent: false,
  fit: (values) => values,
  checkArguments: () => [],
  checkResult: () => [],
}
