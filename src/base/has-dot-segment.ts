/**
 * Whether `.` or `..` is a segment of the path in an address, a model's id or a name, also as `%2e` or between backslashes:
 * whoever makes a URL of it would land at another path.
 */
export function hasDotSegment(text: string): boolean {
  return dotSegment.test(text)
}

/** Before the query and the fragment. */
const dotSegment = /^(?:[^?#]*[/\\])?(?:\.|%2e){1,2}(?:[/\\?#]|$)/i
