import assert from "node:assert/strict"
import { Buffer } from "node:buffer"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { compile } from "../../compile.ts"
import type { ValueFlags, Values } from "./given-values.ts"
import { WrongValue } from "../terminal/command-failure.ts"
import { readValues } from "./given-values.ts"

const { plan } = compile(`
schema tag { label: string  weight: number }
input { name: string  size: enum { s, l }  more: maybe { n: integer  tags: [schema.tag] }  raw: object  doc: maybe file  scans: [file] }
secrets { token: string  pin: integer }
output { a: input.name }
`)

const folder = mkdtempSync(join(tmpdir(), "wire-values-"))
after(() => rmSync(folder, { recursive: true, force: true }))
const file = (name: string, text: string | Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

function read(flags: ValueFlags, environment: Record<string, string> = {}, stdin = ""): Promise<Values> {
  if (plan === undefined) throw new Error("the source is wrong")
  return readValues(plan, flags, environment, () => Promise.resolve(stdin), 64)
}

test("input from a file, from JSON, from standard input; fields one by one on top of it", async () => {
  const path = file("input.json", '\uFEFF{ "name": "Ada" }')
  assert.deepEqual((await read({ input: path })).input, { name: "Ada" })
  assert.deepEqual((await read({ input: ' {"name":"Bo"}' })).input, { name: "Bo" })
  assert.deepEqual((await read({ input: "-" }, {}, '{"name":"Cy"}')).input, { name: "Cy" })
  assert.deepEqual((await read({ input: path, set: ["name=Di"] })).input, { name: "Di" })
  assert.deepEqual(await read({}), { input: {}, secrets: {} })
})

test("a value of a text type is taken as it stands, any other as JSON", async () => {
  const set = [
    "name=42",
    "size=s",
    "more.n=7",
    "more.tags[0].label=a=b",
    "more.tags[0].weight=1.5",
    'more.tags[1]={"label":"c","weight":2}',
    "raw.x=true",
    "raw.y=plain words",
    "raw.z[0][0]=null",
  ]
  assert.deepEqual((await read({ set })).input, {
    name: "42",
    size: "s",
    more: {
      n: 7,
      tags: [
        { label: "a=b", weight: 1.5 },
        { label: "c", weight: 2 },
      ],
    },
    raw: { x: true, y: "plain words", z: [[null]] },
  })
  assert.deepEqual((await read({ set: ["more=null", "name=null"] })).input, { more: null, name: "null" })
})

test("@FILE is the text of a file, @@ a literal @", async () => {
  const diff = file("d.diff", "\uFEFF--- a\n+++ b = \u{1F600}\n")
  const tags = file("tags.json", '[{ "label": "@x", "weight": 2 }]\n')
  const set = [`name=@${diff}`, `more.tags=@${tags}`, "raw.a=@@ada", "raw.b=a@b", "raw.c=@@@"]
  assert.deepEqual((await read({ set })).input, {
    name: "--- a\n+++ b = \u{1F600}\n",
    more: { tags: [{ label: "@x", weight: 2 }] },
    raw: { a: "@ada", b: "a@b", c: "@@" },
  })
})

test("@FILE in a field of type file is the file itself, with its name", async () => {
  const bytes = Buffer.from([0x25, 0x50, 0x44, 0x46, 0xe4])
  const given = { data: bytes.toString("base64"), name: "a.pdf" }
  const pdf = file("a.pdf", bytes)
  const url = { url: "https://example.com/b.pdf" }
  const set = [`doc=@${pdf}`, `scans[0]=@${pdf}`, `scans[1]=${JSON.stringify(url)}`, "scans[2]=data:;base64,AAAA"]
  assert.deepEqual((await read({ set })).input, { doc: given, scans: [given, url, "data:;base64,AAAA"] })
  assert.deepEqual((await read({ set: ["doc=null"] })).input, { doc: null })
  assert.deepEqual((await read({ set: [`doc=@${file("64.bin", Buffer.alloc(64))}`] })).input, {
    doc: { data: Buffer.alloc(64).toString("base64"), name: "64.bin" },
  })
})

test("secrets from variables and files, never from the command line itself", async () => {
  const token = file("token.txt", "sk-1\n")
  const secretsFile = file("secrets.json", '{ "token": "sk-0", "pin": 1 }')
  assert.deepEqual((await read({ secretsFile })).secrets, { token: "sk-0", pin: 1 })
  const secret = [`token=file:${token}`, "pin=env:PIN"]
  assert.deepEqual((await read({ secretsFile, secret }, { PIN: "7" })).secrets, { token: "sk-1", pin: 7 })
})

test("mistakes are sentences, and quote no value", async () => {
  const broken = file("broken.json", '{ "token": sk-oops }')
  const cases: [ValueFlags, RegExp][] = [
    [{ set: ["nam=x"] }, /no input nam; did you mean name\?$/],
    [{ set: ["name"] }, /field=value/],
    [{ set: ["=x"] }, /field=value/],
    [{ set: ["a..b=x"] }, /field=value/],
    [{ set: ["__proto__.x=1"] }, /no input __proto__/],
    [{ set: ["more.tags[3].label=x"] }, /element 3 comes before 0 is set/],
    [{ set: ["name=a", "name.b=c"] }, /name is a value already/],
    [{ set: ["more.tags[0].label=a", "more.tags.x=b"] }, /x does not fit there/],
    [{ set: ["name=@"] }, /name a file after @, or write @@/],
    [{ set: [`name=@${join(folder, "nowhere.txt")}`] }, /nowhere\.txt cannot be read \(no such file\)/],
    [{ set: [`name=@${folder}`] }, /cannot be read \(a folder\)/],
    [{ set: [`name=@${file("latin1.txt", Buffer.from([0x61, 0xe4]))}`] }, /latin1\.txt is not valid UTF-8/],
    [{ set: ["doc=@"] }, /--set doc: name a file after @\.$/],
    [{ set: ["doc=a.pdf"] }, /--set doc: write @PATH for a file, or \{ "url": "https/],
    [{ set: [`doc=@${join(folder, "nowhere.pdf")}`] }, /--set doc: .*nowhere\.pdf cannot be read \(no such file\)/],
    [{ set: [`scans[0]=@${folder}`] }, /--set scans\[0\]: .* cannot be read \(a folder\)/],
    [{ set: [`doc=@${file("65.bin", Buffer.alloc(65))}`] }, /65\.bin is larger than 64 bytes \(WIRE_MAX_FILE\)/],
    [{ set: ["scans=@a.pdf"] }, /--set scans: it is a list of files: write scans\[0\]=@a\.pdf/],
    [{ input: join(folder, "nowhere.json") }, /nowhere\.json cannot be read \(no such file\)/],
    [{ input: broken }, /broken\.json is not JSON/],
    [{ input: "[1]" }, /cannot be read/],
    [{ input: "-" }, /standard input is not JSON/],
    [{ secretsFile: broken }, /broken\.json is not JSON/],
    [{ secret: ["token=sk-plain"] }, /name=env:VARIABLE/],
    [{ secret: ["token=env:NOT_SET"] }, /the variable NOT_SET is not set/],
  ]
  for (const [flags, message] of cases) {
    await assert.rejects(read(flags), (error) => {
      assert.ok(error instanceof WrongValue, JSON.stringify(flags))
      assert.match(error.message, message)
      assert.ok(!error.message.includes("sk-"), error.message)
      return true
    })
  }
  assert.equal(Object.hasOwn(Object.prototype, "x"), false)
})
