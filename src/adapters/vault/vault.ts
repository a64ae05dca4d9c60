import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomFillSync,
  type KeyObject,
} from "node:crypto"
import { Damaged } from "../../ports/store.ts"
import {
  rootBytes,
  type DataKey,
  type KeyChange,
  type KeyRecord,
  type MasterKey,
  type Vault,
} from "../../ports/vault.ts"

// Everything here is AES-256-GCM. Its one hard rule is that no nonce is used twice under one key. So every key counts:
// - a data key (a run's own): 8 random bytes for each time that it is loaded, then a 32-bit counter;
// - the master key and the roots, which live for years and in many processes, never seal anything themselves: each process derives a
//   key of its own from them and 16 random bytes, and counts under that.

const cipher = "aes-256-gcm"
const version = 1
const keyBytes = 32
const saltBytes = 16
const nonceBytes = 12
const tagBytes = 16
const prefixBytes = 8
const counterLimit = 2 ** 32
/** Version and number of the root, then the salt. */
const saltAt = rootBytes
const numberBytes = rootBytes - 1
/** Derived keys of other processes whose sealed things were opened last. */
const keptKeys = 100

const aboutRing = "keys of a store"

/** The keys of a store, raw. */
interface Ring {
  readonly digest: Buffer
  /** In the order of their numbers; the last one seals. */
  readonly roots: readonly { readonly number: number; readonly raw: Buffer }[]
}

export function createMasterKey(raw: Uint8Array): MasterKey {
  const { mark, wrapping } = masterParts(raw)
  return {
    mark,
    newRecord: () => ({ mark, ring: wrapping.seal(aboutRing, packRing(newRing())) }),
    unlock: (record) => (Buffer.compare(record.mark, mark) === 0 ? vaultOf(openRing(wrapping, record)) : null),
  }
}

/** The change from one master key to another. */
export function changeOfMasterKey(before: Uint8Array, next: Uint8Array): KeyChange {
  const [old, now] = [masterParts(before), masterParts(next)]
  return (record, inUse) => {
    if (Buffer.compare(record.mark, now.mark) === 0) return record
    if (Buffer.compare(record.mark, old.mark) !== 0) return null
    const { digest, roots } = openRing(old.wrapping, record)
    const needed = inUse === null ? null : new Set(inUse.map(rootOf))
    const kept = roots.filter(({ number }) => needed === null || needed.has(number))
    // A number is never given twice: the last one counts, whether or not it is kept.
    const added = { number: (roots.at(-1)?.number ?? 0) + 1, raw: takeRandom(keyBytes) }
    return { mark: now.mark, ring: now.wrapping.seal(aboutRing, packRing({ digest, roots: [...kept, added] })) }
  }
}

/** The number of the root that something was sealed or wrapped under. */
function rootOf(sealed: Uint8Array): number {
  return sealed.length < rootBytes ? 0 : Buffer.from(sealed.subarray(1, rootBytes)).readUInt16BE()
}

function masterParts(raw: Uint8Array): { readonly mark: Uint8Array; readonly wrapping: RootSealer } {
  if (raw.length !== keyBytes) throw new Error(`A master key has ${keyBytes} bytes, not ${raw.length}`)
  const mark = createHmac("sha256", subKey(raw, "mark")).update("mark").digest()
  return { mark, wrapping: new RootSealer(subKey(raw, "ring"), 0) }
}

function newRing(): Ring {
  return { digest: takeRandom(keyBytes), roots: [{ number: 1, raw: takeRandom(keyBytes) }] }
}

function packRing({ digest, roots }: Ring): Buffer {
  const parts = roots.flatMap(({ number, raw }) => {
    const head = Buffer.alloc(numberBytes)
    head.writeUInt16BE(number)
    return [head, raw]
  })
  return Buffer.concat([digest, ...parts])
}

function openRing(wrapping: RootSealer, { ring }: KeyRecord): Ring {
  const plain = wrapping.open(aboutRing, ring)
  const roots: { number: number; raw: Buffer }[] = []
  for (let at = keyBytes; at < plain.length; at += numberBytes + keyBytes) {
    const rawAt = at + numberBytes
    roots.push({ number: plain.readUInt16BE(at), raw: plain.subarray(rawAt, rawAt + keyBytes) })
  }
  return { digest: plain.subarray(0, keyBytes), roots }
}

function vaultOf(ring: Ring): Vault {
  const digestKey = createSecretKey(ring.digest)
  const roots = new Map(ring.roots.map(({ number, raw }) => [number, new Root(raw, number)]))
  const writing = [...roots.values()].at(-1)
  if (writing === undefined) throw new Damaged("The store has lost its root keys")
  const rootFor = (about: string, sealed: Uint8Array): Root => {
    const root = roots.get(rootOf(sealed))
    if (root === undefined) throw notOurs(about)
    return root
  }
  return {
    digest(purpose, parts) {
      return createHmac("sha256", digestKey)
        .update(JSON.stringify([purpose, ...parts]))
        .digest()
    },

    newKey(about) {
      const raw = takeRandom(keyBytes)
      const wrapped = writing.wrapping.seal(about, raw)
      const key = createSecretKey(raw)
      raw.fill(0)
      return { key: new CountingKey(key), wrapped }
    },

    openKey(about, wrapped) {
      return new CountingKey(createSecretKey(rootFor(about, wrapped).wrapping.open(about, wrapped)))
    },

    seal: (about, text) => writing.sealing.seal(about, Buffer.from(text, "utf8")),
    open: (about, sealed) => rootFor(about, sealed).sealing.open(about, sealed).toString("utf8"),
  }
}

class Root {
  readonly wrapping: RootSealer
  readonly sealing: RootSealer

  constructor(raw: Uint8Array, number: number) {
    this.wrapping = new RootSealer(subKey(raw, "wrap"), number)
    this.sealing = new RootSealer(subKey(raw, "seal"), number)
  }
}

function subKey(raw: Uint8Array, use: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync("sha256", raw, new Uint8Array(0), `wireworks 2 ${use}`, keyBytes)))
}

/** Version, nonce, cipher text, tag. */
class CountingKey implements DataKey {
  readonly #key: KeyObject
  readonly #head = Buffer.alloc(1 + nonceBytes)
  #counter = counterLimit

  constructor(key: KeyObject) {
    this.#key = key
    this.#head[0] = version
  }

  seal(about: string, text: string): Uint8Array {
    // At first, and past the counter's end, a random prefix begins.
    if (this.#counter === counterLimit) {
      takeRandom(prefixBytes).copy(this.#head, 1)
      this.#counter = 0
    }
    this.#head.writeUInt32BE(this.#counter++, 1 + prefixBytes)
    return encrypt(this.#key, about, Buffer.from(text, "utf8"), this.#head)
  }

  open(about: string, sealed: Uint8Array): string {
    return decrypt(this.#key, about, sealed, 1).toString("utf8")
  }
}

/** Version, number of the root, salt of the derived key, nonce, cipher text, tag. */
class RootSealer {
  readonly #parent: KeyObject
  readonly #own: KeyObject
  readonly #head = Buffer.alloc(saltAt + saltBytes + nonceBytes)
  readonly #derived = new Map<string, KeyObject>()
  #counter = 0

  constructor(parent: KeyObject, number: number) {
    this.#parent = parent
    const salt = takeRandom(saltBytes)
    this.#own = this.#derive(salt)
    this.#head[0] = version
    this.#head.writeUInt16BE(number, 1)
    salt.copy(this.#head, saltAt)
  }

  seal(about: string, plain: Buffer): Buffer {
    // Six bytes last for longer than any process.
    this.#head.writeUIntBE(++this.#counter, this.#head.length - 6, 6)
    return encrypt(this.#own, about, plain, this.#head)
  }

  open(about: string, sealed: Uint8Array): Buffer {
    if (sealed.length < saltAt + saltBytes) throw notOurs(about)
    return decrypt(this.#derive(sealed.subarray(saltAt, saltAt + saltBytes)), about, sealed, saltAt + saltBytes)
  }

  #derive(salt: Uint8Array): KeyObject {
    const name = Buffer.from(salt).toString("base64")
    const known = this.#derived.get(name)
    if (known !== undefined) return known
    if (this.#derived.size >= keptKeys) this.#derived.clear()
    const key = createSecretKey(createHmac("sha256", this.#parent).update(salt).digest())
    this.#derived.set(name, key)
    return key
  }
}

/** `head` ends with the nonce. */
function encrypt(key: KeyObject, about: string, plain: Buffer, head: Buffer): Buffer {
  const encryption = createCipheriv(cipher, key, head.subarray(-nonceBytes))
  encryption.setAAD(Buffer.from(about, "utf8"))
  const body = encryption.update(plain)
  encryption.final()
  const sealed = Buffer.allocUnsafe(head.length + body.length + tagBytes)
  sealed.set(head)
  sealed.set(body, head.length)
  sealed.set(encryption.getAuthTag(), head.length + body.length)
  return sealed
}

/** `at`: where the nonce begins. */
function decrypt(key: KeyObject, about: string, sealed: Uint8Array, at: number): Buffer {
  const bodyAt = at + nonceBytes
  const tagAt = sealed.length - tagBytes
  if (tagAt < bodyAt || sealed[0] !== version) throw notOurs(about)
  const decryption = createDecipheriv(cipher, key, sealed.subarray(at, bodyAt), { authTagLength: tagBytes })
  decryption.setAAD(Buffer.from(about, "utf8"))
  decryption.setAuthTag(sealed.subarray(tagAt))
  const plain = decryption.update(sealed.subarray(bodyAt, tagAt))
  try {
    decryption.final()
  } catch {
    throw notOurs(about)
  }
  return plain
}

const pool = Buffer.alloc(4_096)
let poolAt = pool.length

/** From a pool: a system call for each few bytes costs more than encrypting with them. No byte is given twice. */
function takeRandom(length: number): Buffer {
  if (poolAt + length > pool.length) {
    randomFillSync(pool)
    poolAt = 0
  }
  const taken = Buffer.from(pool.subarray(poolAt, poolAt + length))
  pool.fill(0, poolAt, poolAt + length)
  poolAt += length
  return taken
}

function notOurs(about: string): Damaged {
  return new Damaged(`What is stored as "${about}" cannot be decrypted: it is damaged, or was not written here`)
}
