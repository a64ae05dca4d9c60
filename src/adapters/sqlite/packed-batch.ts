import type { AppendOperation, Operation, Outcome } from "./operations.ts"

// Nearly all that goes to the writer thread are appends, and copying an object with its blobs from thread to thread costs
// as much as inserting it. So the blobs of a batch travel in one piece that changes hands, the numbers in one list.

export interface PackedBatch {
  readonly size: number
  /** Seven for each append, in order. */
  readonly numbers: number[]
  readonly bytes: Uint8Array<ArrayBuffer>
  /** What is not an append, with its place in the batch. */
  readonly others: readonly (readonly [number, Operation])[]
}

/** Every outcome but that of an append that was stored, with its place in the batch. */
export type PackedOutcomes = readonly (readonly [number, Outcome])[]

const stored: Outcome = { value: "stored" }

export function packBatch(batch: readonly Operation[]): PackedBatch {
  const numbers: number[] = []
  const blobs: Uint8Array[] = []
  const others: [number, Operation][] = []
  let length = 0
  for (const [index, operation] of batch.entries()) {
    if (operation.kind !== "append") {
      others.push([index, operation])
      continue
    }
    const { run, fence, first, last, body, kept, finished_at } = operation
    numbers.push(run, fence, first, last, body.length, kept === null ? -1 : kept.length, finished_at ?? -1)
    length += body.length + (kept?.length ?? 0)
    blobs.push(body)
    if (kept !== null) blobs.push(kept)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const blob of blobs) {
    bytes.set(blob, at)
    at += blob.length
  }
  return { size: batch.length, numbers, bytes, others }
}

export function unpackBatch({ size, numbers, bytes, others }: PackedBatch): Operation[] {
  const other = new Map(others)
  let read = 0
  const number = () => numbers[read++] ?? 0
  let at = 0
  const blob = (length: number) => bytes.subarray(at, (at += length))
  const append = (): AppendOperation => {
    const [run, fence, first, last] = [number(), number(), number(), number()]
    const [bodyLength, keptLength, end] = [number(), number(), number()]
    const body = blob(bodyLength)
    const kept = keptLength < 0 ? null : blob(keptLength)
    return { kind: "append", run, fence, first, last, body, kept, finished_at: end < 0 ? null : end }
  }
  return Array.from({ length: size }, (_, index) => other.get(index) ?? append())
}

export function packOutcomes(outcomes: readonly Outcome[]): PackedOutcomes {
  const packed: [number, Outcome][] = []
  for (const [index, outcome] of outcomes.entries()) {
    if (!("value" in outcome) || outcome.value !== "stored") packed.push([index, outcome])
  }
  return packed
}

export function unpackOutcomes(size: number, packed: PackedOutcomes): Outcome[] {
  const outcomes = Array.from({ length: size }, () => stored)
  for (const [index, outcome] of packed) outcomes[index] = outcome
  return outcomes
}
