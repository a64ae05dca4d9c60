import type * as Syntax from "../../syntax/tree.ts"
import { propertyOf } from "../../syntax/property-of.ts"
import type { CheckContext } from "../check-context.ts"
import { modelApis, type ApiName } from "../provider-kinds.ts"

/** Keys of every body that the service sets itself. */
const shared: Readonly<Record<string, string>> = {
  model: "Write `id` of the model.",
  tools: "Write `uses`, or `hosted_tools`.",
  stream: "Remove it: `options.deltas` of a request streams.",
}

/** Warns of what stands in `extra { }` and is not sent. */
export function checkReservedSettings(
  checking: CheckContext,
  block: Syntax.Block<Syntax.Property>,
  path: string,
  apis: readonly ApiName[],
): void {
  const extra = propertyOf(block, "extra")?.value
  const fields = extra?.kind === "values" ? extra.block.items : []
  for (const { name } of fields) {
    const hint = apis
      .map((api) => ({ ...shared, ...modelApis[api].reserved }))
      .flatMap((reserved) => (Object.hasOwn(reserved, name.text) ? [reserved[name.text]] : []))
      .at(0)
    if (hint === undefined) continue
    const message = `\`${name.text}\` is not sent: the service sets it itself`
    checking.report("reserved-setting", `${path}.extra.${name.text}`, name, message, hint)
  }
}
