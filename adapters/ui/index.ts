/** The live page: its server, and where a fleet comes from. */
export { startPage } from './server.ts';
export type { Page, PageOptions } from './server.ts';
export { EmulatorSource } from './emulator-source.ts';
export { ServiceSource } from './service-source.ts';
export type { FleetSource } from './source.ts';
export { pageCommands } from './wire.ts';
export type { ChartPicture, ChartView, CommandReply, DrawChart, Feed, PageCommand } from './wire.ts';
