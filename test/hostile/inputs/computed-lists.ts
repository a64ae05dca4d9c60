import { sends, type Hostile } from "../hostile-input.ts"

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

/** As good as random, and the same each time. */
const key = (at: number): string => ((at * 2_654_435_761) % 4_294_967_296).toString(36)

const texts = times(100_000, key)
const numbers = times(3_000, (at) => at)

export const computedLists: readonly Hostile[] = [
  sends("lists of lists, and sorts of 100,000 texts", [null, "limit_exceeded"], async (service) => [
    await service.execute(`input { n: [integer] }\noutput { x: [[a - b for b in input.n] for a in input.n] }`, {
      input: { n: numbers },
    }),
    await service.execute(
      `input { n: [integer] }\ndynamic { x: [[[0 for c in input.n when c < 0] for b in input.n] for a in input.n] }\noutput { x: dynamic.x[0] }`,
      { input: { n: numbers } },
    ),
    await service.execute(
      `input { s: [string] }\ndynamic { x: [s for s in input.s by s] }\noutput { x: dynamic.x[0] }`,
      {
        input: { s: texts },
      },
    ),
    await service.execute(
      `input { s: [string] }\ndynamic { x: [s for s in input.s by "\u{1F600}{{ s }}" descending] }\noutput { x: dynamic.x[0] }`,
      { input: { s: texts } },
    ),
  ]),
  sends("long lists in conditions, requirements and functions, six at a time", [null, "limit_exceeded"], (service) =>
    Promise.all(
      [
        "output { x: length([s for s in input.s by s descending]) }",
        'output { x: join([s for s in input.s when !(input.n contains length(s))], input.s[0] ?? "") == "" }',
        'ask never when length([s for s in input.s by "{{ s }}{{ s }}"]) < 0 { question: "?" output { ok: boolean } }\noutput { x: 1 }',
        "output { x: sum([sum([length(s) * n for n in input.n]) for s in input.s]) }",
        "output { x: length(unique([{ a: s, b: [s, length(s)] } for s in input.s])) }",
        "output { x: length(flatten([[round(length(s) / n, 2) for n in [3, 7, 11]] for s in input.s])) }",
      ].map((rest) =>
        service.execute(`input { s: [string]  n: [integer] }\n${rest}`, { input: { s: texts, n: numbers } }),
      ),
    ),
  ),
  sends(
    "keys that share 10 KB, and lists in lists to the deepest level",
    [null, "limit_exceeded", "validation_error"],
    async (service) => [
      await service.execute(
        `input { n: [integer], t: string }\ndynamic { x: [n for n in input.n by "{{ input.t }}{{ n }}"] }\noutput { x: dynamic.x[0] }`,
        { input: { n: numbers, t: "x".repeat(10_000) } },
      ),
      await service.execute(
        `input { n: [integer] }\noutput { x: ${"[".repeat(45)}0${times(45, (at) => ` for v${at} in input.n]`).join("")} }`,
        { input: { n: [1, 2] } },
      ),
      await service.execute(
        `input { n: [integer] }\ndynamic { ${times(200, (at) => `d${at}: [n for n in input.n when ${times(50, () => "n >= 0").join(" && ")}]`).join("\n")} }\noutput { x: dynamic.d199[0] }`,
        { input: { n: numbers } },
      ),
    ],
  ),
]
