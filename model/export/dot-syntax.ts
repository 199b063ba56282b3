/** The text of the DOT language: attributes, quoting, and the HTML-like labels of Graphviz. */
import { light, type ColourRole } from './palette.ts';

/** A list of attributes, each value quoted. */
export function attributes(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${quote(value)}`)
    .join(', ');
}

/** A quoted identifier or value. A line break becomes `\n`, as Graphviz writes it. */
export function quote(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}

/** Words in the colour of a role, for a label. */
export function words(text: string, role: ColourRole, bold = false): string {
  const inner = bold ? `<b>${escapeHtml(text)}</b>` : escapeHtml(text);
  return `<font color="${light(role)}">${inner}</font>`;
}

/** Keeps the words of a label off the line beside it. */
const besideLine = '<td width="5"></td>';

/** A label of several rows, each made by {@link words}. A row of its own is indented by two spaces' width if asked. */
export function label(rows: readonly (string | { readonly indented: string })[]): string {
  const lines = rows.map((row) => {
    const text = typeof row === 'string' ? row : `&#160;&#160;&#160;${row.indented}`;
    return `<tr>${besideLine}<td align="left">${text}</td></tr>`;
  });
  return `<<table border="0" cellborder="0" cellspacing="0" cellpadding="1">${lines.join('')}</table>>`;
}

/** Class names, without those that do not apply. */
export function classes(...names: readonly (string | null)[]): string {
  return names.filter((name) => name !== null).join(' ');
}

function escapeHtml(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
