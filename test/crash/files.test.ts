import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { after, describe, test } from "node:test"
import { FolderObjects } from "../../src/adapters/files/folder-objects.ts"
import { MemoryObjects } from "../../src/adapters/files/memory-objects.ts"
import { openMemoryStore } from "../../src/adapters/memory/memory-store.ts"
import { openSqliteStore } from "../../src/adapters/sqlite/open-sqlite-store.ts"
import { createMasterKey } from "../../src/adapters/vault/vault.ts"
import { troubleEverywhere } from "../support/dying-files.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { memoryFolder } from "../support/memory-folder.ts"
import { s3At } from "../support/s3-objects.ts"
import { startS3Server } from "../support/s3-server.ts"
import { atStrength } from "../support/strength.ts"

const small = 200_000
/** S3 takes it in two parts. */
const inParts = 5 * 1024 * 1024 + 100_000
/** How many troubles there are at least. */
const least = 200

describe("files, when a process dies or a call fails between an object and its row", () => {
  // No machine loses its power here.
  const folder = memoryFolder("wireworks-dying-files-")
  const clock = new ManualClock()
  const opened = openSqliteStore({
    path: join(folder, "wire.db"),
    masterKey: createMasterKey(randomBytes(32)),
    clock,
    pollMs: 20,
  })
  after(async () => {
    await (await opened).close()
    rmSync(folder, { recursive: true })
  })

  test("memory", async () => {
    const now = new ManualClock()
    const objects = new MemoryObjects(8 * 1024 * 1024, () => Date.now())
    assert.ok((await troubleEverywhere({ store: openMemoryStore(now), objects, clock: now, large: small })) > least)
  })

  test("SQLite and a folder", async () => {
    const objects = new FolderObjects(join(folder, "files"))
    assert.ok(
      (await troubleEverywhere({ store: await opened, objects, clock, large: small }, atStrength(11, 1))) > least,
    )
  })

  test("SQLite and S3", async () => {
    const server = await startS3Server("bucket")
    const objects = s3At(server.endpoint)
    const world = { store: await opened, objects, clock, large: inParts }
    assert.ok((await troubleEverywhere(world, atStrength(41, 4))) > least)
    assert.deepEqual([server.objects.size, server.uploads.size], [0, 0])
    await objects.close()
    await server.close()
  })
})
