import type * as Syntax from "../syntax/tree.ts"
import type { Field, RecordType, VariantType } from "../types/types.ts"
import type { CheckContext } from "./check-context.ts"
import { checkSecrets, findFile, pathOfFile } from "./check-files.ts"
import { foreignNodes, foreignVariant } from "./foreign-nodes.ts"
import { ForeignTypes } from "./foreign-types.ts"
import { isLibrary } from "./declare.ts"
import { readProperties } from "./properties.ts"

// Files that are called. Each was checked by itself: what this file knows of it are the types of its input and output, its secrets, and
// which fields of its input decide where its calls go.

const noFields: RecordType = { kind: "record", fields: [] }

/** Finds the files that the `workflow` declarations name. */
export function declareWorkflows(checking: CheckContext): void {
  for (const [name, declaration] of checking.workflowNodes) {
    const found = findFile(checking, declaration)
    if (found === undefined || !isCallable(checking, declaration, found.file, found.program.tree)) {
      checking.skipped.lost.add(`workflow.${name}`)
      continue
    }
    const { file, program, base } = found
    const nodeOf = foreignNodes(program, base)
    const fieldOf = (copy: Field, own: Field): void => {
      const node = nodeOf(own)
      if (node !== undefined) checking.writeField(copy, node)
    }
    const variantOf = (copy: VariantType, own: VariantType): void => {
      const node = program.variantNodes.get(own)
      if (node !== undefined) checking.variantNodes.set(copy, foreignVariant(node, base))
    }
    const types = new ForeignTypes(file, program.types, checking.types, fieldOf, variantOf)
    checking.workflows.set(name, {
      name: declaration.name,
      declaration,
      file,
      program,
      base,
      input: types.record(program.input?.type ?? noFields),
      output: types.record(program.output?.type ?? noFields),
    })
  }
}

function isCallable(
  checking: CheckContext,
  declaration: Syntax.WorkflowDeclaration,
  file: string,
  tree: Syntax.Tree,
): boolean {
  if (!isLibrary(tree)) return true
  const message = `${file} has neither steps nor an output, so that it cannot be called`
  const hint = "Import its declarations, or name a file with an `output`."
  checking.report("invalid-import", pathOfFile(declaration), declaration.file, message, hint)
  return false
}

/** What the declarations say: the secrets of the files, and labels. */
export function checkWorkflows(checking: CheckContext): void {
  for (const declaration of checking.workflowNodes.values()) {
    readProperties(checking, "workflow", declaration.body, pathOfFile(declaration), declaration.file)
  }
  for (const { declaration, program, base } of checking.workflows.values()) {
    const declared = program.secrets?.type.fields.map(({ name }) => name) ?? []
    checkSecrets(checking, { declaration, program, base, needs: new Set(declared), isPartial: false })
  }
}
