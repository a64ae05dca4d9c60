/** Saves contents as a download, which no browser runs. */
export function saveBytes(contents: Blob, name: string): void {
  const url = URL.createObjectURL(new Blob([contents], { type: "application/octet-stream" }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
