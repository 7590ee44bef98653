// The whole screen for the explorer; the whole window if the browser does not allow it.

export class FullScreen {
  constructor(
    private readonly frame: HTMLElement,
    private readonly control: HTMLButtonElement,
  ) {
    control.addEventListener("click", () => this.set(!this.isFull));
    document.addEventListener("fullscreenchange", () => {
      if (!document.fullscreenElement && this.isFull) this.set(false);
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.isFull && event.target === this.control) this.set(false);
    });
  }

  get isFull(): boolean {
    return this.frame.classList.contains("full");
  }

  set(full: boolean): void {
    this.frame.classList.toggle("full", full);
    this.control.setAttribute("aria-pressed", String(full));
    this.control.textContent = full ? "leave full screen" : "full screen";
    if (full) void this.frame.requestFullscreen?.().catch(() => undefined);
    else if (document.fullscreenElement) void document.exitFullscreen();
  }
}
