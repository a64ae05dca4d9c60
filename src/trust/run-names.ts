import { boundSecrets } from "../check/bound-secrets.ts"
import type { Program } from "../check/program.ts"
import type { Plan } from "../plan/plan-shape.ts"
import type * as Syntax from "../syntax/tree.ts"
import { chainsOf, fieldOf, spansOfSteps, within } from "./reach-places.ts"

/** A step that calls a file, and the names there of the secrets that the file is given. */
interface Caller {
  readonly names: RunNames
  readonly step: string
  readonly secrets: ReadonlyMap<string, string>
}

/** The names that the steps, inputs and secrets of a file have in the run: a called file is given those of its callers. */
export class RunNames {
  /** Before every name of a called file: `flows/triage.wire#`. */
  readonly #prefix: string
  readonly #callers: Caller[] = []
  /** The inputs that each step reads itself, and the steps that it depends on. */
  readonly #steps = new Map<string, { readonly inputs: readonly string[]; readonly before: readonly string[] }>()

  constructor(program: Program, plan: Plan, prefix: string) {
    this.#prefix = prefix
    const spans = spansOfSteps(program)
    const chains = chainsOf(program, "input")
    for (const { id, depends_on } of plan.nodes) {
      const inputs = (spans.get(id) ?? []).flatMap((span) => within(chains, span).map(fieldOf("input")))
      this.#steps.set(id, { inputs, before: depends_on })
    }
  }

  of(name: string): string {
    return `${this.#prefix}${name}`
  }

  calledBy(names: RunNames, step: string, declaration: Syntax.WorkflowDeclaration): void {
    if (this.#callers.some((one) => one.names === names && one.step === step)) return
    const secrets = new Map(
      [...boundSecrets(declaration)].map(([there, here]) => [`secrets.${there}`, `secrets.${here}`]),
    )
    this.#callers.push({ names, step, secrets })
  }

  /** The inputs of the run that are sent somewhere; `own`: those of this file. */
  inputs(own: readonly string[]): readonly string[] {
    return this.#callers.length === 0 ? own : [...this.#inputsBehind()].sort()
  }

  /** The inputs of the run that the calls of a file are made from. */
  #inputsBehind(): Set<string> {
    return new Set(
      this.#callers.flatMap(({ names, step }) => [
        ...(names.#callers.length === 0 ? names.madeFrom([step]) : names.#inputsBehind()),
      ]),
    )
  }

  /** The secrets of the run that a secret of this file may be. */
  secretsOf(secret: string): string[] {
    if (this.#callers.length === 0) return [secret]
    return this.#callers.flatMap(({ names, secrets }) => {
      const given = secrets.get(secret)
      return given === undefined ? [] : names.secretsOf(given)
    })
  }

  /** The inputs that steps are made from, those of the steps before them included. */
  madeFrom(steps: Iterable<string>): Set<string> {
    const inputs = new Set<string>()
    const seen = new Set(steps)
    for (const id of seen) {
      const step = this.#steps.get(id)
      for (const input of step?.inputs ?? []) inputs.add(input)
      // A set goes on with what is added to it meanwhile.
      for (const before of step?.before ?? []) seen.add(before)
    }
    return inputs
  }
}
