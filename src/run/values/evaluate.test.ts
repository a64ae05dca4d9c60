import assert from "node:assert/strict"
import { test } from "node:test"
import type { JsonObject, JsonValue } from "../../base/json-value.ts"
import type { Expression, Step } from "../../plan/expression.ts"
import { lit, object, ref, stepsOf, text } from "../../../test/support/build-plan.ts"
import { isAsset } from "./asset.ts"
import type { Scope } from "./scope.ts"
import { evaluate } from "./evaluate.ts"
import { EvaluationWork } from "./evaluation-work.ts"
import { RunFailure } from "../../ports/run-failure.ts"

function scope(input: JsonObject, more: Partial<Scope> = {}): Scope {
  const none = new Map<string, JsonValue>()
  return {
    input,
    secrets: {},
    agents: none,
    rounds: none,
    answers: none,
    waited: none,
    dynamics: none,
    failures: new Map(),
    locals: none,
    variables: none,
    items: new Map(),
    positions: [],
    matched: null,
    run: { id: "run", started_at: "2026-01-01T00:00:00.000Z", date: "2026-01-01" },
    path: "dynamic.x",
    iteration: null,
    work: new EvaluationWork(),
    ...more,
  }
}

function chain(base: JsonValue, path: string): Expression {
  return { op: "chain", base: lit(base), steps: stepsOf(path), text: `v${path}` }
}

function fails(expression: Expression, message: RegExp, input: JsonObject = {}, more: Partial<Scope> = {}): void {
  assert.throws(
    () => evaluate(expression, scope(input, more)),
    (error) => {
      assert.ok(error instanceof RunFailure)
      assert.equal(error.error.kind, "evaluation_error")
      assert.equal(error.error.issues[0]?.path, more.path ?? "dynamic.x")
      assert.match(error.message, message)
      return true
    },
  )
}

test("interpolation writes strings as they are and everything else as compact JSON", () => {
  const values: [JsonValue, string][] = [
    ['a "b"', 'a "b"'],
    [1.5, "1.5"],
    [true, "true"],
    [null, "null"],
    [[1, "a", null], '[1,"a",null]'],
    [{ a: { b: 1 } }, '{"a":{"b":1}}'],
  ]
  for (const [value, written] of values) {
    assert.equal(evaluate(text("<", lit(value), ">"), scope({})), `<${written}>`)
  }
})

test("roots and fields", () => {
  const here = scope(
    { a: { b: 1 }, list: [1, 2] },
    {
      secrets: { s: "x" },
      agents: new Map([["w", { t: "out" }]]),
      dynamics: new Map([["d", [true]]]),
      locals: new Map([["l", 3]]),
      variables: new Map([["v", { f: null }]]),
    },
  )
  const cases: [string, JsonValue][] = [
    ["input.a.b", 1],
    ["input.list[1]", 2],
    ["input.list[2]", null],
    ["input.list[-1]", null],
    ["secrets.s", "x"],
    ["agent.w.t", "out"],
    ["dynamic.d[0]", true],
    ["local.l", 3],
    ["variable.v.f", null],
  ]
  for (const [path, value] of cases) assert.deepEqual(evaluate(ref(path), here), value, path)
})

test("`?.` on null skips the rest of the chain", () => {
  assert.equal(evaluate(chain(null, "?.a.b[0]"), scope({})), null)
  assert.equal(evaluate(chain({ a: null }, ".a?.b.c"), scope({})), null)
  assert.equal(evaluate(chain({ a: { b: 1 } }, "?.a?.b"), scope({})), 1)
  fails(chain({ a: null }, ".a.b"), /v\.a\.b: the field b is not there, found null/)
})

test("pluck keeps, drops or refuses nulls, and nests", () => {
  const list = [{ b: 1 }, null, { b: null }, { b: 2 }]
  assert.deepEqual(evaluate(chain(list, ".*.b"), scope({})), [1, null, null, 2])
  assert.deepEqual(evaluate(chain(list, ".**.b"), scope({})), [1, 2])
  fails(chain(list, ".***.b"), /takes no nulls, but element 1 is null/)
  fails(chain([{ b: 1 }, { b: null }], ".***.b"), /b of element 1 is null/)
  fails(chain([{ b: 1 }, { b: "x" }], ".***.b"), /one type, but found number and string/)
  assert.deepEqual(evaluate(chain([{ b: 1 }, { b: 2.5 }], ".***.b"), scope({})), [1, 2.5])
  const nested = [{ b: [{ c: 1 }, { c: 2 }] }, { b: [] }, { b: [{ c: null }] }]
  assert.deepEqual(evaluate(chain(nested, ".*.b.*.c"), scope({})), [[1, 2], [], [null]])
  assert.deepEqual(evaluate(chain(nested, ".*.b.**.c"), scope({})), [[1, 2], [], []])
  assert.deepEqual(evaluate(chain([{ b: { c: 1 } }, { b: null }], ".*.b?.c"), scope({})), [1, null])
  fails(chain([{ b: { c: 1 } }, { b: null }], ".*.b.c"), /the field c is not there, found null/)
  fails(chain({ b: 1 }, ".*.b"), /\.\*\.b needs an array, found an object with the field b/)
  fails(chain([{ b: 1 }, { x: 1 }], ".*.b"), /the field b of element 1 is not there/)
})

test("untyped values that lack what an expression needs name the expression and what was found", () => {
  fails(chain("text", ".a"), /^Cannot evaluate v\.a: the field a is not there, found a string$/)
  fails(chain({ b: 1, c: 2 }, ".a"), /found an object with the fields b, c$/)
  fails(chain([1], ".a"), /found an array of 1/)
  fails(chain({}, "[0]"), /\[0\] needs an array, found an empty object/)
  fails(chain(4, "#rewrite"), /#rewrite needs an object, found a number/)
  fails(chain(1, ".a"), /\(iteration 3\)/, {}, { path: "agent.x.instruction", iteration: 3 })
})

test("only own properties count", () => {
  for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
    fails(chain({ a: 1 }, `.${name}`), /is not there/)
    fails(chain("text", `.${name}`), /is not there/)
  }
  fails(chain([1], ".length"), /is not there/)
  const proto: Expression = { op: "object", entries: [{ key: "__proto__", value: lit({ polluted: true }) }] }
  const made = evaluate(proto, scope({})) as JsonObject
  assert.deepEqual(Object.keys(made), ["__proto__"])
  assert.equal(Object.getPrototypeOf(made), Object.prototype)
  assert.equal(JSON.stringify(made), '{"__proto__":{"polluted":true}}')
})

test("a case is the object itself, or null", () => {
  const value = { kind: "rewrite", patch: "p" }
  assert.deepEqual(evaluate(chain(value, "#rewrite"), scope({})), value)
  assert.equal(evaluate(chain(value, "#rewrite.patch"), scope({})), "p")
  assert.equal(evaluate(chain(value, "#question.text"), scope({})), null)
  assert.equal(evaluate(chain(null, "#question.text"), scope({})), null)
  const untagged = (name: string): Expression => {
    const steps: Step[] = [{ step: "case", tag: null, name, optional: false }]
    return { op: "chain", base: lit({ type: "note" }), steps, text: `v#${name}` }
  }
  assert.deepEqual(evaluate(untagged("note"), scope({})), { type: "note" })
  assert.equal(evaluate(untagged("other"), scope({})), null)
})

test("match takes the branch of the case, `_` for the rest and for null", () => {
  const match = (value: JsonValue, rest: boolean): Expression => ({
    op: "match",
    value: lit(value),
    tag: "kind",
    branches: [
      ...(rest ? [{ takes: { kind: "rest" } as const, value: lit("rest") }] : []),
      { takes: { kind: "case", name: "a" }, value: { op: "chain", base: matched, steps: stepsOf(".x"), text: "a.x" } },
      { takes: { kind: "case", name: "b" }, value: lit("b") },
    ],
    text: "match v",
  })
  const matched: Expression = { op: "reference", root: { kind: "matched" }, text: "v" }
  assert.equal(evaluate(match({ kind: "a", x: 5 }, true), scope({})), 5)
  assert.equal(evaluate(match({ kind: "b" }, false), scope({})), "b")
  assert.equal(evaluate(match({ kind: "c" }, true), scope({})), "rest")
  assert.equal(evaluate(match(null, true), scope({})), "rest")
  fails(match({ kind: "c" }, false), /match v: no case of the match fits/)
  fails(match(null, false), /no case of the match fits, found null/)
  fails(match(7, true), /match needs an object, found a number/)
})

test("`??` takes the right side for null alone, and leaves it alone otherwise", () => {
  const or = (left: JsonValue, right: Expression): Expression => ({ op: "default", left: lit(left), right })
  for (const value of [0, "", false, []]) assert.deepEqual(evaluate(or(value, chain(1, ".x")), scope({})), value)
  assert.equal(evaluate(or(null, lit("d")), scope({})), "d")
})

test("assets take URLs, data URLs and Base64, and nothing else", () => {
  const asset = (value: JsonValue, media: string | null = null): Expression => ({
    op: "asset",
    value: lit(value),
    type: "image",
    media_type: media === null ? null : lit(media),
    title: lit("A cat"),
    context: null,
    citations: null,
    text: "asset x",
  })
  const url = (expression: Expression): JsonValue => (evaluate(expression, scope({})) as JsonObject)["url"] ?? null
  assert.equal(url(asset("https://x.test/a.png")), "https://x.test/a.png")
  assert.equal(url(asset("data:image/gif;base64,AAAA")), "data:image/gif;base64,AAAA")
  assert.equal(url(asset("AAA-_w==", "image/webp")), "data:image/webp;base64,AAA+/w==")
  assert.equal(url(asset("AAAA")), "data:image/png;base64,AAAA")
  assert.equal(evaluate(asset(null), scope({})), null)
  fails(asset("not base64!"), /needs an http\(s\) URL, a data URL or Base64 text/)
  fails(asset("file:///etc/passwd"), /needs an http/)
  fails(asset(3), /found a number/)
  const made = evaluate(asset("AAAA"), scope({}))
  assert.ok(isAsset(made))
  assert.equal(isAsset(JSON.parse(JSON.stringify(made)) as JsonValue), false)
  assert.equal(evaluate(text("See ", asset("AAAA")), scope({})), "See [image: A cat]")
})

test("objects and arrays", () => {
  const expression: Expression = { op: "array", items: [object({ a: ref("input.x"), b: lit([]) }), lit(null)] }
  assert.deepEqual(evaluate(expression, scope({ x: "y" })), [{ a: "y", b: [] }, null])
})

function exceeds(expression: Expression, message: RegExp, here: Scope = scope({})): void {
  assert.throws(
    () => evaluate(expression, here),
    (error) => {
      assert.ok(error instanceof RunFailure)
      assert.equal(error.error.kind, "limit_exceeded")
      assert.equal(error.error.issues[0]?.path, here.path)
      assert.match(error.message, message)
      return true
    },
  )
}

test("a value is refused before it is larger than the limit, however its parts are shared", () => {
  const dynamics = new Map<string, JsonValue>([["f0", Array.from({ length: 10 }, () => 1)]])
  const here = (): Scope => ({ ...scope({}), dynamics })
  const tenTimes = (name: string): Expression => ({ op: "array", items: Array.from({ length: 10 }, () => ref(name)) })
  let made = 0
  for (; made < 5; made++) dynamics.set(`f${made + 1}`, evaluate(tenTimes(`dynamic.f${made}`), here()))
  exceeds(tenTimes("dynamic.f5"), /dynamic\.x is larger than 16777216 bytes of JSON/, here())
  exceeds(object({ a: tenTimes("dynamic.f5") }), /is larger than/, here())
  exceeds(text(...Array.from({ length: 10 }, () => ref("dynamic.f5"))), /is larger than|more work/, here())
  exceeds({ op: "chain", base: tenTimes("dynamic.f5"), steps: stepsOf("[0]"), text: "x" }, /is larger than/, here())
})

test("a value is refused before it is nested deeper than the limit", () => {
  let value: JsonValue = 1
  for (let level = 0; level < 499; level++) value = [value]
  const wrapped: Expression = { op: "array", items: [ref("input.deep")] }
  assert.ok(Array.isArray(evaluate(wrapped, scope({ deep: value }))))
  exceeds(wrapped, /nested deeper than 500 levels/, scope({ deep: [value] }))
})

test("an expression that makes little of much is refused when it takes too much work", () => {
  const many = Array.from({ length: 1_000_000 }, () => null)
  const drop: Expression = { op: "chain", base: ref("input.many"), steps: stepsOf(".**.a"), text: "many" }
  const here = scope({ many }, { work: new EvaluationWork(undefined, undefined, () => 5_000_000) })
  assert.deepEqual(evaluate(drop, here), [])
  exceeds({ op: "array", items: Array.from({ length: 20_000 }, () => drop) }, /takes more work than one expr/, here)
})
