// From places in the graph to pixels on the stage and back. Vertical places grow upwards.

export interface Spot {
  x: number;
  y: number;
}

/** Pixels at the edges of the stage that something lies over. */
export interface Covered {
  top: number;
  right: number;
  bottom: number;
}

const MARGIN = 28; // pixels around what is fitted

export class Camera {
  x = 0.5; // the place in the middle of the stage
  y = 0.5;
  scale = 500; // pixels per unit
  turned = false; // whether horizontal places go down the stage

  width = 1; // of the stage
  height = 1;

  toScreen({ x, y }: Spot): Spot {
    const [right, up] = this.turned ? [y - this.y, this.x - x] : [x - this.x, y - this.y];
    return { x: this.width / 2 + right * this.scale, y: this.height / 2 - up * this.scale };
  }

  toGraph({ x, y }: Spot): Spot {
    const [right, up] = [(x - this.width / 2) / this.scale, (this.height / 2 - y) / this.scale];
    return this.turned ? { x: this.x - up, y: this.y + right } : { x: this.x + right, y: this.y + up };
  }

  /** Move the picture by some pixels. */
  pan(dx: number, dy: number): void {
    const from = this.toGraph({ x: 0, y: 0 });
    const to = this.toGraph({ x: dx, y: dy });
    this.x += from.x - to.x;
    this.y += from.y - to.y;
  }

  /** Zoom by a factor; the place under a pixel stays there. */
  zoom(factor: number, at: Spot = { x: this.width / 2, y: this.height / 2 }): void {
    const before = this.toGraph(at);
    this.scale = Math.min(Math.max(this.scale * factor, 20), 5e7);
    const after = this.toGraph(at);
    this.x += before.x - after.x;
    this.y += before.y - after.y;
  }

  /** A camera that sees all places of a box in the part of the stage that is free; they fill `share` of it. */
  fitted(low: Spot, high: Spot, covered: Covered, share: number, turned: boolean): Camera {
    const [wide, tall] = [this.width - covered.right, this.height - covered.top - covered.bottom];
    const found = Object.assign(new Camera(), { width: this.width, height: this.height, turned });
    const [across, up] = [high.x - low.x || 1e-6, high.y - low.y || 1e-6];
    const [w, h] = turned ? [up, across] : [across, up];
    found.scale = share * Math.min((wide - 2 * MARGIN) / w, (tall - 2 * MARGIN) / h);
    [found.x, found.y] = [(low.x + high.x) / 2, (low.y + high.y) / 2];
    found.pan(-covered.right / 2, (covered.top - covered.bottom) / 2);
    return found;
  }

  /** Set this camera between two others. */
  between(from: Camera, to: Camera, share: number): void {
    this.turned = to.turned;
    this.scale = from.scale * (to.scale / from.scale) ** share;
    // a linear path on the screen, whatever the zoom
    const t = from.scale === to.scale ? share : (1 / from.scale - 1 / this.scale) / (1 / from.scale - 1 / to.scale);
    this.x = from.x + t * (to.x - from.x);
    this.y = from.y + t * (to.y - from.y);
  }

  copy(): Camera {
    return Object.assign(new Camera(), this);
  }
}
