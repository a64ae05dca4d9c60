import type { FunctionName } from "../check/function-table.ts"

/** What a function does, in one sentence, and a call of it that needs no input. */
export interface FunctionText {
  readonly text: string
  readonly example: string
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
  chunks: { text: "Arrays of that many elements; the last may be shorter.", example: "chunks([1, 2, 3], 2)" },
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
  merge: { text: "An object with the fields of both; those of `b` win.", example: "merge({ a: 1, b: 2 }, { b: 3 })" },
  add_days: {
    text: "The date so many days later; time and offset stay as written.",
    example: 'add_days("2026-02-28", 1)',
  },
  days_between: {
    text: "Days from the UTC date of `a` to that of `b`.",
    example: 'days_between("2026-01-01", "2026-01-31")',
  },
  weekday: { text: "The day of the week, in UTC.", example: 'weekday("2026-01-01")' },
}
