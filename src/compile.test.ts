import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { compile, Files } from "./compile.ts"

const library = `secrets { key: string }
provider llm from openai { endpoint: "demo" api_key: secrets.key }
model fast from llm { id: "demo" }
`

function reading(texts: Record<string, string>): { readonly files: Files; readonly read: string[] } {
  const read: string[] = []
  const files = new Files({
    read: (path) => {
      read.push(path)
      return texts[path]
    },
    near: () => Object.keys(texts),
  })
  return { files, read }
}

describe("files that call each other", () => {
  /** Each of seven files calls the next one so often. */
  const calling = (call: string, times: number): Record<string, string> =>
    Object.fromEntries(
      Array.from({ length: 8 }, (_, at) => {
        const fields = Array.from({ length: times }, (__, field) => `d${field}: ${call}`).join("\n")
        const next = `workflow next from "./f${at + 1}.wire"\ndynamic {\n${fields}\n}\n`
        return [`f${at}.wire`, `${at === 7 ? "" : next}output { n: 1 }\n`]
      }),
    )

  test("a source that shows more calls than a run may make is not valid", () => {
    const found = (call: string, times: number, most?: number): readonly string[] => {
      const { "f0.wire": main = "", ...modules } = calling(call, times)
      const { diagnostics, plan } = compile(main, { modules, file: "f0.wire" }, undefined, most)
      const errors = diagnostics.filter(({ severity }) => severity === "error")
      assert.equal(plan === undefined, errors.length > 0)
      return errors.map(({ code, path, message }) => `${code} ${path} ${message}`)
    }
    const refused = (calls: string, most: number): string[] => [
      `invalid-value workflow.next A run would call ${calls} workflows, nested ones included; at most ${most} are allowed`,
    ]
    assert.deepEqual(found("call workflow.next", 20), refused("1,347,368,420", 10_000))
    assert.deepEqual(found("call workflow.next", 2, 254), [])
    assert.deepEqual(found("call workflow.next", 2, 253), refused("254", 253))
    // Conditions and lists decide when it runs.
    assert.deepEqual(found("[call workflow.next for x in [1]]", 20), [])
    assert.deepEqual(found("match 1 == 1 { true: call workflow.next _ null }", 20), [])
  })
})

describe("files that import each other", () => {
  test("a file at the bottom of a diamond is read and checked once, and what comes along is one thing", () => {
    const side = (name: string): string =>
      `import { schema.base } from "./base.wire"\nschema ${name} { b: schema.base }\n`
    const { files, read } = reading({
      "base.wire": "schema base { a: string }\n",
      "left.wire": side("left"),
      "right.wire": side("right"),
    })
    const main = `import { schema.left } from "./left.wire"
import { schema.right } from "./right.wire"
input { left: schema.left, right: schema.right }
output { same: [input.left.b, input.right.b] }
`
    const { diagnostics, plan } = files.compile(main)
    assert.deepEqual(diagnostics, [])
    assert.deepEqual(Object.keys(plan?.types ?? {}).sort(), ["base.wire#base", "left", "right"])
    assert.deepEqual(read.toSorted(), ["base.wire", "left.wire", "right.wire"])
  })

  test("a changed file changes what uses it, and nothing else is read again", () => {
    const texts: Record<string, string> = {
      "base.wire": "schema base { a: string }\n",
      "other.wire": "schema other { a: string }\n",
    }
    const { files, read } = reading(texts)
    const main = `import { schema.base } from "./base.wire"
import { schema.other } from "./other.wire"
input { base: schema.base, other: schema.other }
output { a: input.base.a, b: input.other.a }
`
    assert.deepEqual(files.compile(main).diagnostics, [])
    read.length = 0
    texts["base.wire"] = "schema base { b: string }\n"
    files.changed("base.wire")
    assert.deepEqual(
      files.compile(main).diagnostics.map(({ code }) => code),
      ["unknown-reference"],
    )
    assert.deepEqual(read, ["base.wire"])
  })

  test("secrets pass through several files by their bindings alone", () => {
    const middle = `import { provider.llm } from "./library.wire" { secrets { key: secrets.middle_key } }
secrets { middle_key: string, unused: string }
model fast from llm { id: "demo" }
`
    const main = `import { model.fast } from "./middle.wire" { secrets { middle_key: secrets.own } }
secrets { own: string, key: string, middle_key: string }
agent a { model: model.fast instruction: "x" output { a: string } }
output { a: agent.a.a }
`
    const { plan, diagnostics } = compile(main, { modules: { "library.wire": library, "middle.wire": middle } })
    assert.deepEqual(diagnostics, [])
    const [name, provider] = Object.entries(plan?.providers ?? {})[0] ?? []
    assert.equal(name, "library.wire#llm")
    assert.match(JSON.stringify(provider?.api_key), /"name":"own"/)
  })

  test("a value that is `secrets` itself has the secrets of its own file, and no others", () => {
    const tools = `secrets { a: string, b: maybe string }
mcp s { endpoint: "demo" }
tool t from mcp.s.tool.t { bindings { all: secrets } }
`
    const main = `import { tool.t } from "./tools.wire" { secrets { a: secrets.mine } }
secrets { mine: string, hidden: string }
dynamic { d: call tool.t }
output { d: dynamic.d }
`
    const { plan, diagnostics } = compile(main, { modules: { "tools.wire": tools } })
    assert.deepEqual(diagnostics, [])
    const bound = JSON.stringify(plan?.tools["t"]?.bindings)
    assert.match(bound, /"key":"a".*"name":"mine".*"key":"b","value":{"op":"literal","value":null}/)
    assert.doesNotMatch(bound, /hidden/)
  })

  test("a chain of a hundred files is checked", () => {
    const modules: Record<string, string> = { "m0.wire": "schema s { a: string }\n" }
    for (let i = 1; i < 100; i++) {
      modules[`m${i}.wire`] = `import { schema.s as below } from "./m${i - 1}.wire"\nschema s { below: schema.below }\n`
    }
    const main = `import { schema.s } from "./m99.wire"\ninput { s: schema.s }\noutput { s: input.s.below.below }\n`
    const { diagnostics, plan } = compile(main, { modules })
    assert.deepEqual(diagnostics, [])
    assert.equal(Object.keys(plan?.types ?? {}).length, 100)
  })

  test("names that differ in case or Unicode form are different files", () => {
    const modules = { "caf\u00e9.wire": library, "Lib.wire": library }
    for (const path of ["./cafe\u0301.wire", "./lib.wire"]) {
      const { diagnostics } = compile(`import { model.fast } from "${path}"\noutput { a: 1 }`, { modules })
      assert.deepEqual(
        diagnostics.map(({ code }) => code),
        ["unknown-file"],
      )
    }
  })
})

// A diamond: b and c both have d's schemas, one of them under a name of its own; a has a name for one that comes along as well.
const diamond: Readonly<Record<string, string>> = {
  "d.wire": `
    schema node { value: schema.leaf  children: [schema.node] }
    schema leaf { text: string  kind: variant is { small { size: integer } large { why: schema.reason } } }
    schema reason { words: [string] }
  `,
  "b.wire": `
    import { schema.node as tree, schema.leaf } from "./d.wire"
    schema left { tree: schema.tree  leaf: schema.leaf  text: schema.leaf.text }
  `,
  "c.wire": `
    import { schema.node } from "./d.wire"
    schema right { node: schema.node  kind: schema.node.value.kind }
  `,
  "a.wire": `
    import { schema.left } from "./b.wire"
    import { schema.right } from "./c.wire"
    import { schema.reason as because } from "./d.wire"
    input { left: schema.left  right: schema.right  because: schema.because }
    dynamic {
      words: input.left.leaf.kind#large.why.words ?? input.because.words
      same: input.right.kind#large.why ?? input.because
      deep: input.right.node.children[0]?.value.text ?? input.left.text
    }
    output { words: dynamic.words  same: dynamic.same.words  deep: dynamic.deep }
  `,
}

function outcome({ diagnostics, plan }: ReturnType<typeof compile>): unknown {
  return { messages: diagnostics.map(({ code, message, span }) => ({ code, message, span })), plan }
}

test("files that share schemas of others mean the same as each compiled for itself, after every edit", () => {
  const texts: Record<string, string> = { ...diamond }
  const files = new Files({ read: (path) => texts[path], near: () => Object.keys(texts) })
  const main = (): string => texts["a.wire"] ?? ""
  const both = (): [unknown, unknown] => {
    const { "a.wire": text = "", ...modules } = texts
    return [outcome(files.compile(main(), "a.wire")), outcome(compile(text, { file: "a.wire", modules }))]
  }
  assert.deepEqual(files.compile(main(), "a.wire").diagnostics, [])
  const edits: [file: string, from: string, to: string, codes: readonly string[]][] = [
    ["d.wire", "words: [string]", "words: [integer]", []],
    ["d.wire", "words: [integer]", "terms: [string]", ["unknown-reference"]],
    ["d.wire", "terms: [string]", "words: [string]", []],
    ["d.wire", "large { why", "huge { why", ["unknown-case"]],
    ["d.wire", "huge { why", "large { why", []],
    ["c.wire", "schema.node.value.kind", "schema.node.value", ["type-mismatch"]],
    ["c.wire", "schema.node.value }", "schema.node.value.kind }", []],
    ["b.wire", "schema.leaf } from", "schema.leaf as l } from", ["invalid-import"]],
    ["b.wire", "schema.leaf as l } from", "schema.leaf } from", []],
  ]
  for (const [file, from, to, codes] of edits) {
    assert.ok(texts[file]?.includes(from), from)
    texts[file] = texts[file]?.replace(from, to) ?? ""
    files.changed(file)
    const [edited, fresh] = both()
    assert.deepEqual(edited, fresh, to)
    const found = new Set(files.compile(main(), "a.wire").diagnostics.map(({ code }) => code))
    for (const code of codes) assert.ok(found.has(code as never), `${to}: ${[...found].join(", ")}`)
    if (codes.length === 0) assert.deepEqual([...found], [], to)
  }
})

test("a schema that comes along leads to its declaration from every file that has it", () => {
  const { "a.wire": text = "", ...modules } = diamond
  const { program } = compile(text, { file: "a.wire", modules })
  const places = [...program.importedDeclarations].map(([id, { declared }]) => {
    const place = program.files.space.locate(declared)
    return `${id} ${place?.file ?? ""} ${place?.text.slice(place.span.start, place.span.end) ?? ""}`
  })
  assert.deepEqual(places.sort(), [
    "schema.because d.wire reason",
    "schema.d.wire#leaf d.wire leaf",
    "schema.d.wire#node d.wire node",
    "schema.left b.wire left",
    "schema.right c.wire right",
  ])
  for (const node of program.fieldNodes.values()) {
    const place = node.name.start < text.length ? undefined : program.files.space.locate(node.name)
    const written =
      place === undefined
        ? text.slice(node.name.start, node.name.end)
        : place.text.slice(place.span.start, place.span.end)
    assert.equal(written, node.name.text)
  }
})
