import type { Hostile } from "../hostile-input.ts"
import { sends } from "../hostile-input.ts"

// Functions whose results would be far larger than what they are given, or that take long for what they give.

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const header = "input { s: string  t: string  list: [integer]  texts: [string]  o: object }\n"

const expressions: readonly string[] = [
  'split(input.s, "")',
  'replace(input.s, "a", input.s)',
  'replace(input.s, input.t, "")',
  "join(input.texts, input.s)",
  "upper(input.t)",
  "unique(input.texts)",
  "[range(100000) for x in range(100000)]",
  "flatten([input.list for x in range(100000)])",
  "chunks(input.list, 1)",
  "zip(input.list, input.list)",
  "json(json(json(json(input.s))))",
  "entries(input.o)",
  '[weekday("2026-01-01") for x in input.list]',
  "[max(input.texts) for x in input.list]",
  "[fixed(1e300, 15) for x in input.list by length(input.s)]",
]

/** Each is twice as long as the one before. */
const doubling = `${header}dynamic {
    d0: concat(input.list, input.list)
    ${times(40, (at) => `d${at + 1}: concat(dynamic.d${at}, dynamic.d${at})`).join("\n    ")}
}
output { n: length(dynamic.d40) }`

const input = {
  s: `${"a".repeat(2_000_000)}b`,
  t: `b${"a".repeat(1_000_000)}`,
  list: times(200_000, (at) => at),
  texts: times(60, (at) => "x".repeat(16_400) + String(at)),
  o: Object.fromEntries(times(50_000, (at) => [`k${at}`, at])),
}

/** Values of nearly 16 MB that are written as text: many elements, many objects, few long texts, one that is mostly escapes. */
const written: readonly string[] = [
  "[[n for n in range(100000)] for x in range(24)]",
  '[{ id: n, title: "Ticket about owls", open: true, score: 1.5 } for n in flatten([range(100000), range(100000)])]',
  'concat([input.s], [replace(input.s, "a", "ab") for x in range(2)])',
  'replace(input.s, "a", "\\"")',
]

export const functions: readonly Hostile[] = [
  sends("a list that doubles 40 times", ["limit_exceeded"], async (service) => [
    await service.execute(doubling, { input: { ...input, list: [1, 2] } }),
  ]),
  sends(
    "functions that build, search and sort more than they may",
    [null, "limit_exceeded", "payload_too_large"],
    (service) =>
      Promise.all(expressions.map((expression) => service.execute(`${header}output { r: ${expression} }`, { input }))),
  ),
  sends("values of 16 MB that are written as text", [null, "limit_exceeded", "payload_too_large"], (service) =>
    Promise.all(
      written.flatMap((value) =>
        ["json(dynamic.v)", "text(dynamic.v)", '"of {{ dynamic.v }}"'].map((text) =>
          service.execute(`${header}dynamic { v: ${value} }\noutput { n: length(${text}) }`, { input }),
        ),
      ),
    ),
  ),
]
