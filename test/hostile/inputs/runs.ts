import { answered, provider } from "../hostile-backend.ts"
import type { Hostile } from "../hostile-input.ts"
import type { Answer } from "../hostile-service.ts"

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

const agents = (count: number): string =>
  times(
    count,
    (at) => `agent a${at} { model: model.m instruction: "Go ${at}. {{ input.t }}" output { message: string } }`,
  ).join("\n")

export const runs: readonly Hostile[] = [
  {
    name: "a run of 40 agents that are sent 800 KB, its record, and a re-run",
    kinds: [null],
    prepare: async (service, during) => {
      const backend = await answered(() => ({ message: "x" }))
      during(() => backend.close())
      const source = `input { t: string }\n${provider(backend)}\n${agents(40)}\noutput { m: agent.a0.message }`
      const body = { workflow_source: source, input: { t: "x".repeat(800_000) } }
      return async (): Promise<readonly Answer[]> => {
        const first = await service.post("/execute", body, { prefer: "respond-async" })
        const { run_id } = JSON.parse(first.text) as { run_id: string }
        let record = await service.send(`/execute/${run_id}?wait=30`)
        while (record.text.includes('"status":"running"')) record = await service.send(`/execute/${run_id}?wait=30`)
        return [first, record, await service.post(`/execute/${run_id}/rerun`, {})]
      }
    },
  },
  {
    name: "20 runs at once, each of 30 agents that are sent 400 KB",
    kinds: [null, "limit_exceeded"],
    prepare: async (service, during) => {
      const backend = await answered(() => ({ message: "x" }))
      during(() => backend.close())
      const source = `input { t: string }\n${provider(backend)}\n${agents(30)}\noutput { m: agent.a0.message }`
      const input = { t: "x".repeat(400_000) }
      return () => Promise.all(times(20, () => service.execute(source, { input })))
    },
  },
]
