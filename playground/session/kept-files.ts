/** An open file as the browser keeps it; `key` is the same in every page that shows it. */
export interface KeptFile {
  readonly key: string
  readonly isEdited: boolean
}

/** Files that several pages together can keep. */
const most = 30

/**
 * What the browser keeps when two pages are open: the files of this page, and what other pages have edited since. `seen` has each
 * file as this page last read or wrote it. Where both pages have edited one file, both versions are kept: this page's gets
 * another key (`renamed`).
 */
export function mergeKept<File extends KeptFile>(
  own: readonly File[],
  stored: readonly File[],
  seen: ReadonlyMap<string, string>,
  newKey: () => string,
): { readonly files: readonly File[]; readonly renamed: ReadonlyMap<string, string> } {
  const others = new Map(stored.map((file) => [file.key, file]))
  const renamed = new Map<string, string>()
  const hasChanged = (file: File): boolean => file.isEdited && JSON.stringify(file) !== seen.get(file.key)
  const files = own.map((file) => {
    const theirs = others.get(file.key)
    if (theirs === undefined) return file
    const isSame = JSON.stringify(theirs) === JSON.stringify(file)
    others.delete(file.key)
    if (isSame || !hasChanged(theirs)) return file
    if (!hasChanged(file)) return theirs
    const key = newKey()
    renamed.set(file.key, key)
    others.set(file.key, theirs)
    return { ...file, key }
  })
  return { files: [...files, ...[...others.values()].filter(hasChanged)].slice(0, most), renamed }
}
