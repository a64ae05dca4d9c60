import { codeParts } from "./code-parts.ts"

/** Appends a sentence, with what stands between backticks as code. */
export function appendSentence(to: HTMLElement, text: string): void {
  for (const [at, part] of codeParts(text).entries()) {
    if (at % 2 === 0) to.append(part)
    else {
      const code = document.createElement("code")
      code.textContent = part
      to.append(code)
    }
  }
}
