import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, describe, test } from "node:test"
import { created, ended, from, happened, Reader, row, several } from "../../../test/contract/run-store/material.ts"
import { systemClock } from "../system/system-clock.ts"
import { builtProgram } from "../../../test/support/built-programs.ts"
import { startChild } from "../../../test/support/start-child.ts"
import { within } from "../../../test/support/within.ts"
import type { RunStore } from "../../ports/store.ts"
import { createMasterKey } from "../vault/vault.ts"
import { openSqliteStore } from "./open-sqlite-store.ts"

const scratch = mkdtempSync(join(tmpdir(), "wireworks-processes-"))
after(() => rmSync(scratch, { recursive: true }))
const childFile = builtProgram("sqlite-child")

function place(name: string) {
  const path = join(scratch, name, "wire.db")
  const key = randomBytes(32)
  const clock = systemClock
  return {
    path,
    hex: key.toString("hex"),
    open: () => openSqliteStore({ path, masterKey: createMasterKey(key), clock, pollMs: 20 }),
  }
}

/** The last event of each run that was acknowledged, from lines "run_id last". */
function acknowledged(lines: readonly string[]): Map<string, number> {
  const last = new Map<string, number>()
  for (const line of lines) {
    const [run_id = "", id] = line.split(" ")
    last.set(run_id, Math.max(last.get(run_id) ?? 0, Number(id)))
  }
  return last
}

async function allIds(store: RunStore, run_id: string): Promise<number[]> {
  const found: number[] = []
  for (;;) {
    const page = await store.read(run_id, found.at(-1) ?? 0, 500)
    if (page.length === 0) return found
    found.push(...page.map(({ id }) => id))
  }
}

describe("sqlite store, with processes that come and go", () => {
  test("kill -9: what was acknowledged is there, and can be gone on with at once", async () => {
    const { path, hex, open } = place("killed")
    for (const round of from(1, 4)) {
      const child = startChild(childFile, ["append", path, hex])
      await child.printed(40 * round)
      child.process.kill("SIGKILL")
      await child.ended()
      const acks = acknowledged(child.lines)
      assert.equal(acks.size, 5)

      const store = await open()
      // The leases of dead processes have a long time to run, and hold nothing up.
      const leases = await store.claim("heir", 100, 60_000)
      assert.deepEqual(leases.map(({ run_id }) => run_id).sort(), [...acks.keys()].sort())
      for (const lease of leases) {
        const ids = await allIds(store, lease.run_id)
        assert.deepEqual(ids, from(1, ids.length))
        assert.ok(ids.length >= (acks.get(lease.run_id) ?? Infinity), `${ids.length} of ${acks.get(lease.run_id)}`)
        assert.deepEqual((await store.request(lease.run_id)).secrets, { token: "s3cret-token" })
        await store.append(lease, [happened(ids.length + 1), ended(ids.length + 2)])
      }
      await store.close()
    }
    assert.deepEqual(readdirSync(join(scratch, "killed")), ["wire.db"])
  })

  test("a follower in another process misses nothing while the writer is killed and another goes on", async (context) => {
    const { path, hex, open } = place("followed")
    const store = await open()
    // A store that stays open after a failure would keep the file from ending.
    context.after(() => store.close())
    const child = startChild(childFile, ["append", path, hex])
    context.after(() => child.process.kill("SIGKILL"))
    // The first lines may be of fewer runs than there are.
    for (let lines = 5; acknowledged(child.lines).size < 5; lines++) await child.printed(lines)
    const run_ids = [...acknowledged(child.lines).keys()]
    const readings = run_ids.map((run_id) => new Reader(store, run_id).rest())
    // Writing side by side with it, to the same file.
    const own = await created(store, {}, 3_600_000)
    for (const n of from(0, 50)) await store.append(own, several(1 + n * 2, 2 + n * 2))
    await child.printed(200)
    const taken = await store.claim("heir", 100, 60_000)
    assert.deepEqual(taken, [], `the living keep their runs; ${child.state()}; ${readdirSync(join(path, "..")).join()}`)
    child.process.kill("SIGKILL")
    await child.ended()
    const leases = await store.claim("heir", 100, 60_000)
    assert.deepEqual(leases.map(({ run_id }) => run_id).sort(), run_ids.toSorted())
    for (const lease of leases) {
      const { last_event_id } = await row(store, lease.run_id)
      await store.append(lease, several(last_event_id + 1, last_event_id + 3))
      await store.append(lease, [ended(last_event_id + 4)])
    }
    for (const [index, found] of (await within(120_000, "the ends", Promise.all(readings))).entries()) {
      const { last_event_id } = await row(store, run_ids[index] ?? "")
      assert.deepEqual(found, from(1, last_event_id))
    }
    assert.deepEqual(await allIds(store, own.run_id), from(1, 100))
    await store.close()
  })

  test("a process that ends without closing ends, and its runs are free", async () => {
    const { path, hex, open } = place("left")
    const child = startChild(childFile, ["leave", path, hex])
    assert.deepEqual(await child.ended(), { code: 0, errors: "" })
    const store = await open()
    const [lease] = await store.claim("heir", 10, 60_000)
    assert.equal(lease?.run_id, child.lines[0])
    await store.close()
  })

  test("closing frees the leases; opening again finds everything", async () => {
    const { open } = place("reopened")
    const first = await open()
    const lease = await created(first)
    await first.append(lease, several(1, 3))
    const last = first.append(lease, [happened(4)])
    await first.close()
    await last
    const second = await open()
    assert.deepEqual(await allIds(second, lease.run_id), [1, 2, 3, 4])
    const [claim] = await second.claim("heir", 10, 60_000)
    assert.equal(claim?.run_id, lease.run_id)
    await second.close()
  })

  test("processes that make the database at the same time share it", async () => {
    const { path, hex, open } = place("together")
    const children = from(0, 4).map(() => startChild(childFile, ["leave", path, hex]))
    for (const child of children) assert.deepEqual(await child.ended(), { code: 0, errors: "" })
    const store = await open()
    const claimed = await store.claim("heir", 10, 60_000)
    assert.deepEqual(claimed.map(({ run_id }) => run_id).sort(), children.map(({ lines }) => lines[0] ?? "").sort())
    await store.close()
  })
})
