import assert from "node:assert/strict"
import { describe, test } from "node:test"

import { compile } from "../../src/compile.ts"
import { boundedIssues } from "../../src/compiler/bounded-issues.ts"

// What strangers' words and private data may do by way of a file that is called: a file is looked at as if it were written in place.

const backends = `
provider any from openai { }
provider ours from openai { cleared: private }
model fast from any { id: "m" }
model safe from ours { id: "m" }
mcp shop { endpoint: "https://shop.example.com" }
mcp web { endpoint: "https://web.example.com" }
tool refund from mcp.shop.tool.refund { requires: trusted cleared: private }
tool find from mcp.shop.tool.find { gives: [trusted, private] requires: none }
tool search from mcp.web.tool.search { requires: none cleared: private }
tool post from mcp.web.tool.post { gives: trusted requires: none }
`

interface Row {
  readonly main: string
  readonly files: Readonly<Record<string, string>>
  /** `code path: way` */
  readonly found?: readonly string[]
}

function compiled({ main, files }: Row): ReturnType<typeof compile> & { readonly source: string } {
  const modules = Object.fromEntries(Object.entries(files).map(([path, text]) => [path, `${backends}${text}`]))
  const source = `${backends}${main}`
  return { ...compile(source, { modules }), source }
}

function findings(row: Row): string[] {
  return compiled(row).diagnostics.flatMap(({ code, severity, path, hint, message }) => {
    if (severity !== "error") return []
    const isTrust = code === "untrusted-action" || code === "private-leak"
    return [`${code} ${path}: ${isTrust ? hint?.split("\n")[0] : message}`]
  })
}

const reader = `agent reader { model: model.safe instruction: input.mail output { text: string ok: boolean } }`
const closed = `input { mail: string }\n${reader}\noutput { ok: agent.reader.ok }`

const rows: Readonly<Record<string, Row>> = {
  "a closed value that a called file makes is trusted": {
    files: { "read.wire": closed },
    main: `workflow read from "./read.wire"
input { mail: untrusted string }
dynamic { read: call workflow.read { input { mail: input.mail } } }
output { a: match dynamic.read.ok { true: call tool.refund { input { } }, false: null } }`,
  },
  "a call that is skipped where it fails tells what made it fail": {
    files: { "read.wire": closed },
    main: `workflow read from "./read.wire"
input { mail: untrusted string }
dynamic { read: call workflow.read { input { mail: input.mail } on_failure: skip } }
output { a: match dynamic.read == null { true: call tool.refund { input { } }, false: null } }`,
    found: [
      "untrusted-action output.a: input.mail → workflow.read → workflow.read, which may fail → dynamic.read → tool.refund",
    ],
  },
  "a repetition that is skipped where it fails tells it, too": {
    files: { "read.wire": closed },
    main: `workflow read from "./read.wire"
input { mail: untrusted string }
dynamic { read: repeat workflow.read { input { mail: input.mail } until: result.ok next { mail: input.mail } at_most: 2 on_failure: skip } }
output { a: match dynamic.read == null { true: call tool.refund { input { } }, false: null } }`,
    found: [
      "untrusted-action output.a: input.mail → workflow.read → workflow.read, which may fail → workflow.read → dynamic.read → tool.refund",
    ],
  },
  "a repetition that fails as a whole tells nothing": {
    files: { "read.wire": closed },
    main: `workflow read from "./read.wire"
input { mail: untrusted string }
dynamic { read: repeat workflow.read { input { mail: input.mail } until: result.ok next { mail: input.mail } at_most: 2 } }
output { a: match dynamic.read.done { true: call tool.refund { input { } }, false: null } }`,
  },
  "a later round fails because of what the one before gave": {
    files: {
      "read.wire": `input { mail: string note: string }
agent reader { model: model.safe instruction: "{{ input.mail }} {{ input.note }}" output { ok: boolean } }
output { ok: agent.reader.ok }`,
    },
    main: `workflow read from "./read.wire"
input { mail: untrusted string }
dynamic { read: repeat workflow.read { input { mail: "x" note: "y" } until: result.ok next { note: input.mail } at_most: 2 on_failure: skip } }
output { a: match (dynamic.read?.rounds ?? 0) > 1 { true: call tool.refund { input { } }, false: null } }`,
    found: [
      "untrusted-action output.a: input.mail → workflow.read → workflow.read, which may fail → workflow.read → dynamic.read → tool.refund",
    ],
  },
  "a repetition may fail because of what ends it": {
    files: { "read.wire": closed },
    main: `workflow read from "./read.wire"
input { mail: untrusted string }
dynamic { read: repeat workflow.read { input { mail: "x" } until: length(input.mail) > 3 at_most: 1 on_failure: skip } }
output { a: dynamic.read ?? call tool.refund { input { } } }`,
    found: [
      "untrusted-action output.a: input.mail → workflow.read → workflow.read, which may fail → dynamic.read → tool.refund",
    ],
  },
  "that a repetition was skipped may be private": {
    files: {
      "read.wire": `input { mail: string }
output { ok: length(release input.mail because "only its length") > 1 }`,
    },
    main: `workflow read from "./read.wire"
input { name: private string }
dynamic { read: repeat workflow.read { input { mail: input.name } until: result.ok at_most: 1 on_failure: skip } }
output { a: match dynamic.read == null { true: call tool.post { input { } }, false: null } }`,
    found: [
      "private-leak output.a: input.name → workflow.read → workflow.read, which may fail → dynamic.read → tool.post",
    ],
  },
  "so does what the file read by itself": {
    files: {
      "read.wire": `agent reader { model: model.safe instruction: "Look." uses: [tool.search] output { ok: boolean } }
output { ok: agent.reader.ok }`,
    },
    main: `workflow read from "./read.wire"
input { mail: untrusted string }
dynamic { read: call workflow.read { input { } on_failure: skip } }
output { a: match dynamic.read?.ok ?? true { true: call tool.refund { input { } }, false: null } }`,
    found: [
      "untrusted-action output.a: read.wire#tool.search → workflow.read, which may fail → dynamic.read → tool.refund",
    ],
  },
  "a model reads why a file failed that it called": {
    files: {
      "read.wire": `agent reader { model: model.safe instruction: "Look." uses: [tool.search] output { ok: boolean } }
output { ok: agent.reader.ok }`,
    },
    main: `workflow read from "./read.wire"
agent clerk { model: model.safe instruction: "Go." uses: [workflow.read, tool.refund] output { text: string } }
output { a: agent.clerk.text }`,
    found: ["untrusted-action agent.clerk.uses.refund: read.wire#tool.search → agent.clerk.uses.read → tool.refund"],
  },
  "a file may fail because of what the declaration of one says that it calls": {
    files: {
      "inner.wire": `output { text: "x" }`,
      "outer.wire": `workflow inner from "./inner.wire" { gives: untrusted }
dynamic { inner: call workflow.inner { input { } } }
output { ok: length(trust dynamic.inner.text because "only its length") > 1 }`,
    },
    main: `workflow outer from "./outer.wire"
agent clerk { model: model.safe instruction: "Go." uses: [workflow.outer, tool.refund] output { text: string } }
output { a: agent.clerk.text }`,
    found: [
      "untrusted-action agent.clerk.uses.refund: outer.wire#workflow.inner → agent.clerk.uses.outer → tool.refund",
    ],
  },
  "each round gives to the next one, through as many fields as there are": {
    files: {
      "pass.wire": `input { a: string b: string c: string d: string e: string }
dynamic { acted: call tool.refund { input { note: input.e } } }
output { a: input.a b: input.b c: input.c d: input.d }`,
    },
    main: `workflow pass from "./pass.wire"
input { mail: untrusted string }
output {
  v: repeat workflow.pass {
    input { a: input.mail, b: "", c: "", d: "", e: "" }
    until: false
    next { b: result.a, c: result.b, d: result.c, e: result.d }
    at_most: 9
  }
}`,
    found: [
      "untrusted-action output.v: input.mail → workflow.pass → workflow.pass → workflow.pass → workflow.pass → tool.refund",
    ],
  },
  "each round gives to the next one, through the parts of one field": {
    files: {
      "pass.wire": `input { s: { a: string, b: string, c: string, d: string, e: string } }
dynamic { acted: call tool.refund { input { note: input.s.e } } }
output { s: input.s }`,
    },
    main: `workflow pass from "./pass.wire"
input { mail: untrusted string }
output {
  v: repeat workflow.pass {
    input { s: { a: input.mail, b: "", c: "", d: "", e: "" } }
    until: false
    next { s: { a: "", b: result.s.a, c: result.s.b, d: result.s.c, e: result.s.d } }
    at_most: 9
  }
}`,
    found: [
      "untrusted-action output.v: input.mail → workflow.pass → workflow.pass → workflow.pass → workflow.pass → tool.refund",
    ],
  },
  "parts that no round gives on stay what they were": {
    files: {
      "pass.wire": `input { s: { a: string, e: string } }
dynamic { acted: call tool.refund { input { note: input.s.e } } }
output { s: input.s }`,
    },
    main: `workflow pass from "./pass.wire"
input { mail: untrusted string }
output {
  v: repeat workflow.pass {
    input { s: { a: input.mail, e: "" } }
    until: false
    next { s: { a: result.s.a, e: result.s.e } }
    at_most: 9
  }
}`,
  },
  "a tool of the caller and one of the file may have one name, and are two": {
    files: {
      "find.wire": `input { note: string }
dynamic { both: call tool.find { input { q: "{{ call tool.find { input { q: "x" } } }} {{ input.note }}" } } }
output { ok: true }`,
    },
    main: `workflow find from "./find.wire"
dynamic { note: text(call tool.find { input { q: "x" } }) }
output { v: call workflow.find { input { note: dynamic.note } } }`,
    found: ["private-leak output.v: tool.find → dynamic.note → tool.find"],
  },
}

describe("labels through called files", () => {
  for (const [name, row] of Object.entries(rows)) {
    test(name, () => assert.deepEqual(findings(row), row.found ?? []))
  }
})

/** `file line: message` of the places that belong to the first finding. */
function places(row: Row): string[] {
  const { source, diagnostics } = compiled(row)
  const [first] = boundedIssues(source, diagnostics).filter(({ severity }) => severity === "error")
  const before = backends.split("\n").length - 1
  return (first?.related ?? []).map(({ message, file, range }) => {
    return `${file ?? "main.wire"} ${range.start.line - before}: ${message}`
  })
}

describe("places that belong to a finding", () => {
  test("inside of the called file, where it goes wrong there", () => {
    const files = {
      "outer.wire": `workflow inner from "./inner.wire"
input { note: string }
dynamic { note: upper(input.note) }
output { v: call workflow.inner { input { text: dynamic.note } } }`,
      "inner.wire": `input { text: string }
dynamic { loud: upper(input.text) }
output { v: call tool.refund { input { note: dynamic.loud } } }`,
    }
    const main = `workflow outer from "./outer.wire"
input { mail: untrusted string }
dynamic { mail: lower(input.mail) }
output { v: call workflow.outer { input { note: dynamic.mail } } }`
    assert.deepEqual(places({ main, files }), [
      "main.wire 2: input.mail",
      "main.wire 3: dynamic.mail",
      "outer.wire 3: dynamic.note",
      "inner.wire 2: dynamic.loud",
      "inner.wire 3: output.v",
      "outer.wire 4: output.v",
    ])
  })

  test("inside of the called file, where it only goes through", () => {
    const files = {
      "read.wire": `input { mail: string }
dynamic { loud: upper(input.mail) }
${reader}
output { text: "{{ dynamic.loud }}" found: agent.reader.text }`,
    }
    const main = `workflow read from "./read.wire"
input { mail: untrusted string }
dynamic { read: call workflow.read { input { mail: input.mail } } }
output { v: call tool.refund { input { note: dynamic.read.text } } }`
    assert.deepEqual(places({ main, files }), [
      "main.wire 2: input.mail",
      "main.wire 3: workflow.read",
      "read.wire 2: dynamic.loud",
      "main.wire 3: dynamic.read",
    ])
  })

  test("inside of the called file, where the caller decides about it", () => {
    const files = {
      "read.wire": `agent reader { model: model.fast instruction: "Go." output { ok: boolean } }
output { ok: agent.reader.ok }`,
    }
    const main = `workflow read from "./read.wire"
input { iban: private string }
output { v: match input.iban == "x" { true: call workflow.read { input { } }, false: null } }`
    assert.deepEqual(places({ main, files }), ["main.wire 2: input.iban", "read.wire 1: model.fast"])
  })

  test("inside of the called file, where the source is there", () => {
    const files = {
      "look.wire": `dynamic { page: text(call tool.search { input { } }) }
output { text: dynamic.page }`,
    }
    const main = `workflow look from "./look.wire"
output { v: call tool.refund { input { note: (call workflow.look { input { } }).text } } }`
    const found = places({ main, files })
    assert.match(found[0] ?? "", /^look\.wire -?\d+: look\.wire#tool\.search$/)
    assert.deepEqual(found.slice(1), ["look.wire 1: dynamic.page"])
  })
})

test("what the declaration of a file says of its result decides about its rounds", () => {
  const main = `workflow act from "./act.wire" { gives: untrusted }
input { id: string }
output { v: repeat workflow.act { input { id: input.id } until: result.ok next { id: "x" } at_most: 2 } }`
  const modules = {
    "act.wire": `input { id: string }
mcp s { endpoint: "demo" }
tool act from mcp.s.tool.act { requires: trusted output { ok: boolean } }
output { ok: (call tool.act { input { id: input.id } }).ok }`,
  }
  const codes = compile(main, { modules }).diagnostics.map(({ code }) => code)
  assert.deepEqual([...new Set(codes)], ["untrusted-action"])
})
