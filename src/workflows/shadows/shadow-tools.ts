import type { JsonObject } from "../../base/json-value.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { prepare } from "../../plan/prepare.ts"
import type { HostRequest, HostSession, HostWatch, ToolAnswer, ToolHost } from "../../ports/tools.ts"

/** What a call that may act answers. */
export const notMade = "The call was not made: this is a shadow"

export interface ShadowedCalls {
  /** The result that the shadowed run has of a tool with these arguments; undefined where it has none. */
  recorded(tool: string, values: JsonObject): ToolAnswer | undefined
  /** Called for each call that was not made. */
  skipped(): void
}

/**
 * The tools of a shadow. A call gets the result that the shadowed run got. Any other one is made only where it surely does nothing: its file says `requires: none`, its server
 * says that it only reads, or it is a GET. Reading resources and rendering prompts changes nothing. No other call is made.
 */
export class ShadowTools implements ToolHost {
  readonly #host: ToolHost
  readonly #plan: Plan
  readonly #calls: ShadowedCalls

  constructor(host: ToolHost, plan: Plan, calls: ShadowedCalls) {
    this.#host = host
    this.#plan = plan
    this.#calls = calls
  }

  async open(request: HostRequest, watch: HostWatch): Promise<HostSession> {
    const session = await this.#host.open(request, watch)
    const approved = approvedTools(this.#plan)
    const isHarmless = (tool: string): boolean => !approved.has(tool) && isSafe(this.#plan, session, tool)
    const calls = this.#calls
    return {
      problems: session.problems,
      tools: session.tools,
      resources: session.resources,
      prompts: session.prompts,
      published: (...args) => session.published(...args),
      async call(tool, values, ...rest) {
        const known = calls.recorded(tool, values)
        if (known !== undefined) return known
        if (isHarmless(tool)) return session.call(tool, values, ...rest)
        calls.skipped()
        return { text: notMade, is_error: true }
      },
      read: (...args) => session.read(...args),
      render: (...args) => session.render(...args),
      close: () => session.close(),
    }
  }
}

function isSafe({ tools, harmless = [] }: Plan, session: HostSession, name: string): boolean {
  if (harmless.includes(name) || tools[name]?.http?.method === "GET") return true
  const annotations = session.tools.get(name)?.definition["annotations"]
  return isJsonObject(annotations) && annotations["readOnlyHint"] === true
}

/** Tools of which some call waits for a person: whoever asks for an approval says that the call matters. */
function approvedTools(plan: Plan): ReadonlySet<string> {
  const names = new Set<string>()
  for (const effect of prepare(plan).effects) {
    if (effect.op === "call" && effect.approval !== null) names.add(effect.tool)
  }
  for (const node of plan.nodes) {
    for (const use of node.kind === "agent" ? node.uses : []) {
      if (use.kind === "tool" && use.approval !== null) names.add(use.name)
    }
  }
  return names
}
