import type { Plan } from "../../plan/plan-shape.ts"
import type { Suite } from "../../testing/run-suites.ts"
import type { RecordedTestEngines, Recording } from "../compose/compose-runs.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import type { FoundSource } from "./find-sources.ts"
import { CannotTest, type LoadedTests } from "./load-tests.ts"
import { changeSource, type SourceVariant } from "./test-variants.ts"

/** Another id for a declared model. */
export interface ModelChoice {
  readonly name: string
  readonly id: string
}

/** The same tests, as they are written, with one model id replaced, or with another text of the file. */
export interface Variant {
  /** Null: as they are written. */
  readonly name: string | null
  readonly suites: readonly Suite[]
  /** Where models are asked what is not recorded. Absent where none is. */
  readonly asksAt?: (path: string) => boolean
}

/** The files that have the agents, as they are written and as each variant has them. */
export function sourceVariants(
  variants: readonly SourceVariant[],
  files: readonly FoundSource[],
  load: (found: FoundSource, change?: (source: string) => string) => LoadedTests,
): Variant[] {
  const asksAt =
    (agents: readonly (string | null)[]) =>
    (path: string): boolean =>
      agents.some((agent) => agent === null || path === `agent.${agent}` || path.startsWith(`agent.${agent}[`))
  const changed = variants.map((variant): Variant => {
    const suites = files.flatMap((found): Suite[] => {
      let isThere = true
      const change = (source: string): string => {
        const text = changeSource(source, variant)
        isThere = text !== null
        return text ?? source
      }
      try {
        const { suite } = load(found, change)
        return isThere ? [suite] : []
      } catch (error) {
        if (!(error instanceof CannotTest)) throw error
        throw new WrongValue(`The variant "${variant.name}" of ${found.file} has errors.`, ...error.message.split("\n"))
      }
    })
    if (suites.length === 0)
      throw new WrongValue(`The variant "${variant.name}": no workflow here has agent.${variant.agent ?? ""}.`)
    return { name: variant.name, suites, asksAt: asksAt([variant.agent]) }
  })
  const named = new Set(changed.flatMap(({ suites }) => suites.map(({ file }) => file)))
  const own = files.filter(({ file }) => named.has(file)).map((found) => load(found).suite)
  return [{ name: null, suites: own, asksAt: asksAt(variants.map(({ agent }) => agent)) }, ...changed]
}

export function variantsOf(loaded: readonly LoadedTests[], models: readonly ModelChoice[]): Variant[] {
  const suites = loaded.map(({ suite }) => suite)
  if (models.length === 0) return [{ name: null, suites }]
  return models.map((model) => {
    const known = suites.flatMap(({ tested }) => [tested.plan, tested.judges])
    if (suites.length > 0 && !known.some((plan) => Object.hasOwn(plan.models, model.name))) {
      throw new WrongValue(`--model ${model.name}: no workflow here has a model of that name.`)
    }
    return {
      name: `${model.name}=${model.id}`,
      suites: suites.map((suite) => {
        const { tested } = suite
        return {
          ...suite,
          tested: { ...tested, plan: withModel(tested.plan, model), judges: withModel(tested.judges, model) },
        }
      }),
    }
  })
}

function withModel(plan: Plan, { name, id }: ModelChoice): Plan {
  const model = plan.models[name]
  if (model === undefined) return plan
  return { ...plan, models: { ...plan.models, [name]: { ...model, id: { op: "literal", value: id } } } }
}

/** What a variant is played from: where it asks, others do not get the answers. */
export function played(
  recordings: Map<string, Recording>,
  engines: RecordedTestEngines,
  { asksAt }: Variant,
): Map<string, Recording> {
  if (asksAt === undefined) return recordings
  return new Map([...recordings].map(([file, one]) => [file, engines.recording("play", one.exchanges("all"), asksAt)]))
}
