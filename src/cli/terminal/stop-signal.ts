/** Signals within this time are one: a Ctrl-C under npm comes from the terminal and from npm. */
const echoMs = 1000

export interface StopSignal {
  /** Resolves at the first SIGINT or SIGTERM, to its name. */
  readonly asked: Promise<NodeJS.Signals>
  /** Stops listening: the next signal ends the process. */
  readonly ignore: () => void
}

/** Listens for a wish to stop. A second signal, unless it is the echo of the first, ends the process at once. */
export function stopSignal(): StopSignal {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>()
  let first: number | undefined
  const listener = (signal: NodeJS.Signals): void => {
    const now = performance.now()
    if (first === undefined) {
      first = now
      resolve(signal)
    } else if (now - first > echoMs) {
      ignore()
      process.kill(process.pid, signal)
    }
  }
  const ignore = (): void => {
    process.off("SIGINT", listener)
    process.off("SIGTERM", listener)
  }
  process.on("SIGINT", listener)
  process.on("SIGTERM", listener)
  return { asked: promise, ignore }
}
