import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { test } from "node:test"
import fc from "fast-check"
import { namedSecrets, redactor } from "./redact.ts"

const key = "sk-Abc/123+äé €x=" // Every alphabet differs on it.

test("without secrets nothing is looked at", () => {
  const value = { a: ["x"] }
  const none = redactor({})
  assert.equal(none.redact(value), value)
  assert.equal(none.longest, 0)
  assert.equal(redactor({ empty: "", no: null, flag: true }).longest, 0)
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
  const { redact, longest } = redactor({ key })
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
    if (!url.includes("%25")) assert.ok(url.length <= longest, `${url.length} > ${longest}`)
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
    { numRuns: 300 },
  )
})

test("names stand for values, whatever the shape", () => {
  assert.deepEqual(namedSecrets({ a: "x", b: { c: 1, d: [true, "y", null] } }), {
    a: "[secret:a]",
    b: { c: "[secret:b.c]", d: [true, "[secret:b.d.1]", null] },
  })
})
