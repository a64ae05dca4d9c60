import { createCipheriv, createDecipheriv } from "node:crypto"
import type { ByteRange } from "../../ports/files.ts"
import { Damaged } from "../../ports/store.ts"

// An object is the contents of a file in pieces, each encrypted by itself, so that a range can be read without the rest. Each object has a key of its own, under which
// every piece is encrypted once: the number of the piece is the nonce. Number, owner and whether it is the last one are authenticated: pieces cannot be
// exchanged, moved or cut off.

export const pieceBytes = 64 * 1024
const tagBytes = 16
const cipher = "aes-256-gcm"

export interface ObjectKey {
  readonly key: Uint8Array
  /** The owner of the object, and the object. */
  readonly about: string
}

export async function* sealPieces(
  { key, about }: ObjectKey,
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  const piece = Buffer.allocUnsafe(pieceBytes)
  let filled = 0
  let number = 0
  const seal = (isLast: boolean): Buffer => {
    const encryption = createCipheriv(cipher, key, nonceOf(number))
    encryption.setAAD(aboutPiece(about, number++, isLast))
    const sealed = encryption.update(piece.subarray(0, filled))
    encryption.final()
    filled = 0
    return Buffer.concat([sealed, encryption.getAuthTag()])
  }
  for await (const bytes of body) {
    for (let at = 0; at < bytes.length;) {
      // A full piece waits for the next byte: it may be the last one.
      if (filled === pieceBytes) yield seal(false)
      const part = bytes.subarray(at, at + pieceBytes - filled)
      piece.set(part, filled)
      filled += part.length
      at += part.length
    }
  }
  yield seal(true)
}

/** A part of the contents, which have this many bytes; all of them where no range is given. Throws `Damaged`. */
export async function* openPieces(
  { key, about }: ObjectKey,
  bytes: number,
  read: (range: ByteRange) => AsyncIterable<Uint8Array>,
  range: ByteRange = { from: 0, bytes },
): AsyncGenerator<Uint8Array, void> {
  const last = Math.max(0, Math.ceil(bytes / pieceBytes) - 1)
  const first = Math.floor(range.from / pieceBytes)
  const end = Math.min(last, Math.floor(Math.max(range.from, range.from + range.bytes - 1) / pieceBytes))
  const sealedSize = (number: number): number => (number === last ? bytes - last * pieceBytes : pieceBytes) + tagBytes
  let number = first
  const sealed = Buffer.allocUnsafe(pieceBytes + tagBytes)
  let filled = 0
  const open = (): Buffer => {
    const size = sealedSize(number)
    const decryption = createDecipheriv(cipher, key, nonceOf(number), { authTagLength: tagBytes })
    decryption.setAAD(aboutPiece(about, number, number === last))
    decryption.setAuthTag(sealed.subarray(size - tagBytes, size))
    const opened = decryption.update(sealed.subarray(0, size - tagBytes))
    try {
      decryption.final()
    } catch {
      throw damaged()
    }
    const from = Math.max(0, range.from - number * pieceBytes)
    const to = Math.min(opened.length, range.from + range.bytes - number * pieceBytes)
    number++
    filled = 0
    return opened.subarray(from, Math.max(from, to))
  }
  const from = first * (pieceBytes + tagBytes)
  const wanted = (end - first) * (pieceBytes + tagBytes) + sealedSize(end)
  for await (const more of read({ from, bytes: wanted })) {
    for (let at = 0; at < more.length;) {
      if (number > end) throw damaged()
      const part = more.subarray(at, at + sealedSize(number) - filled)
      sealed.set(part, filled)
      filled += part.length
      at += part.length
      if (filled === sealedSize(number)) yield open()
    }
  }
  if (number <= end) throw damaged()
}

function nonceOf(number: number): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(number, 8)
  return nonce
}

function aboutPiece(about: string, number: number, isLast: boolean): Buffer {
  return Buffer.from(`${isLast ? "last" : "piece"} ${number} of ${about}`)
}

function damaged(): Damaged {
  return new Damaged("The contents of a file are damaged, or were not written here")
}
