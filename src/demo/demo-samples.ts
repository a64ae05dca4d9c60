import { hashText } from "./seeded.ts"

export const samplesPerSecond = 8000
const samplesPerWord = samplesPerSecond / 8
const mostWords = 80

/** A tone for each word. */
export function demoSamples(text: string): Buffer {
  const words = text.split(/\s+/).slice(0, mostWords)
  const samples = Buffer.alloc(words.length * samplesPerWord * 2)
  for (const [index, word] of words.entries()) {
    const frequency = 180 + (hashText(word) % 240)
    for (let at = 0; at < samplesPerWord; at++) {
      const loudness = 9000 * Math.sin((Math.PI * at) / samplesPerWord)
      const wave = Math.sin((2 * Math.PI * frequency * at) / samplesPerSecond)
      samples.writeInt16LE(Math.round(loudness * wave), 2 * (index * samplesPerWord + at))
    }
  }
  return samples
}
