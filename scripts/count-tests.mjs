/**
 * A reporter of Node's test runner: writes how many tests ran, and which were skipped and why. Suites, and the entry that
 * stands for a file none of whose tests ran, do not count.
 * @param {AsyncIterable<import("node:test/reporters").TestEvent>} events
 */
// oxlint-disable-next-line import/no-default-export -- the runner takes a reporter's default export
export default async function* countTests(events) {
  let count = 0
  /** @type {{ file: string, name: string, reason: string }[]} */
  const skipped = []
  for await (const { type, data } of events) {
    const ended = type === "test:pass" || type === "test:fail"
    if (!ended || data.details.type === "suite" || /\.test\.tsx?$/.test(data.name)) continue
    if (data.skip === undefined) count++
    else {
      const reason = typeof data.skip === "string" && data.skip !== "" ? data.skip : "no reason given"
      skipped.push({ file: data.file ?? "", name: data.name, reason })
    }
  }
  yield JSON.stringify({ count, skipped })
}
