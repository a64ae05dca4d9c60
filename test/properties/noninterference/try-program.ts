import { Random } from "../../support/random.ts"
import { acceptedProgram } from "./accepted-program.ts"
import { compareRuns } from "./compare-runs.ts"
import { arrivalsIn } from "./label-evaluator.ts"
import { randomProgram, type Emphasis } from "./random-program.ts"

/** One random program: what is wrong with it, and how much of it was looked at. */
export interface Tried {
  readonly isAccepted: boolean
  /** Promises that do not hold, a line each. */
  readonly wrong: readonly string[]
  readonly whole: number
  readonly runs: number
  readonly compared: number
  /** The sources, to look at. */
  readonly shown: () => string
}

const nothing = { isAccepted: false, wrong: [], whole: 0, runs: 0, compared: 0 }

export async function tryProgram(seed: number, emphasis?: Emphasis): Promise<Tried> {
  const accepted = acceptedProgram(randomProgram(new Random(seed), emphasis), new Random(seed + 1))
  if (typeof accepted === "string") return { ...nothing, shown: () => `seed ${seed}: ${accepted}` }
  const { settled } = accepted
  const { differences, whole, runs, compared, beyond } = await compareRuns(accepted, seed)
  const arrivals = new Set<string>()
  for (let run = 0; run < 3; run++) {
    for (const { rule, at } of arrivalsIn(settled, new Random(seed + run)))
      arrivals.add(`a label arrives: ${rule} ${at}`)
  }
  const wrong = [
    ...differences.map(({ rule, who, details }) => `${rule}: ${who}\n${details.join("\n")}`),
    ...arrivals,
    ...beyond.map((one) => `beyond its reach: ${one}`),
  ]
  const shown = (): string => {
    const files = Object.entries(settled.modules).map(([path, text]) => `// ---- ${path}\n${text}`)
    return [`seed ${seed}`, ...wrong, settled.source, ...files].join("\n\n")
  }
  return { isAccepted: true, wrong, whole, runs, compared, shown }
}
