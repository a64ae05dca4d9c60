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

export function createVault(masterKey: Uint8Array): Vault {
  if (masterKey.length !== 32) throw new Error(`A master key has 32 bytes, not ${masterKey.length}`)
  const subKey = (use: string) =>
    createSecretKey(Buffer.from(hkdfSync("sha256", masterKey, new Uint8Array(0), `wireworks 1 ${use}`, 32)))
  const wrapping = new MasterSealer(subKey("wrap"))
  const sealing = new MasterSealer(subKey("seal"))
  const digestKey = subKey("digest")

  return {
    mark: createHmac("sha256", subKey("mark")).update("mark").digest(),

    digest(purpose, parts) {
      return createHmac("sha256", digestKey)
        .update(JSON.stringify([purpose, ...parts]))
        .digest()
    },

    newKey(about) {
      const raw = takeRandom(32)
      const wrapped = wrapping.seal(about, raw)
      const key = createSecretKey(raw)
      raw.fill(0)
      return { key: new CountingKey(key), wrapped }
    },

    openKey(about, wrapped) {
      return new CountingKey(createSecretKey(wrapping.open(about, wrapped)))
    },

    seal(about, text) {
      return sealing.seal(about, Buffer.from(text, "utf8"))
    },

    open(about, sealed) {
      return sealing.open(about, sealed).toString("utf8")
    },
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
  return Buffer.concat([head, body, encryption.getAuthTag()])
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
