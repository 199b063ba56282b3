/** Debian's Chromium, driven by Playwright; without it the tests of the page are left out, and say so. */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';

const candidates = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Where Chromium is, or `null`. */
export const chromiumPath = candidates.find(isExecutable) ?? null;

if (chromiumPath === null) {
  process.stderr.write(
    'No Chromium on this machine: the tests of the page in a browser are left out (apt-get install chromium).\n',
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Starts a browser that talks to nobody but this machine. */
export async function launchBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: chromiumPath ?? '',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

const artefacts = fileURLToPath(new URL('../../artifacts/ui/', import.meta.url));

/** Keeps a picture of the page for people to look at: `artifacts/ui/NAME.png`. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  mkdirSync(artefacts, { recursive: true });
  await page.screenshot({ path: `${artefacts}${name}.png` });
}

/** What the page logs and what it fails at, as it happens. */
export function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  return complaints;
}
