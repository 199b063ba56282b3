/** How each part of a picture looks to Graphviz. Colours are named by role, so that a style sheet can replace them. */
import { light } from './palette.ts';

type Style = Readonly<Record<string, string>>;

const font = 'Helvetica';

/** The whole picture, with its boxes so many times as far apart as is usual. */
export const graphStyle = (spread: number): Style => ({
  bgcolor: 'transparent',
  fontname: font,
  compound: 'true',
  newrank: 'true',
  nodesep: String(0.4 * spread),
  ranksep: String(0.5 * spread),
  pad: '0.2',
  splines: 'true',
});

/** Every box, unless it says otherwise. */
export const nodeStyle: Style = {
  shape: 'box',
  style: 'rounded,filled',
  fontname: font,
  fontsize: '12.5',
  margin: '0.16,0.09',
  height: '0.4',
  penwidth: '1.2',
  color: light('stateLine'),
  fillcolor: light('paper'),
  fontcolor: light('ink'),
};

/** Every arrow, unless it says otherwise. */
export const edgeStyle: Style = {
  fontname: font,
  fontsize: '10',
  arrowsize: '0.65',
  penwidth: '1.1',
  color: light('outcome'),
  fontcolor: light('ink'),
};

/** An outermost state. */
export const outerStyle: Style = {
  fontsize: '15',
  margin: '0.22,0.12',
  penwidth: '1.5',
  fillcolor: light('state'),
};

/** A call in flight: quieter than the states that a VM can be in. */
export const quietStyle: Style = {
  fillcolor: light('quiet'),
  color: light('quietLine'),
  fontcolor: light('muted'),
  style: 'rounded,filled,dashed',
  penwidth: '1',
  fontsize: '11.5',
};

/** The state that is marked. */
export const currentStyle: Style = {
  fillcolor: light('current'),
  color: light('currentInk'),
  fontcolor: light('currentInk'),
  style: 'rounded,filled',
};

/** A state with states inside. */
export const groupStyle: Style = {
  style: 'rounded,filled',
  color: light('groupLine'),
  fillcolor: light('group'),
  fontcolor: light('stateLine'),
  penwidth: '1.4',
  margin: '14',
  labeljust: 'l',
};

/** Where an arrow leads that leaves the part which is drawn. */
export const referenceStyle: Style = {
  style: 'rounded',
  color: light('groupLine'),
  fontcolor: light('stateLine'),
  fontsize: '10.5',
  margin: '0.1,0.04',
  height: '0.28',
  penwidth: '1',
};

/** The box from which the laws of the root start. */
export const lawStyle: Style = {
  style: 'rounded,dashed',
  color: light('quietLine'),
  fontcolor: light('muted'),
  fontsize: '11.5',
};

/** The dot with which a state begins, and its arrow. */
export const startStyle: Style = {
  label: '',
  shape: 'point',
  width: '0.1',
  class: 'start',
  tooltip: 'start',
  color: light('ink'),
  fillcolor: light('ink'),
};
