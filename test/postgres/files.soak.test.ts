import assert from "node:assert/strict"
import { rmSync } from "node:fs"
import { test } from "node:test"
import { FolderObjects } from "../../src/adapters/files/folder-objects.ts"
import { troubleEverywhere } from "../support/dying-files.ts"
import { ManualClock } from "../support/manual-clock.ts"
import { memoryFolder } from "../support/memory-folder.ts"
import { startPostgres } from "../support/postgres-server.ts"
import { postgresStores } from "../support/postgres-store.ts"
import { s3At } from "../support/s3-objects.ts"
import { startS3Server } from "../support/s3-server.ts"

test("PostgreSQL and a folder, PostgreSQL and S3: nothing is lost or left behind, whatever call goes wrong between an object and its row", async (t) => {
  const server = await startPostgres({ config: ["fsync=off"], inMemory: true })
  const clock = new ManualClock(Date.now())
  const store = await postgresStores(server.url(), clock)()
  const folder = memoryFolder("wireworks-dying-files-")
  const bucket = await startS3Server("bucket")
  const objects = s3At(bucket.endpoint)
  t.after(async () => {
    await objects.close()
    await bucket.close()
    await store.close()
    await server.close()
    rmSync(folder, { recursive: true })
  })
  const large = 200_000
  assert.ok((await troubleEverywhere({ store, objects: new FolderObjects(folder), clock, large })) > 200)
  assert.ok((await troubleEverywhere({ store, objects, clock, large: 5 * 1024 * 1024 + 100_000 }, 5)) > 200)
})
