import type { Replacement } from "../../support/plant-bug.ts"
import type { Emphasis } from "./random-program.ts"

/** A mistake in the checker of trust that was made once, in the words of the present code. */
export interface PlantedBug extends Replacement {
  readonly name: string
  /** Programs from this seed on, with this emphasis, find it. */
  readonly seed: number
  readonly emphasis: Emphasis
}

/**
 * Two are found by cases alone, since random programs take too long: that rounds are compared without the positions of arrays
 * (test/trust/called-files.test.ts), and that what decides about an evaluation does not decide whether it fails (test/trust/holes.ts).
 */
export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "the ninth label of a record is forgotten",
    file: "src/trust/label-tree.ts",
    from: "return join(...[...values].map(({ whole }) => whole))",
    to: "return join(...[...values].slice(0, 8).map(({ whole }) => whole))",
    seed: 28,
    emphasis: "wide",
  },
  {
    name: "an object that is used as a variant has no labels",
    file: "src/trust/label-tree.ts",
    from: "if (cases.size === 0) return this",
    to: "if (cases.size === 0) return plain",
    seed: 789,
    emphasis: "variants",
  },
  {
    name: "an agent that continues another one reads its answer alone",
    file: "src/trust/trust-pass.ts",
    from: "conversation: join(reads, output.whole, ended)",
    to: "conversation: output.whole",
    seed: 444,
    emphasis: "conversations",
  },
  {
    name: "the type of a field in a named schema has no labels",
    file: "src/trust/typed-labels.ts",
    from: "this.#schema(schema, at)) : this.#type(type, at)",
    to: "this.#schema(schema, at)) : either([])",
    seed: 38,
    emphasis: "schemas",
  },
  {
    name: "an agent that may be skipped does not fail because of its own values",
    file: "src/trust/flow.ts",
    from: "via(join(told, touched), ",
    to: "via(told, ",
    seed: 280,
    emphasis: "skips",
  },
  {
    name: "a model does not decide what is read",
    file: "src/trust/trust-pass.ts",
    from: 'kind === undefined || kind === "prompt" ? none : reads)',
    to: 'kind !== "tool" ? none : reads)',
    seed: 30,
    emphasis: "remotes",
  },
  {
    name: "twenty letters are twenty choices",
    file: "src/trust/made-labels.ts",
    from: "closed.of(output).count > maxChoices",
    to: "closed.of(output).count > Infinity",
    seed: 105,
    emphasis: "choices",
  },
  {
    name: "nothing decides whether the address of an asset is used",
    file: "src/trust/flow.ts",
    from: "this.#steps.asset(span, join(address, place.decided), place)",
    to: "this.#steps.asset(span, address, place)",
    seed: 31,
    emphasis: "assets",
  },
  {
    name: "the condition of a webhook decides nothing",
    file: "src/trust/caller-context.ts",
    from: "decided: deliveredWhen(program)",
    to: "decided: { untrusted: [], private: [], chosen: [] }",
    seed: 17,
    emphasis: "none",
  },
  {
    name: "an argument that a tool does not have is required",
    file: "src/check/check-imports.ts",
    from: "const word = wordsIn",
    to: "if (written !== undefined) continue\n    const word = wordsIn",
    seed: 1,
    emphasis: "names",
  },
  {
    name: "a file that is called after many others has no labels",
    file: "src/trust/called-files.ts",
    from: "if (isDeep || (!isAlone && budget.left-- <= 0)) {",
    to: "if (budget.left-- <= 0) return { output: plain, touched: none, report: () => undefined }\n    if (isDeep) {",
    seed: 1,
    emphasis: "many",
  },
  {
    name: "a webhook fills nothing in a file without words of trust",
    file: "src/trust/trust.ts",
    from: "if (!usesTrust(program) && !takesDeliveries(program)) return []",
    to: "if (!usesTrust(program)) return []",
    seed: 1,
    emphasis: "bare",
  },
  {
    name: "what a webhook fills is trusted",
    file: "src/trust/deliveries.ts",
    from: 'field.with(marked("untrusted", { name: `input.${name}`, span }))',
    to: "field",
    seed: 1,
    emphasis: "bare",
  },
  {
    name: "a requirement of the input decides nothing",
    file: "src/trust/trust-pass.ts",
    from: "this.#decided = join(this.#caller.decided, this.#refused())",
    to: "this.#decided = this.#caller.decided",
    seed: 1,
    emphasis: "failing",
  },
  {
    name: "calls that share a count are counted alone",
    file: "src/trust/remote-calls.ts",
    from: "return this.#usedUp.get(id) ?? none",
    to: "return none",
    seed: 450,
    emphasis: "failing",
  },
]
