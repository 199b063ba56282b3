/** Pictures of machines: readers of a chart, and writers of the formats. */
export { chartOf, isInFlight, topOf } from './chart.ts';
export type { Chart, ChartAction, ChartInvoke, ChartState, ChartTransition, TriggerKind } from './chart.ts';
export { guardText } from './guard.ts';
export type { ChartGuard } from './guard.ts';
export { overviewOf } from './overview.ts';
export type { Overview, OverviewArrow } from './overview.ts';
export { findMachine, machineCatalog } from './catalog.ts';
export type { CatalogEntry } from './catalog.ts';
export { toMermaid } from './mermaid.ts';
export type { MermaidOptions } from './mermaid.ts';
export { toDot } from './dot.ts';
export type { DotOptions } from './dot.ts';
export { light, palette } from './palette.ts';
export type { ColourRole } from './palette.ts';
