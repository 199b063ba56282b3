/** Colours, where somebody sees them and wants them. */
import { mark } from './plain-text.ts';

/** The few styles that the command line uses. */
export interface Paint {
  readonly strong: (text: string) => string;
  readonly quiet: (text: string) => string;
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly accent: (text: string) => string;
}

/** The codes that begin and end a style. `styleText` of Node looks at stdout, and stderr may be the terminal. */
type Style = readonly [begin: number, end: number];

/** Colours for a stream: on a terminal, unless `NO_COLOR` is set or the terminal is dumb. */
export function painter(
  stream: { readonly isTTY?: boolean },
  environment: Readonly<Record<string, string | undefined>>,
): Paint {
  const wanted = stream.isTTY === true && !environment['NO_COLOR'] && environment['TERM'] !== 'dumb';
  const style =
    ([begin, end]: Style) =>
    (text: string) =>
      wanted ? `${mark(begin)}${text}${mark(end)}` : text;
  return {
    strong: style([1, 22]),
    quiet: style([2, 22]),
    good: style([32, 39]),
    bad: style([31, 39]),
    warn: style([33, 39]),
    accent: style([36, 39]),
  };
}
