import { randomBytes } from "node:crypto"
import { existsSync, rmSync, writeFileSync, writeSync } from "node:fs"
import { dirname, join } from "node:path"
import { changeSqliteKey } from "../../src/adapters/sqlite/change-key.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { systemClock } from "../../src/adapters/system/system-clock.ts"
import { changeOfMasterKey, createMasterKey } from "../../src/adapters/vault/vault.ts"
import { StoreFailure, type Lease, type RunStore } from "../../src/ports/store.ts"
import { created, ended, happened } from "../contract/run-store/material.ts"

// A process that does something to a store which a test would rather not do itself:
//   sqlite-child.ts COMMAND DATABASE KEY [OLD-KEY]

const [command, path = "", hex = "", oldHex = ""] = process.argv.slice(2)
const masterKey = createMasterKey(Buffer.from(hex, "hex"))
const open = () => openSqliteStore({ path, masterKey, clock: systemClock })

/**
 * Writes a line before it returns, so that it is out even if the process is killed in the next instant. The pipe may not
 * block: while its reader is slow it refuses (`EAGAIN`) or takes a part, and the rest is written again.
 */
function print(line: string): void {
  let rest = Buffer.from(`${line}\n`)
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}

/** A lease that does not run out by the system's clock while a test runs. */
const longMs = 3_600_000

/** Appends to several runs until it is killed; prints what has been acknowledged. */
async function append(): Promise<void> {
  const store = await open()
  await Promise.all(
    Array.from({ length: 5 }, async (_, n) => {
      const lease = await created(store, { caller: "child" }, longMs)
      print(`${lease.run_id} 0`)
      for (let first = 1; ; first += n + 1) {
        const events = Array.from({ length: n + 1 }, (_, k) => happened(first + k, "x".repeat(200), { n }))
        await store.append(lease, events)
        print(`${lease.run_id} ${first + n}`)
      }
    }),
  )
}

/** Runs in a file system that is nearly full: what was acknowledged stays, and with space all goes on. */
async function fillDisk(): Promise<void> {
  const ballast = join(dirname(path), "ballast")
  writeFileSync(ballast, Buffer.alloc(16_000_000))
  let store = await open()
  const lease = await created(store)
  const other = await created(store)
  let last = 0
  let failure: Error | undefined
  while (failure === undefined) {
    try {
      await store.append(lease, [happened(last + 1, randomBytes(50_000).toString("hex"))])
      last++
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error))
    }
  }
  if (!(failure instanceof StoreFailure) || !/disk is full/.test(failure.message)) throw failure
  // It neither recovers by itself nor gets worse.
  for (let n = 0; n < 5; n++) {
    const again = await store.append(lease, [happened(last + 1, "y".repeat(200_000))]).catch((error: unknown) => error)
    if (!(again instanceof StoreFailure)) throw new Error(`Not refused: ${String(again)}`)
  }
  await expectEvents(store, lease, last)
  rmSync(ballast)
  await store.probe()
  await store.append(lease, [happened(last + 1)])
  await store.append(other, [happened(1), ended(2)])
  await expectEvents(store, lease, last + 1)
  await store.close()
  store = await open()
  await expectEvents(store, lease, last + 1)
  await expectEvents(store, other, 2)
  await store.close()
  print(`${last} events`)
}

async function expectEvents(store: RunStore, lease: Lease, last: number): Promise<void> {
  let found = 0
  for (;;) {
    const page = await store.read(lease.run_id, found, 100)
    if (page.length === 0) break
    for (const event of page)
      if (event.id !== ++found) throw new Error(`Event ${event.id} stands where ${found} should`)
  }
  if (found !== last) throw new Error(`${found} events are there, ${last} were acknowledged`)
}

/** Opens a store where that may be impossible; prints the refusal. */
async function tryToOpen(): Promise<void> {
  try {
    await (await open()).close()
    print("opened")
  } catch (error) {
    if (!(error instanceof StoreFailure)) throw error
    print(error.message)
  }
  print(existsSync(path) ? "file" : "no file")
}

/** Ends without closing: an idle store must not keep its process alive. */
async function leave(): Promise<void> {
  const store = await open()
  const lease = await created(store, {}, longMs)
  await store.append(lease, [happened(1)])
  print(lease.run_id)
}

/** Says that it begins to change the master key, and does. */
async function changeKey(): Promise<void> {
  print("now")
  changeSqliteKey(path, changeOfMasterKey(Buffer.from(oldHex, "hex"), Buffer.from(hex, "hex")))
}

const commands: Record<string, () => Promise<void>> = { append, changeKey, fillDisk, tryToOpen, leave }
await commands[command ?? ""]?.()
