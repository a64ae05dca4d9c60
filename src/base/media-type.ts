const token = "[\\w!#$&^.+-]{1,100}"
const wellFormed = new RegExp(
  `^${token}/${token}(?:\\s*;\\s*${token}=(?:${token}|"[^"\\\\\\x00-\\x1f\\x7f]{0,100}"))*$`,
)

/** A media type as it is stored, with its parameters; null for what is none. */
export function readMediaType(given: string): string | null {
  const text = given.trim()
  if (text.length > 200 || !wellFormed.test(text)) return null
  const [essence = "", ...parameters] = text.split(";")
  return [essence.trim().toLowerCase(), ...parameters.map((one) => one.trim())].join("; ")
}

/** Without its parameters. */
export function essenceOf(mediaType: string): string {
  return (mediaType.split(";", 1)[0] ?? "").trim().toLowerCase()
}

const byExtension: Readonly<Record<string, string>> = {
  txt: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  html: "text/html",
  htm: "text/html",
  json: "application/json",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  svg: "image/svg+xml",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  pdf: "application/pdf",
  wav: "audio/wav",
  mp3: "audio/mpeg",
  mp4: "video/mp4",
  webm: "video/webm",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  zip: "application/zip",
}

/** What the extension of a name says; undefined where it says nothing. */
export function mediaTypeOfName(name: string): string | undefined {
  const extension = /\.([A-Za-z0-9]{1,5})$/.exec(name)?.[1]?.toLowerCase() ?? ""
  return Object.hasOwn(byExtension, extension) ? byExtension[extension] : undefined
}

/** The extension of a type, `bin` for one that has none here. */
export function extensionOfMediaType(mediaType: string): string {
  const essence = essenceOf(mediaType)
  return Object.entries(byExtension).find(([, known]) => known === essence)?.[0] ?? "bin"
}

/** How many bytes of a file tell its type. */
export const telltaleBytes = 1024

type Test = (head: Uint8Array) => boolean

const bytesAt =
  (at: number, ...wanted: (string | number)[]): Test =>
  (head) => {
    const bytes = wanted.flatMap((one) =>
      typeof one === "number" ? [one] : Array.from(one, (letter) => letter.charCodeAt(0)),
    )
    return bytes.every((byte, index) => head[at + index] === byte)
  }
const any =
  (...tests: Test[]): Test =>
  (head) =>
    tests.some((test) => test(head))
const all =
  (...tests: Test[]): Test =>
  (head) =>
    tests.every((test) => test(head))

/** A letter for each byte. */
const lettersOf = (head: Uint8Array): string => String.fromCharCode(...head.subarray(0, telltaleBytes))

/** A text that begins with a tag, after blanks. */
const beginsWithTag: Test = (head) => /^(?:\xEF\xBB\xBF)?\s*</.test(lettersOf(head))
const isWave = all(bytesAt(0, "RIFF"), bytesAt(8, "WAVE"))
const isMp3 = any(bytesAt(0, "ID3"), (head) => head[0] === 0xff && ((head[1] ?? 0) & 0xe0) === 0xe0)
const isMp4 = bytesAt(4, "ftyp")
const isMatroska = bytesAt(0, 0x1a, 0x45, 0xdf, 0xa3)
/** Readers of PDF take some bytes before its mark. */
const isPdf: Test = (head) => lettersOf(head).includes("%PDF-")

/** What the bytes of a type begin with, for the types that assets are made of. */
const telltales: Readonly<Record<string, Test>> = {
  "image/png": bytesAt(0, 0x89, "PNG", 0x0d, 0x0a, 0x1a, 0x0a),
  "image/jpeg": bytesAt(0, 0xff, 0xd8, 0xff),
  "image/jpg": bytesAt(0, 0xff, 0xd8, 0xff),
  "image/gif": any(bytesAt(0, "GIF87a"), bytesAt(0, "GIF89a")),
  "image/webp": all(bytesAt(0, "RIFF"), bytesAt(8, "WEBP")),
  "image/svg+xml": beginsWithTag,
  "application/pdf": isPdf,
  "audio/wav": isWave,
  "audio/x-wav": isWave,
  "audio/wave": isWave,
  "audio/mpeg": isMp3,
  "audio/mp3": isMp3,
  "video/mp4": isMp4,
  "video/quicktime": isMp4,
  "video/webm": isMatroska,
}

/** Whether the first bytes of a file cannot be those of a type. Of types that nobody tells by their bytes, none is a lie. */
export function isLie(mediaType: string, head: Uint8Array): boolean {
  const essence = essenceOf(mediaType)
  const test = Object.hasOwn(telltales, essence) ? telltales[essence] : undefined
  return test !== undefined && !test(head)
}
