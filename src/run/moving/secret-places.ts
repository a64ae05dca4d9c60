import { canonicalJson } from "../../base/canonical-json.ts"
import { isJsonObject } from "../../base/is-json-object.ts"
import type { JsonValue } from "../../base/json-value.ts"
import type { Plan } from "../../plan/plan-shape.ts"
import { withoutTexts } from "../../plan/without-texts.ts"

/** The first of these secrets that could get somewhere in the new version where it could not get before, with the place; null where there is none. */
export function newSecretPlace(
  before: Plan,
  after: Plan,
  secrets: readonly string[],
): { readonly secret: string; readonly place: string } | null {
  if (secrets.length === 0) return null
  const known = new Set(placesOf(before, secrets).map(({ key }) => key))
  return placesOf(after, secrets).find(({ key }) => !known.has(key)) ?? null
}

interface Place {
  readonly secret: string
  readonly place: string
  /** Also what decides where its calls go. */
  readonly key: string
}

function placesOf(plan: Plan, secrets: readonly string[]): Place[] {
  const { providers, servers, apis = {}, tools, resources, prompts, workflows = {} } = plan
  const ends = (table: Readonly<Record<string, { readonly endpoint: object }>>): [string, object, object][] =>
    Object.entries(table).map(([name, part]) => [name, part, part.endpoint])
  // A tool gets what its server gets, too, and a server of the same name may have moved.
  const remotes = (table: Readonly<Record<string, { readonly server: string; readonly remote: string }>>) =>
    Object.entries(table).map(([name, part]): [string, object, object] => {
      const server = ("http" in part ? apis : servers)[part.server]
      return [name, part, [part.remote, part.server, server?.endpoint ?? null]]
    })
  // Nothing is known of what a called file does with it: another plan of it is another place.
  const called = Object.entries(workflows).map(([name, part]): [string, object, object] => {
    return [name, bindings(part.secrets), { ...part, version: "", description: null }]
  })
  const kinds: readonly (readonly [string, [string, object, object][]])[] = [
    ["provider", ends(providers)],
    ["mcp", ends(servers)],
    ["api", ends(apis)],
    ["tool", remotes(tools)],
    ["resource", remotes(resources)],
    ["prompt", remotes(prompts)],
    ["workflow", called],
  ]
  return kinds.flatMap(([kind, parts]) =>
    parts.flatMap(([name, part, where]) => {
      const used = secretsIn(part as JsonValue, secrets)
      const text = used.length === 0 ? "" : canonicalJson(withoutTexts(where as JsonValue))
      return used.map((secret) => ({ secret, place: `${kind}.${name}`, key: `${secret} ${kind}.${name} ${text}` }))
    }),
  )
}

/** As references, so that they are found like those of expressions. */
function bindings(secrets: Readonly<Record<string, string | null>>): object {
  return Object.values(secrets).map((name) => (name === null ? null : chainTo(name)))
}

function chainTo(name: string): object {
  return { op: "chain", base: { op: "reference", root: { kind: "secrets" } }, steps: [{ step: "field", name }] }
}

/** Which of these a part of a plan refers to: all of them where it refers to `secrets` itself. */
function secretsIn(part: JsonValue, secrets: readonly string[]): readonly string[] {
  const found = new Set<string>()
  const isSecrets = (value: JsonValue | undefined): boolean =>
    isJsonObject(value) &&
    value["op"] === "reference" &&
    isJsonObject(value["root"]) &&
    value["root"]["kind"] === "secrets"
  const visit = (value: JsonValue): void => {
    if (Array.isArray(value)) {
      for (const item of value) visit(item)
      return
    }
    if (!isJsonObject(value)) return
    const steps = value["steps"]
    const first = Array.isArray(steps) ? steps[0] : undefined
    if (isSecrets(value["base"]) && isJsonObject(first) && first["step"] === "field") {
      if (typeof first["name"] === "string") found.add(first["name"])
      visit(steps ?? null)
      return
    }
    if (isSecrets(value)) for (const secret of secrets) found.add(secret)
    for (const one of Object.values(value)) visit(one)
  }
  visit(part)
  return secrets.filter((secret) => found.has(secret))
}
