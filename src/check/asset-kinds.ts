export const assetKinds = ["image", "document", "video"] as const
export type AssetKind = (typeof assetKinds)[number]

export function isAssetKind(word: string): word is AssetKind {
  return assetKinds.some((kind) => kind === word)
}
