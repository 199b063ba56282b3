/** JavaScript source from plain data and functions: what the Stately file is printed with. */

/** Source text to be printed as it is, where a literal would stand. */
export class Source {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Prints plain data as an expression. Members that are `undefined` are left out; {@link Source} is set in as it is. */
export function printValue(value: unknown, indent = ''): string {
  if (value instanceof Source) return reindent(value.text, indent);
  if (typeof value === 'string') return printString(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => printValue(item, inner));
    const short = `[${items.join(', ')}]`;
    if (fits(short, indent)) return short;
    return `[\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}]`;
  }
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => `${printKey(key)}: ${printValue(member, inner)}`);
  if (members.length === 0) return '{}';
  const short = `{ ${members.join(', ')} }`;
  if (fits(short, indent)) return short;
  return `{\n${members.map((member) => `${inner}${member},\n`).join('')}${indent}}`;
}

function fits(text: string, indent: string): boolean {
  return !text.includes('\n') && indent.length + text.length <= 100;
}

/** A name that can be declared: what is no letter, digit or underscore goes, and the letter behind it is large. */
export function identifierFrom(text: string): string | null {
  const name = text
    .replace(/^[^A-Za-z_$]+|[^\w$]+$/g, '')
    .replace(/[^\w$]+(.)/g, (_, next: string) => next.toUpperCase());
  return name === '' ? null : name;
}

/** A string in single quotes. */
export function printString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;
}

function printKey(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : printString(key);
}

/** Moves all lines but the first to a new indentation, keeping how they stand to each other. */
function reindent(text: string, indent: string): string {
  // A compiled function may be indented by tabs.
  const [first = '', ...rest] = text.replace(/^\t+/gm, (tabs) => '  '.repeat(tabs.length)).split('\n');
  const margin = Math.min(
    ...rest.filter((line) => line.trim() !== '').map((line) => /^ */.exec(line)?.[0].length ?? 0),
  );
  return [first, ...rest.map((line) => (line.trim() === '' ? '' : indent + line.slice(margin)))].join('\n');
}

const known = new Set(
  `break case catch const continue default delete do else false finally for function if in instanceof let new null of
   return switch this throw true try typeof undefined var void while async await yield class extends static get set
   Array Boolean Error JSON Map Math Number Object Promise RangeError Set String Symbol TypeError Infinity NaN isNaN
   structuredClone`.split(/\s+/),
);

/**
 * The names in a function's source that it does not bring along itself. It reads words, not grammar: a name that is
 * bound anywhere in the source counts as bound everywhere.
 */
export function freeNames(source: string): string[] {
  const bare = source
    .replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, ' ')
    .replace(/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"/g, "''")
    // Of a template only the expressions in it are code.
    .replace(/`(?:\\.|[^`\\])*`/g, (template) =>
      [...template.matchAll(/\$\{([^}]*)\}/g)].map(([, code]) => `(${code})`).join(' '),
    );
  const bound = new Set<string>();
  for (const [, names = ''] of bare.matchAll(/\b(?:const|let|var)\s+(\w+|[{[][^=]*?[}\]])\s*(?==|of\b|in\b|;)/g))
    collect(names, bound);
  for (const [, name = ''] of bare.matchAll(/\bfunction\s*(\w+)/g)) bound.add(name);
  for (const [, names = ''] of bare.matchAll(/\(([^()]*)\)\s*(?:=>|\{)/g)) collect(names, bound);
  for (const [, name = ''] of bare.matchAll(/\b(\w+)\s*=>/g)) bound.add(name);
  const used = [...bare.matchAll(/([{,]\s*)?(?<![.\w$])([A-Za-z_$][\w$]*)(\s*:)?/g)]
    .filter(([, opening, , colon]) => opening === undefined || colon === undefined)
    .map(([, , name = '']) => name);
  // Behind a spread the three dots are no member access.
  const spread = [...bare.matchAll(/\.\.\.([A-Za-z_$][\w$]*)/g)].map(([, name = '']) => name);
  return [...new Set([...used, ...spread])].filter((name) => !known.has(name) && !bound.has(name));
}

function collect(pattern: string, into: Set<string>): void {
  for (const [name] of pattern.matchAll(/[A-Za-z_$][\w$]*/g)) into.add(name);
}
