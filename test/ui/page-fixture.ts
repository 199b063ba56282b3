/** Pages for tests: over an emulator, or over whatever a test tells. */
import { awsPorts, memorySecrets } from '../../adapters/index.ts';
import { chartTheme, chartView } from '../../adapters/cli/pictures/chart-pictures.ts';
import { lawsOfTheSpec } from '../../adapters/cli/pictures/laws.ts';
import { startEmulator, type Emulator } from '../../adapters/emulator/index.ts';
import type { Tell } from '../../adapters/trace/entry.ts';
import { EmulatorSource, startPage, type FleetSource, type Page, type PageOptions } from '../../adapters/ui/index.ts';

/** A page over the given sources. */
export async function openPage(sources: readonly FleetSource[], more: Partial<PageOptions> = {}): Promise<Page> {
  return await startPage({
    sources,
    draw: chartView,
    theme: chartTheme,
    laws: lawsOfTheSpec(),
    title: 'a test',
    ...more,
  });
}

/** A source that says what the test says. */
export class ToldSource implements FleetSource {
  tell: Tell = () => undefined;
  start(tell: Tell): Promise<void> {
    this.tell = tell;
    return Promise.resolve();
  }
  has(): boolean {
    return false;
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** An emulator, its page, and the source between them. */
export interface EmulatorPage extends AsyncDisposable {
  readonly emulator: Emulator;
  readonly source: EmulatorSource;
  readonly page: Page;
  /** Every secret that the client was given to keep. */
  readonly kept: readonly string[];
}

/** Starts all three. States last long enough to be seen. */
export async function openEmulatorPage(): Promise<EmulatorPage> {
  const emulator = await startEmulator({
    launchDelayMs: 150,
    suspendDelayMs: 150,
    resumeDelayMs: 150,
    terminateDelayMs: 150,
  });
  const kept: string[] = [];
  const secrets = memorySecrets();
  const ports = awsPorts({
    secrets: {
      ...secrets,
      put: async (ref, value) => {
        kept.push(value);
        await secrets.put(ref, value);
      },
    },

    region: emulator.region,
    credentials: emulator.credentials,
    endpointUrl: emulator.endpoint,
    environment: {},
  });
  const source = new EmulatorSource(emulator, ports);
  const page = await openPage([source]);
  return {
    emulator,
    source,
    page,
    kept,
    async [Symbol.asyncDispose]() {
      await page.close();
      ports.http.close?.();
      await emulator.close();
    },
  };
}

/** Waits until something is so, looking again and again. */
export async function until(holds: () => boolean | Promise<boolean>, timeoutMs = 15_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not so within ${timeoutMs} ms: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
