import assert from "node:assert/strict"
import { describe, test } from "node:test"

import {
  any,
  array,
  asset,
  boolean,
  either,
  error,
  integer,
  literal,
  maybe,
  nothing,
  number,
  object,
  oneOf,
  record,
  ref,
  string,
  table,
  tuple,
  variant,
} from "../../test/support/build-types.ts"
import {
  caseRecord,
  equivalent,
  isAssignable,
  maybe as makeMaybe,
  nullable,
  resolve,
  union,
  withoutNull,
} from "./relations.ts"
import { showType } from "./show-type.ts"
import type { Type, TypeTable } from "./types.ts"
import { assertCpuBelow } from "../../test/support/cpu-time.ts"
import { soakTest } from "../../test/support/strength.ts"

const advice = variant("kind", { rewrite: { patch: string }, question: { text: string } })

const types: TypeTable = table({
  finding: record({ path: string, severity: oneOf("low", "high") }),
  // The same type by another name, and the same infinite type unrolled once.
  tree: record({ value: string, children: array(ref("tree")) }),
  other_tree: record({ children: array(ref("other_tree")), value: string }),
  unrolled: record({ value: string, children: array(record({ value: string, children: array(ref("unrolled")) })) }),
  int_tree: record({ value: integer, children: array(ref("int_tree")) }),
  // Mutually recursive, and a pair that differs only far inside.
  even: record({ next: maybe(ref("odd")) }),
  odd: record({ next: maybe(ref("even")) }),
  chain: record({ next: maybe(ref("chain")) }),
  near_a: record({ next: maybe(record({ next: maybe(record({ next: maybe(ref("near_a")), end: string })) })) }),
  near_b: record({ next: maybe(record({ next: maybe(record({ next: maybe(ref("near_b")), end: number })) })) }),
  advice,
  constructor: record({ a: string }),
})

/** Every row also says what the other direction gives. */
const pairs: readonly [from: Type, to: Type, there: boolean, back: boolean][] = [
  [string, string, true, true],
  [string, number, false, false],
  [integer, number, true, false],
  [nothing, string, false, false],
  [boolean, string, false, false],
  [asset, asset, true, true],
  [asset, string, false, false],
  [asset, object, false, false],

  [any, string, true, true],
  [error, record({ a: string }), true, true],
  [any, nothing, true, true],
  [array(any), array(string), true, true],
  [array(any), string, false, false],

  [literal("a"), string, true, false],
  [literal("a"), literal("a"), true, true],
  [literal("a"), literal("b"), false, false],
  [literal("a"), oneOf("a", "b"), true, false],
  [literal("c"), oneOf("a", "b"), false, false],
  [oneOf("a"), literal("a"), true, true],
  [oneOf("a", "b"), string, true, false],
  [oneOf("b", "a"), oneOf("a", "b"), true, true],
  [oneOf("a"), oneOf("a", "b"), true, false],
  [literal("a"), integer, false, false],

  [array(integer), array(number), true, false],
  [array(string, 3), array(string), true, false],
  [array(string, 3), array(string, 3), true, true],
  [array(string, 3), array(string, 2), false, false],
  [array(string, 0), array(number, 0), true, true],
  [tuple(string, string), array(string), true, false],
  [tuple(string, string), array(string, 2), true, true],
  [tuple(string, string), array(string, 3), false, false],
  [tuple(integer, number), array(number, 2), true, false],
  [tuple(string, integer), array(string), false, false],
  [tuple(string, integer), array(either(string, number)), true, false],
  [tuple(), array(string), true, false],
  [tuple(string, integer), tuple(string, number), true, false],
  [tuple(string), tuple(string, string), false, false],
  [tuple(string), string, false, false],

  [record({ a: string, b: integer }), record({ b: number, a: string }), true, false],
  [record({ a: string }), record({ a: string, b: string }), false, false],
  [record({ a: string }), record({ a: maybe(string) }), true, false],
  [record({ a: string }), record({ b: string }), false, false],
  [record({}), record({}), true, true],
  [record({ a: string }), object, true, false],
  [advice, object, true, false],
  [ref("finding"), object, true, false],
  [array(string), object, false, false],
  [object, object, true, true],

  [string, maybe(string), true, false],
  [nothing, maybe(string), true, false],
  [maybe(integer), maybe(number), true, false],
  [maybe(string), either(nothing, integer, string), true, false],
  [either(string, integer), either(integer, string), true, true],
  [either(string, integer), string, false, true],
  [oneOf("a", "b"), either(literal("a"), literal("b"), nothing), true, false],
  [oneOf("a", "c"), either(literal("a"), literal("b")), false, false],
  [oneOf("a", "b", "c"), either(oneOf("a", "b"), literal("c")), true, true],
  [either(literal("a"), nothing), maybe(string), true, false],
  [record({ a: string }), either(record({ b: string }), record({ a: maybe(string) })), true, false],

  [advice, advice, true, true],
  [variant("kind", { question: { text: string } }), advice, true, false],
  [variant("type", { question: { text: string } }), advice, false, false],
  [variant("kind", { question: { text: integer } }), advice, false, false],
  [variant("kind", { question: { text: literal("why") } }), advice, true, false],
  [record({ kind: literal("question"), text: string }), advice, true, false],
  [record({ kind: string, text: string }), advice, false, false],
  [record({ kind: literal("question"), patch: string }), advice, false, false],
  [record({ kind: literal("nonsense"), text: string }), advice, false, false],
  [record({ text: string }), advice, false, false],
  [record({ kind: oneOf("a", "b"), n: string }), variant("kind", { a: { n: string }, b: { n: string } }), true, true],
  [record({ kind: either(literal("a"), literal("b")) }), variant("kind", { a: {}, b: {} }), true, true],
  [record({ kind: oneOf("a", "b") }), variant("kind", { a: {} }), false, true],
  [variant("kind", { a: {}, b: {} }), either(variant("kind", { a: {} }), variant("kind", { b: {} })), true, true],
  [variant("kind", { a: {} }), record({ kind: literal("a") }), true, true],
  [advice, record({ kind: string, text: string }), false, false],
  [ref("advice"), advice, true, true],

  [ref("finding"), record({ path: string, severity: string }), true, false],
  [ref("tree"), ref("tree"), true, true],
  [ref("tree"), ref("other_tree"), true, true],
  [ref("tree"), ref("unrolled"), true, true],
  [ref("int_tree"), ref("tree"), false, false],
  [ref("even"), ref("odd"), true, true],
  [ref("even"), ref("chain"), true, true],
  [ref("near_a"), ref("near_b"), false, false],
  [maybe(ref("near_a")), either(nothing, ref("near_b"), ref("near_a")), true, false],
  [ref("constructor"), record({ a: string }), true, true],
  // Not declared, hence reported elsewhere.
  [ref("missing"), string, true, true],
  [ref("toString"), string, true, true],
]

describe("isAssignable", () => {
  for (const [from, to, there, back] of pairs) {
    test(`${showType(from)} → ${showType(to)}: ${there}, back: ${back}`, () => {
      assert.equal(isAssignable(from, to, types), there)
      assert.equal(isAssignable(to, from, types), back)
      assert.equal(equivalent(from, to, types), there && back)
    })
  }

  test("what failed inside one member of a union is not assumed in the next", () => {
    // Member one: `next` leads back to the pair (a, b) itself, which is assumed while it is looked at, then `tail` fails.
    const loop = table({
      a: record({ next: maybe(ref("a")), tail: string }),
      b: record({ next: maybe(ref("b")), tail: integer }),
      c: record({ one: ref("a"), two: ref("a") }),
      d: record({ one: either(ref("b"), ref("a")), two: ref("b") }),
    })
    assert.equal(isAssignable(ref("c"), ref("d"), loop), false)
    assert.equal(isAssignable(ref("c"), record({ one: either(ref("b"), ref("a")), two: ref("a") }), loop), true)
  })

  test("types that share their parts are compared in time that grows with the parts, not with the paths", () => {
    const doubled = (leaf: Type): Type => {
      let type = leaf
      for (let at = 0; at < 200; at++) type = tuple(type, type)
      return type
    }
    assert.equal(isAssignable(doubled(integer), doubled(number), {}), true)
    assert.equal(isAssignable(doubled(number), doubled(integer), {}), false)
    const lists = (leaf: Type): Type => {
      let type = leaf
      for (let at = 0; at < 60; at++) type = either(array(type), record({ it: type }), record({ it: array(type) }))
      return type
    }
    assert.equal(isAssignable(lists(integer), lists(number), {}), true)
    assert.equal(isAssignable(lists(string), lists(number), {}), false)
  })

  soakTest("unions of many thousand members are joined and compared in bearable time", async () => {
    const many = (member: (at: number) => Type): Type[] => Array.from({ length: 50_000 }, (_, at) => member(at))
    await assertCpuBelow(20_000, () => {
      const literals = union(many((at) => literal(`v${at}`)))
      assert.ok(literals.kind === "union" && literals.members.length === 50_000)
      assert.equal(isAssignable(literals, union(many((at) => literal(`v${at}`))), {}), true)
      assert.equal(isAssignable(literals, union(many((at) => literal(`v${at + 1}`))), {}), false)
      assert.deepEqual(union([...many((at) => literal(`v${at}`)), string]), string)
      const records = union(many((at) => record({ [`f${at}`]: string })))
      assert.equal(isAssignable(records, union(many((at) => record({ [`f${at}`]: string }))), {}), true)
    })
  })

  test("a chain of many thousand schemas does not overflow the stack", () => {
    const chain = (prefix: string, length: number): [string, Type][] => {
      return Array.from({ length }, (_, at) => [`${prefix}${at}`, record({ next: maybe(ref(`${prefix}${at + 1}`)) })])
    }
    const long = table(Object.fromEntries([...chain("s", 20_000), ...chain("t", 20_000)]))
    assert.equal(isAssignable(ref("s0"), ref("t0"), long), true)
  })
})

const unions: readonly [members: Type[], Type][] = [
  [[], any],
  [[string], string],
  [[string, string], string],
  [[string, nothing], maybe(string)],
  [[maybe(string), nothing, integer], either(string, nothing, integer)],
  [[literal("a"), string], string],
  [[nothing, literal("a"), integer, string, oneOf("b")], either(nothing, string, integer)],
  [[string, literal("a")], string],
  [[oneOf("a", "b"), literal("a")], oneOf("a", "b")],
  [[literal("a"), literal("b")], either(literal("a"), literal("b"))],
  [[oneOf("a", "b"), oneOf("b", "c")], either(oneOf("a", "b"), oneOf("b", "c"))],
  [[integer, number], number],
  [[array(integer), array(number)], either(array(integer), array(number))],
  [[array(integer), array(integer)], array(integer)],
  [[array(any), array(string)], either(array(any), array(string))],
  [[record({ a: string }), record({ a: string })], record({ a: string })],
  [[record({ a: string }), object, ref("finding")], object],
  [[ref("a"), ref("a"), ref("b")], either(ref("a"), ref("b"))],
  [[ref("a"), record({ a: string })], either(ref("a"), record({ a: string }))],
  [[string, error, any], error],
  [[string, any, nothing], any],
]

describe("union", () => {
  for (const [members, expected] of unions) {
    test(`of ${members.map((member) => showType(member)).join(", ")} is ${showType(expected)}`, () => {
      assert.deepEqual(union(members), expected)
    })
  }
})

test("nullable, withoutNull and maybe", () => {
  const rows: readonly [Type, boolean, Type][] = [
    [string, false, string],
    [nothing, true, any],
    [maybe(string), true, string],
    [either(string, nothing, integer), true, either(string, integer)],
    [any, false, any],
    [error, false, error],
    [ref("finding"), false, ref("finding")],
    [maybe(ref("finding")), true, ref("finding")],
    [array(maybe(string)), false, array(maybe(string))],
  ]
  for (const [type, isNullable, without] of rows) {
    assert.equal(nullable(type, types), isNullable, showType(type))
    assert.deepEqual(withoutNull(type, types), without, showType(type))
  }
  assert.deepEqual(makeMaybe(string), maybe(string))
  assert.deepEqual(makeMaybe(maybe(string)), maybe(string))
  assert.deepEqual(makeMaybe(nothing), nothing)
  assert.deepEqual(makeMaybe(any), any)
})

test("resolve follows references, and a circle or a missing name is an error type", () => {
  assert.equal(resolve(ref("advice"), types), advice)
  assert.equal(resolve(string, types), string)
  assert.deepEqual(resolve(ref("missing"), types), error)
  assert.deepEqual(resolve(ref("__proto__"), types), error)
  assert.deepEqual(resolve(ref("a"), table({ a: ref("b"), b: ref("a") })), error)
})

test("caseRecord puts the tag first", () => {
  assert.deepEqual(caseRecord(advice, "question"), record({ kind: literal("question"), text: string }))
  assert.equal(caseRecord(advice, "toString"), undefined)
})
