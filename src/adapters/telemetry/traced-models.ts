import type { Expression } from "../../plan/expression.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { remembered } from "../../base/remembered.ts"

/** What spans may say of a declared model: what stands in the source. Values of a run are left out. */
export interface TracedModel {
  /** The backend's name of it. */
  readonly id?: string
  readonly address?: string
  readonly port?: number
  /** The demo model makes the ids of its answers of what it was asked. */
  readonly isDemo?: true
}

const known = new WeakMap<Plan, ReadonlyMap<string, TracedModel>>()

export function tracedModels(plan: Plan): ReadonlyMap<string, TracedModel> {
  return remembered(known, plan, () => {
    const { models, providers } = plan
    return new Map(
      Object.entries(models).map(([name, { id, provider }]) => {
        const written = textOf(id)
        const endpoint = textOf(providers[provider]?.endpoint)
        return [name, { ...(written !== undefined && { id: written }), ...addressOf(endpoint) }]
      }),
    )
  })
}

function textOf(expression: Expression | undefined): string | undefined {
  return expression?.op === "literal" && typeof expression.value === "string" ? expression.value : undefined
}

const ports: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 }

function addressOf(endpoint: string | undefined): Omit<TracedModel, "id"> {
  if (endpoint === "demo") return { isDemo: true }
  if (endpoint === undefined || !URL.canParse(endpoint)) return {}
  const { hostname, port, protocol } = new URL(endpoint)
  return hostname === "" ? {} : { address: hostname, port: port === "" ? (ports[protocol] ?? 0) : Number(port) }
}
