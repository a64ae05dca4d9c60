import { randomBytes } from "node:crypto"
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs"
import { dirname } from "node:path"
import { StoreFailure } from "../../ports/store.ts"

export interface MasterKeySource {
  /** `WIRE_ENCRYPTION_KEY`, as it was set. */
  readonly configured: string | undefined
  /** Where the key is kept that is made when none is set. */
  readonly file: string
  /** What the key is for. If it exists and its key does not, a new key could not open it. */
  readonly database: string
}

/** The key that was set, else the one in the file, which is made at the first start. Throws a `StoreFailure`. */
export function loadMasterKey({ configured, file, database }: MasterKeySource): Uint8Array {
  if (configured !== undefined && configured !== "") {
    const key = parseMasterKey(configured)
    if (key === null) throw new StoreFailure("WIRE_ENCRYPTION_KEY must be 32 bytes in Base64 or hex")
    return key
  }
  // A process that started a moment ago makes the file before the database, so look for them in the other order.
  const used = existsSync(database) && statSync(database).size > 0
  try {
    return readKeyFile(file)
  } catch (error) {
    if (!isMissing(error)) throw refusal(file, error)
  }
  if (used) {
    throw new StoreFailure(
      `${database} is encrypted and its key file ${file} is missing: put the file back, or set WIRE_ENCRYPTION_KEY`,
    )
  }
  try {
    makeKeyFile(file)
    return readKeyFile(file)
  } catch (error) {
    throw refusal(file, error)
  }
}

/** `WIRE_ENCRYPTION_KEY_OLD`, as it was set. Throws a `StoreFailure`. */
export function parseOldKey(configured: string | undefined, key: Uint8Array): Uint8Array | null {
  if (configured === undefined || configured === "") return null
  const old = parseMasterKey(configured)
  if (old === null) throw new StoreFailure("WIRE_ENCRYPTION_KEY_OLD must be 32 bytes in Base64 or hex")
  if (Buffer.compare(old, key) === 0) {
    throw new StoreFailure(
      "WIRE_ENCRYPTION_KEY_OLD is the same key as WIRE_ENCRYPTION_KEY: set the new key there and the one before it here, or remove it",
    )
  }
  return old
}

/** 32 bytes in hex or Base64 (of either alphabet, padded or not), or null. */
export function parseMasterKey(text: string): Uint8Array | null {
  const trimmed = text.trim()
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return Buffer.from(trimmed, "hex")
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return null
  return Buffer.from(trimmed, "base64")
}

function readKeyFile(file: string): Uint8Array {
  const text = readFileSync(file, "utf8")
  const key = parseMasterKey(text)
  if (key === null) throw new StoreFailure(`${file} does not hold an encryption key (32 bytes in Base64 or hex)`)
  if (isReadableByOthers(file)) chmodSync(file, 0o600)
  if (isReadableByOthers(file)) {
    throw new StoreFailure(`Others can read the encryption key in ${file}: make it 0600, or set WIRE_ENCRYPTION_KEY`)
  }
  return key
}

/** Written whole or not at all, even if another process starts or dies meanwhile: written to another file, then linked to the name. */
function makeKeyFile(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomBytes(8).toString("hex")}`
  const handle = openSync(temporary, "wx", 0o600)
  try {
    writeSync(handle, `${randomBytes(32).toString("base64")}\n`)
    fsyncSync(handle)
    linkSync(temporary, file)
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
  } finally {
    closeSync(handle)
    unlinkSync(temporary)
  }
  // The name must be as durable as what will be encrypted under the key.
  const directory = openSync(dirname(file), "r")
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}

function isReadableByOthers(file: string): boolean {
  return process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")
}

function refusal(file: string, error: unknown): StoreFailure {
  if (error instanceof StoreFailure) return error
  const reason = error instanceof Error ? error.message : String(error)
  return new StoreFailure(`The encryption key in ${file} cannot be read or made: ${reason}`, error)
}
