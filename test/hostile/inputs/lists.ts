import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import type { Socket } from "node:net"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { atEnd } from "../../support/at-end.ts"
import { atStrength } from "../../support/strength.ts"
import type { Hostile } from "../hostile-input.ts"
import type { Answer, HostileService } from "../hostile-service.ts"

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))

/** 40 take all of the memory that one caller may have. */
const readers = atStrength(40, 300)

const asking = `input { items: [integer]  text: string }
ask review for item in input.items {
    question: "Item {{ item }}?"
    show: { text: input.text  item: item }
    output { fine: boolean }
}
output { answers: ask.review.**.fine }`

/** A run that has asked so many questions, each of which shows 200 KB. */
async function ask(service: HostileService, count: number): Promise<string> {
  const input = { items: times(count, (at) => at), text: "x".repeat(200_000) }
  const body = { workflow_source: asking, input }
  const { text } = await service.post("/execute", body, { prefer: "respond-async" })
  const { run_id } = JSON.parse(text) as { run_id: string }
  for (;;) {
    const record = await service.send(`/execute/${run_id}?wait=30`)
    if (record.text.includes('"status":"waiting"')) return run_id
  }
}

/** Connections that ask for something and never read the answer. */
function neverRead(service: HostileService, count: number, path: string): Socket[] {
  const head = `GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer attacker\r\n\r\n`
  return times(count, () => {
    const socket = connect(service.port, "127.0.0.1")
    socket.on("error", () => undefined)
    // What the system keeps for a connection has room for some of them.
    socket.once("connect", () => socket.write(head.repeat(16)))
    return socket.pause()
  })
}

/** As many as one key of the service may serve, each with schemas of 12 KB. */
function folderOfWorkflows(): string {
  const folder = mkdtempSync(join(tmpdir(), "wireworks-many-"))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  const fields = times(
    60,
    (at) => `/// The field number ${at} of a large thing.\n    f${at}: { a: string  b: [integer] }`,
  )
  const source = `input { ${fields.join("\n")} }\noutput { a: input.f0.a }\n`
  for (let at = 0; at < 300; at++) writeFileSync(join(folder, `w${at}.wire`), source)
  return folder
}

export const lists: readonly Hostile[] = [
  {
    name: `${readers} clients that ask for large lists and read nothing`,
    kinds: [null, "rate_limited"],
    prepare: async (service, during) => {
      await ask(service, 20)
      const open: Socket[] = []
      during(() => open.forEach((socket) => socket.destroy()))
      return async () => {
        open.push(...neverRead(service, readers, "/questions?limit=500"))
        const answers: Answer[] = []
        for (let n = 0; n < 20; n++) answers.push(await service.send("/questions?limit=500"))
        if (!answers.some(({ kind }) => kind === "rate_limited")) throw new Error("None of the lists was refused")
        return answers
      }
    },
  },
  {
    name: "600 questions that show 200 KB each, listed by 20 clients",
    kinds: [null],
    prepare: async (service) => {
      const run_id = await ask(service, 600)
      const paths = ["/questions?limit=500", `/execute/${run_id}/questions`]
      return async (): Promise<readonly Answer[]> => {
        const answers = await Promise.all(times(20, (at) => service.send(paths[at % paths.length] ?? "")))
        for (const { text } of answers) if (text.length > 1_100_000) throw new Error(`${text.length} characters`)
        return answers
      }
    },
  },
  {
    name: "the list of 300 workflows, and of their tools, 200 times",
    kinds: [null],
    get settings() {
      return { WIRE_WORKFLOWS: folderOfWorkflows() }
    },
    prepare: (service) => {
      const headers = {
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
      }
      const list = { jsonrpc: "2.0", id: 1, method: "tools/list" }
      return Promise.resolve(async () => {
        const answers: Answer[] = []
        for (let round = 0; round < 20; round++) {
          const some = times(10, (at) =>
            at % 2 === 0 ? service.send("/workflows") : service.post("/mcp", list, headers),
          )
          answers.push(...(await Promise.all(some)))
        }
        return answers
      })
    },
  },
]
