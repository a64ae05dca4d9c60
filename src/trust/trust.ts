import type { Program } from "../check/program.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import { assumedInput } from "./caller-context.ts"
import { usesTrust } from "./declared.ts"
import { maxRounds } from "./called-files.ts"
import { takesDeliveries, takesPrevious, withPrevious } from "./deliveries.ts"
import { flat, type Labelled } from "./label-tree.ts"
import { allLabels } from "./marks.ts"
import { passOf } from "./trust-pass.ts"
import type { Watcher } from "./watcher.ts"

/**
 * What strangers' words and private data can reach in a checked workflow, and where they must not. One pass over the steps, each
 * after all that it depends on. A file without words of trust has nothing to look at.
 */
export function checkTrust(program: Program): readonly Diagnostic[] {
  if (!usesTrust(program) && !takesDeliveries(program)) return []
  const pass = passOf(program, undefined, inputOf(program))
  const { rules, needless } = pass
  if (needless.size > 0) {
    // A caller may have more to say about its values than the types of `input` do: what could help one of them stays.
    const assumed = passOf(program, undefined, assumedInput(program))
    for (const [node, place] of needless) if (assumed.needless.has(node)) rules.needless(node, place.path)
  }
  return rules.found
}

/** Shows what each step reads and reaches to somebody who describes it, also where the file has no words of trust. */
export function watchTrust(program: Program, watcher: Watcher): void {
  passOf(program, watcher, inputOf(program))
}

/** The input of a file whose schedules fill it from the run before: runs are looked at until one changes nothing. Undefined for others. */
function inputOf(program: Program): Labelled | undefined {
  if (!takesPrevious(program)) return undefined
  let input: Labelled | undefined
  for (let round = 0; round < maxRounds; round++) {
    const pass = passOf(program, undefined, input)
    const given = input ?? pass.input()
    const next = withPrevious(program, given, pass.output.whole, pass.failures).widened()
    if (next.equals(given)) return given
    input = next
  }
  return flat(allLabels("input", program.input?.declaration ?? { start: 0, end: 0 }))
}
