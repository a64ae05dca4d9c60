import { sends, type Hostile } from "../hostile-input.ts"
import type { Answer, HostileService } from "../hostile-service.ts"

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

interface Files {
  readonly workflow_source: string
  readonly modules: Readonly<Record<string, string>>
}

/** Files of which each calls the next one; `body` is the body of each but the last. */
function chain(levels: number, body: string, last = "output { n: 1 }"): Files {
  const file = (at: number): string =>
    at === levels ? `${head}${last}` : `${head}workflow next from "./f${at + 1}.wire"\n${body}`
  const modules = Object.fromEntries(times(levels, (at) => [`f${at + 1}.wire`, file(at + 1)]))
  return { workflow_source: file(0), modules }
}

const head = "input { xs: [integer] }\n"

/** As many calls of the next file, side by side. */
const fields = (count: number, call: string): string =>
  `dynamic {\n${times(count, (at) => `d${at}: ${call}`).join("\n")}\n}\noutput { n: 1 }`

const call = "call workflow.next { input { xs: input.xs } }"

function run(service: HostileService, { workflow_source, modules }: Files, xs: readonly number[]): Promise<Answer> {
  return service.execute(workflow_source, { modules, input: { xs }, options: { timeout_ms: 15_000 } })
}

export const calledWorkflows: readonly Hostile[] = [
  sends("seven levels of files that call the next one 20 times", ["validation_error"], async (service) => [
    await run(service, chain(7, fields(20, call)), []),
  ]),
  sends(
    "seven levels of files that call the next one 10 times, where a condition holds",
    ["limit_exceeded", "timeout"],
    async (service) => [
      await run(service, chain(7, fields(10, `match length(input.xs) == 1 { true: ${call} _ null }`)), [1]),
    ],
  ),
  sends(
    "four levels of files that call the next one for each of 100 items, six runs at a time",
    ["limit_exceeded", "timeout"],
    (service) =>
      Promise.all(
        times(6, () =>
          run(
            service,
            chain(4, `dynamic { d: [${call} for x in input.xs] }\noutput { n: 1 }`),
            times(100, (at) => at),
          ),
        ),
      ),
  ),
  sends(
    "seven levels of files that name the next one 30 times, in a source for the thread",
    [null, "validation_error"],
    async (service) => {
      const named = times(30, (at) => `workflow n${at} from "./NEXT"`).join("\n")
      const calls = times(
        30,
        (at) => `d${at}: match length(input.xs) == 1 { true: call workflow.n${at} { input { xs: input.xs } } _ null }`,
      )
      const file = (at: number): string =>
        at === 7
          ? `${head}output { n: 1 }`
          : `// ${"x".repeat(4000)}\n${head}${named.replaceAll("NEXT", `f${at + 1}.wire`)}\ndynamic {\n${calls.join("\n")}\n}\noutput { n: 1 }`
      const modules = Object.fromEntries(times(7, (at) => [`f${at + 1}.wire`, file(at + 1)]))
      const body = { workflow_source: file(0), modules, input: { xs: [] } }
      return [await service.post("/execute", body), await service.post("/validate", body)]
    },
  ),
]
