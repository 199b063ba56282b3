// Mermaid's own parser, in a process of its own: it wants a document, which jsdom provides, and keeps it in globals.
// Reads a JSON array of diagrams from standard input, prints a JSON array of what Mermaid understood.
import { JSDOM } from 'jsdom';

const { window } = new JSDOM('<!doctype html><body></body>');
Object.assign(globalThis, { window, document: window.document, Element: window.Element });
const { default: mermaid } = await import('mermaid');

/** Names of all states in a document and in the states inside it. */
function statesIn(statements) {
  return statements.flatMap(({ stmt, id, doc }) => (stmt === 'state' ? [id, ...statesIn(doc ?? [])] : []));
}

async function read(text) {
  try {
    const { diagramType } = await mermaid.parse(text);
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
    const relations = db.getRelations().map(({ id1, id2, relationTitle }) => ({
      from: id1,
      to: id2,
      label: (relationTitle ?? '').replaceAll('<br>', '<br/>'),
    }));
    return {
      type: diagramType,
      states: [...new Set([...db.getStates().keys(), ...statesIn(db.getRootDocV2().doc)])],
      relations,
    };
  } catch (error) {
    return { type: `error: ${error.message}`, states: [], relations: [] };
  }
}

let input = '';
for await (const chunk of process.stdin) input += chunk;
const results = [];
for (const text of JSON.parse(input)) results.push(await read(text));
process.stdout.write(JSON.stringify(results));
process.exit(0);
