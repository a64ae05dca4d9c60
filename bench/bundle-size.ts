import { brotliCompressSync, gzipSync } from "node:zlib"
import { build } from "esbuild"

export interface BundleSize {
  readonly minified: number
  readonly gzip: number
  readonly brotli: number
}

/** How many bytes a browser loads for a module, bundled and minified as the playground is. */
export async function bundleSize(contents: string): Promise<BundleSize> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: new URL("..", import.meta.url).pathname },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: "es2024",
    write: false,
  })
  const bytes = outputFiles[0]?.contents ?? new Uint8Array()
  return {
    minified: bytes.length,
    gzip: gzipSync(bytes, { level: 9 }).length,
    brotli: brotliCompressSync(bytes).length,
  }
}
