/** What Mermaid itself makes of a diagram (see `parse-mermaid.mjs`). */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What Mermaid understood of a state diagram; `type` tells of an error. */
export interface ParsedDiagram {
  readonly type: string;
  readonly states: readonly string[];
  readonly relations: readonly { readonly from: string; readonly to: string; readonly label: string }[];
}

const script = fileURLToPath(new URL('parse-mermaid.mjs', import.meta.url));

/** Parses diagrams with Mermaid, all in one process. */
export function parseMermaid(texts: readonly string[]): ParsedDiagram[] {
  const { stdout, stderr, status } = spawnSync(process.execPath, [script], {
    input: JSON.stringify(texts),
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as ParsedDiagram[];
}
