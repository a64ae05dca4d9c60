/** A way to start the language server. */
export type ServerCommand =
  /** A program, by its path or its name. */
  | { readonly kind: "program"; readonly command: string; readonly args: readonly string[]; readonly shell: boolean }
  /** A script, for the Node that the editor itself runs on. */
  | { readonly kind: "script"; readonly path: string }

export interface Surroundings {
  /** The setting `wire.server.command`. */
  readonly configured: readonly string[]
  /** The author trusts the workspace: programs in it may be started. */
  readonly trusted: boolean
  /** The folders of the workspace that are on this machine. */
  readonly folders: readonly string[]
  /** The server that comes with the extension. */
  readonly bundled: string
  readonly platform: string
  readonly exists: (path: string) => boolean
}

/**
 * The ways to start the server, the one to try first at the front: what the author names, else the `wire` of the
 * workspace; the server that comes with the extension always works.
 */
export function serverCommands(around: Surroundings): readonly ServerCommand[] {
  const bundled: ServerCommand = { kind: "script", path: around.bundled }
  if (!around.trusted) return [bundled]
  const [command = "", ...args] = around.configured
  if (command !== "") return [{ kind: "program", command, args, shell: false }, bundled]
  const isWindows = around.platform === "win32"
  for (const folder of around.folders) {
    const shim = `${folder}/node_modules/.bin/wire${isWindows ? ".cmd" : ""}`
    // Windows starts `.cmd` files by its shell only.
    const quoted = isWindows ? `"${shim}"` : shim
    if (around.exists(shim)) return [{ kind: "program", command: quoted, args: ["lsp"], shell: isWindows }, bundled]
  }
  return [bundled]
}
