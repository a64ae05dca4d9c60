import { crc32, deflateSync } from "node:zlib"
import { hashText } from "./seeded.ts"

const side = 96

/** A PNG of two colours that run into each other, as the words have it. */
export function demoPicture(words: string): Buffer {
  const seed = hashText(words)
  const rows = Buffer.alloc(side * (1 + side * 3))
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const mix = (x + y) / (2 * side)
      for (let colour = 0; colour < 3; colour++) {
        const from = (seed >>> (colour * 5)) & 0xff
        const to = (seed >>> (8 + colour * 5)) & 0xff
        rows[y * (1 + side * 3) + 1 + x * 3 + colour] = Math.round(from + (to - from) * mix)
      }
    }
  }
  const size = Buffer.alloc(13)
  size.writeUInt32BE(side, 0)
  size.writeUInt32BE(side, 4)
  // 8 bits a sample, three samples a pixel.
  size[8] = 8
  size[9] = 2
  const mark = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  return Buffer.concat([mark, chunk("IHDR", size), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))])
}

function chunk(id: string, contents: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(id), contents])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(contents.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}
