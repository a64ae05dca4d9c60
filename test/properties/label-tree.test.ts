import assert from "node:assert/strict"
import { test } from "node:test"
import { either, flat, lazy, list, plain, record, tuple, variant, type Labelled } from "../../src/trust/label-tree.ts"
import { join, labels, marked, maxSources, none, sameSources, type Marks } from "../../src/trust/marks.ts"
import { Random } from "../support/random.ts"
import { atStrength, soakSeed } from "../support/strength.ts"

// The labels of a value are a lattice: a function from paths to labels, joined at each path.

const names = ["a", "b", "c"]

function randomMarks(random: Random): Marks {
  const count = random.below(3)
  return join(
    ...Array.from({ length: count }, () => {
      const start = random.below(4)
      return marked(random.pick(labels), { name: `s${start}`, span: { start, end: start } })
    }),
  )
}

function randomTree(random: Random, depth: number): Labelled {
  const inner = (): Labelled => randomTree(random, depth - 1)
  const some = (): Map<string, Labelled> => new Map(names.slice(random.below(3)).map((name) => [name, inner()]))
  switch (depth === 0 ? 0 : random.below(9)) {
    case 0:
      return flat(randomMarks(random))
    case 1:
      return record(some())
    case 2:
      return tuple([...some().values()])
    case 3:
      return list(randomMarks(random), inner(), randomMarks(random), random.below(3))
    case 4:
      return variant(some())
    case 5:
      return inner().with(randomMarks(random))
    case 6: {
      const [one, other] = [inner(), inner()]
      return either([one, other])
    }
    case 7: {
      const made = inner()
      return lazy(made.own, made.whole, () => made)
    }
    default:
      return inner().map((marks) => ({ ...marks, untrusted: [] }))
  }
}

type Step = (tree: Labelled) => Labelled

function randomStep(random: Random): Step {
  const name = random.pick(names)
  const index = random.below(4) - 1
  return random.pick<Step>([
    (tree) => tree.field(name),
    (tree) => tree.position(index),
    (tree) => tree.element(),
    (tree) => tree.any(),
    (tree) => tree.caseOf(name),
  ])
}

function same(a: Labelled, b: Labelled): boolean {
  return a.widened(5, { parts: 100_000 }).equals(b.widened(5, { parts: 100_000 }))
}

function isWithin(less: Marks, more: Marks): boolean {
  return sameSources(join(more, less), more)
}

test("the labels of values are a lattice, and parts of a join are joins of parts", () => {
  const random = new Random(soakSeed)
  for (let turn = 0; turn < atStrength(500, 20_000); turn++) {
    const [a, b, c] = [randomTree(random, 2), randomTree(random, 2), randomTree(random, 2)]
    assert.ok(same(either([a, b]), either([b, a])), `commutative in turn ${turn}`)
    assert.ok(same(either([a, either([b, c])]), either([either([a, b]), c])), `associative in turn ${turn}`)
    assert.ok(same(either([a, a.map((marks) => ({ ...marks }))]), a), `idempotent in turn ${turn}`)
    assert.ok(same(either([a, plain]), a), `neutral in turn ${turn}`)
    let [one, other] = [a, b]
    let both = either([a, b])
    for (let length = 0; length < 3; length++) {
      const step = randomStep(random)
      const before = both
      one = step(one)
      other = step(other)
      both = step(both)
      assert.ok(same(both, either([one, other])), `parts of a join in turn ${turn}, step ${length}`)
      // Nothing in a value has labels that the value does not have, and each part has those of the value itself.
      assert.ok(isWithin(both.whole, before.whole), `a part has more than the whole in turn ${turn}`)
      assert.ok(isWithin(before.own, both.own), `a part has less than the value itself in turn ${turn}`)
    }
    const widened = a.widened(random.below(4), { parts: random.below(10) })
    assert.ok(same(either([a, widened]), widened), `widening forgets in turn ${turn}`)
    assert.ok(sameSources(widened.whole, a.whole), `widening adds sources in turn ${turn}`)
  }
})

test("values that are not the same are told apart", () => {
  const random = new Random(soakSeed + 1)
  let different = 0
  for (let turn = 0; turn < 500; turn++) {
    const [a, b] = [randomTree(random, 2), randomTree(random, 2)]
    const paths = Array.from({ length: 40 }, () => [randomStep(random), randomStep(random)] as const)
    const isSame = paths.every(([one, two]) => sameSources(two(one(a)).whole, two(one(b)).whole))
    if (isSame) continue
    different++
    assert.ok(!same(a, b), `turn ${turn}`)
  }
  assert.ok(different > 100, `${different} differed`)
})

test("a type that contains itself ends when it is widened", () => {
  const mail = marked("untrusted", { name: "mail", span: { start: 0, end: 0 } })
  const endless = (): Labelled =>
    lazy(none, mail, () =>
      record(
        new Map([
          ["text", flat(mail)],
          ["next", endless()],
        ]),
      ),
    )
  const [one, other] = [endless().widened(), endless().widened()]
  assert.ok(one.equals(other))
  let deep = one
  for (let depth = 0; depth < 50; depth++) deep = deep.field("next")
  assert.ok(sameSources(deep.own, mail))
})

test("values that are made of thousands of others, each of the one before, are read", () => {
  const mail = marked("untrusted", { name: "mail", span: { start: 0, end: 0 } })
  let value = record(
    new Map([
      ["a", flat(mail)],
      ["b", plain],
    ]),
  )
  for (let step = 0; step < 20_000; step++) {
    value = step % 2 === 0 ? either([value, record(new Map([["b", plain]]))]) : value.map((marks) => ({ ...marks }))
  }
  assert.ok(sameSources(value.field("a").whole, mail))
  assert.ok(sameSources(value.field("b").whole, none))
})

test("more sources than are kept hide neither a label nor a server", () => {
  const random = new Random(soakSeed + 2)
  for (let turn = 0; turn < 200; turn++) {
    const all = Array.from({ length: maxSources * 3 }, (_, start) =>
      marked(random.pick(labels), {
        name: `s${start}`,
        span: { start, end: start },
        ...(random.chance(0.2) ? { server: `server${random.below(6)}` } : {}),
      }),
    )
    const shuffled = all.map((one) => [random.below(1e9), one] as const).sort(([a], [b]) => a - b)
    const [first, second] = [join(...all), join(...shuffled.map(([, one]) => one))]
    assert.ok(sameSources(first, second), `the order matters in turn ${turn}`)
    for (const label of labels) {
      const servers = (of: readonly Marks[]): Set<string | undefined> =>
        new Set(of.flatMap((marks) => marks[label].map(({ source }) => source.server)))
      assert.deepEqual(servers([first]), servers(all), `turn ${turn}`)
      assert.ok(first[label].length <= maxSources + 7)
    }
  }
})
