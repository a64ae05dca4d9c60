import assert from "node:assert/strict"
import { after, describe, it } from "node:test"
import fc from "fast-check"
import type { CodeAnswer, CodeCall, CodeSession } from "../../ports/code.ts"
import type { CodeFiles } from "../../source/code-files.ts"
import { CodeThreads } from "./code-threads.ts"

// What ends after 200 ms of CPU is endless; nothing here asserts that something is fast.
const host = new CodeThreads({ callMs: 200, patienceMs: 120_000 })
after(() => host.close())

function files(text: string, others: Record<string, string> = {}, entry = "code.js"): CodeFiles {
  return { entry, texts: { [entry]: text, ...others } }
}

const call = (code: CodeFiles, args: unknown[] = [], more: Partial<CodeCall> = {}): CodeCall => ({
  code,
  name: "f",
  args: JSON.stringify(args),
  seed: "run/dynamic.a",
  leftMs: 10_000,
  ...more,
})

async function one(session: CodeSession, given: CodeCall): Promise<CodeAnswer> {
  const [answer] = await session.callAll([given])
  assert.ok(answer !== undefined)
  return answer
}

async function once(code: CodeFiles | string, args: unknown[] = [], more: Partial<CodeCall> = {}): Promise<CodeAnswer> {
  const session = host.open(Date.parse("2026-01-01T12:30:00Z"), "")
  try {
    return await one(session, call(typeof code === "string" ? files(code) : code, args, more))
  } finally {
    session.close()
  }
}

function value(answer: CodeAnswer): unknown {
  assert.equal(answer.kind, "value", JSON.stringify(answer))
  return answer.kind === "value" ? JSON.parse(answer.text) : undefined
}

function failed(answer: CodeAnswer): { message: string; place: string | null } {
  assert.equal(answer.kind, "failed", JSON.stringify(answer))
  return answer.kind === "failed" ? answer : { message: "", place: null }
}

function limit(answer: CodeAnswer): string {
  assert.equal(answer.kind, "limit", JSON.stringify(answer))
  return answer.kind === "limit" ? answer.limit : ""
}

describe("code in a sandbox", () => {
  it("calls an export by its name, else the default", async () => {
    assert.deepEqual(value(await once("export function f(a, b) { return { sum: a + b } }", [1, 2])), { sum: 3 })
    assert.deepEqual(value(await once("export default (a) => [a]", ["x"])), ["x"])
    assert.deepEqual(value(await once("export const f = () => 1\nexport default () => 2")), 1)
  })

  it("takes values in and out as JSON does", async () => {
    const session = host.open(0, "")
    const code = files("export const f = (value) => value")
    await fc.assert(
      fc.asyncProperty(fc.jsonValue({ noUnicodeString: false }), async (given) => {
        const expected: unknown = JSON.parse(JSON.stringify(given))
        assert.deepEqual(value(await one(session, call(code, [given]))), expected)
      }),
      { numRuns: 300, seed: 54 },
    )
    for (const given of ["\ud800", "\u0000", "\u2028", "💥".repeat(1000), { __proto__x: 1 }, 1e308, -0, 5e-324]) {
      assert.deepEqual(value(await one(session, call(code, [given]))), JSON.parse(JSON.stringify(given)))
    }
    const own = await one(session, { ...call(code), args: '[{"__proto__":{"a":1},"constructor":2,"toString":null}]' })
    assert.equal(own.kind === "value" && own.text, '{"__proto__":{"a":1},"constructor":2,"toString":null}')
    session.close()
  })

  it("sees the run's time, and random numbers of its seed", async () => {
    const code =
      "export const f = () => [new Date().toISOString(), new Date(2026, 0, 1).toISOString(), Date.now(), Math.random(), Math.random()]"
    const [one, same, other] = [await once(code), await once(code), await once(code, [], { seed: "other" })].map(
      value,
    ) as unknown[][]
    assert.deepEqual(one, same)
    assert.deepEqual(one?.slice(0, 3), ["2026-01-01T12:30:00.000Z", "2026-01-01T00:00:00.000Z", 1767270600000])
    assert.notEqual(one?.[3], one?.[4])
    assert.notEqual(one?.[3], other?.[3])
  })

  it("has ECMAScript's names and console alone, and no way to others", async () => {
    const found = value(await once("export const f = () => Object.getOwnPropertyNames(globalThis)")) as string[]
    const strangers = found.filter((name) => !(name in globalThis) && !["escape", "unescape"].includes(name))
    // Node 22 lacks some of ECMAScript's; all of these are its own.
    const young = ["Iterator", "SuppressedError", "DisposableStack", "AsyncDisposableStack", "Float16Array"]
    assert.deepEqual(
      strangers.filter((name) => !young.includes(name)),
      [],
    )
    for (const name of [
      "process",
      "require",
      "fetch",
      "setTimeout",
      "performance",
      "queueMicrotask",
      "WebAssembly",
      "Worker",
      "std",
      "os",
      "scriptArgs",
      "print",
      "load",
      "navigator",
      "gc",
      "bjson",
    ]) {
      assert.equal(found.includes(name), false, name)
    }
    assert.deepEqual(
      value(await once("export const f = () => [typeof Function('return this')().process, typeof import.meta.url]")),
      ["undefined", "undefined"],
    )
    assert.match(
      failed(await once("export const f = () => { throw new Error(''.constructor.constructor('return process')()) }"))
        .message,
      /process/,
    )
  })

  it("keeps nothing between sessions, and keeps what a session's calls leave", async () => {
    const code = files("let n = 0\nexport const f = () => { Array.prototype.stain = 1; return ++n + ([].stain ?? 0) }")
    const session = host.open(0, "")
    assert.equal(value(await one(session, call(code))), 2)
    assert.equal(value(await one(session, call(code))), 3)
    session.close()
    assert.equal(value(await once(code)), 2)
  })

  it("imports code files of the root alone", async () => {
    const helper = { "lib/a.ts": "export const one: number = 1", "lib/b.js": 'export { one as two } from "./a.ts"' }
    const code = files('import { two } from "../lib/b.js"\nexport const f = () => two', helper, "flows/main.js")
    assert.equal(value(await once(code)), 1)
    assert.equal(value(await once('import { f as g } from "./code.js"\nexport const f = () => typeof g')), "function")
    const problem = async (text: string, others: Record<string, string> = {}): Promise<unknown> => {
      const checked = await host.check(files(text, others), "")
      return "problem" in checked ? [checked.problem.kind, checked.problem.file] : checked
    }
    assert.deepEqual(await problem('import fs from "node:fs"'), ["invalid-code", "code.js"])
    assert.deepEqual(await problem('import "../../etc/passwd.js"'), ["invalid-code", "code.js"])
    assert.deepEqual(await problem('import "./other.js"'), ["unknown-file", "code.js"])
    assert.deepEqual(await problem('import "./other.js"', { "other.js": 'import "lodash"' }), [
      "invalid-code",
      "other.js",
    ])
    assert.match(
      failed(await once('export const f = () => { throw new Error(typeof import("./code.js").then) }')).message,
      /function/,
    )
  })

  it("takes types off, and refuses what cannot be taken off at its place", async () => {
    const typed = "interface A { b: number }\nexport function f(a: A): number { return a.b as number }"
    assert.equal(value(await once(files(typed, {}, "code.ts"), [{ b: 4 }])), 4)
    for (const [text, line] of [
      ["let a = 1\nenum B { C }\n", 2],
      ["namespace N { export let a = 1 }", 1],
      ["class A { constructor(private a: number) {} }", 1],
      ["\n\nlet = = 1", 3],
    ] as const) {
      const checked = await host.check(files(text, {}, "code.ts"), "")
      assert.ok("problem" in checked)
      assert.deepEqual(
        [checked.problem.kind, checked.problem.file, checked.problem.line],
        ["invalid-code", "code.ts", line],
      )
    }
  })

  it("says what exports are, and where a file is wrong", async () => {
    const text =
      "export function a() {}\nexport async function b() {}\nexport function* c() {}\nexport const d = 1\nexport default class {}\nexport async function* e() {}"
    assert.deepEqual(await host.check(files(text), ""), {
      exports: { a: "function", b: "async", c: "generator", d: "value", default: "function", e: "generator" },
    })
    const wrong = async (text: string): Promise<unknown> => {
      const checked = await host.check(files(text), "")
      assert.ok("problem" in checked)
      return [checked.problem.kind, checked.problem.line]
    }
    assert.deepEqual(await wrong("let a = 1\nlet b = = 2"), ["invalid-code", 2])
    assert.deepEqual(await wrong("\nthrow new TypeError('no')"), ["invalid-code", 2])
    assert.deepEqual(await wrong("while (true) {}"), ["invalid-code", null])
    assert.deepEqual(await wrong("await new Promise(() => {})"), ["invalid-code", null])
    assert.deepEqual(await wrong("const spin = () => Promise.resolve().then(spin)\nawait spin()"), [
      "invalid-code",
      null,
    ])
  })

  it("tells what was thrown, and where", async () => {
    const { message, place } = failed(await once("export function f(x) {\n  return x.y.z\n}", [{}]))
    assert.match(message, /^TypeError: /)
    assert.equal(place, "code.js:2")
    assert.equal(
      failed(await once("export const f = () => { throw { get message() { throw 1 } } }")).message,
      "It threw what cannot be shown: reading it throws a number",
    )
    assert.equal(failed(await once("export const f = () => { throw 'plain' }")).message, "plain")
    assert.ok(failed(await once("export const f = () => { throw new Error('x'.repeat(1e6)) }")).message.length <= 1100)
    assert.match(failed(await once("export const f = async () => 1")).message, /promise/)
    assert.match(failed(await once("export const f = () => (function* () {})()")).message, /generator/)
    for (const text of ["undefined", "() => 1", "Symbol()"])
      assert.match(failed(await once(`export const f = () => (${text})`)).message, /JSON value/)
    assert.match(failed(await once("export const f = () => 1n")).message, /BigInt|bigint/i)
    assert.match(failed(await once("export const f = () => { const a = []; a[0] = a; return a }")).message, /circular/i)
  })

  it("keeps what code writes to its console", async () => {
    const answer = await once("export const f = () => { console.log('a', { b: 1 }); console.error(2); return 0 }")
    assert.equal(answer.logs, 'a {"b":1}\n2\n')
    const many = await once(
      "export const f = () => { for (let i = 0; i < 1e4; i++) console.log('x'.repeat(100)); return 0 }",
    )
    assert.ok(many.logs.length <= 16_385)
  })

  const hostile: Readonly<Record<string, readonly [limit: RegExp, text: string]>> = {
    "an endless loop": [/call/, "export const f = () => { while (true); }"],
    "a loop that catches": [
      /call/,
      "export const f = () => { while (true) try { while (true); } catch {} finally {} }",
    ],
    "an endless getter": [/call/, "export const f = () => ({ get a() { while (true); } })"],
    "an endless toJSON": [/call/, "export const f = () => ({ toJSON() { while (true); } })"],
    "a proxy without end": [/call/, "export const f = () => new Proxy({}, { ownKeys() { while (true); } })"],
    "a proxy of itself": [
      /call|recursion|memory/,
      "export const f = () => { const p = new Proxy({}, { ownKeys: () => ['a'], get: () => p, getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }) }); return p }",
    ],
    "an endless message": [/call/, "export const f = () => { throw { get message() { while (true); } } }"],
    "an endless name of an error": [
      /call/,
      "export const f = () => { throw { message: { toString() { while (true); } } } }",
    ],
    "a regular expression": [/call/, "export const f = () => /(a+)+$/.test('a'.repeat(60) + 'b')"],
    "a search of what is not there": [/call/, "export const f = () => new Array(2 ** 32 - 1).indexOf(3)"],
    "a sort without end": [/call/, "export const f = () => [3, 1, 2].sort(() => { while (true); })"],
    "memory that grows slowly": [
      /memory|call/,
      "export const f = () => { const all = []; while (true) all.push(new Array(10_000).fill(0)) }",
    ],
    "an enormous string": [/memory/, "export const f = () => 'x'.repeat(2 ** 29)"],
    "strings that double": [
      /memory/,
      "export const f = () => { let s = 'xxxxxxxxx'; while (true) s = s.split('').concat(s.split('')).join('') }",
    ],
    "a large result": [/result/, "export const f = () => 'x'.repeat(9e6)"],
    "a large result in bytes": [/result/, "export const f = () => '\\u00e9'.repeat(5e6)"],
    "an array buffer": [/memory/, "export const f = () => { throw new ArrayBuffer(1e9) }"],
  }
  for (const [name, [expected, text]] of Object.entries(hostile)) {
    it(`stops ${name}`, async () => {
      const found = await once(text)
      // The engine refuses lengths that it cannot have before it asks for memory.
      if (found.kind === "failed") assert.match(found.message, /invalid|length|circular/i)
      else assert.match(limit(found), expected)
    })
  }

  it("survives deep recursion", async () => {
    for (const text of [
      "export const f = () => { const g = () => g() + 1; return g() }",
      "export const f = () => JSON.parse('['.repeat(100_000))",
      "export const f = () => new Function('return ' + '('.repeat(10_000) + '1' + ')'.repeat(10_000))()",
      "export const f = () => { let p = {}; for (let i = 0; i < 5_000; i++) p = new Proxy(p, {}); return p.x }",
    ]) {
      const found = await once(text)
      assert.ok(found.kind !== "value", text)
    }
    assert.equal(value(await once("export const f = () => 1")), 1)
  })

  it("does not let code change what the host does", async () => {
    const stained = `Object.prototype.toJSON = () => "stained"
Array.prototype.map = Array.prototype.push = String.prototype.slice = () => { throw new Error("stained") }
JSON.stringify = JSON.parse = () => "stained"
Object.defineProperty(Object.prototype, "0", { set() { throw new Error("stained") }, get() { return "stained" } })
Reflect.apply = Function.prototype.call = Function.prototype.apply = () => "stained"
Promise.prototype.then = () => { throw new Error("stained") }
export const f = () => 7`
    assert.equal(value(await once(stained)), 7)
    assert.equal(({} as Record<string, unknown>)["toJSON"], undefined)
    const changing = "let n = 0\nexport const f = () => ({ get a() { return ++n }, b: { toJSON: () => ++n } })"
    assert.deepEqual(value(await once(changing)), { a: 1, b: 2 })
  })

  it("counts the CPU of a run", async () => {
    assert.equal(limit(await once("export const f = () => { while (true); }", [], { leftMs: 50 })), "run")
    assert.ok((await once("export const f = () => { for (let i = 0; i < 1e6; i++); return 1 }")).cpuMs > 0)
  })

  it("stops a call of which the interpreter does not see the end", async () => {
    const own = new CodeThreads({ callMs: 200, threads: 1, patienceMs: 500 })
    const code = files("export const f = (wanted) => 'a'.repeat(2e6).indexOf('a'.repeat(1e6) + wanted)")
    const session = own.open(0, "")
    assert.equal(limit(await one(session, call(code, ["b"]))), "call")
    session.close()
    await own.close()
  })

  it("stops a thread whose session is closed during a call, and goes on with others", async () => {
    const own = new CodeThreads({ callMs: 3_600_000, threads: 1 })
    const ended: string[] = []
    const endless = own.open(0, "a")
    // A first call that was answered: the second is under way, and does not wait for a thread.
    assert.equal(value(await one(endless, call(files("export const f = () => 1")))), 1)
    const code = files("export const f = () => { while (true); }", {}, "endless.js")
    void one(endless, call(code, [], { leftMs: Infinity })).then(() => ended.push("endless"))
    const waiting = own.open(0, "b")
    const gone = own.open(0, "c")
    void one(gone, call(files("export const f = () => 3"))).then(() => ended.push("gone"))
    const last = one(waiting, call(files("export const f = () => 2")))
    gone.close()
    endless.close()
    assert.equal(value(await last), 2)
    waiting.close()
    assert.deepEqual(
      ended.filter((one) => one !== "endless"),
      [],
    )
    await own.close()
  })

  it("gives callers their turns", async () => {
    const own = new CodeThreads({ callMs: 1_000, threads: 1, patienceMs: 120_000 })
    const order: string[] = []
    const use = async (share: string): Promise<void> => {
      const session = own.open(0, share)
      await one(session, call(files("export const f = () => 1")))
      order.push(share)
      session.close()
    }
    await Promise.all([use("a"), use("a"), use("a"), use("b")])
    assert.equal(order.indexOf("b") < 3, true, order.join())
    await own.close()
  })
})
