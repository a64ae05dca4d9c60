import { refuse } from "./http-error.ts"

export interface FormFile {
  readonly name: string | null
  readonly media_type: string | null
  /** To be read to its end: that the form is whole shows there. */
  readonly body: AsyncIterable<Uint8Array>
}

const mostHeadBytes = 8 * 1024
/** Parts before the file. */
const mostOthers = 10

/**
 * The one part `file` of a form, whose contents stream. `others`: the form may have small parts beside it, which are not looked at. Throws an
 * `HttpError`, also while the body is read.
 */
export async function readFormFile(
  contentType: string,
  body: AsyncIterable<Uint8Array>,
  others = false,
): Promise<FormFile> {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) throw broken("its boundary is missing")
  const chunks = body[Symbol.asyncIterator]()
  let held: Buffer = Buffer.alloc(0)
  const more = async (): Promise<boolean> => {
    const next = await chunks.next()
    if (next.done === true) return false
    held = Buffer.concat([held, next.value])
    return true
  }
  // What stands before the first boundary is no part of the form.
  const opening = Buffer.from(`--${boundary}\r\n`)
  const separator = Buffer.from(`\r\n--${boundary}`)
  let at = held.indexOf(opening)
  while (at < 0) {
    if (held.length > mostHeadBytes || !(await more())) throw broken("its first part is missing")
    at = held.indexOf(opening)
  }
  held = held.subarray(at + opening.length)
  let head = await nextHead()
  for (let before = 0; others && nameIn(head) !== "file"; before++) {
    if (before === mostOthers) throw broken("it has too many parts")
    let over = held.indexOf(separator)
    while (over < 0) {
      if (held.length > mostHeadBytes || !(await more())) throw broken("it has no part named `file`")
      over = held.indexOf(separator)
    }
    held = held.subarray(over + separator.length)
    while (held.length < 2) if (!(await more())) throw broken("it is not whole")
    if (held[0] !== 0x0d || held[1] !== 0x0a) throw broken("it has no part named `file`")
    held = held.subarray(2)
    head = await nextHead()
  }
  const disposition = headerOf(head, "content-disposition") ?? ""
  if (nameIn(head) !== "file") throw broken("it must have one part, named `file`")
  return { name: fileNameIn(disposition), media_type: headerOf(head, "content-type"), body: contents() }

  async function nextHead(): Promise<string> {
    let end = held.indexOf("\r\n\r\n")
    while (end < 0) {
      if (held.length > mostHeadBytes || !(await more())) throw broken("the head of its part is not whole")
      end = held.indexOf("\r\n\r\n")
    }
    const text = held.subarray(0, end).toString("utf8")
    held = held.subarray(end + 4)
    return text
  }

  async function* contents(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const over = held.indexOf(separator)
      if (over >= 0) {
        if (over > 0) yield held.subarray(0, over)
        held = held.subarray(over + separator.length)
        break
      }
      // The separator may be cut in two.
      const sure = held.length - separator.length
      if (sure > 0) {
        yield held.subarray(0, sure)
        held = held.subarray(sure)
      }
      if (!(await more())) throw broken("it is not whole")
    }
    while (held.length < 2) if (!(await more())) throw broken("it is not whole")
    const isLast = held[0] === 0x2d && held[1] === 0x2d
    if (!isLast && !others) throw broken("it must have one part, named `file`")
    for (let after = held.length; !isLast && (await more()); held = Buffer.alloc(0)) {
      after += held.length
      if (after > mostOthers * mostHeadBytes) throw broken("what follows its file is too large")
    }
    // What follows is no part of the form.
    held = Buffer.alloc(0)
    while (await more()) held = Buffer.alloc(0)
  }
}

/** The name of a file in a `Content-Disposition` header; null where it has none. */
export function fileNameIn(disposition: string): string | null {
  const encoded = /^utf-8'[^']*'(.+)$/i.exec(parameterOf(disposition, "filename*") ?? "")?.[1]
  if (encoded !== undefined) {
    try {
      return decodeURIComponent(encoded)
    } catch {
      throw refuse("invalid_request", "`filename*` of Content-Disposition is not valid UTF-8 in percent signs")
    }
  }
  const name = parameterOf(disposition, "filename")
  if (name === null) return null
  // Headers come byte by byte, and senders write UTF-8.
  const bytes = Buffer.from(name, "latin1")
  const isBytes = !/[^\p{Cc}\x20-\xff]/u.test(name)
  return isBytes && bytes.toString("utf8").includes("\uFFFD") === false ? bytes.toString("utf8") : name
}

/** The name of a part. */
function nameIn(head: string): string | null {
  return parameterOf(headerOf(head, "content-disposition") ?? "", "name")
}

/** The first of that name. What stands in quotes is no parameter. */
function parameterOf(header: string, name: string): string | null {
  for (const [, found = "", quoted, plain = ""] of header.matchAll(
    /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))/g,
  )) {
    if (found.toLowerCase() !== name) continue
    // Browsers write a quote as %22 and no backslash; others write a backslash before it.
    return (quoted?.replaceAll(/\\(["\\])/g, "$1") ?? plain).replaceAll(/%22/g, '"')
  }
  return null
}

function headerOf(head: string, name: string): string | null {
  for (const line of head.split("\r\n")) {
    const colon = line.indexOf(":")
    if (line.slice(0, colon).trim().toLowerCase() === name) return line.slice(colon + 1).trim()
  }
  return null
}

function broken(why: string): Error {
  return refuse("invalid_request", `The form cannot be read: ${why}`)
}
