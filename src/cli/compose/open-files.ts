import about from "../../../package.json" with { type: "json" }
import { join, resolve } from "node:path"
import { createEgress } from "../../adapters/egress/egress.ts"
import { FolderObjects } from "../../adapters/files/folder-objects.ts"
import { MemoryObjects } from "../../adapters/files/memory-objects.ts"
import { systemClock } from "../../adapters/system/system-clock.ts"
import type { Clock } from "../../ports/clock.ts"
import { FilesFailure, type ObjectStore } from "../../ports/files.ts"
import type { FileStore } from "../../ports/file-store.ts"
import { Files } from "../../run/files/files.ts"
import { StartRefusal } from "./start-refusal.ts"
import type { Settings } from "./settings.ts"

/** What the files of a store in memory may take. */
const memoryBytes = 256 * 1024 * 1024

/** The files of a service; null where it keeps none. Rejects with a `StartRefusal` where they cannot be kept. */
export async function openFiles(settings: Settings, store: FileStore, clock: Clock): Promise<Files | null> {
  const objects = await objectsOf(settings, clock)
  if (objects === null) return null
  const { maxFile, maxFilesPerCaller, fileRetention } = settings
  return new Files(
    { objects, store, clock },
    { file: maxFile, perCaller: maxFilesPerCaller, retentionMs: fileRetention },
  )
}

/** The files of a command that runs workflows: they end with it. */
export function filesInMemory(settings: Settings, store: FileStore, clock: Clock): Files {
  const { maxFile, fileRetention } = settings
  const objects = new MemoryObjects(memoryBytes, () => clock.now())
  return new Files({ objects, store, clock }, { file: maxFile, perCaller: memoryBytes, retentionMs: fileRetention })
}

/** The place of the objects, which can be written to. */
export async function objectsOf(settings: Settings, clock: Clock): Promise<ObjectStore | null> {
  const objects = await placeOf(settings, clock)
  try {
    await objects?.probe()
    return objects
  } catch (error) {
    if (!(error instanceof FilesFailure)) throw error
    throw new StartRefusal(`WIRE_FILES cannot be used: ${error.message}.`)
  }
}

/** The place of the objects, for commands that copy or count them. */
export function placeOfObjects(settings: Settings): Promise<ObjectStore | null> {
  return placeOf(settings, systemClock)
}

async function placeOf({ files, store, dataDir, ...keys }: Settings, clock: Clock): Promise<ObjectStore | null> {
  if (files === "none") return null
  if (files?.startsWith("s3:") === true) {
    const { S3Objects, readS3Address } = await import("../../adapters/files/s3-objects.ts")
    const address = readS3Address(files)
    if ("must" in address) throw new StartRefusal(`WIRE_FILES is "${files}": it must ${address.must}.`)
    const { filesAccessKey: accessKey, filesSecretKey: secretKey } = keys
    if (accessKey === undefined || secretKey === undefined) {
      throw new StartRefusal("WIRE_FILES is a bucket: set WIRE_FILES_ACCESS_KEY and WIRE_FILES_SECRET_KEY.")
    }
    const egress = createEgress({ policy: { kind: "private" }, userAgent: `wireworks/${about.version}` })
    return new S3Objects(address, { accessKey, secretKey }, egress, () => clock.now())
  }
  if (files !== undefined && /^[a-z][a-z0-9+.-]+:/i.test(files) && !/^[a-z]:[\\/]/i.test(files)) {
    throw new StartRefusal(
      `WIRE_FILES is "${files}": it must be a folder, an address like s3://bucket/prefix, or none.`,
    )
  }
  if (store === "memory" && files === undefined) return new MemoryObjects(memoryBytes, () => clock.now())
  return new FolderObjects(files === undefined ? join(resolve(dataDir), "files") : resolve(files))
}

/** What an operator should know of where files are kept; null where there is nothing. */
export function warningOfFiles({ files, store }: Settings): string | null {
  if (!/^postgres(?:ql)?:/.test(store) || files === "none" || files?.startsWith("s3:") === true) return null
  return "Files are kept in a folder, and runs in PostgreSQL: all machines must share that folder (WIRE_FILES), or use a bucket (s3://…)"
}
