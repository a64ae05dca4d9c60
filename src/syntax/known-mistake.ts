// What people from elsewhere write where something else is expected. A row has the beginning of the message; a pattern of what stands
// around the place, which is marked `\u2038`; and what to write instead. Each has its case in test/cases/mistakes.
export const knownMistakes: readonly (readonly [string, RegExp, string])[] = [
  ["Expected a field name", /^([\w.]+)\u2038-> ?(\w+)/, "Write `$1.$2`."],
  ["Expected a field name", /^\u2038\.\.\.([\w.]+), ?([^{}]+?) ?\}/, "Write `merge($1, { $2 })`."],
  ["Expected a field name", /\u2038\.\.\./, "Objects are joined by `merge(a, b)`."],
  ["Expected a value", /\[\u2038\.\.\.([\w.]+), ?([^[\]]+)\]/, "Write `concat($1, [$2])`."],
  ["Expected a value", /\u2038\.\.\./, "Lists are joined by `concat(a, b)`."],
  [
    "Expected a field name",
    /^\u2038\[([^[\]]+)\]: ?(.+?) for (.+?) ?\}/,
    "Write `[{ key: $1, value: $2 } for $3]`: names of fields are written out.",
  ],
  [
    "Expected a field name",
    /^\u2038\[([^[\]]+)\]: ?([^,{}]+)/,
    "Write `[{ key: $1, value: $2 }]`: names of fields are written out.",
  ],
  [
    "Expected `:` after the field name `for`",
    /^for\u2038(.+? in [\w.]+)/,
    "Write `[{ … } for $1]`: names of fields are written out.",
  ],
  ["Expected", /^([\w.]+)\u2038\| ?default\(([^()]+)\)/, "Write `$1 ?? $2`."],
  ["Expected", /^([\w.]+)\u2038\| ?(fixed|join|replace|slice|split)\(([^()]+)\)/, "Write `$2($1, $3)`."],
  [
    "Expected",
    /^([\w.]+)\u2038\| ?(first|flatten|json|last|length|lines|lower|reverse|round|sum|trim|unique|upper)\b/,
    "Write `$2($1)`.",
  ],
  ["An element is chosen by", /^([\w.]+)\[\u2038-1\]/, "Write `last($1)`."],
  ["Expected `]`", /^([\w.]+)\[(\d+)\u2038: ?(\d+)\]/, "Write `slice($1, $2, $3)`."],
  [
    "Expected `,` or `)` after an argument",
    /^(\w+)\u2038: ?/,
    "A tool is called `call tool.name { input { $1: … } }`; arguments of functions have no names.",
  ],
  ["Expected", /^(\d)\u2038%/, "Write `0.0$1`."],
  ["Expected", /^(\d\d)\u2038%/, "Write `0.$1`."],
  ["Expected the number of", /^([\w.]+)\[\u2038\*?\]\.(\w+)/, "Write `$1.*.$2`."],
  ["Expected the number of", /^([\w.]+)\[\u2038\*?\]/, "Write `$1`."],
  ["Expected `in` after", /^\w+\u2038of ([\w.]+)/, "Write `in $1`."],
  [
    "Expected `in` after",
    /^\w+\u2038, ?(\w+) in ([\w.]+)/,
    "Write `for $1 in $2`: the number of the item is not known.",
  ],
  ["Expected a variable, or", /^for\u2038\((?:const |let )?(\w+) (?:in|of) ([^()]+)\)/, "Write `for $1 in $2`."],
  ["Expected a value", /^when\u2038: ?([^{}]+?) ?\{/, "Write `when $1`."],
  ["Expected `{` after `dynamic`", /^dynamic\u2038(\w+) ?[=:] ?(.+)/, "Write `dynamic { $1: $2 }`."],
  ["Expected `{` after `input`", /^input\u2038\(([^()]*)\)/, "Write `input { $1 }`."],
  ["Expected a reference such as `tool", /\u2038"(\w+)"/, "Write `tool.$1`."],
  ["Expected `{` after `output`", /^output:?\u2038([^{}]+)/, "Write `output { result: $1 }`."],
  ["Expected `{` after", /^\w+\u2038else\b/, "Give it the opposite condition: `when !(…)`."],
  ["Expected `{` after", /^\w+\u2038:/, "Blocks have braces, `agent name { … }`: this is not YAML."],
  ["Expected a declaration", /\u2038#/, "A comment begins with `//`."],
  [
    "Expected a declaration",
    /\u2038(?:class|interface|type|struct|enum)\b/,
    "A named type is written `schema name { field: type }`.",
  ],
  [
    "Expected a declaration",
    /\u2038(?:function|def|fn|task|step|node)\b/,
    "A step of a model is written `agent name { … }`.",
  ],
  [
    "Expected a declaration",
    /\u2038(?:const|let|var|variable|locals)\b/,
    "Values are computed in `dynamic { name: … }`; what the request brings is in `input { … }`.",
  ],
  [
    "Expected a declaration",
    /\u2038(?:pipeline|export)\b/,
    "A file is one workflow: its declarations stand side by side.",
  ],
  ["Expected a declaration", /^\u2038secret (?!\w+ ?\{)([^{}]+)/, "Write `secrets { $1 }`."],
  ["Expected a declaration", /^\u2038secret /, "Write `secrets { name: string }`."],
  ["Expected a declaration", /^\u2038[\w-]+:/, "Blocks have braces, `agent name { … }`: this is not YAML."],
  ["Expected a property", /^(\d{1,3}),\u2038(\d{3})\b/, "Write `$1_$2`."],
  ["Expected a property", /^(model\.\w+)\u2038\?\? (model\.\w+)/, "Write `[$1, $2]`."],
  ["Expected `.remote_name` after", /^(mcp\.\w+)\.\u2038(?!(?:tool|resource|prompt)\b)(\w+)/, "Write `$1.tool.$2`."],
  ["`", /\u2038(\d+)[kK]\b/, "Write `$1_000`."],
  ["`", /\u2038(\d+)(?:ms|s|m|h|d)\b/, "Write `$1`: the name of the property says the unit."],
]

/** Hints that say what is allowed, and not what to write here. */
const general = /^(?:A declaration begins|Fields are written|A name cannot|There are no filters|A default for a value)/

/** What to write instead of what stands at a place, for a message about it; else its own hint. */
export function betterHint(message: string, hint: string | undefined, text: string, at: number): string | undefined {
  if (hint !== undefined && !general.test(hint)) return hint
  const around = `${wordBefore(text, at)}\u2038${lineAfter(text, at)}`
  for (const [start, pattern, better] of knownMistakes) {
    const found = message.startsWith(start) ? pattern.exec(around) : null
    if (found !== null) return better.replaceAll(/\$(\d)/g, (_, group) => (found[Number(group)] ?? "").trim())
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
