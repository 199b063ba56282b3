/** Graphviz, compiled to WebAssembly: loaded with the first picture, then kept. */
import type { Graphviz } from '@hpcc-js/wasm-graphviz';
import { VmchartError } from '../../effects/errors.ts';

let loading: Promise<Graphviz> | null = null;

async function load(): Promise<Graphviz> {
  try {
    const { Graphviz } = await import('@hpcc-js/wasm-graphviz');
    return await Graphviz.load();
  } catch (error) {
    loading = null;
    throw new VmchartError(
      'Precondition',
      'drawing needs the package @hpcc-js/wasm-graphviz, which could not be loaded',
      {
        reason: 'graphviz-missing',
        suggestions: ['npm install @hpcc-js/wasm-graphviz'],
        cause: error,
      },
    );
  }
}

/**
 * Lays a DOT graph out and returns the SVG as Graphviz writes it.
 *
 * @throws VmchartError of kind `Precondition` (`graphviz-missing`) without the package, `InvalidArg` (`bad-dot`) for a
 * text that is not a graph
 */
export async function layOut(dot: string): Promise<string> {
  loading ??= load();
  const graphviz = await loading;
  try {
    return graphviz.dot(dot);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new VmchartError('InvalidArg', `Graphviz did not take the graph: ${message.trim()}`, {
      reason: 'bad-dot',
      cause: error,
    });
  }
}
