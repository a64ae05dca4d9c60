/** Other files that a source may use, and where it stands among them. */
export interface SourceFiles {
  /** The path of the main source from the root; `main.wire` unless given. */
  readonly file?: string | undefined
  /** The texts of the others, by their paths from the root. */
  readonly modules?: Readonly<Record<string, string>> | undefined
}

/** A main source with the files that it may use. */
export interface SourceText extends SourceFiles {
  readonly source: string
}

/** The fields of a source alone, where a request holds more. Those that are not there stay absent. */
export function filesOf({ file, modules }: SourceFiles): {
  readonly file?: string
  readonly modules?: Readonly<Record<string, string>>
} {
  return { ...(file === undefined ? {} : { file }), ...(modules === undefined ? {} : { modules }) }
}

export function sourceLength({ source, modules = {} }: SourceText): number {
  return Object.values(modules).reduce((sum, text) => sum + text.length, source.length)
}
