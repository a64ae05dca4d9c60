/** The network has a second to end by itself. */
const patienceMs = 1_000

/** Ends the process with its exit code, also where a client left a connection open that nobody answers. Everything is written and stored by now. */
export function endProcess(): void {
  // oxlint-disable-next-line unicorn/no-process-exit -- a client may keep sockets that it gave up, and nobody else can close them.
  setTimeout(() => process.exit(), patienceMs).unref()
}
