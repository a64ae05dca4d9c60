import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { test } from "node:test"
import { assertCpuBelow, assertLinear } from "../../../test/support/cpu-time.ts"
import { fc } from "../../../test/support/fast-check.ts"
import { assertOften, cases } from "../../../test/support/strength.ts"
import type { RedactStream } from "../../ports/model.ts"
import { naiveRedact } from "../../../test/support/naive-redact.ts"
import { namedSecrets, redactor, SharedSearches } from "./redact.ts"

const key = "sk-Abc/123+äé €x=" // Every alphabet differs on it.

test("without secrets nothing is looked at", () => {
  const value = { a: ["x"] }
  const none = redactor({})
  assert.equal(none.redact(value), value)
  assert.equal(none.stream().push("sk"), "sk")
  assert.equal(redactor({ empty: "", no: null, flag: true }).stream().push("sk"), "sk")
})

test("a secret is replaced wherever it stands, and the rest is left as it was", () => {
  const { redact } = redactor({ key })
  const untouched = { deep: ["nothing here"] }
  const value = { text: `Bearer ${key}!`, list: [key, 1, null, true], untouched, [`k ${key}`]: 1 }
  const clean = redact(value)
  assert.deepEqual(clean, {
    text: "Bearer [secret:key]!",
    list: ["[secret:key]", 1, null, true],
    untouched,
    "k [secret:key]": 1,
  })
  assert.equal(clean.untouched, untouched)
  assert.equal(redact(untouched), untouched)
})

test("encoded forms: Base64 at each alignment and in both alphabets, URL-encoded, inside JSON text", () => {
  const { redact } = redactor({ key })
  for (const before of ["", "a", "ab", "abc", "user:"]) {
    for (const after of ["", "z", "zz", ":rest"]) {
      for (const alphabet of ["base64", "base64url"] as const) {
        const coded = Buffer.from(before + key + after, "utf8").toString(alphabet)
        const clean = redact(`x ${coded} y`)
        assert.match(clean, /^x .*\[secret:key\].* y$/, `${before}|${after}|${alphabet}`)
        const left = clean.replace("[secret:key]", "").length
        assert.ok(left <= 4 + ((before.length + after.length + 3) * 4) / 3 + 4, clean)
      }
    }
  }
  const urls = [
    encodeURIComponent(key),
    encodeURIComponent(key).toLowerCase().replace("abc", "Abc"),
    new URLSearchParams({ k: key }).toString().slice(2),
    encodeURIComponent(encodeURIComponent(key)),
    encodeURI(key),
    [...Buffer.from(key)].map((byte) => `%${byte.toString(16)}`).join(""),
  ]
  for (const url of urls) {
    assert.equal(redact(`https://x.test/?k=${url}&b=1`), "https://x.test/?k=[secret:key]&b=1", url)
  }
  const quoted = redactor({ q: 'line\n"quoted"\\' })
  assert.equal(quoted.redact(JSON.stringify({ a: 'line\n"quoted"\\' })), '{"a":"[secret:q]"}')
})

test("a short secret is replaced only where a whole string equals it", () => {
  const { redact } = redactor({ pin: "1234567", long: "12345678" })
  assert.equal(redact("1234567"), "[secret:pin]")
  assert.equal(redact("a 1234567 b"), "a 1234567 b")
  assert.equal(redact("a 12345678 b"), "a [secret:long] b")
})

test("nested and numeric secrets, and one inside another", () => {
  const { redact } = redactor({ db: { password: "hunter22hunter22", port: 5432 }, code: 123456789, part: "hunter22" })
  assert.equal(redact("hunter22hunter22"), "[secret:db.password]")
  assert.equal(redact("x hunter22hunter22 hunter22"), "x [secret:db.password] [secret:part]")
  assert.deepEqual(redact([123456789, "is 123456789", 5432]), ["[secret:code]", "is [secret:code]", 5432])
})

test("secrets with characters that mean something in a pattern", () => {
  for (const secret of [
    "a.b*c+d?e",
    "(((((((((",
    "[^]]]]]]]",
    "$&$&$&$&$&",
    "\\\\\\\\\\\\\\\\",
    "x|y|z|a|b|c",
    "--------^",
  ]) {
    assert.equal(redactor({ s: secret }).redact(`<${secret}>`), "<[secret:s]>", secret)
    assert.equal(redactor({ s: secret }).redact("innocent, axbbbcddde"), "innocent, axbbbcddde")
  }
})

test("property: no form of a secret gets through, and text without it is left alone", () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 8, maxLength: 40, unit: "grapheme" }).filter((text) => text.isWellFormed()),
      fc.string({ maxLength: 30 }),
      fc.string({ maxLength: 30 }),
      (secret, before, after) => {
        const { redact } = redactor({ s: secret })
        assert.ok(!redact(before + secret + after).includes(secret) || "[secret:s]".includes(secret))
        const coded = Buffer.from(secret).toString("base64")
        assert.ok(!redact(` ${coded} `).includes(coded))
        assert.ok(!redact(` ${encodeURIComponent(secret)} `).includes(encodeURIComponent(secret)))
      },
    ),
    { numRuns: cases(300) },
  )
})

test("names stand for values, whatever the shape", () => {
  assert.deepEqual(namedSecrets({ a: "x", b: { c: 1, d: [true, "y", null] } }), {
    a: "[secret:a]",
    b: { c: "[secret:b.c]", d: [true, "[secret:b.d.1]", null] },
  })
})

/** A text that is cut at the given places, redacted piece by piece. */
function inPieces(stream: RedactStream, text: string, cuts: readonly number[]): string {
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b)
  const shown = [0, ...places].map((from, at) => stream.push(text.slice(from, places[at] ?? text.length)))
  return [...shown, stream.end()].join("")
}

test("property: the search finds what a naive search finds, in whole texts and in pieces", () => {
  const secrets = {
    a: "aabaabaa",
    b: "abaabaabaa",
    c: "a%25 +/äb",
    d: "😀😀😀😀x",
    e: "ab",
    f: "41414141",
    g: "%%%%%%%%25",
  }
  const { redact, stream } = redactor(secrets)
  const forms = Object.values(secrets).flatMap((secret) => [
    secret,
    encodeURIComponent(secret),
    encodeURIComponent(encodeURIComponent(secret)).toLowerCase(),
    encodeURIComponent(secret).replaceAll("%20", "+"),
    // Throughout: the last character, too, can be cut.
    Buffer.from(secret, "utf8").toString("hex").replace(/../g, "%$&"),
    ...["", "x", "xy"].map((before) => Buffer.from(`${before}${secret}z`, "utf8").toString("base64")),
    Buffer.from(secret, "utf8").toString("base64url"),
    encodeURIComponent(Buffer.from(secret, "utf8").toString("base64")),
  ])
  const part = fc.oneof(
    fc.constantFrom("a", "b", "%", "%2", "%25", "%41", "25", "+", "😀", " ", "=", "Y", "Z", "\ud83d"),
    fc.constantFrom(...forms),
    fc.tuple(fc.constantFrom(...forms), fc.nat()).map(([form, cut]) => form.slice(0, cut % form.length)),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), fc.array(fc.nat(), { maxLength: 30 }), (parts, cuts) => {
      const text = `.${parts.join("")}.`
      const expected = naiveRedact(text, secrets)
      assert.equal(redact(text), expected)
      assert.equal(inPieces(stream(), text, cuts), expected)
      assert.equal(
        inPieces(
          stream(),
          text,
          Array.from(text, (_, at) => at),
        ),
        expected,
      )
    }),
    { numRuns: cases(2000) },
  )
})

test("text that cannot be the beginning of a secret is shown at once", () => {
  const stream = redactor({ key: "sk-0123456789" }).stream()
  assert.equal(stream.push('{"summary":"'), '{"summary":"')
  assert.equal(stream.push("the task, "), "the task, ")
  assert.equal(stream.push("sk-01"), "")
  assert.equal(stream.push("9 "), "sk-019 ")
  assert.equal(stream.push("sk-0123456"), "")
  assert.equal(stream.push("789."), "[secret:key].")
})

/** Microseconds of this process. */

const hostile: Readonly<Record<string, { readonly secrets: Record<string, string>; readonly text: string }>> = {
  "one long secret that is like itself throughout": {
    secrets: { a: `${"a".repeat(16_000)}b` },
    text: "a".repeat(200_000),
  },
  "many that begin alike": {
    secrets: Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`s${n}`, `${"ab".repeat(150)}${n}`])),
    text: "ab".repeat(100_000),
  },
  "many, each the end of another": {
    secrets: Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`s${n}`, "a".repeat(8 + n)])),
    text: "a".repeat(200_000),
  },
  "a long one, echoed": { secrets: { a: "0123456789abcdef".repeat(1000) }, text: "0123456789abcdef".repeat(10_000) },
  "percent signs": { secrets: { a: "%".repeat(16_000) }, text: "%25".repeat(70_000) },
  "escapes of escapes": { secrets: { a: "%25".repeat(5000) }, text: `%${"25".repeat(100_000)}` },
}

for (const [name, { secrets, text }] of Object.entries(hostile)) {
  test(`hostile: ${name}`, async () => {
    // It is a tenth of a second or so; a search that is not linear takes minutes.
    await assertCpuBelow(5_000, () => {
      const { redact, stream } = redactor(secrets)
      redact(text)
      const pieces = stream()
      for (let at = 0; at < text.length; at += 20) pieces.push(text.slice(at, at + 20))
      pieces.end()
    })
  })
}

test("a stream that never stops to begin a secret costs time by its length", async () => {
  const push = (pieces: number): void => {
    const stream = redactor({ key: "%".repeat(10) }).stream()
    for (let n = 0; n < pieces; n++) stream.push("%25")
  }
  await assertLinear(push, 2000, 32_000)
})

test("a run without secrets hides what it gets to know", () => {
  const { redact, alsoHide } = redactor({})
  const value = { text: "Bearer abcdefghijklmnop" }
  assert.equal(redact(value), value)
  alsoHide("access_token", "abcdefghijklmnop")
  assert.deepEqual(redact(value), { text: "Bearer [secret:access_token]" })
})

test("the text of a value that has a secret in it is never taken for one without", () => {
  const secret = fc.oneof(
    fc.stringMatching(/^[\w.~:+ -]{8,20}$/),
    fc.string({ minLength: 1, maxLength: 14 }),
    fc.constantFrom(key, 'ab"cd\\ef', "pa%73sword1", "12345678"),
    fc.integer(),
  )
  const forms: readonly ((text: string) => string)[] = [
    (text) => text,
    (text) => JSON.stringify({ a: text }),
    (text) => JSON.stringify([JSON.stringify([text])]),
    (text) => Buffer.from(`x${text}y`).toString("base64"),
    (text) => Buffer.from(text).toString("base64url"),
    (text) => encodeURIComponent(text),
    (text) => encodeURIComponent(encodeURIComponent(text)),
  ]
  let held = 0
  let passed = 0
  const plain = fc.array(fc.string(), { maxLength: 3 })
  const isIn = fc.boolean()
  fc.assert(
    fc.property(secret, plain, isIn, fc.constantFrom(...forms), fc.string(), (value, texts, put, form, around) => {
      const own = put ? [`${around}${form(String(value).toWellFormed())}${around}`, { [String(value)]: value }] : []
      const body = JSON.parse(JSON.stringify([...texts, ...own])) as unknown
      const { redact, holdsNone } = redactor({ key: value })
      const isHeld = redact(body) !== body
      const passes = holdsNone(JSON.stringify(body))
      if (isHeld) held++
      if (passes) passed++
      assert.ok(!(isHeld && passes), JSON.stringify({ value, body }))
    }),
    { numRuns: cases(3_000) },
  )
  assertOften(held, 1_000, "values with a secret in them")
  assertOften(passed, 200, "texts that passed")
})

test("runs with the same secrets share a search, which is gone with the last of them", () => {
  const searches = new SharedSearches()
  const [one, other] = [redactor({ key }, searches), redactor({ key }, searches)]
  const another = redactor({ name: key }, searches)
  assert.equal(searches.size, 2)
  assert.deepEqual(
    [one, other, another].map(({ redact }) => redact(`- ${key}`)),
    ["- [secret:key]", "- [secret:key]", "- [secret:name]"],
  )
  another.close()
  one.close()
  one.close()
  assert.equal(searches.size, 1)
  assert.equal(one.redact(`- ${key}`), "- [secret:key]")
  other.close()
  assert.equal(searches.size, 0)
})

test("names and values that read alike when they are joined have searches of their own", () => {
  const searches = new SharedSearches()
  const one = redactor({ ab: "c-12345678" }, searches)
  const other = redactor({ a: "bc-12345678" }, searches)
  assert.equal(searches.size, 2)
  assert.equal(one.redact("- c-12345678"), "- [secret:ab]")
  assert.equal(other.redact("- bc-12345678"), "- [secret:a]")
})

test("another form that one run has to hide is not looked for in the runs that shared its search", () => {
  const searches = new SharedSearches()
  const [one, other] = [redactor({ key }, searches), redactor({ key }, searches)]
  one.alsoHide("key", "host.example")
  assert.deepEqual(
    [one.redact("at host.example"), other.redact("at host.example")],
    ["at [secret:key]", "at host.example"],
  )
  assert.equal(other.redact(`- ${key}`), "- [secret:key]")
  one.close()
  one.alsoHide("key", "other.example")
  assert.equal(one.redact("at other.example"), "at [secret:key]")
  other.close()
  assert.equal(searches.size, 0)
})
