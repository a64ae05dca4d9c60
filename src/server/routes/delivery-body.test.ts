import assert from "node:assert/strict"
import { test } from "node:test"
import { fc } from "../../../test/support/fast-check.ts"
import type { Verification } from "../../plan/plan-triggers.ts"
import { deliveryOf } from "../../workflows/triggers/webhook-signature.ts"
import { HttpError } from "../http-error.ts"
import { readDelivery } from "./delivery-body.ts"

const schemes: readonly Verification[] = [
  { scheme: "standard" },
  { scheme: "github" },
  { scheme: "stripe" },
  { scheme: "slack" },
  { scheme: "gitlab" },
  { scheme: "hmac", header: "x-signature", prefix: "", encoding: "hex", algorithm: "sha256" },
]

const types = [
  "application/json",
  "application/vnd.github.v3+json",
  "Application/JSON; charset=latin1",
  "application/x-www-form-urlencoded",
  " APPLICATION/X-WWW-FORM-URLENCODED ;charset=utf-16",
  "text/plain",
  "multipart/form-data; boundary=x",
  "",
]

/** What a body becomes and the key of its delivery, for each content type that is not refused. */
async function readings(verify: Verification, body: Buffer): Promise<string[]> {
  const found: string[] = []
  for (const type of types) {
    try {
      const parsed = await readDelivery(verify, type, body, 1_000_000)
      found.push(JSON.stringify([parsed, deliveryOf(verify, {}, body, parsed)]))
    } catch (error) {
      assert.ok(error instanceof HttpError, String(error))
      assert.ok([400, 413, 415].includes(error.status), String(error.status))
    }
  }
  return found
}

const evil = fc.constantFrom("&text=evil&", "=", "&id=2&event_id=2&payload={}", "%22", "payload=1", "+")
const json = fc
  .record({ id: fc.string(), event_id: fc.string(), note: fc.oneof(evil, fc.string()), more: fc.jsonValue() })
  .map((value) => JSON.stringify(value))
const form = fc
  .array(fc.tuple(fc.constantFrom("id", "event_id", "text", "payload", ""), fc.oneof(fc.string(), fc.json())))
  .map((fields) => new URLSearchParams(fields).toString())
const space = fc.constantFrom("", " ", "\n\t", "\uFEFF", "\uFEFF\r\n ", "\v", "\u00a0")
const broken = fc.tuple(json, fc.nat(80)).map(([text, cut]) => text.slice(0, cut))
const refused = evil.map((text) => JSON.stringify({ text, id: "1" }).replace('"id"', '"__proto__"'))
const deep = evil.map((text) => `${'{"a":'.repeat(2000)}"${text}"${"}".repeat(2000)}`)
const scalar = fc.constantFrom("1", "-1e9", "true", "null", '"&text=evil"', "12&text=evil", "[]", "nul", "")
const written = fc
  .tuple(space, fc.oneof(json, form, broken, refused, deep, scalar, fc.string()), space)
  .map((all) => all.join(""))

test("a body is read in one way, whatever content type it comes with, and so is its key", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...schemes), written, async (verify, text) => {
      const found = await readings(verify, Buffer.from(text))
      assert.ok(new Set(found).size <= 1, found.join("\n"))
    }),
    { numRuns: 400 },
  )
})

test("text that begins as JSON is never a form, for JSON that is refused neither", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...schemes),
      space,
      fc.oneof(broken, refused, deep),
      async (verify, before, text) => {
        if (!/^[[{"]/.test(text)) return
        const body = Buffer.from(before + text)
        await assert.rejects(readDelivery(verify, "application/x-www-form-urlencoded", body, 1_000_000), HttpError)
      },
    ),
    { numRuns: 100 },
  )
})

test("senders that sign JSON alone take no form; those of forms do", async () => {
  for (const verify of schemes) {
    const read = readDelivery(verify, "application/x-www-form-urlencoded", Buffer.from("a=1&payload={}"), 100)
    if (["standard", "stripe"].includes(verify.scheme)) await assert.rejects(read, { status: 415 })
    else assert.deepEqual(await read, { a: "1", payload: {} })
  }
})
