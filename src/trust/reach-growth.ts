import { shownChoices } from "./reach-choices.ts"
import type { Bound } from "./reach-bounds.ts"
import type { Pattern, Reach } from "./reach-shape.ts"
import { boundNames, guardsOfCallers, showBound } from "./show-reach.ts"

/** The more dangerous, the higher. */
const danger: Readonly<Record<Pattern, number>> = { plain: 0, privileged: 0, quarantined: 0, guarded: 1, open: 2 }

/** The lines by which a reach grew: what it could not do before. Fewer callers, sources or choices, and more guards, are no growth. */
export function growthOf(before: Reach, after: Reach): string[] {
  const known = new Set(factsOf(before).map(({ key }) => key))
  const added = new Set(factsOf(after).flatMap(({ key, text }) => (known.has(key) ? [] : [text])))
  const patterns = new Map(before.agents.map(({ agent, pattern }) => [agent, pattern]))
  const worse = after.agents.flatMap(({ agent, pattern }) => {
    return danger[pattern] > danger[patterns.get(agent) ?? "plain"] ? [`${agent} is ${pattern}`] : []
  })
  const higher = Object.entries(boundNames).flatMap(([key, name]) => {
    const old = before.most[key as keyof typeof boundNames]
    const now = after.most[key as keyof typeof boundNames]
    return amountOf(now) > amountOf(old) ? [showBound(name, now)] : []
  })
  return [...added, ...lostGuards(before, after), ...worse, ...higher]
}

/** Each fact by itself: more of them is more that a workflow can do. Facts with the same key are the same, however they are shown. */
function factsOf({
  hosts,
  tools,
  agents,
  decisions,
  exceptions,
  code = [],
}: Reach): { readonly key: string; readonly text: string }[] {
  const facts: { readonly key: string; readonly text: string }[] = []
  const add = (text: string, key = text): number => facts.push({ key, text })
  for (const { host, backend, inputs, secrets, private: isPrivate } of hosts) {
    add(`${host} (${backend}) is called`)
    for (const one of [...inputs, ...secrets, ...(isPrivate ? ["private data"] : [])]) {
      add(`${host} (${backend}) gets ${one}`)
    }
  }
  for (const { tool, callers } of tools) for (const caller of callers) add(`${caller} may call ${tool}`)
  for (const { agent, reads } of agents) for (const source of reads) add(`${agent} reads ${source}`)
  for (const { value, type, sources, leads_to } of decisions) {
    for (const source of sources) {
      for (const choice of shownChoices(type))
        add(`${source} may choose ${value} (${type})`, `${source} ${value} ${choice}`)
    }
    for (const step of leads_to) add(`${value}, which strangers may choose, leads to ${step}`)
  }
  for (const { file, hash } of code) add(`${file} is code (${hash.slice(0, 12)})`, `${file} ${hash}`)
  for (const { place, word, value, because } of exceptions) add(`${place}: ${word} ${value} because "${because}"`)
  return facts
}

/** The guards of tools that are weaker now, or gone: for a new caller, those that all had. */
function lostGuards(before: Reach, after: Reach): string[] {
  const known = new Map(before.tools.map((one) => [one.tool, one]))
  return after.tools.flatMap((tool) => {
    const old = known.get(tool.tool)
    if (old === undefined) return []
    const had = new Map(guardsOfCallers(old).map(({ caller, guards }) => [caller, guards]))
    const lost = guardsOfCallers(tool).flatMap(({ caller, guards }) => {
      return (had.get(caller) ?? old.guards).filter((guard) => !stillGuards(guards, guard))
    })
    return [...new Set(lost)].map((guard) => `${tool.tool} may be called without ${guard}`)
  })
}

/** A lower number is as good. For an argument that is bound, and for trust, so is the other, or approval. */
function stillGuards(guards: readonly string[], guard: string): boolean {
  const [kind = "", value = ""] = guard.split(": ")
  return guards.some((one) => {
    const [otherKind = "", other = ""] = one.split(": ")
    if (kind === "max_calls" || kind === "limits")
      return otherKind === kind && parseInt(other, 10) <= parseInt(value, 10)
    if (one === guard) return true
    if (kind !== "bound" && kind !== "trust") return false
    if (one === "approval" || one === "trust") return true
    return (otherKind === "bound" || otherKind === "trust") && other === value
  })
}

/** The number of a bound; infinite where nothing bounds it. */
export function amountOf({ most }: Bound): number {
  return most === "unbounded" ? Infinity : most
}
