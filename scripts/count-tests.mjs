/**
 * A reporter of Node's test runner that writes how many tests ran, and the files in which one failed. Suites, skipped tests, and the entry that stands for a
 * file none of whose tests ran, do not count.
 * @param {AsyncIterable<import("node:test/reporters").TestEvent>} events
 */
// oxlint-disable-next-line import/no-default-export -- the runner takes a reporter's default export
export default async function* countTests(events) {
  let count = 0
  const failed = new Set()
  for await (const { type, data } of events) {
    if (type === "test:fail" && data.file !== undefined && data.todo === undefined) failed.add(data.file)
    const ended = type === "test:pass" || type === "test:fail"
    if (ended && data.details.type !== "suite" && data.skip === undefined && !/\.test\.tsx?$/.test(data.name)) count++
  }
  yield JSON.stringify({ count, failed: [...failed] })
}
