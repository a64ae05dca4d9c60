import assert from "node:assert/strict"
import { describe, test } from "node:test"
import { within } from "../../../test/support/within.ts"
import { StoreFailure } from "../../ports/store.ts"
import { CommitQueue } from "../../store/commit-queue.ts"
import { ThreadWriter } from "./thread-writer.ts"
import type { CancelOperation } from "../../store/operations.ts"

// A queue with a thread that is not the store's writer, but does as a test needs.

const data = { path: "nowhere.db", record: { mark: new Uint8Array(), ring: new Uint8Array() }, residueMs: 0 }

async function queueWith(onMessage: string): Promise<CommitQueue> {
  const script = `
    import { parentPort } from "node:worker_threads"
    let batches = 0
    parentPort.on("message", (message) => {
      if (message === "close") { parentPort.postMessage("closed"); parentPort.close(); return }
      const operations = JSON.parse(message.operations)
      batches++
      ${onMessage}
    })
    parentPort.postMessage({ open: true, warnings: [] })`
  return new CommitQueue(await ThreadWriter.open(data, new URL(`data:text/javascript,${encodeURIComponent(script)}`)))
}

const answer = `parentPort.postMessage({ outcomes: JSON.stringify(operations.map((one, n) => [n, { value: batches }])) })`
const cancel: CancelOperation = { kind: "cancel", run_id: "a", now: 0, blobs: [] }
const ended = (error: unknown) => error instanceof StoreFailure && /writer has ended.*restart/.test(error.message)

describe("commit queue", () => {
  test("what comes in one turn, and while the writer is busy, goes together", async () => {
    const queue = await queueWith(answer)
    const first = [queue.send(cancel), queue.send(cancel)]
    await new Promise((resolve) => setImmediate(resolve))
    // The first batch is on its way: these wait for its answer.
    const second = [queue.send(cancel)]
    await Promise.resolve()
    second.push(queue.send(cancel))
    assert.deepEqual(await Promise.all([...first, ...second]), [1, 1, 2, 2])
    await queue.close()
  })

  test("more than fits in one batch goes in several, in order", async () => {
    const queue = await queueWith(answer)
    const batches = await Promise.all(Array.from({ length: 2_500 }, () => queue.send(cancel)))
    assert.deepEqual([batches[0], batches[999], batches[1_000], batches[2_499]], [1, 1, 2, 3])
    const large = { kind: "cache purge", now: 1, blobs: [new Uint8Array(10 * 1024 * 1024)] } as const
    assert.deepEqual(await Promise.all([queue.send(large), queue.send(large), queue.send(cancel)]), [4, 5, 5])
    await queue.close()
  })

  test("closing waits for what is under way, and ends the rest", async () => {
    const queue = await queueWith(answer)
    const sent = queue.send(cancel)
    await within(30_000, "the close", queue.close())
    assert.equal(await sent, 1)
    await assert.rejects(queue.send(cancel), StoreFailure)
    await within(30_000, "the second close", queue.close())
  })

  test("a thread that dies takes nothing else with it", async () => {
    const queue = await queueWith("process.exit(1)")
    const [one, two] = [queue.send(cancel), queue.send(cancel)]
    await assert.rejects(within(30_000, "the refusal", one), ended)
    await assert.rejects(two, ended)
    await assert.rejects(queue.send(cancel), ended)
    assert.equal(queue.storedLately, false)
    await within(30_000, "the close", queue.close())
  })

  test("a thread that throws says why", async () => {
    const queue = await queueWith(`throw new Error("no memory left")`)
    await assert.rejects(within(30_000, "the refusal", queue.send(cancel)), /no memory left/)
    await within(30_000, "the close", queue.close())
  })

  test("an operation that cannot be handed over fails alone", async () => {
    const queue = await queueWith(answer)
    await assert.rejects(queue.send({ ...cancel, run_id: 1n as unknown as string }), StoreFailure)
    assert.equal(await queue.send(cancel), 1)
    await queue.close()
  })

  test("one that does not open is refused", async () => {
    const never = new URL("data:text/javascript,export const nothing = 0")
    await assert.rejects(ThreadWriter.open(data, never), StoreFailure)
    const refused = `import { parentPort } from "node:worker_threads"; parentPort.postMessage({ refused: "Not today" })`
    const url = new URL(`data:text/javascript,${encodeURIComponent(refused)}`)
    await assert.rejects(ThreadWriter.open(data, url), /^StoreFailure: Not today$/)
  })
})
