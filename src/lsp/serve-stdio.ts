import { visibleLines } from "../base/visible-text.ts"
import { readRegularFile } from "../compiler/read-regular-file.ts"
import { fileURLToPath } from "node:url"
import { codePage } from "./code-page.ts"
import { folderOnDisk } from "./folder-on-disk.ts"
import { LanguageServer, type ServerOptions } from "./language-server.ts"
import { testFilesIn } from "./files-in.ts"
import { sourceBytes } from "../base/limits.ts"

/** Serves the editor at standard input and output until it is done, or gone. The exit code. */
export async function serveStdio(version: string, loadCode?: ServerOptions["loadCode"]): Promise<number> {
  const code = await new Promise<number>((resolve) => {
    const server = new LanguageServer({
      version,
      codePage: (code) => codePage(code)?.href,
      write: (bytes) => void process.stdout.write(bytes),
      log: (line) => void process.stderr.write(`${visibleLines(line)}\n`),
      exit: (clean) => resolve(clean ? 0 : 1),
      readFile(uri) {
        try {
          return readRegularFile(fileURLToPath(uri), sourceBytes)?.toString("utf8") ?? null
        } catch {
          return null
        }
      },
      testFiles: testFilesIn,
      folderOf: folderOnDisk,
      ...(loadCode !== undefined && { loadCode }),
    })
    process.stdout.on("error", () => server.end())
    process.stdin.on("data", (chunk: Buffer) => server.receive(chunk))
    process.stdin.on("end", () => server.end())
    process.stdin.on("error", () => server.end())
  })
  // Nothing else may keep the process alive.
  process.stdin.destroy()
  return code
}
