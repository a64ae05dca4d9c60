import { write, type Advice, type SyntaxHint } from "../source/hint.ts"

/** For a `#` that begins a comment elsewhere. */
export const commentHint = write("//", undefined, "A comment begins with `//`.")

/** What the parser expected where it found something else. */
export type Expected =
  | "{"
  | "]"
  | "argument-end"
  | "colon"
  | "declaration"
  | "element"
  | "field"
  | "in"
  | "number"
  | "property"
  | "reference"
  | "remote-name"
  | "tool-list"
  | "value"
  | "variable"

// What people from elsewhere write where something else is expected. A row has what is expected there (undefined: anything); a pattern
// of what stands around the place, which is marked `\u2038`; and what to write instead. Each has its case in test/cases/mistakes.
export const knownMistakes: readonly (readonly [Expected | undefined, RegExp, string | Advice])[] = [
  ["field", /^([\w.]+)\u2038-> ?(\w+)/, "Write `$1.$2`."],
  ["field", /\u2038\.\.\.([\w.]+)/, "Fields are spread in a value: `name: { ...$1, y: 1 }`."],
  ["field", /\u2038\[([^[\]]+)\]: ?/, "Keys are computed in a value: `name: { [$1]: … }`."],
  ["colon", /^for\u2038(.+? in [\w.]+)/, "Write `[{ … } for $1]`: names of fields are written out."],
  [undefined, /^([\w.]+)\u2038\| ?default\(([^()]+)\)/, "Write `$1 ?? $2`."],
  [undefined, /^([\w.]+)\u2038\| ?(fixed|join|replace|slice|split)\(([^()]+)\)/, "Write `$2($1, $3)`."],
  [
    undefined,
    /^([\w.]+)\u2038\| ?(first|flatten|json|last|length|lines|lower|reverse|round|sum|trim|unique|upper)\b/,
    "Write `$2($1)`.",
  ],
  ["element", /^([\w.]+)\[\u2038-1\]/, "Write `last($1)`."],
  ["]", /^([\w.]+)\[(\d+)\u2038: ?(\d+)\]/, "Write `slice($1, $2, $3)`."],
  ["]", /^([\w.]+)\[(\d+)\u2038: ?\]/, "Write `slice($1, $2)`."],
  [
    "argument-end",
    /^(\w+)\u2038: ?/,
    "A tool is called `call tool.name { input { $1: … } }`; arguments of functions have no names.",
  ],
  [undefined, /^(\d)\u2038%/, "Write `0.0$1`."],
  [undefined, /^(\d\d)\u2038%/, "Write `0.$1`."],
  ["element", /^([\w.]+)\[\u2038\*?\]\.(\w+)/, "Write `$1.*.$2`."],
  ["element", /^([\w.]+)\[\u2038\*?\]/, "Write `$1`."],
  ["value", /^\u2038\+/, "Values do not change: write `+ 1`."],
  [undefined, /^(\d+)\.\u2038\.\d/, "Write the elements of the list: `[1, 2, 3]`."],
  ["colon", /^unless\u2038/, "A condition follows the name: `agent name when !(input.ready) { … }`."],
  ["in", /^\w+\u2038of ([\w.]+)/, "Write `in $1`."],
  ["variable", /^for\u2038\((?:const |let )?(\w+) (?:in|of) ([^()]+)\)/, "Write `for $1 in $2`."],
  ["value", /^when\u2038: ?([^{}]+?) ?\{/, "Write `when $1`."],
  ["{", /^(input|output|dynamic|secrets)\u2038"[^"]*" ?\{/, "Write `$1 { … }`: it has no name."],
  ["{", /^(\w+)\u2038extends (\w+)/, "Nothing is inherited: write what `$2` has into `$1`, too."],
  ["{", /^\w+\u2038unless ([^{}]+?) ?\{/, "Write `when !($1)`."],
  ["{", /^dynamic\u2038(\w+) ?[=:] ?(.+)/, "Write `dynamic { $1: $2 }`."],
  ["{", /^input\u2038\(([^()]*)\)/, "Write `input { $1 }`."],
  ["reference", /\u2038"(\w+)"/, "Write `tool.$1`."],
  ["tool-list", /\u2038"(\w+)"\]/, "Write `uses: [tool.$1]`."],
  ["tool-list", /\u2038"(\w+)"/, "Write `uses: [tool.$1, …]`."],
  ["{", /^output:?\u2038([^{}]+)/, "Write `output { result: $1 }`."],
  ["{", /^\w+\u2038else\b/, "Give it the opposite condition: `when !(…)`."],
  ["{", /^\w+\u2038:/, "Blocks have braces, `agent name { … }`: this is not YAML."],
  ["declaration", /\u2038#/, commentHint],
  [
    "declaration",
    /\u2038(?:class|interface|type|struct|enum)\b/,
    "A named type is written `schema name { field: type }`.",
  ],
  ["declaration", /\u2038(?:task|step|node)\b/, "A step of a model is written `agent name { … }`."],
  ["declaration", /\u2038(?:def|fn|func|fun)\b/, "Write `function name(amount: number) = …`."],
  [
    "declaration",
    /\u2038(?:const|let|var|variable|locals)\b/,
    "Values are computed in `dynamic { name: … }`; what the request brings is in `input { … }`.",
  ],
  ["declaration", /\u2038for (\w+) (?:in|of) ([\w.]+)/, "Repeat an agent: `agent name for $1 in $2 { … }`."],
  ["declaration", /\u2038pipeline\b/, "A file is one workflow: its declarations stand side by side."],
  ["declaration", /\u2038export\b/, "Remove it: other files import any declaration by its name."],
  ["declaration", /^\u2038secret (?!\w+ ?\{)([^{}]+)/, "Write `secrets { $1 }`."],
  ["declaration", /^\u2038secret /, "Write `secrets { name: string }`."],
  ["declaration", /^\u2038[\w-]+:/, "Blocks have braces, `agent name { … }`: this is not YAML."],
  ["property", /^(\d{1,3}),\u2038(\d{3})\b/, "Write `$1_$2`."],
  ["property", /^(model\.\w+)\u2038\?\? (model\.\w+)/, "Write `[$1, $2]`."],
  ["remote-name", /^(mcp\.\w+)\.\u2038(?!(?:tool|resource|prompt)\b)(\w+)/, "Write `$1.tool.$2`."],
  ["number", /\u2038(\d+)[kK]\b/, "Write `$1_000`."],
  ["number", /^timeout:\u2038\d+(?:ms|s|m|h|d)\b/, "Write it at the model: `inference { timeout_seconds: … }`."],
  ["number", /\u2038(\d+)(?:ms|s|m|h|d)\b/, "Write `$1`: the name of the property says the unit."],
]

/** What to write instead of what stands at a place; else the hint of the mistake. */
export function betterHint(
  expected: Expected | undefined,
  hint: SyntaxHint | undefined,
  text: string,
  at: number,
): SyntaxHint | undefined {
  if (hint !== undefined && (typeof hint === "string" || hint.isGeneral !== true)) return hint
  const around = `${wordBefore(text, at)}\u2038${lineAfter(text, at)}`
  for (const [wanted, pattern, better] of knownMistakes) {
    const found = wanted === undefined || wanted === expected ? pattern.exec(around) : null
    if (found === null) continue
    if (typeof better === "object") return better
    return better.replaceAll(/\$(\d)/g, (_, group) => (found[Number(group)] ?? "").trim())
  }
  return hint
}

/** The last word of the line before the place, with what joins it; without the blanks after it. */
function wordBefore(text: string, at: number): string {
  let end = at
  while (end > 0 && at - end < 8 && text[end - 1] === " ") end--
  let start = end
  while (start > 0 && end - start < 80 && /[\w.[,:]/.test(text.charAt(start - 1))) start--
  return text.slice(start, end)
}

function lineAfter(text: string, at: number): string {
  return /^[^\r\n]*/.exec(text.slice(at, at + 120))?.[0] ?? ""
}
