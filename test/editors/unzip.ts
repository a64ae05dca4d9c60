import { inflateRawSync } from "node:zlib"

/** The files of a zip archive, read by its directory at the end, as programs do that know nothing of who wrote it. */
export function unzip(archive: Buffer): Map<string, Buffer> {
  const end = archive.lastIndexOf("PK\x05\x06", undefined, "latin1")
  if (end < 0) throw new Error("The archive has no end")
  const files = new Map<string, Buffer>()
  let at = archive.readUInt32LE(end + 16)
  for (let count = archive.readUInt16LE(end + 10); count > 0; count--) {
    const sizes = { packed: archive.readUInt32LE(at + 20), name: archive.readUInt16LE(at + 28) }
    const skipped = archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
    const name = archive.toString("utf8", at + 46, at + 46 + sizes.name)
    const local = archive.readUInt32LE(at + 42)
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28)
    const content = inflateRawSync(archive.subarray(start, start + sizes.packed))
    if (content.length !== archive.readUInt32LE(at + 24)) throw new Error(`${name} has another size`)
    files.set(name, content)
    at += 46 + sizes.name + skipped
  }
  return files
}
