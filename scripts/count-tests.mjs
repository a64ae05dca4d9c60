/** A reporter of Node's test runner that writes how many tests ran, skipped ones left out. */
// oxlint-disable-next-line import/no-default-export -- the runner takes a reporter's default export
export default async function* countTests(events) {
  let count = 0
  for await (const { type, data } of events) {
    if ((type === "test:pass" || type === "test:fail") && data.details.type !== "suite" && data.skip === undefined)
      count++
  }
  yield String(count)
}
