import type { Hostile } from "../hostile-input.ts"
import { sends } from "../hostile-input.ts"

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const trivial = 'output { m: "x" }'

export const bodies: readonly Hostile[] = [
  sends("JSON 100,000 levels deep", ["invalid_request"], (service) =>
    Promise.all([
      service.post("/execute", `${"[".repeat(100_000)}${"]".repeat(100_000)}`),
      service.post("/validate", `{"input":${'{"a":'.repeat(100_000)}1${"}".repeat(100_000)}}`),
    ]),
  ),
  sends("a header of 15,000 spaces", [null], (service) =>
    Promise.all(
      times(40, () => service.send("/playground", { headers: { "accept-encoding": `a${" ".repeat(15_000)}b` } })),
    ),
  ),
  sends("lists of 15,000 commas in every header that is a list", [null, "invalid_request"], (service) =>
    Promise.all(
      times(20, () => {
        const list = ",;q=0.1 ".repeat(900)
        return service.post("/execute", { workflow_source: trivial }, { accept: list, "accept-encoding": list })
      }),
    ),
  ),
  sends("8 MB of escapes and of numbers as a body", ["invalid_request", "payload_too_large"], (service) =>
    Promise.all([
      service.post("/execute", `{"workflow_source":"${"\\u0061".repeat(1_300_000)}`),
      service.post("/execute", `{"workflow_source":${"9".repeat(8_000_000)}}`),
      service.post("/execute", `{"workflow_source":"${"\\".repeat(7_900_000)}"`),
    ]),
  ),
  sends(
    "7 MB of keys, of empty objects, of numbers and of short texts as an input",
    ["payload_too_large"],
    async (service) => {
      const inputs = [
        `{${times(500_000, (at) => `"k${at}":1`).join(",")}}`,
        `[${"{},".repeat(2_300_000)}{}]`,
        `[${"1,".repeat(3_500_000)}1]`,
        `{${times(480, (at) => `"${"k".repeat(16_384)}${1000 + at}":1`).join(",")}}`,
        `[${times(1_000_000, (at) => `"${at.toString(36).padStart(4, "0")}"`).join(",")}]`,
      ]
      const answers = []
      for (const x of inputs) {
        answers.push(
          await service.post("/execute", `{"workflow_source":${JSON.stringify(trivial)},"input":{"x":${x}}}`),
        )
      }
      return answers
    },
  ),
  sends("4 MB of records as an input, with an Idempotency-Key", [null, "input_error"], async (service) => {
    const list = times(200_000, (at) => ({ b: "x99", a: at % 10 }))
    const members = times(100, (at) => `{ b: "x${at}", a: integer }`)
    return [
      await service.execute(`input { list: [{ a: integer, b: string }] }\n${trivial}`, { input: { list } }),
      await service.execute(`input { list: [${members.join(" | ")}] }\n${trivial}`, { input: { list } }),
    ]
  }),
  sends(
    "an earlier run of 4 MB that is compared with its source, where 400 steps read the same",
    [null],
    async (service) => {
      const steps = times(200, (at) => `d${at}: input.list contains ${at}\ne${at}: input.text == "${at}"`)
      const workflow_source = `input { list: [integer], text: string }\ndynamic {\n${steps.join("\n")}\n}\n${trivial}`
      const body = { workflow_source, input: { list: times(500_000, (at) => at % 10), text: "x".repeat(2_000_000) } }
      const started = await service.post("/execute", body, { prefer: "respond-async" })
      const { run_id } = JSON.parse(started.text) as { run_id: string }
      return [started, await service.post("/validate", { ...body, rerun_of: run_id })]
    },
  ),
  sends("50,000 fields that nobody knows", ["invalid_request"], async (service) => [
    await service.post("/execute", Object.fromEntries(times(50_000, (at) => [`workflow_sourc${at}`, at]))),
  ]),
  sends("1,000 idempotency keys", [null, "rate_limited", "overloaded"], async (service) => {
    const answers = []
    for (let batch = 0; batch < 50; batch++) {
      answers.push(...(await Promise.all(times(20, () => service.execute(trivial)))))
    }
    return answers
  }),
  sends("cursors past every end", ["invalid_request"], async (service) => {
    const done = await service.send("/execute", {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ workflow_source: trivial }),
    })
    const [, run_id] = /"run_id":"([^"]+)"/.exec(done.text) ?? []
    const path = `/execute/${run_id ?? "x"}/events`
    return [
      ...(run_id === undefined ? [] : [await service.send(`${path}?after=99999999999999999999`)]),
      await service.send("/execute/x/events", { headers: { "last-event-id": "1e9" } }),
      await service.send("/execute/x/events", { headers: { "last-event-id": `${"9".repeat(12_000)}.` } }),
    ]
  }),
  sends("200 secrets of 5 KB", ["input_error"], async (service) => {
    const names = times(200, (at) => `s${at}`)
    const source = `secrets { ${names.map((name) => `${name}: string`).join(" ")} }\n${trivial}`
    const secrets = Object.fromEntries(names.map((name) => [name, `${name}${"x".repeat(5_000)}`]))
    return [await service.execute(source, { secrets })]
  }),
  sends("20,000 short secrets", ["input_error", "validation_error"], async (service) => {
    const secrets = { list: times(20_000, (at) => `secret-${at}`) }
    return [await service.execute(`secrets { list: [string] }\n${trivial}`, { secrets })]
  }),
]
