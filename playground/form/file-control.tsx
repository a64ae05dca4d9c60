import { isFileValue } from "../../src/types/file-value.ts"
import { Icon } from "../ui/icon.tsx"
import { DropZone, StoredFile } from "../values/stored-file.tsx"
import type { Draft } from "./draft.ts"
import { JsonControl } from "./plain-controls.tsx"

interface FileControlProps {
  readonly id: string
  readonly value: Draft
  readonly onChange: (value: Draft) => void
  readonly "aria-invalid": boolean
  readonly "aria-describedby": string | undefined
  readonly "aria-label": string | undefined
}

/** The control of a file: a zone that takes one, or what was taken. What was given in another way is JSON. */
export function FileControl({ value, onChange, ...control }: FileControlProps) {
  if (isFileValue(value)) {
    return (
      <div class="taken-file">
        <StoredFile file={value} isSmall />
        <button
          type="button"
          class="button square"
          id={control.id}
          aria-label={`Remove ${value.name}`}
          onClick={() => onChange(undefined)}
        >
          <Icon name="close" />
        </button>
      </div>
    )
  }
  if (value !== undefined && value !== null && value !== "")
    return <JsonControl {...control} value={value} onChange={onChange} />
  return <DropZone {...control} onFiles={([file]) => onChange(file)} />
}
