// Browsers refuse workers to a page from file://. The site's search asks for one: here it gets a
// hidden frame that runs the same script and exchanges the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.early = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.addEventListener("load", () => this.begin(frame.contentWindow, address), { once: true });
      document.body.append(frame);
    }

    begin(inner, address) {
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      script.src = address;
      script.addEventListener("load", () => {
        this.inner = inner;
        for (const data of this.early) this.postMessage(data);
      });
      inner.document.body.append(script);
    }

    postMessage(data) {
      if (this.inner) this.inner.dispatchEvent(new MessageEvent("message", { data }));
      else this.early.push(data);
    }
  };
}
