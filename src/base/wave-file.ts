/** Samples of 16 bits and one channel, as a WAV file; `comment` is text that goes with them. */
export function waveFile(samples: Uint8Array, perSecond: number, comment: Uint8Array = new Uint8Array()): Uint8Array {
  const format = new DataView(new ArrayBuffer(16))
  format.setUint16(0, 1, true)
  format.setUint16(2, 1, true)
  format.setUint32(4, perSecond, true)
  format.setUint32(8, perSecond * 2, true)
  format.setUint16(12, 2, true)
  format.setUint16(14, 16, true)
  const info = comment.length === 0 ? [] : [chunk("LIST", [letters("INFO"), chunk("ICMT", [comment])])]
  const parts = [letters("WAVE"), chunk("fmt ", [new Uint8Array(format.buffer)]), chunk("data", [samples]), ...info]
  return chunk("RIFF", parts)
}

/** Chunks begin at even places. */
function chunk(id: string, parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const made = new Uint8Array(8 + length + (length % 2))
  made.set(letters(id))
  new DataView(made.buffer).setUint32(4, length, true)
  let at = 8
  for (const part of parts) {
    made.set(part, at)
    at += part.length
  }
  return made
}

function letters(text: string): Uint8Array {
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0))
}
