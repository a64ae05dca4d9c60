import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomFillSync,
  type KeyObject,
} from "node:crypto"
import { Damaged, StoreFailure } from "../../ports/store.ts"
import type { DataKey, Vault } from "../../ports/vault.ts"

// Everything here is AES-256-GCM. Its one hard rule is that no nonce is used twice under one key. So every key counts:
// - a data key (a run's own): 8 random bytes for each time that it is loaded, then a 32-bit counter;
// - the master key, which lives for years and in many processes, never seals anything itself: each vault derives a key of
//   its own from it and 16 random bytes, and counts under that.

const cipher = "aes-256-gcm"
const version = 1
const saltBytes = 16
const nonceBytes = 12
const tagBytes = 16
const prefixBytes = 8
const counterLimit = 2 ** 32
/** Derived keys of other vaults whose sealed things were opened last. */
const keptKeys = 100

/** `old` is the key that `masterKey` replaces: what it wrote can still be read. */
export function createVault(masterKey: Uint8Array, old: Uint8Array | null = null): Vault {
  const rings = [new KeyRing(masterKey), ...(old === null ? [] : [new KeyRing(old)])]
  const [first] = rings
  if (first === undefined) throw new Error("A vault needs a key")
  let writing = first
  let digestKey = first.digestKey
  let refusal: string | null = null

  const ringOf = (mark: Uint8Array): KeyRing => {
    const found = rings.find((ring) => Buffer.compare(ring.mark, mark) === 0)
    if (found === undefined) throw new Error("The store needs a key that is not there")
    return found
  }
  const checkWrites = (): void => {
    if (refusal !== null) throw new StoreFailure(refusal)
  }
  /** With the key that writes first: after a change of the key, everything is under it. */
  const tryRings = (open: (ring: KeyRing) => Buffer): { readonly plain: Buffer; readonly ring: KeyRing } => {
    let failure: unknown
    for (const ring of new Set([writing, ...rings])) {
      try {
        return { plain: open(ring), ring }
      } catch (error) {
        failure ??= error
      }
    }
    throw failure
  }
  const rewrite = (use: "wrapping" | "sealing", about: string, sealed: Uint8Array): Uint8Array | null => {
    checkWrites()
    try {
      const { plain, ring } = tryRings((one) => one[use].open(about, sealed))
      const again = ring === writing ? null : writing[use].seal(about, plain)
      plain.fill(0)
      return again
    } catch (error) {
      if (error instanceof Damaged) return null
      throw error
    }
  }

  return {
    marks: rings.map(({ mark }) => mark),

    agree(stored, how) {
      if (stored === null) return { mark: writing.mark, old: null, digest: null }
      const theirs = ringOf(stored.mark)
      digestKey =
        stored.digest === null ? theirs.digestKey : createSecretKey(theirs.wrapping.open(aboutDigestKey, stored.digest))
      writing = how === "begin" ? first : theirs
      if (writing === theirs) return stored
      // Digests stay as they are: what they were made of is not stored.
      const digest = writing.wrapping.seal(aboutDigestKey, digestKey.export())
      return { mark: writing.mark, old: theirs.mark, digest }
    },

    get refusal() {
      return refusal
    },

    refuseWrites(sentence) {
      refusal = sentence
    },

    digest(purpose, parts) {
      return createHmac("sha256", digestKey)
        .update(JSON.stringify([purpose, ...parts]))
        .digest()
    },

    newKey(about) {
      checkWrites()
      const raw = takeRandom(32)
      const wrapped = writing.wrapping.seal(about, raw)
      const key = createSecretKey(raw)
      raw.fill(0)
      return { key: new CountingKey(key), wrapped }
    },

    openKey(about, wrapped) {
      return new CountingKey(createSecretKey(tryRings((ring) => ring.wrapping.open(about, wrapped)).plain))
    },

    rewrap: (about, wrapped) => rewrite("wrapping", about, wrapped),

    seal(about, text) {
      checkWrites()
      return writing.sealing.seal(about, Buffer.from(text, "utf8"))
    },

    open(about, sealed) {
      return tryRings((ring) => ring.sealing.open(about, sealed)).plain.toString("utf8")
    },

    reseal: (about, sealed) => rewrite("sealing", about, sealed),
  }
}

const aboutDigestKey = "digest key"

/** The keys that are derived from one master key. */
class KeyRing {
  readonly mark: Uint8Array
  readonly wrapping: MasterSealer
  readonly sealing: MasterSealer
  readonly digestKey: KeyObject

  constructor(masterKey: Uint8Array) {
    if (masterKey.length !== 32) throw new Error(`A master key has 32 bytes, not ${masterKey.length}`)
    const subKey = (use: string) =>
      createSecretKey(Buffer.from(hkdfSync("sha256", masterKey, new Uint8Array(0), `wireworks 1 ${use}`, 32)))
    this.mark = createHmac("sha256", subKey("mark")).update("mark").digest()
    this.wrapping = new MasterSealer(subKey("wrap"))
    this.sealing = new MasterSealer(subKey("seal"))
    this.digestKey = subKey("digest")
  }
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

/** Version, salt of the derived key, nonce, cipher text, tag. */
class MasterSealer {
  readonly #parent: KeyObject
  readonly #own: KeyObject
  readonly #head = Buffer.alloc(1 + saltBytes + nonceBytes)
  readonly #derived = new Map<string, KeyObject>()
  #counter = 0

  constructor(parent: KeyObject) {
    this.#parent = parent
    const salt = takeRandom(saltBytes)
    this.#own = this.#derive(salt)
    this.#head[0] = version
    salt.copy(this.#head, 1)
  }

  seal(about: string, plain: Buffer): Buffer {
    // Six bytes last for longer than any process.
    this.#head.writeUIntBE(++this.#counter, this.#head.length - 6, 6)
    return encrypt(this.#own, about, plain, this.#head)
  }

  open(about: string, sealed: Uint8Array): Buffer {
    if (sealed.length < 1 + saltBytes) throw notOurs(about)
    return decrypt(this.#derive(sealed.subarray(1, 1 + saltBytes)), about, sealed, 1 + saltBytes)
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
