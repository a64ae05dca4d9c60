import { after } from "node:test"

const ends = new Set<() => unknown>()

// Registered when the file of tests imports this, outside all suites: Node runs no hooks of a suite that a name pattern skips,
// and what such a suite started while it was read would keep the process alive. Benchmarks have no tests to wait for.
if (process.env["NODE_TEST_CONTEXT"] !== undefined) {
  after(async () => {
    for (const end of ends) await end()
  })
}

/** Calls this after all tests of the file, in any case. */
export function atEnd(end: () => unknown): void {
  ends.add(end)
}
