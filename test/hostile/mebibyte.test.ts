import { after, test } from "node:test"
import { Compiler } from "../../src/compiler/compiler.ts"
import { assertCpuBelow } from "../support/cpu-time.ts"
import { atStrength } from "../support/strength.ts"
import { fewMebibytes, mebibytes } from "./mebibyte.ts"

// A source of the largest size comes to an end within 5 s, whatever it holds. The bound is twice that, of CPU: what grows faster than its
// source does not pass, and a busy machine does.

const compiler = new Compiler({ timeLimitMs: 600_000 })
after(() => compiler.close())

const sources: Readonly<Record<string, () => string>> = atStrength(fewMebibytes, mebibytes)
for (const [name, make] of Object.entries(sources)) {
  test(`a mebibyte: ${name}`, async () => {
    const source = make()
    await assertCpuBelow(10_000, () => compiler.validate({ kind: "validate", source }))
  })
}
