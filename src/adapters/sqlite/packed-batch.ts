import type { Operation, Outcome } from "../../store/writes.ts"

// Copying objects and their blobs from thread to thread, one by one, costs as much as storing them. So a batch travels as
// one text, and its blobs in one piece that changes hands.

export interface PackedBatch {
  /** JSON: the operations, with the number of their blobs in place of the blobs. */
  readonly operations: string
  /** The lengths of all blobs in order; -1 for one that is null. */
  readonly lengths: readonly number[]
  readonly bytes: Uint8Array<ArrayBuffer>
}

export function packBatch(batch: readonly Operation[]): PackedBatch {
  const lengths: number[] = []
  const bare: unknown[] = []
  let size = 0
  for (const operation of batch) {
    for (const blob of operation.blobs) {
      lengths.push(blob?.length ?? -1)
      size += blob?.length ?? 0
    }
    bare.push({ ...operation, blobs: operation.blobs.length })
  }
  const bytes = new Uint8Array(size)
  let at = 0
  for (const { blobs } of batch) {
    for (const blob of blobs) {
      if (blob === null) continue
      bytes.set(blob, at)
      at += blob.length
    }
  }
  return { operations: JSON.stringify(bare), lengths, bytes }
}

export function unpackBatch({ operations, lengths, bytes }: PackedBatch): Operation[] {
  let read = 0
  let at = 0
  const bare = JSON.parse(operations) as { blobs: unknown }[]
  for (const operation of bare) {
    const blobs: (Uint8Array | null)[] = []
    for (let left = operation.blobs as number; left > 0; left--) {
      const length = lengths[read++] ?? -1
      blobs.push(length < 0 ? null : bytes.subarray(at, (at += length)))
    }
    operation.blobs = blobs
  }
  return bare as unknown as Operation[]
}

const stored: Outcome = { value: "stored" }

/** JSON: every outcome but that of an append that was stored, with its place in the batch. */
export function packOutcomes(outcomes: readonly Outcome[]): string {
  const others: [number, Outcome][] = []
  for (const [index, outcome] of outcomes.entries()) {
    if (!("value" in outcome) || outcome.value !== "stored") others.push([index, outcome])
  }
  return JSON.stringify(others)
}

export function unpackOutcomes(size: number, packed: string): Outcome[] {
  const outcomes = Array.from({ length: size }, () => stored)
  for (const [index, outcome] of JSON.parse(packed) as [number, Outcome][]) outcomes[index] = outcome
  return outcomes
}
