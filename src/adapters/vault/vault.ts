import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from "node:crypto"
import { StoreFailure } from "../../run/ports.ts"
import type { DataKey, Vault } from "../../run/vault-port.ts"

// Everything here is AES-256-GCM. Its one hard rule is that no nonce is used twice under one key:
// - a data key (a run's own) counts: 8 random bytes for each time that it is loaded, then a 32-bit counter;
// - the master key, which lives for years, never seals anything itself: each message has a key of its own, derived from
//   the master key, 16 random bytes and what the message is about.

const cipher = "aes-256-gcm"
const formatVersion = 1
const nonceBytes = 12
const tagBytes = 16
const saltBytes = 16
const prefixBytes = 8
const counterLimit = 2 ** 32

export function createVault(masterKey: Uint8Array): Vault {
  if (masterKey.length !== 32) throw new Error(`A master key has 32 bytes, not ${masterKey.length}`)
  const subKey = (use: string) =>
    createSecretKey(Buffer.from(hkdfSync("sha256", masterKey, new Uint8Array(0), `wireworks 1 ${use}`, 32)))
  const wrapKey = subKey("wrap")
  const sealKey = subKey("seal")
  const digestKey = subKey("digest")

  return {
    mark: createHmac("sha256", subKey("mark")).update("mark").digest(),

    digest(purpose, parts) {
      return createHmac("sha256", digestKey)
        .update(JSON.stringify([purpose, ...parts]))
        .digest()
    },

    newKey(about) {
      const raw = randomBytes(32)
      const wrapped = sealDerived(wrapKey, about, raw)
      return { key: dataKey(createSecretKey(raw)), wrapped }
    },

    openKey(about, wrapped) {
      return dataKey(createSecretKey(openDerived(wrapKey, about, wrapped)))
    },

    seal(about, text) {
      return sealDerived(sealKey, about, Buffer.from(text, "utf8"))
    },

    open(about, sealed) {
      return openDerived(sealKey, about, sealed).toString("utf8")
    },
  }
}

function dataKey(key: KeyObject): DataKey {
  const nonce = randomBytes(nonceBytes)
  let counter = 0
  return {
    seal(about, text) {
      // Past the counter's end another random prefix begins.
      if (counter === counterLimit) {
        randomBytes(prefixBytes).copy(nonce)
        counter = 0
      }
      nonce.writeUInt32BE(counter++, prefixBytes)
      return encrypt(key, about, Buffer.from(text, "utf8"), [versionByte, nonce])
    },
    open(about, sealed) {
      return decrypt(key, about, sealed, 1).toString("utf8")
    },
  }
}

const versionByte = Buffer.of(formatVersion)

function sealDerived(parent: KeyObject, about: string, plain: Buffer): Buffer {
  const random = randomBytes(saltBytes + nonceBytes)
  const salt = random.subarray(0, saltBytes)
  const key = derive(parent, salt, about)
  return encrypt(key, about, plain, [versionByte, salt, random.subarray(saltBytes)])
}

function openDerived(parent: KeyObject, about: string, sealed: Uint8Array): Buffer {
  if (sealed.length < 1 + saltBytes) throw notOurs(about)
  const key = derive(parent, sealed.subarray(1, 1 + saltBytes), about)
  return decrypt(key, about, sealed, 1 + saltBytes)
}

function derive(parent: KeyObject, salt: Uint8Array, about: string): KeyObject {
  return createSecretKey(createHmac("sha256", parent).update(salt).update(about, "utf8").digest())
}

/** The head (whose last part is the nonce), the cipher text, the tag. */
function encrypt(key: KeyObject, about: string, plain: Buffer, head: readonly Buffer[]): Buffer {
  const nonce = head.at(-1)
  if (nonce === undefined) throw new Error("A head ends with its nonce")
  const encryption = createCipheriv(cipher, key, nonce)
  encryption.setAAD(Buffer.from(about, "utf8"))
  const body = encryption.update(plain)
  encryption.final()
  return Buffer.concat([...head, body, encryption.getAuthTag()])
}

/** `at`: where the nonce begins. */
function decrypt(key: KeyObject, about: string, sealed: Uint8Array, at: number): Buffer {
  const bodyAt = at + nonceBytes
  const tagAt = sealed.length - tagBytes
  if (tagAt < bodyAt || sealed[0] !== formatVersion) throw notOurs(about)
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

function notOurs(about: string): StoreFailure {
  return new StoreFailure(`What is stored as "${about}" cannot be decrypted: it is damaged, or was not written here`)
}
