import { codeParts } from "./code-parts.ts"

/** A sentence of the checker or the service, with what stands between backticks as code. */
export function Sentence({ text }: { readonly text: string }) {
  return <>{codeParts(text).map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>
}
