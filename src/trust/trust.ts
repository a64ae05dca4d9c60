import type { Program } from "../check/program.ts"
import type { Diagnostic } from "../source/diagnostic.ts"
import { assumedInput } from "./caller-context.ts"
import { usesTrust } from "./declared.ts"
import { takesDeliveries } from "./deliveries.ts"
import { TrustPass } from "./trust-pass.ts"
import type { Watcher } from "./watcher.ts"

/**
 * What strangers' words and private data can reach in a checked workflow, and where they must not. One pass over the steps, each
 * after all that it depends on. A file without words of trust has nothing to look at.
 */
export function checkTrust(program: Program): readonly Diagnostic[] {
  if (!usesTrust(program) && !takesDeliveries(program)) return []
  const pass = new TrustPass(program)
  pass.run()
  const { rules, needless } = pass
  if (needless.size > 0) {
    // A caller may have more to say about its values than the types of `input` do: what could help one of them stays.
    const assumed = new TrustPass(program, undefined, assumedInput(program))
    assumed.run()
    for (const [node, place] of needless) if (assumed.needless.has(node)) rules.needless(node, place.path)
  }
  return rules.found
}

/** Shows what each step reads and reaches to somebody who describes it, also where the file has no words of trust. */
export function watchTrust(program: Program, watcher: Watcher): void {
  new TrustPass(program, watcher).run()
}
