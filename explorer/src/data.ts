// Read the typed arrays that src/hiergcn/reports/explorer.py packs into the page.

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float32Array;

/** About predicted numbers. */
export interface Numeric {
  target: string;
  ends: number[]; // between the ranges
  large: number; // an error above it is large
  half: number | null; // half the length of an interval
}

export interface Manifest {
  arrays: [name: string, type: string, length: number][];
  levels: { nodes: number; edges: number; kept: number }[];
  modelLevels: number;
  radius: number;
  keptClasses: number; // the most probable classes of each node
  classes: string[];
  order: number[]; // of the classes, everywhere on the page
  colours: string[]; // CSS variables
  evaluated: "test" | "validation";
  evaluatedParts: string[]; // parts of the split whose predictions are compared with labels
  unsure: number; // a lower confidence is unsure
  numbers: Numeric | null; // classes are then ranges of predicted numbers
  run: string;
  places: [name: string, title: string, unit: number][]; // further arrangements; metres per unit of length, or 0
  votes: boolean; // whether the page holds each node's votes for its neighbours
  hyperNodesVote: boolean; // whether hyper-nodes vote directly, not only through the neighbours
}

export interface Packed {
  manifest: Manifest;
  arrays: Map<string, Numbers>;
  ids: string[];
}

const TYPES = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, f4: Float32Array } as const;

export async function readData(): Promise<Packed> {
  const manifest = JSON.parse(textOf("explorer-manifest")) as Manifest;
  const [bytes, ids] = await Promise.all([inflated("explorer-arrays"), inflated("explorer-ids")]);
  const arrays = new Map<string, Numbers>();
  let offset = 0;
  for (const [name, type, length] of manifest.arrays) {
    const Type = TYPES[type as keyof typeof TYPES];
    const end = offset + length * Type.BYTES_PER_ELEMENT;
    const values = new Type(bytes.slice(offset, end)); // a copy: a typed array must start at a multiple of its element size
    if (type === "u2" && /^[xy]\d+$|[XY]$/.test(name)) for (let i = 1; i < length; i++) values[i] += values[i - 1]; // places
    arrays.set(name, values);
    offset = end;
  }
  return { manifest, arrays, ids: JSON.parse(new TextDecoder().decode(ids)) as string[] };
}

function textOf(id: string): string {
  return document.getElementById(id)?.textContent ?? "";
}

async function inflated(id: string): Promise<ArrayBuffer> {
  const binary = atob(textOf(id).trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
