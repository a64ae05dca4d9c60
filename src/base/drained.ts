interface Writable {
  readonly writableNeedDrain: boolean
  once(event: "drain", listener: () => void): unknown
  off(event: "drain", listener: () => void): unknown
}

interface Signal {
  readonly aborted: boolean
  addEventListener(event: "abort", listener: () => void, options: { once: boolean }): void
  removeEventListener(event: "abort", listener: () => void): void
}

/** Resolves when a stream takes more, or when the signal aborts. */
export function drained(stream: Writable, signal: Signal): Promise<void> {
  if (signal.aborted || !stream.writableNeedDrain) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off("drain", done)
      signal.removeEventListener("abort", done)
      resolve()
    }
    stream.once("drain", done)
    signal.addEventListener("abort", done, { once: true })
  })
}
