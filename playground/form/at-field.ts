import { capital } from "../ui/show.ts"

/** A message as it is shown at its field, which it need not name: `Expected integer, found 3.5`, `Missing: expected string`. */
export function atField(message: string | undefined, path: string): string | undefined {
  if (message?.startsWith(`${path}: `) === true) return capital(message.slice(path.length + 2))
  return message?.startsWith(`${path} is missing`) === true ? capital(message.slice(path.length + 4)) : message
}
