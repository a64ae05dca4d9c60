import assert from "node:assert/strict"
import { test } from "node:test"
import { Random } from "../support/random.ts"
import { assertOften, atStrength, soakSeed } from "../support/strength.ts"
import { constructsIn, exceptions, knownConstructs } from "./noninterference/constructs.ts"
import { Settled } from "./noninterference/program.ts"
import { randomProgram } from "./noninterference/random-program.ts"
import { tryProgram } from "./noninterference/try-program.ts"

// What the checker of trust accepts is held against what runs: random whole programs on the real engine, with models, tools and people
// that answer as a function of all that they read.

test("random programs have every construct of the language, but for those with a reason", () => {
  const left = knownConstructs()
  const isMissing = (one: string) => !Object.hasOwn(exceptions, one)
  // Those that one program in a hundred has are not in every few hundred.
  for (let seed = 0; seed < 9000 && [...left].some(isMissing); seed++) {
    const program = randomProgram(new Random(seed))
    const settled = new Settled(program, new Map(program.toggles.map(({ id, levels }) => [id, seed % levels.length])))
    for (const text of [settled.source, ...Object.values(settled.modules)]) {
      for (const construct of constructsIn(text)) left.delete(construct)
    }
  }
  assert.deepEqual([...left].filter(isMissing), [], "random-program.ts makes none of these")
  assert.deepEqual(
    Object.keys(exceptions).filter((one) => !left.has(one)),
    [],
    "random-program.ts makes these: they need no exception",
  )
})

test("programs that the checker accepts keep what it promises, and the reach of each is an upper bound", async () => {
  const count = atStrength(30, 2000)
  const seeds = new Random(soakSeed)
  let accepted = 0
  let whole = 0
  let runs = 0
  let compared = 0
  for (let index = 0; index < count; index++) {
    const seed = seeds.below(2 ** 32)
    const tried = await tryProgram(seed)
    assert.deepEqual(tried.wrong, [], tried.shown())
    if (tried.isAccepted) accepted++
    whole += tried.whole
    runs += tried.runs
    compared += tried.compared
  }
  assertOften(accepted, count * 0.6, `of ${count} programs were accepted`)
  assertOften(whole, runs * 0.7, `of ${runs} runs went to their end`)
  assertOften(compared, count * 3, "calls were compared")
})
