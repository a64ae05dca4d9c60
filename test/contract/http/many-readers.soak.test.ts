import assert from "node:assert/strict"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import type { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, it } from "node:test"
import { startWire } from "../../cli/run-wire.ts"
import { fakeBackend, says } from "../../support/fake-backend.ts"
import { open } from "../../support/raw-http.ts"
import { within } from "../../support/within.ts"
import { allEvents, isEnd, parseFrame } from "./read-stream.ts"
import { ada, oneAgent } from "./start-service.ts"

// The service as a process, so that its memory is its own.

const folder = mkdtempSync(join(tmpdir(), "wire-readers-"))
after(() => rmSync(folder, { recursive: true, force: true }))

const settings = { WIRE_PORT: "0", WIRE_DATA_DIR: folder, WIRE_LOG_LEVEL: "error", WIRE_RATE_LIMIT: "0" }

function residentBytes(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8")
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

const mb = (bytes: number): number => Math.round(bytes / 1_000_000)

/** All events of a chunked answer that has come whole. */
function eventsIn(answer: string): { id: number; type: string }[] {
  const body = answer.slice(answer.indexOf("\r\n\r\n") + 4).replace(/(?:^|\r\n)[\da-f]+\r\n/g, "")
  return body
    .split("\n\n")
    .map(parseFrame)
    .filter((event) => event !== undefined)
}

function follow(socket: Socket, run_id: string): void {
  socket.write(`GET /execute/${run_id}/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
}

const skip = process.platform !== "linux" && "memory is read from /proc"

describe("readers", { skip }, () => {
  it("that read nothing slow no run and fill no memory, and get everything when they read on", async (t) => {
    const iterations = 400
    const { backend } = await fakeBackend(t, () => says(JSON.stringify({ message: "x".repeat(150_000) })))
    const source = oneAgent(backend.endpoint)
      .replace("name: string", "names: [string]")
      .replace("agent reply {", "agent reply for name in input.names {")
      .replace("input.name }}", "name }}")
      .replace("agent.reply.message", '"done"')
    const service = await startWire(["serve"], settings)
    const port = Number(new URL(service.address).port)
    const start = await fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({
        workflow_source: source,
        input: { names: Array.from({ length: iterations }, (_, n) => String(n)) },
        options: { max_concurrency: 4 },
      }),
    })
    const run_id = start.headers.get("x-service-run-id") ?? ""
    const readers = await Promise.all(Array.from({ length: 50 }, () => open(port)))
    for (const socket of readers) {
      socket.pause()
      follow(socket, run_id)
    }
    // 60 MB of events go by; held for fifty readers they would be three gigabytes.
    const events = await within(90_000, "the run's end", allEvents(start))
    assert.equal(events.at(-1)?.type, "workflow_completed")
    const bytes = residentBytes(service.child.pid)
    t.diagnostic(`${mb(bytes)} MB resident`)
    assert.ok(bytes < 600_000_000, `${mb(bytes)} MB`)
    const streams = /^wire_streams_open (\d+)$/m.exec(await (await fetch(`${service.address}/metrics`)).text())
    assert.equal(streams?.[1], "50")

    for (const socket of readers.slice(2)) socket.destroy()
    for (const socket of readers.slice(0, 2)) {
      const chunks: Buffer[] = []
      socket.on("data", (chunk: Buffer) => chunks.push(chunk))
      const whole = new Promise<void>((resolve) => socket.once("end", resolve))
      socket.resume()
      await within(60_000, "a late reader's end", whole)
      socket.destroy()
      const seen = eventsIn(Buffer.concat(chunks).toString("utf8"))
      assert.deepEqual(
        seen.map(({ id }) => id),
        events.map(({ id }) => id),
      )
    }
    service.child.kill("SIGTERM")
    assert.equal((await service.ended).code, 0)
  })

  it("may be thousands of one run: each sees all of it, and costs little", async (t) => {
    const answer = Promise.withResolvers<void>()
    const { backend } = await fakeBackend(t, () => (reply, raw) => {
      void answer.promise.then(() => says('{"message":"for all"}')(reply, raw))
    })
    const service = await startWire(["serve"], settings)
    const port = Number(new URL(service.address).port)
    const start = await fetch(`${service.address}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ workflow_source: oneAgent(backend.endpoint), input: ada }),
    })
    const run_id = start.headers.get("x-service-run-id") ?? ""
    const before = residentBytes(service.child.pid)
    const sockets: Socket[] = []
    const counts: number[] = []
    const ends: Promise<void>[] = []
    const wanted = 2000
    const reading = Promise.withResolvers<void>()
    let begun = 0
    for (let n = 0; n < wanted; n += 100) {
      const some = await Promise.all(Array.from({ length: 100 }, () => open(port)))
      for (const socket of some) {
        let text = ""
        socket.setEncoding("latin1")
        socket.on("data", (chunk: string) => {
          if (text === "" && ++begun === wanted) reading.resolve()
          text += chunk
        })
        ends.push(
          new Promise((resolve) => {
            socket.once("end", () => {
              const seen = eventsIn(text)
              assert.ok(seen.every(({ id }, index) => id === index + 1) && seen.filter(isEndType).length === 1, text)
              counts.push(seen.length)
              socket.destroy()
              resolve()
            })
          }),
        )
        follow(socket, run_id)
        sockets.push(socket)
      }
    }
    await within(60_000, "all followers", reading.promise)
    const each = (residentBytes(service.child.pid) - before) / wanted
    t.diagnostic(`${Math.round(each / 1000)} kB a follower`)
    assert.ok(each < 60_000, `${Math.round(each)} bytes a follower`)
    answer.resolve()
    await within(60_000, "the end of all followers", Promise.all(ends))
    assert.equal(counts.length, wanted)
    assert.ok(counts.every((count) => count === 5))
    assert.equal((await allEvents(start)).length, 5)
    service.child.kill("SIGTERM")
    assert.equal((await service.ended).code, 0)
  })
})

function isEndType({ type }: { readonly type: string }): boolean {
  return isEnd({ id: 0, type, data: {} })
}
