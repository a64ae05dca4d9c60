import { crc32, deflateRawSync } from "node:zlib"

/**
 * A zip archive of these files, in their order. The same files give the same bytes: every file has the same date, the
 * first that the format knows.
 * @param {readonly { readonly path: string, readonly content: Uint8Array }[]} files
 */
export function zip(files) {
  /** @type {Buffer[]} */
  const parts = []
  /** @type {Buffer[]} */
  const directory = []
  let offset = 0
  for (const { path, content } of files) {
    const name = Buffer.from(path, "utf8")
    const packed = deflateRawSync(content, { level: 9 })
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0) // version that is needed
    common.writeUInt16LE(0x0800, 2) // names are UTF-8
    common.writeUInt16LE(8, 4) // deflated
    common.writeUInt16LE(0, 6) // midnight
    common.writeUInt16LE(0x21, 8) // 1 January 1980
    common.writeUInt32LE(crc32(content), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(content.length, 18)
    common.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, name, packed])
    const place = Buffer.alloc(14)
    place.writeUInt32LE((0o100644 << 16) >>> 0, 6) // mode, for systems that have one
    place.writeUInt32LE(offset, 10)
    // Made by a Unix, so that the mode counts.
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x03", "latin1"), common, place, name]))
    parts.push(local)
    offset += local.length
  }
  const size = directory.reduce((sum, entry) => sum + entry.length, 0)
  const end = Buffer.alloc(22)
  end.write("PK\x05\x06", "latin1")
  end.writeUInt16LE(files.length, 8)
  end.writeUInt16LE(files.length, 10)
  end.writeUInt32LE(size, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...parts, ...directory, end])
}
