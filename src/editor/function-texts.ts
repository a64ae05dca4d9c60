import { functionRow, isFunction, type FunctionName } from "../check/function-table.ts"
import { isStepFunction, stepFunctions, type StepFunctionName } from "../check/step-functions.ts"

/** What a function does, in one sentence, and a call of it; one that needs no input, except where it says what that gives. */
export interface FunctionText {
  readonly text: string
  readonly example: string
  readonly gives?: string
}

export const functionTexts: Readonly<Record<FunctionName, FunctionText>> = {
  length: { text: "How many code points a text, or elements an array has.", example: 'length("héllo")' },
  lower: { text: "The text in lower case.", example: 'lower("Ab")' },
  upper: { text: "The text in upper case.", example: 'upper("Ab")' },
  trim: { text: "The text without blanks at its ends.", example: 'trim(" a b ")' },
  split: { text: 'The pieces between the separators; with `""` the code points.', example: 'split("a, b", ", ")' },
  lines: {
    text: "The lines of a text; CRLF, LF and CR end one, and a final one adds none.",
    example: 'lines("a\\nb\\n")',
  },
  join: { text: "The elements as one text, with the separator between them.", example: 'join(["a", "b"], ", ")' },
  replace: {
    text: "The text with every occurrence of `from` replaced, taken literally.",
    example: 'replace("a-b-c", "-", "+")',
  },
  starts_with: { text: "Whether the text begins with `t`.", example: 'starts_with("wire", "wi")' },
  ends_with: { text: "Whether the text ends with `t`.", example: 'ends_with("wire", "re")' },
  slice: {
    text: "The part from `from` up to `to`, which is excluded; negative positions count from the end.",
    example: "slice([1, 2, 3, 4], 1, -1)",
  },
  at: {
    text: "The element at a position (negative ones count from the end) or the field of that name; null where there is none.",
    example: "at([1, 2, 3], -1)",
  },
  text: { text: "The value as `{{ }}` writes it.", example: "text([1, 2])" },
  json: { text: "The value as compact JSON.", example: 'json("a")' },
  parse_json: { text: "The value of a JSON text, untyped.", example: 'parse_json("[1, 2]")' },
  csv: {
    text: "Objects of one shape as CSV with a header; cells are not changed, `=1+1` either.",
    example: 'csv([{ a: 1, b: "x, y" }])',
  },
  parse_csv: {
    text: "An object of strings for each row of a CSV text with a header.",
    example: 'parse_csv("a,b\\n1,2\\n")',
  },
  number: { text: "The number that a text is; null where it is none.", example: 'number(" 1.5 ")' },
  fixed: { text: "The number with that many digits after the point, 0 to 15.", example: "fixed(3.5, 2)" },
  abs: { text: "The number without its sign.", example: "abs(-2)" },
  round: {
    text: "The nearest integer, or number with that many digits; halves round away from zero.",
    example: "round(1.005, 2)",
  },
  floor: { text: "The largest integer that is not greater.", example: "floor(-1.5)" },
  ceil: { text: "The smallest integer that is not less.", example: "ceil(1.2)" },
  sum: { text: "The sum of the numbers, 0 for none.", example: "sum([1, 2, 3])" },
  min: { text: "The smallest number, or the first text by code points; null for none.", example: "min([3, 1, 2])" },
  max: { text: "The largest number, or the last text by code points; null for none.", example: 'max(["a", "b"])' },
  average: {
    text: "The sum of the numbers, divided by how many there are; null for none.",
    example: "average([1, 2])",
  },
  first: { text: "The first element; null for none.", example: "first([1, 2])" },
  last: { text: "The last element; null for none.", example: "last([1, 2])" },
  reverse: { text: "The elements, the last first.", example: "reverse([1, 2, 3])" },
  unique: { text: "The elements, of those that are equal only the first.", example: "unique([1, 2, 1])" },
  flatten: { text: "The elements of the arrays in an array, one level.", example: "flatten([[1, 2], [3]])" },
  concat: { text: "The elements of the arrays, one array after the other.", example: "concat([1], [2, 3])" },
  chunks: {
    text: "Arrays of that many elements, or texts of that many code points, which may overlap; the last may be shorter.",
    example: "chunks([1, 2, 3], 2)",
  },
  pieces: {
    text: "The text in pieces of at most that many code points: each ends with the last blank line that fits, else the last line end, sentence end or blank. Joined, they are the text.",
    example: 'pieces("One. Two and three.", 10)',
  },
  group_by: {
    text: "The objects in groups that have the same value in a field, in the order in which the values come first.",
    example: 'group_by([{ a: 1 }, { a: 2 }, { a: 1 }], "a")',
  },
  count_by: {
    text: "How many objects have each value in a field, in the order in which the values come first.",
    example: 'count_by([{ a: 1 }, { a: 2 }, { a: 1 }], "a")',
  },
  zip: {
    text: "Pairs of the elements at the same position, as many as the shorter array has.",
    example: 'zip([1, 2], ["a", "b"])',
  },
  range: {
    text: "The integers from `from` (0) up to `to`, which is excluded; at most 100,000.",
    example: "range(1, 4)",
  },
  any: { text: "Whether one of them is true.", example: "any([false, true])" },
  all: { text: "Whether none of them is false.", example: "all([false, true])" },
  keys: { text: "The names of the fields.", example: "keys({ a: 1, b: 2 })" },
  values: { text: "The values of the fields.", example: "values({ a: 1, b: 2 })" },
  entries: { text: "An object with `key` and `value` for each field.", example: "entries({ a: 1 })" },
  from_entries: {
    text: "A map of objects with `key` and `value`; `{ [key]: value for … }` is another way to write it.",
    example: 'from_entries([{ key: "a", value: 1 }])',
  },
  merge: {
    text: "An object with the fields of all; later ones win. `{ ...a, y: 1 }` is another way to write it.",
    example: "merge({ a: 1, b: 2 }, { b: 3 })",
  },
  add_days: {
    text: "The date so many days later; time and offset stay as written.",
    example: 'add_days("2026-02-28", 1)',
  },
  days_between: {
    text: "Days from the UTC date of `a` to that of `b`.",
    example: 'days_between("2026-01-01", "2026-01-31")',
  },
  weekday: { text: "The day of the week, in UTC.", example: 'weekday("2026-01-01")' },
  add_seconds: {
    text: "The time that many seconds later, with the offset as it is written; a day alone begins at midnight in UTC.",
    example: 'add_seconds("2026-01-01T09:30:00+01:00", 90)',
  },
  seconds_between: {
    text: "Seconds from `a` to `b`, negative where `b` is earlier.",
    example: 'seconds_between("2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z")',
  },
  format_date: {
    text: "The date as `format` shows it: `yyyy MM dd HH mm ss`, names of months `MMM MMMM` and of days `EEE EEEE` in English; in UTC, or in a timezone.",
    example: 'format_date("2026-11-18T09:30:00Z", "EEE dd MMM yyyy, HH:mm", "Europe/Berlin")',
  },
  date_of: {
    text: "The day, `YYYY-MM-DD`, in UTC, or in a timezone.",
    example: 'date_of("2026-11-18T23:30:00Z", "Europe/Berlin")',
  },
  matches: { text: "Whether the pattern matches a part of the text.", example: 'matches("INV-0042", "^INV-[0-9]+$")' },
  find: {
    text: "The first match of the pattern, or its first group where it has one; null for none.",
    example: 'find("Invoice INV-0042", "INV-([0-9]+)")',
  },
  find_all: {
    text: "All matches of the pattern, or the first group of each where it has one.",
    example: 'find_all("a1 b22", "[0-9]+")',
  },
  replace_all: {
    text: "The text with every match of the pattern replaced; `$1` to `$9` stand for the groups.",
    example: 'replace_all("2026-11-18", "([0-9]+)-([0-9]+)-([0-9]+)", "$3.$2.$1")',
  },
  sha256: { text: "The SHA-256 hash of the text in UTF-8, in hexadecimal digits.", example: 'sha256("a")' },
  base64: { text: "The text in UTF-8 as Base64.", example: 'base64("héllo")' },
  from_base64: {
    text: "The text that a Base64 text stands for; null where it is none, or its bytes are not UTF-8.",
    example: 'from_base64("aMOpbGxv")',
  },
  make_file: {
    text: "A file with this text, of this media type or that of its extension.",
    example: 'make_file("report.md", "# Report")',
    gives: "a file of the type `text/markdown`",
  },
  text_of: {
    text: "The text of a file: UTF-8, at most 1 MiB.",
    example: "text_of(input.notes)",
    gives: "what the file says",
  },
  failure: {
    text: "Why a step or a call with `on_failure: skip` failed; null where it completed. Of a loop, an array.",
    example: "failure(agent.draft)?.message",
    gives: "the message where the agent failed, else `null`",
  },
  url_encode: { text: "The text as a part of a URL, with everything else escaped.", example: 'url_encode("a b&c")' },
}

export const stepFunctionTexts: Readonly<Record<StepFunctionName, string>> = {
  rounds: "The outputs of all rounds of an agent with `repeat`, the first one first.",
}

/** How a function is written, and what it does; undefined for a name that is none. */
export function functionHelp(
  name: string,
): { readonly forms: readonly [string, ...string[]]; readonly text: string } | undefined {
  if (isStepFunction(name)) return { forms: [stepFunctions[name]], text: stepFunctionTexts[name] }
  if (!isFunction(name)) return undefined
  const [first = name, ...others] = functionRow(name).forms
  return { forms: [first, ...others], text: functionTexts[name].text }
}
