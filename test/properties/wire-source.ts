import { fc } from "../support/fast-check.ts"

// Random `.wire` sources that cover the grammar. The structure comes first, as pieces of text; then line breaks, blanks,
// comments and separators are strewn between them wherever the language allows any. Most sources are free of syntax
// errors, not all: keywords are names too, and now and then two pieces make a third.

/** A stretch of text that nothing may divide. */
interface Piece {
  readonly text: string
  /** Nothing may stand before it. */
  readonly glued?: true
  /** Only blanks may stand before it: it is inside a one-line string. */
  readonly inLine?: true
  /** A comma, or nothing. */
  readonly separator?: true
}

type Pieces = readonly Piece[]
type Source = fc.Arbitrary<Pieces>

const text = (value: string): Pieces => [{ text: value }]
const separator: Pieces = [{ text: "", separator: true }]

const seq = (...parts: readonly (Source | string)[]): Source =>
  fc.tuple(...parts.map((part) => (typeof part === "string" ? fc.constant(text(part)) : part))).map((all) => all.flat())

const either = (...sources: readonly Source[]): Source => fc.oneof(...sources)

const maybe = (source: Source): Source => fc.option(source, { nil: [] as Pieces })

/** Items with a separator after each; the last one may lack it. */
const items = (item: Source, minLength = 0, maxLength = 3): Source =>
  fc.array(item, { minLength, maxLength }).map((all) => all.flatMap((one) => [...one, ...separator]))

/** Items with commas between them, and maybe one after the last. */
const list = (item: Source, minLength = 0, maxLength = 3): Source =>
  fc.tuple(fc.array(item, { minLength, maxLength }), fc.boolean()).map(([all, trailing]) =>
    all.flatMap((one, index) => {
      const isLast = index === all.length - 1
      return isLast && !trailing ? [...one] : [...one, ...text(",")]
    }),
  )

const block = (item: Source, maxLength = 3): Source => seq("{", items(item, 0, maxLength), "}")

// -------------------------------------------------------------------------------------------------------- names

const plainNames = ["a", "b", "c1", "_x", "path", "title", "a_rather_long_name_that_fills_a_line_quickly"]
/** Words that mean something in one place or another. */
const wordNames = [
  "input",
  "output",
  "model",
  "agent",
  "tool",
  "from",
  "for",
  "as",
  "in",
  "mcp",
  "schema",
  "file",
  "ask",
  "limits",
]
const trickyNames = [
  "approval",
  "match",
  "call",
  "read",
  "render",
  "asset",
  "compact",
  "maybe",
  "enum",
  "variant",
  "true",
  "_",
]
const operatorNames = ["when", "contains", "null", "and", "or", "not", "if", "else"]

const identifier: fc.Arbitrary<string> = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(...plainNames) },
  { weight: 3, arbitrary: fc.constantFrom(...wordNames) },
  { weight: 1, arbitrary: fc.constantFrom(...trickyNames, ...operatorNames) },
)
const name: Source = identifier.map(text)
const quoted: Source = fc.constantFrom('"X-Trace"', '"a b"', '"other.case"', '"\\u{1F600}"', '""').map(text)
const key: Source = fc.oneof({ weight: 6, arbitrary: name }, { weight: 1, arbitrary: quoted })
const joined = (...parts: readonly string[]): Pieces =>
  parts.map((part, index) => (index === 0 ? { text: part } : { text: part, glued: true }))
const headerName: Source = fc.oneof(key, fc.constantFrom(joined("Content", "-", "Type"), joined("X", "-1")))
const remoteName: Source = fc.oneof(
  { weight: 3, arbitrary: name },
  {
    weight: 1,
    arbitrary: fc.constantFrom(joined("find", "-", "it"), joined("a", ".", "b", "/", "c"), text('"a:b"')),
  },
)
/** One that needs no `as`. */
const localRemoteName: Source = fc.oneof(name, fc.constant(joined("find", "-", "it")))

// -------------------------------------------------------------------------------------------------------- types

const count: Source = fc.constantFrom("3", "10", "1_000").map(text)

const types = fc.letrec<{ type: Pieces; single: Pieces }>((tie) => ({
  single: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom("string", "number", "boolean", "integer", "null", "object", "float").map(text),
    quoted,
    seq("schema", ".", name),
    seq("schema", ".", name, ".", key),
    seq("enum", block(key, 4)),
    seq("[", tie("type"), maybe(seq(";", count)), maybe(fc.constant(text(","))), "]"),
    seq("(", list(tie("type"), 1), ")"),
    block(seq(key, ":", tie("type"))),
    seq("maybe", tie("single")),
    seq("variant", key, block(seq(key, block(seq(key, ":", tie("type")))))),
  ),
  type: fc.oneof(
    { weight: 4, arbitrary: tie("single") },
    {
      weight: 1,
      arbitrary: seq(maybe(fc.constant(text("|"))), tie("single"), seq("|", tie("single"))),
    },
    {
      weight: 1,
      arbitrary: seq(tie("single"), seq("|", tie("single")), seq("|", tie("single")), seq("|", tie("single"))),
    },
  ),
}))

/** A constant after `=`, where a field has one. */
const constant: Source = fc.constantFrom("1", '"a"', "true", "[ ]", "- 2", "2 * 3").map(text)
const typeFields = block(seq(key, ":", types.type, maybe(seq("=", constant))))

// -------------------------------------------------------------------------------------------------- expressions

const number: Source = fc.constantFrom("0", "-1", "4_000", "0.20", "1e-9", "-1.5E+3").map(text)
const lineText = fc.constantFrom("", "text", " a  b ", "é😀", "\\n\\t", '\\"', "{ x }", "\\{\\{", "// no comment", "}}")
const blockText = fc
  .array(
    fc.constantFrom(
      "x",
      "text ",
      " ",
      "    ",
      "\t",
      "\n",
      "\n    ",
      "\n\t",
      "\n\n",
      '"',
      "\\n",
      "{",
      "\r\n  ",
      "\\u{41}",
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(""))

const inLine = (pieces: Pieces): Pieces => pieces.map((piece) => ({ ...piece, inLine: true as const }))

/** A string: texts, with expressions between them. */
const string = (
  quotes: string,
  texts: fc.Arbitrary<string>,
  expression: Source,
  place: (pieces: Pieces) => Pieces,
): Source =>
  fc.tuple(texts, fc.array(fc.tuple(expression, texts), { maxLength: 2 })).map(([first, rest]) => {
    const pieces: Piece[] = []
    let open = quotes + first
    for (const [inside, after] of rest) {
      // The first part was placed by the code that needs the string; what follows is inside of it.
      pieces.push({ text: `${open}{{` }, ...place([...inside]))
      open = `}}${after}`
    }
    const [opening, ...others] = [...pieces, { text: open + quotes }]
    return [opening ?? { text: quotes + quotes }, ...(rest.length === 0 ? [] : place(others))]
  })

const operator: Source = fc
  .constantFrom("||", "&&", "&&", "==", "!=", "<", "<=", ">", ">=", "contains", "in", "+", "*", "%")
  .map(text)

const pattern = seq(either(name, block(seq(name, maybe(seq(":", name))))), maybe(seq(",", name)))

const expressions = fc.letrec<{
  expression: Pieces
  whole: Pieces
  operand: Pieces
  base: Pieces
  step: Pieces
  string: Pieces
  match: Pieces
  invoke: Pieces
  asset: Pieces
  list: Pieces
}>((tie) => ({
  whole: fc.oneof(
    { weight: 8, arbitrary: tie("expression") },
    { weight: 2, arbitrary: seq(tie("expression"), operator, tie("expression")) },
    {
      weight: 1,
      arbitrary: seq(tie("expression"), "==", tie("expression"), "&&", tie("expression"), "||", tie("expression")),
    },
    {
      weight: 1,
      arbitrary: seq(tie("expression"), "||", tie("expression"), "||", "!", tie("expression"), "&&", tie("expression")),
    },
  ),
  expression: fc.oneof(
    { weight: 5, arbitrary: tie("operand") },
    { weight: 1, arbitrary: seq("!", tie("operand")) },
    { weight: 1, arbitrary: seq("(", "-", tie("operand"), "-", name, ")") },
    { weight: 1, arbitrary: seq(tie("operand"), "??", tie("operand")) },
    { weight: 1, arbitrary: seq(tie("operand"), "??", tie("operand"), "??", tie("operand")) },
  ),
  operand: fc
    .tuple(tie("base"), fc.array(tie("step"), { maxLength: 3 }))
    .map(([base, steps]) => [...base, ...steps.flat()]),
  step: fc.oneof(
    { weight: 4, arbitrary: seq(".", name) },
    seq("?.", key),
    seq("[", count, "]"),
    seq("?.", "[", count, "]"),
    seq("#", key),
    seq(".", fc.constantFrom("*", "**", "***").map(text), ".", key),
    seq("?.", "*", ".", name),
  ),
  string: fc.oneof(
    { weight: 2, arbitrary: string('"', lineText, tie("whole"), inLine) },
    { weight: 1, arbitrary: string('"""', blockText, tie("whole"), (pieces) => pieces) },
  ),
  base: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 6, arbitrary: name },
    fc.constantFrom("true", "false", "null").map(text),
    number,
    tie("string"),
    seq("[", list(tie("whole"), 0, 4), "]"),
    block(seq(key, ":", tie("whole"))),
    seq("(", tie("whole"), ")"),
    tie("match"),
    tie("invoke"),
    tie("asset"),
    tie("list"),
  ),
  match: seq(
    "match",
    name,
    fc.array(tie("step"), { maxLength: 1 }).map((steps) => steps.flat()),
    block(
      either(
        seq("_", maybe(fc.constant(text(":"))), tie("whole")),
        key,
        seq(key, tie("step")),
        seq(key, tie("step"), "??", tie("operand")),
        seq(key, ":", tie("whole")),
        seq(fc.constantFrom("true", "false", "null", '"true"').map(text), ":", tie("whole")),
      ),
    ),
  ),
  invoke: either(
    seq("call", "tool", ".", name, maybe(when(tie("whole"))), maybe(block(callProperty(tie("whole"))))),
    seq("read", "resource", ".", name, maybe(when(tie("whole"))), maybe(block(bindings(tie("whole"))))),
    seq("render", "prompt", ".", name, maybe(when(tie("whole"))), maybe(block(bindings(tie("whole"))))),
  ),
  list: seq(
    "[",
    tie("whole"),
    "for",
    pattern,
    "in",
    tie("whole"),
    maybe(when(tie("whole"))),
    maybe(seq("by", tie("whole"), maybe(fc.constant(text("descending"))))),
    "]",
  ),
  asset: seq("asset", "input", ".", name, maybe(block(seq(name, ":", tie("whole"))))),
}))

function valueFields(expression: Source): Source {
  return block(seq(key, ":", expression))
}

/** `name { … }` or `name: { … }` */
function blockProperty(word: string, body: Source): Source {
  return seq(word, maybe(fc.constant(text(":"))), body)
}

function bindings(expression: Source): Source {
  return blockProperty("bindings", valueFields(expression))
}

function approval(expression: Source): Source {
  const detail = either(seq("to", ":", expression), seq("expires_seconds", ":", number), seq(name, ":", expression))
  const word = fc.constantFrom("required", "none", '"required"').map(text)
  return either(seq("approval", ":", word), blockProperty("approval", block(detail)))
}

function when(condition: Source): Source {
  return seq("when", condition)
}

function callProperty(expression: Source): Source {
  return either(
    blockProperty("input", valueFields(expression)),
    bindings(expression),
    approval(expression),
    seq("max_calls", ":", number),
    seq(name, block(seq(name, ":", expression))),
  )
}

// ------------------------------------------------------------------------------------------------------ declarations

const expression = expressions.whole
const values = valueFields(expression)
const setting = seq(key, ":", expression)
const chain = seq(name, ".", name)

const inference = blockProperty("inference", block(either(setting, blockProperty("extra", values))))
const headers = blockProperty("headers", block(seq(headerName, ":", expression)))
const importProperty = either(
  setting,
  bindings(expression),
  approval(expression),
  seq("max_calls", ":", number),
  blockProperty("input", typeFields),
  blockProperty("output", typeFields),
)
const use = seq(chain, maybe(block(either(bindings(expression), approval(expression), seq("max_calls", ":", number)))))

const limits = blockProperty("limits", block(setting))
const models = seq("model", ":", "[", list(seq(chain, maybe(block(inference)))), "]")

const requirement = seq("require", expression, maybe(seq("else", expressions.string)))

const agentProperty = either(
  seq("model", ":", chain),
  seq("model", ":", chain, block(inference)),
  models,
  limits,
  seq("instruction", ":", expressions.string),
  blockProperty("output", typeFields),
  seq("output", ":", types.type),
  seq("uses", ":", "[", list(use), "]"),
  seq("context", ":", chain),
  seq("context", ":", "compact", chain, maybe(block(either(seq("model", ":", chain), models, setting)))),
  seq("context", "(", chain, ")"),
  blockProperty("file", block(setting)),
  blockProperty("dynamic", values),
  requirement,
  seq("on_failure", ":", "skip"),
  seq("concurrency", ":", number),
  setting,
  seq(name, block(setting)),
)

const askProperty = either(
  seq("question", ":", expressions.string),
  blockProperty("output", typeFields),
  seq("show", ":", expression),
  seq("to", ":", expression),
  seq("expires_seconds", ":", number),
  seq("on_expiry", ":", expression),
  seq("concurrency", ":", number),
  requirement,
  setting,
)

const remote = (kind: string) => seq("mcp", ".", name, ".", kind, ".", remoteName)
const localRemote = (kind: string) => seq("mcp", ".", name, ".", kind, ".", localRemoteName)
const importBody = maybe(block(importProperty))
const importKind = fc.constantFrom("tool", "resource", "prompt")

const declaration: Source = fc.oneof(
  blockProperty("input", block(either(seq(key, ":", types.type, maybe(seq("=", constant))), requirement))),
  blockProperty("secrets", typeFields),
  seq("schema", name, either(typeFields, block(seq("variant", key, block(seq(key, typeFields))), 1))),
  seq("provider", name, "from", name, block(either(setting, headers, inference))),
  seq("model", name, "from", name, block(either(setting, inference, blockProperty("price", block(setting))))),
  limits,
  seq("mcp", name, block(either(setting, headers))),
  importKind.chain((kind) => seq(kind, name, "from", remote(kind), importBody)),
  importKind.chain((kind) => seq(kind, "from", localRemote(kind), importBody)),
  importKind.chain((kind) => seq(kind, "from", remote(kind), "as", name, importBody)),
  seq(
    "from",
    "mcp",
    ".",
    name,
    maybe(seq(".", importKind.map(text))),
    block(
      either(
        importProperty,
        seq(importKind.map(text), localRemoteName, importBody),
        seq(importKind.map(text), remoteName, "as", name, importBody),
      ),
    ),
  ),
  blockProperty("dynamic", values),
  { weight: 2, arbitrary: seq("agent", name, block(agentProperty, 5)) },
  { weight: 2, arbitrary: seq("agent", name, "for", pattern, "in", expression, block(agentProperty)) },
  { weight: 1, arbitrary: seq("agent", name, "when", expression, block(agentProperty)) },
  {
    weight: 1,
    arbitrary: seq("agent", name, "for", pattern, "in", expression, "when", expression, block(agentProperty)),
  },
  { weight: 1, arbitrary: seq("ask", name, block(askProperty, 5)) },
  {
    weight: 1,
    arbitrary: seq(
      "ask",
      name,
      maybe(seq("for", pattern, "in", expression)),
      maybe(seq("when", expression)),
      block(askProperty),
    ),
  },
  blockProperty("output", values),
)

// ------------------------------------------------------------------------------------------------------------ noise

const blanks = ["", " ", "  ", "\t"]
const breaks = ["\n", "\n  ", "\r", "\r\n", "\n\n", "\n\n\n", " \n \n"]
/** `#` becomes a number, so that no two comments are alike. */
const comments = [" // c#\n", "\n// c#\n", "\n/// d#\n", " /// d# \n", "\n\n//// c#\t\n\n", "//c#\r\n"]

export type Noise = "blanks" | "breaks" | "comments"

const noises: Readonly<Record<Noise, fc.Arbitrary<string>>> = {
  blanks: fc.constantFrom(...blanks),
  breaks: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...blanks) },
    { weight: 1, arbitrary: fc.constantFrom(...breaks) },
  ),
  comments: fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...blanks) },
    { weight: 2, arbitrary: fc.constantFrom(...breaks) },
    { weight: 1, arbitrary: fc.constantFrom(...comments) },
  ),
}

/** A whole file: declarations, with as much between its tokens as `noise` says. */
export function wireSource(noise: Noise): fc.Arbitrary<string> {
  return fc
    .tuple(
      fc.array(declaration, { maxLength: 4 }),
      fc.array(noises[noise], { minLength: 1, maxLength: 60 }),
      fc.array(fc.constantFrom("", ","), { minLength: 1, maxLength: 7 }),
    )
    .map(([declarations, between, separators]) => {
      const pieces = declarations.flatMap((one) => [...one, { text: "\n", glued: true as const }])
      return join(pieces, between, separators)
    })
}

function join(pieces: Pieces, between: readonly string[], separators: readonly string[]): string {
  let source = ""
  let used = 0
  let separated = 0
  let numbered = 0
  const next = () => (between[used++ % between.length] ?? "").replace("#", () => String(++numbered))
  for (const piece of pieces) {
    const written = piece.separator === true ? (separators[separated++ % separators.length] ?? "") : piece.text
    if (piece.glued === true) {
      source += written
      continue
    }
    let gap = piece.inLine === true ? (blanks[used++ % blanks.length] ?? "") : next()
    if (gap === "" && needsBlank(source, written)) gap = " "
    source += gap + written
  }
  return source + next()
}

/** Two words, or two strings, that would read as one. */
function needsBlank(before: string, after: string): boolean {
  return /[\w"-]$/.test(before) && /^[\w"-]/.test(after)
}
