import type { CallOptions } from "./service-calls.ts"

/** A `Blob`, bytes, a stream, or the path of a file on disk (on Node). */
export type FileContents = Blob | Uint8Array | ReadableStream<Uint8Array> | string

export interface SendFileOptions extends CallOptions {
  /** That of the path or of the `File` unless set. */
  readonly name?: string
  /** `application/octet-stream` where nothing says what it is. */
  readonly media_type?: string
}

interface OpenedFile {
  readonly body: Blob | Uint8Array | ReadableStream<Uint8Array>
  readonly name: string | undefined
  readonly media_type: string | undefined
}

interface Disk {
  openAsBlob(path: string): Promise<Blob>
}

/** Nothing of a file on disk is read before it is sent. */
export async function openContents(contents: FileContents, options: SendFileOptions): Promise<OpenedFile> {
  const { media_type } = options
  if (typeof contents === "string") {
    const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }
    const disk = process?.getBuiltinModule?.("node:fs") as Disk | undefined
    if (disk === undefined) throw new TypeError("A file is read from a path on Node alone: give a Blob")
    const name = options.name ?? contents.split(/[/\\]/).at(-1)
    return { body: await disk.openAsBlob(contents), name, media_type }
  }
  if (contents instanceof Blob) {
    const own = "name" in contents && typeof contents.name === "string" ? contents.name : undefined
    return { body: contents, name: options.name ?? own, media_type: media_type ?? (contents.type || undefined) }
  }
  return { body: contents, name: options.name, media_type }
}

export function headersOfFile(name: string | undefined, media_type: string | undefined): Record<string, string> {
  return {
    "content-type": media_type ?? "application/octet-stream",
    ...(name !== undefined && { "content-disposition": `attachment; filename*=UTF-8''${encodeName(name)}` }),
  }
}

function encodeName(name: string): string {
  const percent = (one: string): string => `%${one.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(name).replaceAll(/['()*]/g, percent)
}
