/** The colours of the pictures, light and dark. One list, so that every format and the page agree. */

/** A colour by its role. */
export type ColourRole =
  | 'paper'
  | 'ink'
  | 'muted'
  | 'state'
  | 'stateLine'
  | 'group'
  | 'groupLine'
  | 'quiet'
  | 'quietLine'
  | 'command'
  | 'report'
  | 'outcome'
  | 'time'
  | 'requirement'
  | 'current'
  | 'currentInk';

/** Each role in light and in dark. Texts reach a contrast of 4.5 : 1 on what they stand on. */
export const palette: Readonly<Record<ColourRole, { readonly light: string; readonly dark: string }>> = {
  paper: { light: '#ffffff', dark: '#0d1117' },
  ink: { light: '#1b2433', dark: '#e6edf3' },
  muted: { light: '#596579', dark: '#9aa7b8' },
  state: { light: '#eaf0ff', dark: '#16233f' },
  stateLine: { light: '#3557c8', dark: '#7ea2ff' },
  group: { light: '#f8faff', dark: '#10182a' },
  groupLine: { light: '#b4c3ef', dark: '#34497d' },
  quiet: { light: '#fcfcfd', dark: '#131a24' },
  quietLine: { light: '#aab4c5', dark: '#4a5669' },
  command: { light: '#1f4fd6', dark: '#86a9ff' },
  report: { light: '#0b6b5e', dark: '#5fd0be' },
  outcome: { light: '#5d6778', dark: '#a5b0c0' },
  time: { light: '#8a5a00', dark: '#e3b341' },
  requirement: { light: '#a3310f', dark: '#ff9e7a' },
  current: { light: '#ffd54a', dark: '#ffd54a' },
  currentInk: { light: '#241c00', dark: '#241c00' },
};

/** The light colour of a role, as the DOT text names it. */
export function light(role: ColourRole): string {
  return palette[role].light;
}
