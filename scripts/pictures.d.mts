import type { machineCatalog, findMachine, toMermaid, toTable } from '../model/export/index.ts';
import type { drawSvg } from '../adapters/cli/pictures/draw.ts';

/** A file, or the text between two markers of one. */
export interface Picture {
  readonly path: string;
  readonly marker?: string;
  readonly text: string;
}

export interface Formats {
  readonly machineCatalog: typeof machineCatalog;
  readonly findMachine: typeof findMachine;
  readonly toMermaid: typeof toMermaid;
  readonly toTable: typeof toTable;
  readonly drawSvg: typeof drawSvg;
}

export function pictures(formats: Formats): Promise<Picture[]>;
export function withPicture(current: string, picture: Picture): string;
export function current(path: string): string;
