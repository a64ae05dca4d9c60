// Programs that must be refused, from the ways in which the checker was fooled once: in each family, variations of one cause. They are
// written against the backends of `head`.

export const head = `
provider any from openai { endpoint: "https://models.example.com/v1" }
provider ours from openai { endpoint: "https://models.internal.example.com/v1"  cleared: private }
model small from any { id: "small" }
model eyes from any { id: "eyes"  assets: ["image"] }
model careful from ours { id: "careful" }
mcp shop { endpoint: "https://shop.example.com/mcp" }
mcp web { endpoint: "https://web.example.com/mcp" }
mcp crm { endpoint: "https://crm.example.com/mcp" }
tool act from mcp.shop.tool.act { requires: trusted  cleared: private }
tool echo from mcp.shop.tool.echo { gives: trusted  requires: none  cleared: private }
tool post from mcp.web.tool.post { requires: none }
tool records from mcp.crm.tool.records { gives: [trusted, private]  requires: none }
`

export interface Hole {
  /** The file that is checked; `head` comes before it. */
  readonly source: string
  /** Other files, each after `head` where it begins with `+`. */
  readonly modules?: Readonly<Record<string, string>>
  /** The codes of its errors. `untrusted-action` where nothing is said. */
  readonly codes?: readonly string[]
}

const act = (value: string, name = "done"): string => `output { ${name}: call tool.act { input { x: ${value} } } }`
const post = (value: string): string => `output { done: call tool.post { input { x: ${value} } } }`
const reader = (name: string, output: string, more = ""): string =>
  `agent ${name} { model: model.small  instruction: "{{ input.mail }}"  output { ${output} }\n${more} }\n`
const mail = "input { mail: untrusted string  flag: boolean  shop: string }\n"
const leak = ["private-leak"]
const fields = (count: number, type: string): string =>
  Array.from({ length: count }, (_, index) => `f${index}: ${type}`).join("  ")
const letters = "enum { a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z }"
const choice = "(call workflow.w { input { mail: input.mail  i: i } }).c"
const spelled = (count: number, at: (index: number) => string): string =>
  `"${Array.from({ length: count }, (_, index) => `{{ ${at(index)} }}`).join("")}"`

export const holes: Readonly<Record<string, readonly Hole[]>> = {
  "more markers than a value keeps sources": [
    {
      source: `input { o: { ${fields(8, "untrusted string")}  last: private string } }\n${post("json(input.o)")}`,
      codes: leak,
    },
    {
      source: `input { o: { ${fields(40, "untrusted string")}  last: private string } }\n${post("json(input.o)")}`,
      codes: leak,
    },
    { source: `input { o: { ${fields(40, "private string")}  last: untrusted string } }\n${act("json(input.o)")}` },
    {
      source: `input { o: { last: private string  ${fields(40, "untrusted string")} } }\n${post("json(input.o)")}`,
      codes: leak,
    },
    {
      source: `input { o: schema.o }\nschema o { ${fields(40, "untrusted string")}  last: private string }\n${post("json(input.o)")}`,
      codes: leak,
    },
    {
      source: `input { o: schema.a }\nschema a { b: schema.b  ${fields(40, "untrusted string")} }\nschema b { c: schema.c  ${fields(40, "untrusted string")} }\nschema c { last: private string }\n${post("json(input.o.b)")}`,
      codes: leak,
    },
    {
      source: `input { o: schema.a }\nschema a { b: schema.b }\nschema b { c: schema.c  ${fields(40, "untrusted string")} }\nschema c { last: private string  again: maybe schema.a }\n${post("json(input.o)")}`,
      codes: leak,
    },
    {
      source: `input { o: (${Array.from({ length: 40 }, () => "untrusted string").join(", ")}, private string) }\n${post("json(input.o)")}`,
      codes: leak,
    },
    {
      source: `tool many from mcp.shop.tool.many { requires: none  gives: trusted  output { ${fields(40, "private string")}  last: untrusted string } }\n${act("json(call tool.many { input { } })")}`,
    },
    {
      source: `input { ${fields(40, "private string")}  mail: untrusted string }\ndynamic { all: [${Array.from({ length: 40 }, (_, index) => `input.f${index}`).join(", ")}, input.mail] }\n${act("json(dynamic.all)")}`,
    },
    {
      source: `input { ${fields(40, "private string")} }\ntool mine from mcp.web.tool.mine { gives: [trusted, private]  requires: none }\ndynamic { own: call tool.mine { input { } } }\n${post(`"{{ dynamic.own }} ${Array.from({ length: 40 }, (_, index) => `{{ input.f${index} }}`).join("")}"`)}`,
      codes: leak,
    },
  ],

  "an object that is used as a variant": [
    {
      source: `input { mail: untrusted string  v: maybe schema.v }\nschema v { variant kind { a { x: string }  b { y: string } } }\ndynamic { v: input.v ?? { kind: "a", x: input.mail } }\n${act('dynamic.v#a.x ?? ""')}`,
    },
    {
      source: `input { mail: untrusted string  v: maybe schema.v }\nschema v { variant kind { a { x: string }  b { y: string } } }\ndynamic { v: input.v ?? { kind: "a", x: input.mail } }\n${act("match dynamic.v { a.x  b.y }")}`,
    },
    {
      source: `input { mail: untrusted string  go: boolean  v: schema.v }\nschema v { variant kind { a { x: string }  b { y: string } } }\ndynamic { v: match input.go { true: input.v  false: { kind: "a", x: input.mail } } }\n${act("match dynamic.v { a.x  b.y }")}`,
    },
    {
      source: `input { mail: untrusted string }\nask q { question: "?"  on_expiry: { v: { kind: "a", x: input.mail } }  output { v: variant kind { a { x: string }  b { y: string } } } }\n${act("match ask.q.v { a.x  b.y }")}`,
    },
    {
      source: `input { mail: untrusted string }\nask q { question: "?"  on_expiry: { v: { kind: "a", x: input.mail } }  output { v: variant kind { a { x: string }  b { y: string } } } }\n${act('ask.q.v#a.x ?? ""')}`,
    },
    {
      source: `${mail}workflow w from "./w.wire"\n${act('json(call workflow.w { input { v: { kind: "a", x: input.mail } } })')}`,
      modules: {
        "w.wire":
          "+input { v: variant kind { a { x: string }  b { y: string } } }\noutput { r: match input.v { a.x  b.y } }",
      },
    },
    {
      source: `${mail}workflow w from "./w.wire"\noutput { r: call workflow.w { input { v: { kind: "a", x: input.mail } } } }`,
      modules: {
        "w.wire": `+input { v: variant kind { a { x: string }  b { y: string } } }\n${act('input.v#a.x ?? ""')}`,
      },
    },
    {
      source: `${mail}workflow w from "./w.wire"\ndynamic { r: repeat workflow.w { input { v: { kind: "b", y: "" } } until: result.ok next { v: { kind: "a", x: input.mail } } at_most: 3 } }\n${act("dynamic.r.result.r")}`,
      modules: {
        "w.wire": `+input { v: variant kind { a { x: string }  b { y: string } } }\noutput { r: match input.v { a.x  b.y }  ok: false }`,
      },
    },
    {
      source: `input { mail: untrusted string  v: maybe schema.v }\nschema v { variant kind { a { x: string }  b { y: string } } }\ndynamic { v: input.v ?? { kind: "a", x: input.mail } }\n${act('match dynamic.v { a: text(dynamic.v)  _ "" }')}`,
    },
    {
      source: `input { secret: private string  v: maybe schema.v }\nschema v { variant kind { a { x: string }  b { y: string } } }\ndynamic { v: input.v ?? { kind: "a", x: input.secret } }\n${post('dynamic.v#a.x ?? ""')}`,
      codes: leak,
    },
    {
      source: `input { mail: untrusted string  v: maybe schema.v  go: boolean }\nschema v { variant kind { a { x: string }  b { x: string } } }\ndynamic { v: input.v ?? { kind: "a", x: "" } }\ndynamic { w: match input.mail contains "x" { true: { kind: "a", x: "" }  false: input.v } }\noutput { r: match dynamic.w#a == null { true: call tool.act { input { } }  false: null } }`,
    },
    {
      source: `input { mail: untrusted string  vs: [schema.v] }\nschema v { variant kind { a { x: string }  b { y: string } } }\nworkflow w from "./w.wire"\n${act('json(call workflow.w { input { vs: [{ kind: "a", x: input.mail }] } })')}`,
      modules: {
        "w.wire":
          "+input { vs: [variant kind { a { x: string }  b { y: string } }] }\noutput { r: [v#a.x for v in input.vs] }",
      },
    },
  ],

  "labels that need several rounds": [
    {
      source: `${mail}workflow w from "./w.wire"\ndynamic { r: repeat workflow.w { input { xs: ["", "", ""]  m: input.mail } until: result.ok next { xs: [result.a, result.b, input.mail] } at_most: 5 } }\n${act("dynamic.r.result.first")}`,
      modules: {
        "w.wire": `+input { xs: (string, string, string)  m: string }\noutput { first: input.xs[0]  a: input.xs[1]  b: input.xs[2]  ok: false }`,
      },
    },
    {
      source: `${mail}workflow w from "./w.wire"\ndynamic { r: repeat workflow.w { input { o: { a: "", b: "", c: "", d: "" }  m: input.mail } until: result.ok next { o: result.o } at_most: 9 } }\n${act("dynamic.r.result.o.a")}`,
      modules: {
        "w.wire": `+input { o: { a: string, b: string, c: string, d: string }  m: string }\noutput { o: { a: input.o.b, b: input.o.c, c: input.o.d, d: input.m }  ok: false }`,
      },
    },
    {
      source: `${mail}workflow w from "./w.wire"\noutput { r: repeat workflow.w { input { o: { a: "", b: "", c: "", d: "" }  m: input.mail } until: result.ok next { o: result.o } at_most: 9 } }`,
      modules: {
        "w.wire": `+input { o: { a: string, b: string, c: string, d: string }  m: string }\ndynamic { x: call tool.act { input { x: input.o.a } } }\noutput { o: { a: input.o.b, b: input.o.c, c: input.o.d, d: input.m }  ok: false }`,
      },
    },
    {
      source: `${mail}workflow w from "./w.wire"\ndynamic { r: repeat workflow.w { input { o: { a: { v: "" }, b: { v: "" } }  m: input.mail } until: result.ok next { o: { a: result.o.b, b: { v: input.mail } } } at_most: 9 } }\n${act("dynamic.r.result.o.a.v")}`,
      modules: {
        "w.wire": `+input { o: { a: { v: string }, b: { v: string } }  m: string }\noutput { o: input.o  ok: false }`,
      },
    },
    {
      source: `${mail}workflow w from "./w.wire"\ndynamic { r: repeat workflow.w { input { o: call tool.echo { input { } }  m: input.mail } until: result.ok next { o: result.o } at_most: 9 } }\n${act("dynamic.r.result.o.a")}`,
      modules: { "w.wire": `+input { o: object  m: string }\noutput { o: { a: input.m }  ok: false }` },
    },
    {
      source: `${mail}workflow w from "./w.wire"\ndynamic { r: repeat workflow.w { input { xs: [["", ""], ["", ""]]  m: input.mail } until: result.ok next { xs: [[result.b, result.c], [result.d, input.mail]] } at_most: 9 } }\n${act("dynamic.r.result.a")}`,
      modules: {
        "w.wire": `+input { xs: ((string, string), (string, string))  m: string }\noutput { a: input.xs[0][0]  b: input.xs[0][1]  c: input.xs[1][0]  d: input.xs[1][1]  ok: false }`,
      },
    },
    {
      source: `${mail}workflow w from "./w.wire"\ndynamic { r: repeat workflow.w { input { a: ""  b: ""  c: ""  d: ""  e: ""  f: ""  g: ""  h: ""  i: ""  j: input.mail } until: result.ok next { a: result.a  b: result.b  c: result.c  d: result.d  e: result.e  f: result.f  g: result.g  h: result.h  i: result.i } at_most: 20 } }\n${act("dynamic.r.result.a")}`,
      modules: {
        "w.wire": `+input { a: string b: string c: string d: string e: string f: string g: string h: string i: string j: string }\noutput { a: input.b b: input.c c: input.d d: input.e e: input.f f: input.g g: input.h h: input.i i: input.j ok: false }`,
      },
    },
    {
      source: `${mail}workflow w from "./w.wire"\ndynamic { r: repeat workflow.w { input { v: { kind: "b", y: "" }  m: input.mail } until: result.ok next { v: { kind: "a", x: result.y } } at_most: 4 } }\n${act("dynamic.r.result.x")}`,
      modules: {
        "w.wire": `+schema v { variant kind { a { x: string }  b { y: string } } }\ninput { v: schema.v  m: string }\noutput { x: input.v#a.x  y: input.m  ok: false }`,
      },
    },
    {
      source: `input { secret: private string }\nworkflow w from "./w.wire"\noutput { r: repeat workflow.w { input { xs: ["", ""]  m: input.secret } until: result.ok next { xs: [result.b, input.secret] } at_most: 5 } }`,
      modules: {
        "w.wire": `+input { xs: (string, string)  m: string }\ndynamic { x: call tool.post { input { x: input.xs[0] } } }\noutput { b: input.xs[1]  ok: false }`,
      },
      codes: leak,
    },
    {
      source: `${mail}workflow w from "./w.wire"\noutput { r: repeat workflow.w { input { n: 0  m: input.mail } until: result.m contains "x" next { n: round } at_most: 5 } }`,
      modules: {
        "w.wire": `+input { n: integer  m: string }\ndynamic { x: call tool.act { input { x: input.n } } }\noutput { m: input.m }`,
      },
    },
  ],

  "labels that a declaration adds": [
    {
      source: `workflow w from "./w.wire" { gives: untrusted }\ninput { id: string }\noutput { x: repeat workflow.w { input { id: input.id } until: result.ok next { id: "x" } at_most: 2 } }`,
      modules: {
        "w.wire":
          "+input { id: string }\ndynamic { d: call tool.act { input { id: input.id } } }\noutput { ok: dynamic.d.ok == true }",
      },
    },
    {
      source: `workflow w from "./w.wire" { gives: untrusted }\ninput { id: string }\ndynamic { r: repeat workflow.w { input { id: input.id } until: result.ok next { id: "x" } at_most: 2 } }\n${act("dynamic.r.rounds")}`,
      modules: { "w.wire": "+input { id: string }\noutput { ok: true }" },
    },
    {
      source: `workflow w from "./w.wire" { gives: private }\ninput { id: string }\noutput { x: repeat workflow.w { input { id: input.id } until: true next { id: result.id } at_most: 2 } }`,
      modules: {
        "w.wire":
          "+input { id: string }\ndynamic { d: call tool.post { input { id: input.id } } }\noutput { id: input.id }",
      },
      codes: leak,
    },
  ],

  "a conversation that remembers": [
    ...["boolean", "enum { a, b }", "maybe boolean", "{ a: boolean }", "[boolean; 2]"].map((type): Hole => ({
      source: `${mail}agent a { model: model.small  system: "{{ input.mail }}"  instruction: "Go."  output { ok: ${type} } }
        agent b { model: model.small  context: agent.a  instruction: "Act."  uses: [tool.act]  output { ok: boolean } }\noutput { ok: agent.b.ok }`,
    })),
    {
      source: `${mail}model told from any { id: "told"  system: "{{ input.mail }}" }
        agent a { model: model.told  instruction: "Go."  output { ok: boolean } }
        agent b { model: model.small  context: agent.a  instruction: "Act."  uses: [tool.act]  output { ok: boolean } }\noutput { ok: agent.b.ok }`,
    },
    {
      source: `${mail}agent a { model: model.small  system: "{{ input.mail }}"  instruction: "Go."  output { ok: boolean } }
        agent b { model: model.small  context: agent.a  instruction: "Go on."  output { ok: boolean } }
        agent c { model: model.small  context: agent.b  instruction: "Act."  uses: [tool.act]  output { ok: boolean } }\noutput { ok: agent.c.ok }`,
    },
    {
      source: `${mail}agent a { model: model.small  system: "{{ input.mail }}"  instruction: "Go."  output { ok: boolean } }
        agent b { model: model.small  context: compact agent.a { model: model.small }  instruction: "Act."  uses: [tool.act]  output { ok: boolean } }\noutput { ok: agent.b.ok }`,
    },
    {
      source: `input { secret: private string }\nagent a { model: model.careful  system: "{{ input.secret }}"  instruction: "Go."  output { ok: boolean } }
        agent b { model: model.small  context: agent.a  instruction: "Go on."  output { ok: boolean } }\noutput { ok: agent.b.ok }`,
      codes: leak,
    },
    {
      source: `input { secret: private string }\nagent a { model: model.careful  system: "{{ input.secret }}"  instruction: "Go."  output { ok: boolean } }
        agent b { model: model.careful  context: compact agent.a { model: model.small }  instruction: "Go on."  output { ok: boolean } }\noutput { ok: agent.b.ok }`,
      codes: leak,
    },
    {
      source: `${mail}agent a { model: [model.careful, model.small]  system: "{{ input.mail }}"  instruction: "Go."  output { ok: boolean } }
        agent b { model: model.careful  context: agent.a  instruction: "Tell."  output { text: string } }\n${act("agent.b.text")}`,
    },
  ],

  "types by their path": [
    ...[
      ["schema m { b: untrusted string }", "schema.m.b", "input.o"],
      ["schema m { b: { c: untrusted string } }", "schema.m.b.c", "input.o"],
      ["schema m { b: schema.n }\nschema n { c: untrusted string }", "schema.m.b.c", "input.o"],
      [
        "schema m { b: schema.n }\nschema n { c: schema.p }\nschema p { d: untrusted string }",
        "schema.m.b.c.d",
        "input.o",
      ],
      ["schema m { b: schema.n.c }\nschema n { c: { d: untrusted string } }", "schema.m.b.d", "input.o"],
      ["schema m { b: schema.n.c }\nschema n { c: untrusted { d: string } }", "schema.m.b", "input.o.d"],
      ["schema m { b: untrusted { c: string } }", "schema.m.b.c", "input.o"],
      ["schema m { b: (schema.n) }\nschema n { c: [untrusted string] }", "schema.m.b.c", "json(input.o)"],
      [
        "schema m { b: schema.n }\nschema n { c: variant k { a { x: untrusted string } } }",
        "schema.m.b.c",
        "input.o#a.x",
      ],
      ["schema m { b: schema.n }\nschema n { c: maybe { d: untrusted string } }", "[schema.m.b.c]", "json(input.o)"],
      ["schema m { b: schema.n }\nschema n { c: (string, untrusted string) }", "schema.m.b.c", "input.o[1]"],
    ].map(([schema = "", type = "", value = ""]): Hole => ({
      source: `${schema}\ninput { o: ${type} }\n${act(`text(${value})`)}`,
    })),
    {
      source: `import { schema.m } from "./lib.wire"\ninput { o: schema.m.b.c }\n${act("input.o")}`,
      modules: { "lib.wire": "schema m { b: schema.n }\nschema n { c: untrusted string }" },
    },
    {
      source: `import { schema.m } from "./lib.wire"\ninput { o: schema.m.b.c }\n${post("input.o")}`,
      modules: { "lib.wire": "schema m { b: private { c: string } }" },
      codes: leak,
    },
    {
      source: `schema m { b: schema.n }\nschema n { c: untrusted string }\ntool t from mcp.shop.tool.t { requires: none  gives: trusted  output { o: schema.m.b.c } }\n${act("(call tool.t { input { } }).o")}`,
    },
  ],

  "errors of what an exception is made for": [
    {
      source: `workflow w from "./w.wire"\nagent a { model: model.small  instruction: "Go."  uses: [workflow.w]  output { ok: boolean } }\noutput { x: agent.a.ok }`,
      modules: {
        "w.wire": `+input { s: string }\noutput { r: release (text(call tool.records { input { } })) because "names only" }`,
      },
      codes: leak,
    },
    {
      source: `workflow w from "./w.wire"\nagent a { model: model.small  instruction: "Go."  uses: [workflow.w, tool.act]  output { ok: boolean } }\noutput { x: agent.a.ok }`,
      modules: {
        "w.wire": `+tool news from mcp.web.tool.news { requires: none }\ninput { s: string }\noutput { r: trust (text(call tool.news { input { } })) because "ours" }`,
      },
    },
    {
      source: `tool news from mcp.web.tool.news { requires: none }\nagent a { model: model.small  instruction: "Go."  on_failure: skip  dynamic { d: trust (text(call tool.news { input { } })) because "ours" }  output { ok: boolean } }\n${act("agent.a == null")}`,
    },
  ],

  "a step that fails on demand": [
    {
      source: `input { iban: private string }\nagent a { dynamic { l: 10 / (length(input.iban) % 2) }  model: model.small  instruction: "Hello"  on_failure: skip  output { ok: boolean } }\noutput { done: "yes" }`,
      codes: leak,
    },
    {
      source: `${mail}agent a { dynamic { l: 10 / (length(input.mail) % 2) }  model: model.small  instruction: "Hello"  uses: [tool.act]  on_failure: skip  output { ok: boolean } }\noutput { done: "yes" }`,
    },
    ...[
      "dynamic { d: parse_json(input.mail) }",
      "dynamic { d: add_days(input.mail, 1) }",
      "dynamic { d: call tool.echo { input { x: input.mail } } }",
      "dynamic { d: input.mail }",
      "dynamic { d: { a: [input.mail] } }",
      "dynamic { d: length([parse_json(m) for m in [input.mail]]) }",
      "dynamic { d: 1 / length(input.mail) }",
      "dynamic { d: [1 for x in lines(input.mail)] }",
      'dynamic { d: match input.mail == "x" { true: 1  false: 2 } }',
      "dynamic { e: input.mail  d: dynamic.e }",
    ].map((local): Hole => ({
      source: `${mail}agent a { model: model.small  instruction: "Go."  on_failure: skip  ${local}  output { ok: boolean } }\n${act("agent.a == null")}`,
    })),
    {
      source: `${mail}agent a { model: model.small  instruction: "Go."  on_failure: skip  dynamic { d: parse_json(input.mail) }  output { ok: boolean } }\nagent b when agent.a != null { model: model.small  instruction: "Act."  uses: [tool.act]  output { ok: boolean } }\noutput { x: agent.b }`,
    },
    {
      source: `input { secret: private string }\nagent a { model: model.small  instruction: "Go."  on_failure: skip  dynamic { d: parse_json(input.secret) }  output { ok: boolean } }\n${post("agent.a == null")}`,
      codes: leak,
    },
    {
      source: `${mail}agent a for x in ["1", "2"] { model: model.small  instruction: "Go."  on_failure: skip  dynamic { d: parse_json(input.mail) }  output { ok: boolean } }\n${act("agent.a[0] == null")}`,
    },
    {
      source: `${mail}workflow w from "./w.wire"\n${act("(call workflow.w { input { m: input.mail } on_failure: skip }) == null")}`,
      modules: {
        "w.wire": `+input { m: string }\ndynamic { d: length([parse_json(x) for x in [input.m]]) }\noutput { r: 1 }`,
      },
    },
  ],

  "resources that a model reads": [
    ...["page", '"web://{path}"', '"web://fixed"', '"web://{a}/{b}"'].flatMap((remote): Hole[] => {
      const uses = (more: string): string =>
        `input { secret: private string }\nresource page from mcp.web.resource.${remote}\nagent a { model: model.careful  instruction: "{{ input.secret }}"  uses: [resource.page${more}]  output { ok: boolean } }\noutput { x: agent.a.ok }`
      return [
        { source: uses(""), codes: leak },
        { source: uses(' { bindings { path: "x" } }'), codes: leak },
      ]
    }),
    {
      source: `input { secret: private string }\nresource page from mcp.web.resource.page { bindings { path: "x" } }\nagent a { model: model.careful  instruction: "{{ input.secret }}"  uses: [resource.page]  output { ok: boolean } }\noutput { x: agent.a.ok }`,
      codes: leak,
    },
    {
      source: `resource page from mcp.web.resource.page\nagent a { model: model.careful  instruction: "Go."  uses: [tool.records, resource.page]  output { ok: boolean } }\noutput { x: agent.a.ok }`,
      codes: leak,
    },
    {
      source: `input { secret: private boolean }\nresource page from mcp.web.resource.page\noutput { x: match input.secret { true: text(read resource.page)  false: "" } }`,
      codes: leak,
    },
  ],

  "more files than are followed": [
    {
      source: `workflow a from "./a.wire"\ninput { mail: untrusted string }\ndynamic { many: [${Array.from({ length: 9 }, () => "call workflow.a { input { m: input.mail } }").join(", ")}] }\nworkflow last from "./last.wire"\ndynamic { last: call workflow.last { input { s: "" } } }\n${act("dynamic.last.r")}`,
      modules: {
        "a.wire": `+workflow b from "./b.wire"\ninput { m: string }\noutput { r: [${Array.from({ length: 20 }, () => "call workflow.b { input { m: input.m } }").join(", ")}] }`,
        "b.wire": `+workflow c from "./c.wire"\ninput { m: string }\noutput { r: [${Array.from({ length: 20 }, () => "call workflow.c { input { m: input.m } }").join(", ")}] }`,
        "c.wire": "+input { m: string }\noutput { r: input.m }",
        "last.wire": `+tool news from mcp.web.tool.news { requires: none }\ninput { s: string }\noutput { r: text(call tool.news { input { } }) }`,
      },
    },
  ],

  "closed values that are taken apart": [
    { source: `${mail}${reader("spell", fields(20, letters))}${act(spelled(20, (at) => `agent.spell.f${at}`))}` },
    { source: `${mail}${reader("spell", fields(5, letters))}${act("agent.spell.f0")}` },
    {
      source: `${mail}${reader("spell", `word: [${letters}; 30]`)}${act(spelled(30, (at) => `agent.spell.word[${at}]`))}`,
    },
    { source: `${mail}${reader("spell", `word: [${letters}; 30]`)}${act("agent.spell.word[0]")}` },
    {
      source: `${mail}${reader("spell", `word: (${Array.from({ length: 6 }, () => letters).join(", ")})`)}${act("agent.spell.word[0]")}`,
    },
    {
      source: `${mail}${reader("spell", `a: { ${fields(3, letters)} }  b: { ${fields(3, letters)} }`)}${act("agent.spell.a.f0")}`,
    },
    {
      source: `${mail}${reader("spell", `text: string  a: { text: string  ${fields(5, letters)} }`)}${act("agent.spell.a.f0")}`,
    },
    { source: `${mail}${reader("spell", `a: maybe { ${fields(5, letters)} }`)}${act('agent.spell.a?.f0 ?? ""')}` },
    { source: `${mail}${reader("spell", fields(21, "boolean"))}${act("agent.spell.f3")}` },
    {
      source: `${mail}schema l { c: ${letters}  next: maybe schema.l }\n${reader("spell", "word: schema.l")}${act("agent.spell.word.c")}`,
    },
    {
      source: `${mail}${reader("spell", `v: variant k { a { ${fields(5, letters)} }  b { x: boolean } }`)}${act('agent.spell.v#a.f0 ?? ""')}`,
    },
    {
      source: `${mail}agent spell for x in range(20) { model: model.small  instruction: "{{ x }} {{ input.mail }}"  output { c: ${letters} } }\n${act(spelled(20, (at) => `agent.spell[${at}]?.c ?? ""`))}`,
    },
    {
      source: `${mail}agent spell for x in range(20) { model: model.small  instruction: "{{ x }} {{ input.mail }}"  output { c: ${letters} } }\n${act(spelled(20, (at) => `at(agent.spell, ${at})?.c ?? ""`))}`,
    },
    {
      source: `${mail}agent spell for x in range(20) { model: model.small  instruction: "{{ x }} {{ input.mail }}"  output { c: ${letters} } }\n${act(spelled(20, (at) => `first(slice(agent.spell, ${at}))?.c ?? ""`))}`,
    },
  ],

  "webhooks and assets": [
    {
      source: `secrets { hook: string }\nwebhook pushed { verify: github  secret: secrets.hook  when: body.go == true  input { } }\noutput { x: call tool.act { input { } } }`,
    },
    {
      source: `secrets { hook: string }\nwebhook pushed { verify: github  secret: secrets.hook  when: header."X-Kind" == "go"  input { } }\nagent a { model: model.small  instruction: "Act."  uses: [tool.act]  output { ok: boolean } }\noutput { x: agent.a.ok }`,
    },
    {
      source: `input { secret: private boolean }\nagent a when input.secret { model: model.careful  instruction: "Look."  output { ok: boolean }  file { name: "a"  content: "b" } }\nmodel seer from ours { id: "seer"  assets: ["image"] }\nagent b when input.secret { model: model.seer  instruction: "{{ asset "https://img.example.com/a.png" { type: "image" } }}"  output { ok: boolean } }\noutput { x: agent.b }`,
      codes: leak,
    },
    {
      source: `input { secret: private boolean }\nmodel seer from ours { id: "seer"  assets: ["image"] }\ndynamic { pic: match input.secret { true: asset "https://img.example.com/a.png" { type: "image" }  false: asset "https://img.example.com/b.png" { type: "image" } } }\nagent b { model: model.seer  instruction: "{{ dynamic.pic }}"  output { ok: boolean } }\noutput { x: agent.b.ok }`,
      codes: leak,
    },
  ],
  "a part of a result that does not fit makes the whole null": [
    {
      source: `tool find from mcp.shop.tool.find { gives: trusted  requires: none  output { a: untrusted string  b: string } }
dynamic { d: call tool.find { input { x: "1" } on_failure: skip } }
${act('dynamic.d?.b ?? "none"')}`,
    },
    {
      source: `tool find from mcp.shop.tool.find { gives: trusted  requires: none  output { a: ([untrusted string], [boolean; 2])  b: string } }
dynamic { d: call tool.find { input { x: "1" } on_failure: skip } }
output { done: match (dynamic.d == null) { true: call tool.act { input { x: "1" } }  false: null } }`,
    },
  ],

  "elements that move when others are dropped": [
    ...["(dynamic.l.**.a)[0]?.b", "first(dynamic.l.**.a)?.b", "last(dynamic.l.**.a)?.b"].map((value): Hole => ({
      source: `input { mail: untrusted string  none: maybe { b: string } }\ndynamic { l: [{ a: input.none }, { a: { b: input.mail } }, { a: input.none }] }\n${act(`${value} ?? ""`)}`,
    })),
    ...[
      "{ a: maybe { b: string } }, { a: maybe { b: untrusted string } }",
      "maybe { a: { b: string } }, maybe { a: { b: untrusted string } }",
    ].map((types): Hole => ({ source: `input { xs: (${types}) }\n${act('(input.xs.**.a)[0]?.b ?? ""')}` })),
    {
      source: `input { xs: ({ a: maybe [{ b: string }] }, { a: maybe [{ b: untrusted string }] }) }\n${act("json((input.xs.*.a.**.b)[0])")}`,
    },
    {
      source: `input { xs: ({ a: maybe { b: string } }, { a: maybe { b: private string } }) }\n${post('(input.xs.**.a)[0]?.b ?? ""')}`,
      codes: leak,
    },
  ],

  "an evaluation that fails on demand, while its value tells nothing": [
    ...[
      "length([parse_json(m) for m in input.mails])",
      "length(input.rows.***.a)",
      '({ a: parse_json(input.mails[0] ?? ""), b: 1 }).b',
    ].flatMap((fragile): Hole[] =>
      [
        `agent a { model: model.small  instruction: "{{ ${fragile} }}"  on_failure: skip  output { ok: boolean } }\n${act("agent.a == null")}`,
        `agent a { model: model.small  instruction: "{{ ${fragile} }}"  uses: [tool.act]  on_failure: skip  output { ok: boolean } }\noutput { x: agent.a }`,
        `agent a { model: model.small  system: "{{ ${fragile} }}"  instruction: ""  uses: [tool.act]  on_failure: skip  output { ok: boolean } }\noutput { x: agent.a }`,
        `agent a { model: model.small  instruction: ""  file { name: "a"  content: "{{ ${fragile} }}" }  uses: [tool.act]  on_failure: skip  output { ok: boolean } }\noutput { x: agent.a }`,
        `agent a { model: model.small  instruction: ""  uses: [tool.act { bindings { x: ${fragile} } }]  on_failure: skip  output { ok: boolean } }\noutput { x: agent.a }`,
        `agent a { model: model.small  instruction: ""  dynamic { d: ${fragile} }  uses: [tool.act]  on_failure: skip  output { ok: boolean } }\noutput { x: agent.a }`,
        `agent a when ${fragile} == 1 { model: model.small  instruction: ""  on_failure: skip  output { ok: boolean } }\n${act("agent.a == null")}`,
        `agent a when ${fragile} == 1 { model: model.small  instruction: ""  uses: [tool.act]  on_failure: skip  output { ok: boolean } }\noutput { x: agent.a }`,
        `agent a { model: model.small  instruction: ""  require result.ok && ${fragile} == 1  uses: [tool.act]  output { ok: boolean } }\noutput { x: agent.a.ok }`,
        `dynamic { d: call tool.echo { input { x: ${fragile} } on_failure: skip } }\n${act("dynamic.d == null")}`,
        `output { x: call tool.act { input { x: ${fragile} } on_failure: skip } }`,
        `output { x: call tool.echo { input { x: ${fragile}  y: call tool.act { input { } } } on_failure: skip } }`,
        `resource r from mcp.shop.resource.r { gives: trusted }\ndynamic { d: read resource.r { bindings { x: "{{ ${fragile} }}" } on_failure: skip } }\n${act("dynamic.d == null")}`,
        `prompt r from mcp.shop.prompt.r\ndynamic { d: render prompt.r { bindings { x: "{{ ${fragile} }}" } on_failure: skip } }\n${act("dynamic.d == null")}`,
        `workflow w from "./w.wire"\ndynamic { d: call workflow.w { input { n: ${fragile} } on_failure: skip } }\n${act("dynamic.d == null")}`,
        `workflow w from "./w.wire"\ndynamic { d: repeat workflow.w { input { n: 1 } until: ${fragile} == 1 next { n: 2 } at_most: 3 on_failure: skip } }\n${act("dynamic.d == null")}`,
      ].map((steps) => ({
        source: `input { mails: [untrusted string]  rows: [{ a: untrusted maybe string }] }\n${steps}`,
        modules: {
          "w.wire": "input { n: integer }\noutput { n: input.n }",
        },
      })),
    ),
    ...[
      'instruction: "{{ FRAGILE }}"  on_failure: skip',
      'instruction: ""  require result.ok && FRAGILE == 1',
      'instruction: ""  uses: [tool.post { bindings { x: FRAGILE } }]  on_failure: skip',
    ].map((properties): Hole => ({
      source: `input { ibans: [private string] }\nagent a { model: model.small  ${properties.replace("FRAGILE", "length([parse_json(m) for m in input.ibans])")}  output { ok: boolean } }\noutput { x: agent.a }`,
      codes: leak,
    })),
    {
      source: `input { ibans: [private string] }\nask a { question: "?"  to: "desk"  require result.ok && length([parse_json(m) for m in input.ibans]) == 1  output { ok: boolean } }\noutput { x: ask.a.ok }`,
      codes: leak,
    },
  ],

  "whether, and in which order": [
    ...[
      'agent a when input.secret { model: model.seer  instruction: "{{ dynamic.pic }}"  output { ok: boolean } }',
      'dynamic { again: dynamic.pic }\nagent a when input.secret { model: model.seer  instruction: "{{ dynamic.again }}"  output { ok: boolean } }',
      'agent a for x in [1 for y in range(3) when input.secret] { model: model.seer  instruction: "{{ dynamic.pic }}"  output { ok: boolean } }',
      'agent a { model: model.seer  instruction: "{{ dynamic.pic }} {{ length([parse_json(m) for m in input.ibans]) }}"  on_failure: skip  output { ok: boolean } }',
      'agent a { dynamic { d: length([parse_json(m) for m in input.ibans]) }  model: model.seer  instruction: "{{ asset "https://img.example.com/b.png" { type: "image" } }}"  on_failure: skip  output { ok: boolean } }',
      'dynamic { other: asset "https://img.example.com/b.png" { type: "image" } }\nagent a { model: model.seer  instruction: "{{ match input.secret { true: dynamic.pic  false: dynamic.other } }}"  output { ok: boolean } }',
      'dynamic { other: asset "https://img.example.com/b.png" { type: "image" } }\ndynamic { either: match input.secret { true: dynamic.pic  false: dynamic.other } }\nagent a { model: model.seer  instruction: "{{ dynamic.either }}"  output { ok: boolean } }',
    ].map((steps): Hole => ({
      source: `model seer from ours { id: "seer"  assets: ["image"] }\ninput { secret: private boolean  ibans: [private string] }\ndynamic { pic: asset "https://img.example.com/a.png" { type: "image" } }\n${steps}\noutput { x: agent.a }`,
      codes: leak,
    })),
    {
      source: `input { rows: [{ id: string, note: untrusted string }] }\noutput { x: [call tool.act { input { x: row.id } max_calls: 3 on_failure: skip } for row in input.rows by row.note] }`,
    },
    {
      source: `input { rows: [{ id: string, note: private string }] }\noutput { x: [call tool.post { input { x: row.id } } for row in input.rows by row.note] }`,
      codes: leak,
    },
  ],

  "choices that are made again and again": [
    ...[
      act(`join([${choice} for i in range(20)], "")`),
      act(`json({ [text(i)]: ${choice} for i in range(20) })`),
      act(`json([[${choice} for i in range(2)] for j in range(10)])`),
      act(`join([match ${choice} { a: "1"  _ "2" } for i in range(20)], "")`),
      `dynamic { l: [${choice} for i in range(20)] }\n${act('"{{ dynamic.l[0] }}{{ dynamic.l[1] }}"')}`,
      `agent q for i in range(20) { model: model.small  dynamic { c: ${choice} }  instruction: "{{ dynamic.c }}"  output { t: string } }\n${act('join(agent.q.*.t, "")')}`,
      `ask q for i in range(20) { question: "?"  on_expiry: { c: ${choice} }  output { c: ${letters} } }\n${act("json(ask.q)")}`,
    ].map((steps): Hole => ({
      source: `${mail}workflow w from "./w.wire"\n${steps}`,
      modules: {
        "w.wire": `+input { mail: string  i: integer }\n${reader("s", `c: ${letters}`)}output { c: agent.s.c }`,
      },
    })),
    ...[
      ["string", '""', "{{ result.acc }}{{ result.c }}", "input.acc"],
      ["integer", "0", "", "input.acc * 2 + length(agent.s.c)"],
    ].map(([type = "", first = "", text = "", grown = ""]): Hole => ({
      source: `${mail}workflow w from "./w.wire"\ndynamic { r: repeat workflow.w { input { mail: input.mail  acc: ${first} } until: false next { acc: ${text === "" ? "result.acc" : `"${text}"`} } at_most: 20 } }\n${act("dynamic.r.result.acc")}`,
      modules: {
        "w.wire": `+input { mail: string  acc: ${type} }\n${reader("s", `c: ${letters}`)}output { c: agent.s.c  acc: ${grown} }`,
      },
    })),
    {
      source: `${mail}workflow w from "./w.wire"\noutput { r: repeat workflow.w { input { mail: input.mail  acc: "" } until: false next { acc: "{{ result.acc }}{{ result.c }}" } at_most: 20 } }`,
      modules: {
        "w.wire": `+input { mail: string  acc: string }\n${reader("s", `c: ${letters}`)}dynamic { x: call tool.act { input { x: input.acc } } }\noutput { c: agent.s.c  acc: input.acc }`,
      },
    },
  ],

  "an element that fails, and the next ones": [
    ...[
      "[json(call tool.post { input { x: r.id } }), json(parse_json(r.note))]",
      "[json(read resource.r), json(parse_json(r.note))]",
      "[json((call workflow.w { input { id: r.id } }).x), json(parse_json(r.note))]",
      "[[json(call tool.post { input { x: i } }) for i in range(2)], [json(parse_json(r.note))]]",
    ].flatMap((element): Hole[] =>
      [
        `agent a { model: model.careful  on_failure: skip  dynamic { d: length([${element} for r in input.rows]) }  instruction: "Go."  output { ok: boolean } }\noutput { x: agent.a }`,
        `output { x: call tool.echo { input { x: length([${element} for r in input.rows]) } on_failure: skip } }`,
      ].map((steps) => ({
        source: `input { rows: [{ id: string, note: private string }] }\nresource r from mcp.web.resource.r\nworkflow w from "./w.wire"\n${steps}`,
        modules: { "w.wire": `+input { id: string }\noutput { x: call tool.post { input { x: input.id } } }` },
        codes: leak,
      })),
    ),
    {
      source: `input { rows: [{ id: string, note: untrusted string }] }\noutput { x: call tool.echo { input { x: length([[json(call tool.act { input { x: r.id } }), json(parse_json(r.note))] for r in input.rows]) } on_failure: skip } }`,
    },
  ],

  "what decides whether something fails": [
    ...[
      'agent a when input.s contains "x" { model: model.careful  instruction: "x"  output { ok: boolean } }',
      'agent a for c in split(input.s, "") { model: model.careful  instruction: "x"  output { ok: boolean } }',
      'ask q when input.s contains "x" { question: "?"  output { ok: boolean } }',
      'dynamic { y: match input.s contains "x" { true: call tool.echo { input { } }  false: null } }',
      'dynamic { y: input.s contains "x" && (call tool.echo { input { } }) == "y" }',
      'dynamic { y: find(input.s, "x") ?? text(call tool.echo { input { } }) }',
      'dynamic { y: [call tool.echo { input { } } for c in ["a", "b"] when input.s contains c] }',
      'dynamic { y: match input.s contains "x" { true: 1 / length("")  false: 2 } }',
      'dynamic { y: input.s contains "x" && parse_json("{") == 1 }',
      'dynamic { y: match input.s contains "x" { true: call workflow.v { input { } }  false: null } }',
    ].map((steps): Hole => ({
      source: `input { secret: private string }\nworkflow w from "./w.wire"\ndynamic { d: call workflow.w { input { s: input.secret }  on_failure: skip } }`,
      modules: {
        "w.wire": `+input { s: string }\nworkflow v from "./v.wire"\n${steps}\ndynamic { z: call tool.post { input { } } }\noutput { ok: true }`,
        "v.wire": "+output { a: call tool.echo { input { } } }",
      },
      codes: leak,
    })),
    {
      source: `${mail}dynamic { d: call tool.echo { input { x: [1 for x in range(0) when (match input.mail contains "x" { true: 1 / length("")  false: 2 }) > 1] }  on_failure: skip } }\n${act("text(dynamic.d == null)")}`,
    },
  ],

  "a round that fails, and the next ones": [
    {
      source: `input { secret: private string }\nworkflow w from "./w.wire"\ndynamic { d: repeat workflow.w { input { s: input.secret } until: false next { s: result.s } at_most: 2  on_failure: skip } }`,
      modules: {
        "w.wire":
          "+input { s: string }\ndynamic { y: call tool.post { input { } } }\ndynamic { z: match text(dynamic.y) == text(10 / length(input.s)) { true: 1  false: 2 } }\noutput { s: input.s  z: dynamic.z }",
      },
      codes: leak,
    },
    {
      source: `input { secret: private string }\nworkflow w from "./w.wire"\ndynamic { d: repeat workflow.w { input { s: "" } until: false next { s: text(match 10 / length(input.secret) > 1 { true: 1  false: 1 } * 0) } at_most: 2  on_failure: skip } }`,
      modules: { "w.wire": "+input { s: string }\noutput { y: call tool.post { input { } } }" },
      codes: leak,
    },
  ],

  "input that a called file does not take": [
    ...[
      "call workflow.w { input { s: input.secret }  on_failure: skip }",
      'repeat workflow.w { input { s: "x" } until: false next { s: input.secret } at_most: 2  on_failure: skip }',
      "call workflow.v { input { s: input.secret }  on_failure: skip }",
    ].map((call): Hole => ({
      source: `input { secret: private string }\nworkflow w from "./w.wire"\nworkflow v from "./v.wire"\ndynamic { d: ${call} }`,
      modules: {
        "w.wire": `+input { s: string  require length(input.s) > 3 else "No." }\ndynamic { y: call tool.post { input { } } }\noutput { ok: true }`,
        "v.wire":
          '+workflow w from "./w.wire"\ninput { s: string }\noutput { ok: call workflow.w { input { s: input.s } } }',
      },
      codes: leak,
    })),
    {
      source: `input { secret: private string }\nworkflow w from "./w.wire"\nagent a { model: model.careful  instruction: "Go."  uses: [workflow.w { bindings { s: input.secret } }]  output { ok: boolean } }`,
      modules: {
        "w.wire": `+input { s: string  require input.s != "x" }\ndynamic { y: call tool.post { input { } } }\noutput { ok: true }`,
      },
      codes: leak,
    },
    {
      source: `${mail}workflow w from "./w.wire"\ndynamic { d: call workflow.w { input { s: input.mail }  on_failure: skip } }`,
      modules: {
        "w.wire": `+input { s: string  require length(input.s) > 3 }\ndynamic { y: call tool.act { input { } } }\noutput { ok: true }`,
      },
    },
    ...[
      "call workflow.w { input { s: RESULT }  on_failure: skip }",
      "repeat workflow.w { input { s: { a: 1 } } until: false next { s: RESULT } at_most: 2  on_failure: skip }",
    ].map((call): Hole => ({
      source: `tool mine from mcp.crm.tool.mine { gives: [trusted, private]  requires: none  cleared: private }\nworkflow w from "./w.wire"\ndynamic { r: call tool.mine { input { } } }\ndynamic { d: ${call.replace("RESULT", "dynamic.r")} }`,
      modules: {
        "w.wire": "+input { s: { a: integer } }\ndynamic { y: call tool.post { input { } } }\noutput { ok: true }",
      },
      codes: leak,
    })),
    {
      source: `secrets { hook: string }\ninput { a: string  require input.a contains "pay" else "No." }\nwebhook h { verify: github  secret: secrets.hook  input { a: body.a } }\noutput { d: call tool.act { input { } } }`,
    },
  ],

  "calls that share a count": [
    ...[
      "agent a { model: model.small  instruction: input.mail  uses: [tool.few]  output { ok: boolean } }\ndynamic { d: call tool.few { input { }  on_failure: skip } }",
      'dynamic { c: call tool.few when input.mail contains "x" { input { } }  d: call tool.few { input { }  on_failure: skip } }',
      'agent a { model: model.small  instruction: input.mail  uses: [tool.few]  output { ok: boolean } }\nagent d { model: model.small  instruction: "Go."  uses: [tool.few]  output { t: string } }',
      'agent a { model: model.small  instruction: input.mail  uses: [tool.few]  output { ok: boolean } }\nagent b { model: model.small  instruction: "Go."  uses: [tool.few, tool.more]  output { t: string } }\ndynamic { d: call tool.more { input { }  on_failure: skip } }',
    ].flatMap((steps): Hole[] => [
      {
        source: `${mail}tool few from mcp.shop.tool.few { gives: trusted  requires: none  max_calls: 1 }\ntool more from mcp.shop.tool.more { gives: trusted  requires: none  max_calls: 1 }\n${steps}\n${act(steps.includes("agent d ") ? "agent.d.t" : "text(dynamic.d == null)")}`,
      },
      {
        source: `input { secret: private string }\ntool few from mcp.shop.tool.few { gives: trusted  requires: none  cleared: private  max_calls: 1 }\ntool more from mcp.shop.tool.more { gives: trusted  requires: none  cleared: private  max_calls: 1 }\n${steps.replaceAll("input.mail", "input.secret").replaceAll("model.small", "model.careful")}\n${post(steps.includes("agent d ") ? "agent.d.t" : "text(dynamic.d == null)")}`,
        codes: leak,
      },
    ]),
    {
      source: `${mail}tool once from mcp.shop.tool.once { requires: trusted  max_calls: 1 }\nagent a { model: model.small  instruction: input.mail  uses: [tool.once { approval: required }]  output { ok: boolean } }\ndynamic { d: call tool.once { input { } } }`,
    },
  ],

  "what the run before gave": [
    ["previous.due_at", ""],
    ["previous.output?.t", "10 / length(input.mail)"],
    ["previous.output?.t", "input.mail"],
  ].map(([previous = "", more = ""]): Hole => {
    const step = more === "" ? "dynamic { x: 10 / length(input.mail) }" : `dynamic { x: ${more} }`
    return {
      source: `input { last: maybe string  mail: untrusted string }\nschedule s { cron: "@daily"  input { last: ${previous}  mail: "x" } }\n${step}\ndynamic { d: call tool.act { input { x: input.last } } }\noutput { t: "a"  u: dynamic.x }`,
    }
  }),

  "times of waits": [
    { source: `${mail}wait w { until: input.mail }\n${act("wait.w")}` },
    { source: `${mail}wait w { seconds: length(input.mail) }\n${act("wait.w")}` },
  ],

  "a clock that says how long others waited": [
    ...[
      "wait a { seconds: length(input.mail) }",
      'wait a when input.mail contains "x" { seconds: 1_000 }',
      'ask a { question: "?"  expires_seconds: 1 + length(input.mail)  on_expiry: { ok: true }  output { ok: boolean } }',
      'wait a { event: "e"  gives: trusted  expires_seconds: 1 + length(input.mail)  on_expiry: { ok: true }  output { ok: boolean } }',
      'wait first { seconds: length(input.mail) }\nagent a { model: model.careful  instruction: "{{ wait.first }}"  output { ok: boolean } }',
      "wait a for x in [length(input.mail)] { seconds: x }",
    ].flatMap((before): Hole[] => {
      const after = `wait b { after: ${before.includes("agent a") ? "agent" : before.startsWith("ask") ? "ask" : "wait"}.a  seconds: 0 }\n`
      const secret = before.replaceAll("input.mail", "input.secret")
      return [
        { source: `${mail}${before}\n${after}${act("text(seconds_between(run.started_at, wait.b))")}` },
        { source: `input { secret: private string }\n${secret}\n${after}${post("wait.b")}`, codes: leak },
      ]
    }),
    ...[
      'wait a { seconds: length(input.secret) }\nagent g { model: model.careful  instruction: wait.a  output { t: string } }\ndynamic { x: { a: call workflow.clock when agent.g.t == "" { input { } } } }\noutput { done: call tool.post { input { x: json(dynamic.x) } } }',
      post(
        "json(call workflow.clock { input { x: text((call workflow.slow { input { n: length(input.secret) } }).ok) } })",
      ),
      `dynamic { s: (call workflow.slow { input { n: length(input.secret) } }).ok }\n${post("json(call workflow.clock { input { x: text(dynamic.s) } })")}`,
      `agent g { model: model.careful  instruction: input.secret  uses: [workflow.slow]  output { ok: boolean } }\nwait b { after: agent.g  seconds: 0 }\n${post("wait.b")}`,
      `tool asks from mcp.shop.tool.asks { gives: trusted  requires: none  cleared: private  approval: required }\ndynamic { d: text((call tool.asks when input.secret contains "x" { input { } }) == null) }\nagent g { model: model.careful  instruction: dynamic.d  output { ok: boolean } }\nwait b { after: agent.g  seconds: 0 }\n${post("wait.b")}`,
      `dynamic { r: repeat workflow.both { input { n: length(input.secret) } until: false next { n: 0 } at_most: 2 } }\n${post("dynamic.r.result.t")}`,
    ].map((steps): Hole => ({
      source: `input { secret: private string }\n${["clock", "slow", "both"].map((name) => (steps.includes(`workflow.${name}`) ? `workflow ${name} from "./${name}.wire"\n` : "")).join("")}${steps}`,
      modules: {
        "clock.wire": '+input { x: string = "" }\nwait t { seconds: 0 }\noutput { t: wait.t }',
        "slow.wire": "+input { n: integer }\nwait t { seconds: input.n }\noutput { ok: true  t: text(wait.t == null) }",
        "both.wire": "+input { n: integer }\nwait a { seconds: 0 }\nwait b { seconds: input.n }\noutput { t: wait.a }",
      },
      codes: leak,
    })),
    {
      source: `${mail}wait a { seconds: length(input.mail) }\nagent g { model: model.small  instruction: wait.a  output { ok: boolean } }\nworkflow clock from "./clock.wire"\n${act("json(call workflow.clock { input { x: text(agent.g.ok) } })")}`,
      modules: { "clock.wire": "+input { x: string }\nwait t { seconds: 0 }\noutput { t: wait.t }" },
    },
  ],

  "what is made in another order than it is written": [
    'file { name: "a.txt"  content: text(CALL) }  instruction: "{{ FRAGILE }}"',
    'dynamic { d: text(CALL) }  instruction: "{{ FRAGILE }}"  file { name: "a.txt"  content: dynamic.d }',
    'dynamic { d: text(CALL) }  instruction: "x"  system: "{{ FRAGILE }}"  file { name: "a.txt"  content: dynamic.d }',
  ].flatMap((properties): Hole[] => {
    const agent = (call: string): string =>
      `agent a { model: model.careful  ${properties.replace("CALL", call).replace("FRAGILE", "length([parse_json(x) for x in input.xs])")}  on_failure: skip  output { t: string } }`
    return [
      { source: `input { xs: [untrusted string] }\n${agent("call tool.act { input { } }")}` },
      { source: `input { xs: [private string] }\n${agent("call tool.post { input { } }")}`, codes: leak },
    ]
  }),

  "whom an approval asks may fail": [
    "dynamic { d: call tool.ap { input { } on_failure: skip } }",
    "dynamic { d: call tool.echo { input { } approval { TO } on_failure: skip } }",
    'agent a { model: model.small  instruction: "x"  uses: [tool.ap]  on_failure: skip  output { ok: boolean } }\ndynamic { d: agent.a == null }',
    'agent a { model: model.small  instruction: "x"  uses: [tool.echo { approval { TO } }]  on_failure: skip  output { ok: boolean } }\ndynamic { d: agent.a == null }',
  ].map((steps): Hole => {
    const to = "to: text(length([parse_json(m) for m in input.mails]))"
    const imported = steps.includes("tool.ap")
      ? `tool ap from mcp.shop.tool.ap { gives: trusted  requires: none  approval { ${to} } }\n`
      : ""
    const value = steps.includes("== null") ? "text(dynamic.d)" : "text(dynamic.d == null)"
    return { source: `input { mails: [untrusted string] }\n${imported}${steps.replace("TO", to)}\n${act(value)}` }
  }),

  "what an import binds fails in each call": [
    "dynamic { first: call tool.binds { input { } on_failure: skip }  second: call tool.binds { input { } on_failure: skip } }\nSINK(dynamic.second == null)",
    'dynamic { first: call tool.binds { input { } on_failure: skip } }\nagent a { model: model.careful  instruction: "x"  uses: [tool.binds]  on_failure: skip  output { ok: boolean } }\nSINK(agent.a == null)',
  ].flatMap((steps): Hole[] => {
    const [before = "", value = ""] = steps.split("SINK")
    const binds =
      "tool binds from mcp.shop.tool.binds { gives: trusted  requires: none  cleared: private  bindings { n: length([parse_json(x) for x in input.xs]) } }\n"
    return [
      { source: `input { xs: [untrusted string] }\n${binds}${before}${act(`text${value}`)}` },
      { source: `input { xs: [private string] }\n${binds}${before}${post(`text${value}`)}`, codes: leak },
    ]
  }),

  "what is done when nobody came in time": [
    ...[
      'ask w { question: "?"  on_expiry: { n: text(CALL) }  expires_seconds: 1 + length(LABELLED)  output { n: string } }',
      'wait w { event: "e"  gives: trusted  expires_seconds: 1 + length(LABELLED)  on_expiry: { n: text(CALL) }  output { n: string } }',
      'wait w { event: "e"  key: "{{ trust (LABELLED) because "It is ours." }}"  gives: trusted  expires_seconds: 1 + length(LABELLED)  on_expiry: { n: text(CALL) }  output { n: string } }',
      'wait v when LABELLED contains "x" { event: "e"  gives: trusted  expires_seconds: 1  on_expiry: { n: "" }  output { n: string } }\nwait w { event: "e"  gives: trusted  expires_seconds: 1  on_expiry: { n: text(CALL) }  output { n: string } }',
    ].flatMap((step): Hole[] => [
      {
        source: `${mail}${step.replaceAll("LABELLED", "input.mail").replace("CALL", "call tool.act { input { } }")}`,
      },
      {
        source: `input { secret: private string }\n${step.replaceAll("LABELLED", "input.secret").replace("CALL", "call tool.post { input { } }")}`,
        codes: leak,
      },
    ]),
    ...[
      'ask p { question: "?"  expires_seconds: length(input.s)  output { ok: boolean } }',
      'wait p { event: "e"  expires_seconds: length(input.s)  output { ok: boolean } }',
    ].map((step): Hole => ({
      source: `input { secret: private string }\nworkflow w from "./w.wire"\ndynamic { d: call workflow.w { input { s: input.secret }  on_failure: skip } }`,
      modules: {
        "w.wire": `+input { s: string }\n${step}\ndynamic { x: call tool.post { input { } } }\noutput { ok: true }`,
      },
      codes: leak,
    })),
  ],

  "an exception for the other label": [
    {
      source: `input { mails: [untrusted string] }\ndynamic { d: call tool.echo { input { x: length([release (parse_json(m)) because "It is public." for m in input.mails]) }  on_failure: skip } }\n${act("text(dynamic.d == null)")}`,
    },
    {
      source: `input { mails: [private string] }\ndynamic { d: call tool.echo { input { x: length([trust (parse_json(m)) because "It is ours." for m in input.mails]) }  on_failure: skip } }\n${post("text(dynamic.d == null)")}`,
      codes: leak,
    },
  ],

  "choices after thousands of calls": [
    {
      source: `${mail}workflow many from "./w0.wire"\nworkflow pay from "./pay.wire"\n${reader("a", "n: enum { a, b }")}output { x: call workflow.many { input { x: agent.a.n } }  y: call workflow.pay { input { x: agent.a.n } } }`,
      modules: {
        "pay.wire": `+tool pay from mcp.shop.tool.pay { requires: strict }\ninput { x: string }\noutput { x: call tool.pay { input { x: input.x } } }`,
        ...Object.fromEntries(
          Array.from({ length: 7 }, (_, level) => [
            `w${level}.wire`,
            level === 6
              ? "input { x: string }\noutput { x: input.x }"
              : `workflow w from "./w${level + 1}.wire"\ninput { x: string }\noutput { ${[1, 2, 3, 4].map((at) => `r${at}: call workflow.w { input { x: input.x } }`).join("  ")} }`,
          ]),
        ),
      },
    },
  ],

  "an event that several wait for": [
    ["secret: private string", "input.secret", post, leak],
    ["mail: untrusted string", "input.mail", act, ["untrusted-action"]],
  ].flatMap(([input, labelled, sink, codes]): Hole[] => {
    const to = sink as typeof act
    const waits = (name: string, more = "", key = '"k"'): string =>
      `wait ${name} ${more} { event: "e"  key: ${key}  gives: trusted  expires_seconds: 60  on_expiry: { n: 0 }  output { n: number } }\n`
    const modules = {
      "may.wire": `+input { x: boolean }\n${waits("p", "when input.x")}output { ok: true }`,
      "v.wire": `+${waits("p")}output { n: wait.p.n }`,
      "acts.wire": `+${waits("p")}${to("wait.p.n")}`,
      "both.wire": `+input { x: boolean }\n${waits("p", "when input.x")}${waits("q")}output { n: wait.q.n }`,
    }
    const condition = `${String(labelled)} contains "x"`
    return [
      `${waits("a", `when ${condition}`)}${waits("b")}${to("wait.b.n")}`,
      `workflow may from "./may.wire"\n${waits("b")}dynamic { d: call workflow.may { input { x: ${condition} } } }\n${to("wait.b.n")}`,
      `workflow v from "./v.wire"\n${waits("a", `when ${condition}`)}${to("(call workflow.v { input { } }).n")}`,
      `workflow acts from "./acts.wire"\n${waits("a", `when ${condition}`)}output { x: call workflow.acts { input { } } }`,
      `workflow may from "./may.wire"\nworkflow v from "./v.wire"\ndynamic { d: (call workflow.may { input { x: ${condition} } }).ok }\n${to("(call workflow.v { input { } }).n")}`,
      `workflow both from "./both.wire"\n${to(`json([(call workflow.both { input { x: ${condition} } }).n for i in range(3)])`)}`,
      `workflow v from "./v.wire"\n${waits("b")}agent a { model: model.careful  instruction: ${String(labelled)}  uses: [workflow.v]  output { ok: boolean } }\n${to("wait.b.n")}`,
    ].map((steps) => ({
      source: `input { ${String(input)} }\n${steps}`,
      modules: Object.fromEntries(Object.entries(modules).filter(([name]) => steps.includes(`./${name}`))),
      codes: codes as readonly string[],
    }))
  }),

  "code in functions within each other": [
    {
      source: `function rank(a: string): string from "./r.js"\n${Array.from({ length: 45 }, (_, index) => `function f${index}(a: string) = ${index === 0 ? "rank" : `f${index - 1}`}(a)`).join("\n")}\n${mail}dynamic { d: [f44(input.mail), text(call tool.act { input { x: rank("a") } })] }`,
      modules: { "r.js": "export function rank(a) { return a }" },
    },
  ],

  "code that keeps what it was given": [
    "dynamic { d: { a: call tool.act { input { x: rank(text(call tool.echo { input { } })) } }, b: rank(input.mail) } }\noutput { d: dynamic.d }",
    'output { d: call tool.act { input { x: rank("x") } }  e: rank(input.mail) }',
  ].map((steps): Hole => ({
    source: `${mail}function rank(a: string): string from "./r.js"\n${steps}`,
    modules: { "r.js": "export function rank(a) { return a }" },
  })),
}
