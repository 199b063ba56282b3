/** Drawing: layout by Graphviz, and pictures for the web. */
export { legendOf } from './legend.ts';
export type { LegendEntry } from './legend.ts';
export { layOut } from './graphviz.ts';
export { escapeXml, readDrawing, styleSheet, svgFile } from './svg.ts';
export type { Drawing, SvgOptions, ThemedColour } from './svg.ts';
export { clutterOf } from './clarity.ts';
export { clearest, headed, sheetOf } from './sheet.ts';
