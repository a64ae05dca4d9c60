import { readSettings, type Settings } from "../compose/settings.ts"
import { WrongValue } from "../terminal/command-failure.ts"

/** The settings of the environment and of a command's options. Throws a `WrongValue` that names all that are wrong. */
export function usableSettings(
  options: Readonly<Record<string, string | undefined>> = {},
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Settings {
  const { settings, wrong } = readSettings(environment, options)
  if (settings === null) throw new WrongValue(...wrong)
  return settings
}
