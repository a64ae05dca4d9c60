/** What `npm run simulate` was asked for. */
export interface SimulateOptions {
  readonly count: number
  readonly first: number
  readonly on: "memory" | "sqlite" | "postgres"
  /** Histories of schedules and webhooks, or of waits and events, in place of those of steps. */
  readonly of: "steps" | "triggers" | "waits"
  readonly coverage: boolean
  readonly stopAtFirst: boolean
}

export const help = `npm run simulate -- [COUNT [FIRST]] [--sqlite | --postgres] [--triggers | --waits] [--coverage] [--stop-at-first]

Makes COUNT histories (1000) with the seeds FIRST (1), FIRST + 1 …: docs/simulation.md says what a history is. One that goes wrong is
printed with its diary, and \`npm run simulate -- 1 SEED\` gives that history again. Exits with 1 if one went wrong, and gives up after 20.

  --sqlite         on the memory store; what it was asked for is asked of SQLite again, and both must agree
  --postgres       the same with PostgreSQL
  --triggers       histories of schedules and webhooks
  --waits          histories of runs that wait for times and events
  --coverage       a table of how often each fault and each part of the language came up
  --stop-at-first  ends with the first history that goes wrong
  --help           this text
`

const stores = ["sqlite", "postgres"] as const
const subjects = ["triggers", "waits"] as const
const others = [...subjects, "coverage", "stop-at-first", "help"] as const

/** The options, the text that was asked for, or a sentence that says what is wrong. */
export function readOptions(
  given: readonly string[],
): { readonly options: SimulateOptions } | { readonly help: string } | { readonly wrong: string } {
  const names = given.filter((value) => value.startsWith("-")).map((value) => value.replace(/^--/, ""))
  const numbers = given.filter((value) => !value.startsWith("-"))
  const unknown = names.find((name) => ![...stores, ...others].some((known) => known === name))
  if (unknown !== undefined) return { wrong: `There is no option ${unknown.startsWith("-") ? "" : "--"}${unknown}.` }
  if (names.includes("help")) return { help }
  const on = stores.filter((store) => names.includes(store))
  if (on.length > 1) return { wrong: `Histories run on one store: --${on.join(" or --")}.` }
  const of = subjects.filter((subject) => names.includes(subject))
  if (of.length > 1) return { wrong: `Histories are about one thing: --${of.join(" or --")}.` }
  const [count = "1000", first = "1", ...more] = numbers
  if (more.length > 0) return { wrong: `There are two numbers, COUNT and FIRST; ${more.join(" ")} is one too many.` }
  if (!/^[1-9]\d{0,9}$/.test(count)) return { wrong: `COUNT is "${count}": it must be a whole number from 1.` }
  if (!/^\d{1,15}$/.test(first)) return { wrong: `FIRST is "${first}": it must be a whole number.` }
  return {
    options: {
      count: Number(count),
      first: Number(first),
      on: on[0] ?? "memory",
      of: of[0] ?? "steps",
      coverage: names.includes("coverage"),
      stopAtFirst: names.includes("stop-at-first"),
    },
  }
}
