import type { Bound } from "./reach-bounds.ts"
import { remembered } from "../base/remembered.ts"
import type { GuardedCaller, Reach, ReachedTool } from "./reach-shape.ts"

/** A fact of a reach, in words: more of them is more that a workflow can do. */
interface Fact {
  readonly group: string
  readonly text: string
}

export const boundNames = {
  model_calls: "model calls",
  tool_calls: "tool calls",
  tokens: "tokens",
  cost: "cost",
} as const

/** Every fact by itself, so that a change shows as what was added. */
function factsOf(reach: Reach): Fact[] {
  const facts: Fact[] = []
  const add = (group: string, text: string): number => facts.push({ group, text })
  for (const { host, backend, inputs, secrets, private: isPrivate } of reach.hosts) {
    add("Hosts", `${host} (${backend}) is called`)
    for (const input of inputs) add("Hosts", `${host} (${backend}) gets ${input}`)
    for (const secret of secrets) add("Hosts", `${host} (${backend}) gets ${secret}`)
    if (isPrivate) add("Hosts", `${host} (${backend}) gets private data`)
  }
  for (const { tool, requires, ...called } of reach.tools) {
    const demand = typeof requires === "string" ? requires : `[${requires.join(", ")}]`
    for (const { caller, guards } of guardsOfCallers(called)) {
      add("Tools", `${caller} may call ${tool} (requires: ${demand}; guarded by ${guards.join(", ") || "nothing"})`)
    }
  }
  for (const { agent, pattern, reads, cacheable } of reach.agents) {
    add("Agents", `${agent} is ${pattern}${reads.length === 0 ? "" : `: it reads ${reads.join(", ")}`}`)
    if (cacheable !== null) add("Agents", `${agent}: ${shareOf(cacheable)} of its literal text is cacheable`)
  }
  for (const { value, type, sources, leads_to } of reach.decisions) {
    const to = leads_to.length === 0 ? "nothing" : leads_to.join(", ")
    add("Decisions of strangers", `${sources.join(", ")} may choose ${value} (${type}), which leads to ${to}`)
  }
  for (const { file, hash } of reach.code ?? []) add("Code, which reaches nothing", `${file}${shownHash(hash)}`)
  for (const { place, word, value, because } of reach.exceptions) {
    add("Exceptions", `${place}: ${word} ${value} because "${because}"`)
  }
  return facts
}

function shownHash(hash: string): string {
  return hash === "" ? "" : ` (sha256 ${hash})`
}

type Called = Pick<ReachedTool, "callers" | "guards" | "per_caller">

/** What guards each caller of a tool. */
export function guardsOfCallers({ callers, guards, per_caller }: Called): readonly GuardedCaller[] {
  return per_caller ?? callers.map((caller) => ({ caller, guards }))
}

/** The callers of a tool, those with the same guards together: one row of a table for each. */
export function callersByGuards(tool: Called): { readonly callers: readonly string[]; readonly guards: string }[] {
  const rows = new Map<string, string[]>()
  for (const { caller, guards } of guardsOfCallers(tool)) {
    remembered(rows, guards.join(", ") || "nothing", () => []).push(caller)
  }
  return [...rows].map(([guards, callers]) => ({ callers, guards }))
}

export function showBound(name: string, bound: Bound): string {
  return bound.most === "unbounded"
    ? `${name}: unbounded, because ${bound.because}`
    : `${name}: at most ${bound.most}, by ${bound.by}`
}

function groupsOf(reach: Reach): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const { group, text } of factsOf(reach)) groups.set(group, [...(groups.get(group) ?? []), text])
  groups.set(
    "At most",
    Object.entries(boundNames).map(([key, name]) => showBound(name, reach.most[key as keyof typeof boundNames])),
  )
  return groups
}

/** For a terminal. */
export function showReach(reach: Reach): string {
  const parts = [...groupsOf(reach)].map(([group, lines]) => `${group}\n${lines.map((line) => `  ${line}`).join("\n")}`)
  return `${parts.join("\n\n")}\n`
}

const marks = { open: "🔴", guarded: "🟡", quarantined: "🟢", privileged: "🟢", plain: "⚪" } as const

export function shareOf(share: number | null): string {
  return share === null ? "–" : `${Math.round(share * 100)} %`
}

/** For a pull request: tables, the dangerous first. */
export function reachAsMarkdown(file: string, reach: Reach): string {
  const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("<", "&lt;")
  const code = (names: readonly string[]): string =>
    names.map((name) => `\`${name.replaceAll("`", "'")}\``).join(", ") || "–"
  const table = (head: readonly string[], rows: readonly (readonly string[])[]): string => {
    const lines = [head, head.map(() => "---"), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`)
    return `${lines.join("\n")}\n`
  }
  const sections: string[] = [`## What \`${file}\` can reach\n`]
  const section = (title: string, text: string): number => sections.push(`### ${title}\n\n${text}`)
  const order = ["open", "guarded", "quarantined", "privileged", "plain"]
  const agents = [...reach.agents].sort((a, b) => order.indexOf(a.pattern) - order.indexOf(b.pattern))
  if (agents.length > 0) {
    const rows = agents.map(({ agent, pattern, reads, cacheable }) => {
      return [`${marks[pattern]} \`${agent}\``, pattern, code(reads), shareOf(cacheable)]
    })
    section("Agents", table(["agent", "pattern", "strangers' words that it reads", "cacheable"], rows))
  }
  if (reach.tools.length > 0) {
    const rows = reach.tools.flatMap(({ tool, requires, ...called }) => {
      const demand = typeof requires === "string" ? requires : code(requires)
      return callersByGuards(called).map(({ callers, guards }) => [`\`${tool}\``, demand, code(callers), guards])
    })
    section("Tools", table(["tool", "requires", "may be called by", "guarded by"], rows))
  }
  if (reach.hosts.length > 0) {
    const rows = reach.hosts.map(({ host, backend, inputs, secrets, private: isPrivate }) => {
      return [`\`${host}\``, `\`${backend}\``, code(inputs), code(secrets), isPrivate ? "**yes**" : "no"]
    })
    section("Hosts", table(["host", "as", "inputs", "secrets", "private data"], rows))
  }
  if (reach.decisions.length > 0) {
    const rows = reach.decisions.map(({ value, type, sources, leads_to }) => [
      `\`${value}\``,
      `\`${type}\``,
      code(sources),
      code(leads_to),
    ])
    section("Decisions that untrusted content can take", table(["value", "choices", "made from", "leads to"], rows))
  }
  const most = Object.entries(boundNames).map(
    ([key, name]) => `- ${showBound(name, reach.most[key as keyof typeof boundNames])}`,
  )
  section("At most", `${most.join("\n")}\n`)
  if (reach.code !== undefined) {
    const rows = reach.code.map(({ file, hash }) => [`\`${file}\``, `\`${hash}\``])
    section("Code, which reaches nothing", table(["file", "SHA-256"], rows))
  }
  if (reach.exceptions.length > 0) {
    const rows = reach.exceptions.map(({ place, word, value, because }) => [
      `\`${place}\``,
      word,
      `\`${value}\``,
      because,
    ])
    section("Exceptions", table(["place", "word", "value", "because"], rows))
  }
  return sections.join("\n")
}
