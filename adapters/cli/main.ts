#!/usr/bin/env node
/** The executable. It listens for signals before it loads the program, which takes longer than all else here. */
import { EarlySignals } from './early-signals.ts';

const signals = new EarlySignals();
const { start } = await import('./start.ts');
await start(signals);
