import type { JsonValue } from "../../../src/base/json-value.ts"
import { reachOf } from "../../../src/trust/reach.ts"
import { beyondReach } from "./beyond-reach.ts"
import type { Accepted } from "./accepted-program.ts"
import { runProgram, type Ran } from "./run-program.ts"
import type { Settled } from "./program.ts"
import { holds, type Variation } from "./world.ts"

// Noninterference: two runs that differ in what strangers wrote make the same calls to what requires trust; two that differ in what
// is private look the same to what is not cleared.

export interface Difference {
  readonly rule: string
  readonly who: string
  readonly details: readonly string[]
}

export interface Compared {
  readonly differences: readonly Difference[]
  /** Runs that went to their end, of those that were made. */
  readonly whole: number
  readonly runs: number
  /** Calls that were compared. */
  readonly compared: number
  /** What a run did that the reach does not have. */
  readonly beyond: readonly string[]
}

/** What a run shows to those who must see the same in both. `select` leaves out what they do not see. */
type Select = (who: string, what: JsonValue) => JsonValue | undefined

export async function compareRuns({ settled, compiled }: Accepted, seed: number): Promise<Compared> {
  const { plan } = compiled
  if (plan === undefined) throw new Error("An accepted program has a plan")
  const same: Variation = { seed, untrusted: false, private: "none", choices: false }
  const runs: Ran[] = []
  const runIn = async (variation: Variation): Promise<Ran> => {
    const ran = await runProgram(settled, plan, variation)
    runs.push(ran)
    return ran
  }
  const differences: Difference[] = []
  let compared = 0
  const compare = (rule: string, a: Ran, b: Ran, select: Select): void => {
    const { found, count } = differ(rule, a, b, select)
    differences.push(...found)
    compared += count
  }
  const first = await runIn(same)
  const other = await runIn({ ...same, untrusted: true })
  compare("untrusted", first, other, trusted(settled, /trusted|strict/))
  differences.push(...strangersWords(settled, first), ...strangersWords(settled, other))
  if (
    settled.source.includes("requires: strict") ||
    Object.values(settled.modules).some((text) => text.includes("requires: strict"))
  ) {
    // Choices follow from what a model read, in both runs.
    const chosen = await runIn({ ...same, choices: true })
    const others = await runIn({ ...same, untrusted: true, choices: true })
    compare("chosen", chosen, others, trusted(settled, /strict/))
  }
  compare("private input", first, await runIn({ ...same, private: "input" }), uncleared(settled, "input"))
  for (const server of givesPrivate(settled)) {
    compare(`private of ${server}`, first, await runIn({ ...same, private: { server } }), uncleared(settled, server))
  }
  const reach = reachOf(compiled.program)
  const beyond = [...new Set(runs.flatMap((ran) => beyondReach(reach, ran)))]
  return { differences, whole: runs.filter(({ isWhole }) => isWhole).length, runs: runs.length, compared, beyond }
}

/** Servers whose results are private in part. */
function givesPrivate({ program }: Settled): string[] {
  const all = new Set<string>()
  const texts = [program.source, ...Object.values(program.modules)]
  for (const { server, gives, name } of [
    ...program.tools.values(),
    ...program.resources.values(),
    ...program.prompts.values(),
  ]) {
    const own = gives === "" ? (program.servers.get(server)?.gives ?? "") : gives
    const output = texts.some((text) =>
      new RegExp(`tool ${name} [^\\n]*\\n(?:    [^\\n]*\\n)*?    output [^\\n]*private`).test(text),
    )
    if (own.includes("private") || output) all.add(server)
  }
  return [...all].slice(0, 2)
}

/** Calls that no stranger may choose or fill, unless a person approved them. */
function trusted(settled: Settled, requires: RegExp): Select {
  return (who, what) => {
    const [kind, name = ""] = who.split(" ")
    if (kind === "address") return requires.source.includes("trusted") ? what : undefined
    if (kind === "group") return requires.source.includes("trusted") && who.startsWith("group ask") ? what : undefined
    if (kind !== "tool" && kind !== "workflow") return undefined
    if (!requires.test(settled.text(name, "requires")) || settled.text(name, "approval") !== "") return undefined
    return what
  }
}

/** What those get who are not cleared. */
function uncleared(settled: Settled, from: string): Select {
  const { tools, resources, prompts, models, asks } = settled.program
  const isCleared = (name: string): boolean => settled.text(name, "cleared") !== ""
  return (who, what) => {
    const [kind, name = ""] = who.split(" ")
    switch (kind) {
      case "address":
      case "asset":
      case "group":
        return what
      case "model":
        return isCleared(name) || isCleared(models.get(name) ?? "") ? undefined : what
      case "tool":
      case "resource":
      case "prompt": {
        const server = (tools.get(name) ?? resources.get(name) ?? prompts.get(name))?.server ?? ""
        return server === from || isCleared(name) || isCleared(server) ? undefined : what
      }
      case "ask":
        return asks.get(name)?.hasGroup !== true || isCleared(name) ? undefined : what
      case "approval":
        return settled.text(name, "group") !== "" || (what as { to: string | null }).to === null ? undefined : what
      default:
        return undefined
    }
  }
}

/** The address of something is looked at each time that it is called; how often says nothing about it. */
function isOnce(who: string): boolean {
  return /^(?:address|asset|group)/.test(who)
}

function shown({ seen }: Ran, select: Select): Map<string, Map<string, number>> {
  const all = new Map<string, Map<string, number>>()
  for (const { who, what } of seen) {
    const chosen = select(who, what)
    if (chosen === undefined) continue
    const counts = all.get(who) ?? new Map<string, number>()
    const text = JSON.stringify(chosen)
    counts.set(text, isOnce(who) ? 1 : (counts.get(text) ?? 0) + 1)
    all.set(who, counts)
  }
  return all
}

function differ(rule: string, a: Ran, b: Ran, select: Select): { found: Difference[]; count: number } {
  const [left, right] = [shown(a, select), shown(b, select)]
  const found: Difference[] = []
  let count = 0
  for (const who of new Set([...left.keys(), ...right.keys()])) {
    const [ofLeft, ofRight] = [left.get(who) ?? new Map<string, number>(), right.get(who) ?? new Map<string, number>()]
    count += ofLeft.size
    // Who is not called is not sent anywhere else.
    if (/^(?:address|group)/.test(who) && (ofLeft.size === 0 || ofRight.size === 0)) continue
    const more = (one: Map<string, number>, than: Map<string, number>): string[] =>
      [...one].filter(([text, times]) => times > (than.get(text) ?? 0)).map(([text]) => text)
    // A run that failed may lack calls that the other one made; one that did not fail lacks none.
    const onlyLeft = b.isWhole ? more(ofLeft, ofRight) : []
    const onlyRight = a.isWhole ? more(ofRight, ofLeft) : []
    if (onlyLeft.length + onlyRight.length === 0) continue
    found.push({
      rule,
      who,
      details: [...onlyLeft.slice(0, 3).map((one) => `- ${one}`), ...onlyRight.slice(0, 3).map((one) => `+ ${one}`)],
    })
  }
  return { found, count }
}

/** Arguments that must be trusted and show what strangers wrote. */
function strangersWords(settled: Settled, { seen }: Ran): Difference[] {
  return seen.flatMap(({ who, what }) => {
    const [kind, name = ""] = who.split(" ")
    if (kind !== "tool" || settled.text(name, "approval") !== "") return []
    const requires = settled.text(name, "requires")
    const names =
      /\[(.*)\]/.exec(requires)?.[1]?.split(", ") ??
      (/trusted|strict/.test(requires) ? Object.keys(what as object) : [])
    return names.flatMap((argument) => {
      const value = (what as Record<string, JsonValue>)[argument] ?? null
      return holds("untrusted", value)
        ? [
            {
              rule: "strangers' words",
              who: `${who} ${argument}`,
              details: [JSON.stringify(value)],
            },
          ]
        : []
    })
  })
}
