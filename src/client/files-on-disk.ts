// A workflow on disk with the files that it uses, for Node. The service checks them; what cannot be read is left out, and the service
// says where it is missing.

export interface FileBody {
  readonly workflow_source: string
  /** From the root. */
  readonly file: string
  readonly modules?: Record<string, string>
}

/** The parts of Node that are needed here. A browser has none of them. */
interface Disk {
  readonly fs: {
    existsSync(path: string): boolean
    realpathSync(path: string): string
    statSync(path: string): { isFile(): boolean; readonly size: number }
    readFileSync(path: string, encoding: "utf8"): string
  }
  readonly path: {
    resolve(...parts: string[]): string
    dirname(path: string): string
    relative(from: string, to: string): string
    readonly sep: string
  }
}

/** The service takes no more: files and bytes of all of them. */
const most = { files: 100, bytes: 4 * 1024 * 1024 }

/** Reads a file and all that it names after `from`, and so on. Throws a `TypeError` that says what is wrong with the file itself. */
export function filesOnDisk(file: string): FileBody {
  const disk = diskOf()
  if (disk === undefined) throw new TypeError("A workflow's `file` is read on Node alone: give `workflow_source`")
  const main = disk.path.resolve(file)
  const root = rootOf(disk, main)
  const source = readInside(disk, root, main)
  if (source === undefined) throw new TypeError(`There is no workflow ${file} that can be read`)
  const modules = new Map<string, string>()
  const open = [{ path: main, text: source }]
  for (const { path, text } of open) {
    for (const [, named = ""] of text.matchAll(isCode(path) ? namedByCode : namedByWire)) {
      const other = disk.path.resolve(disk.path.dirname(path), named)
      const name = nameIn(disk, root, other)
      if (other === main || modules.has(name) || modules.size === most.files) continue
      const read = readInside(disk, root, other)
      if (read === undefined) continue
      modules.set(name, read)
      open.push({ path: other, text: read })
    }
  }
  const body = { workflow_source: source, file: nameIn(disk, root, main) }
  return modules.size === 0 ? body : { ...body, modules: Object.fromEntries(modules) }
}

const namedByWire = /\bfrom\s+"(\.\.?\/[^"\n]*\.(?:wire|js|ts))"/g
const namedByCode = /\b(?:from|import)\s*["'](\.\.?\/[^"'\n]*\.(?:js|ts))["']/g

function isCode(path: string): boolean {
  return !path.endsWith(".wire")
}

function diskOf(): Disk | undefined {
  const { process } = globalThis as {
    process?: { getBuiltinModule?: (name: string) => unknown }
  }
  const [fs, path] = ["node:fs", "node:path"].map((name) => process?.getBuiltinModule?.(name))
  return fs === undefined || path === undefined ? undefined : ({ fs, path } as Disk)
}

/** The folder that a file's imports stay in: the nearest above it with `.git` or `wireworks.json`, else its own. */
function rootOf({ fs, path }: Disk, main: string): string {
  const own = path.dirname(main)
  for (let folder = own; ; folder = path.dirname(folder)) {
    if (["/.git", "/wireworks.json"].some((mark) => fs.existsSync(folder + mark))) return folder
    if (path.dirname(folder) === folder) return own
  }
}

function nameIn({ path }: Disk, root: string, file: string): string {
  return path.relative(root, file).split(path.sep).join("/")
}

/** Undefined for what is not a file in the folder, and for what is too large. */
function readInside({ fs, path }: Disk, root: string, file: string): string | undefined {
  try {
    const real = fs.realpathSync(file)
    const above = fs.realpathSync(root)
    if (!real.startsWith(above.endsWith(path.sep) ? above : above + path.sep)) return undefined
    const about = fs.statSync(real)
    return about.isFile() && about.size <= most.bytes ? fs.readFileSync(real, "utf8") : undefined
  } catch {
    return undefined
  }
}
