// What the fleet wants of one person. The program says what there is to show; here nothing is decided.
"use strict";

const JUST_SHOWN = 350; // ms: the second half of a double click is not meant for a picture that has just appeared
const HOLD = 250; // ms: the next picture may be there soon; until then the last one stays, pale
const STAGES = {
  "": "Getting ready",
  demonstrate: "Collecting demonstrations",
  pretrain: "Learning from demonstrations",
  calibrate: "Finding out how unsure is too unsure",
  "fleet at work": "Fleet at work",
  trials: "Trying the robots alone",
};
const [main, scene, picture, overlay, arrow, reset] = ["main", "scene", "picture", "overlay", "arrow", "reset"].map(
  (id) => document.getElementById(id),
);
let ticket = null; // that is shown
let shownAt = 0;
let sending = false;
let pressedOn = 0; // the number of the ticket that the pointer went down on

const say = (id, text) => {
  const element = document.getElementById(id);
  if (element.textContent !== text) element.textContent = text;
};
const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;

// What is shown ------------------------------------------------------------------------------------------------------

function show(state, badge, headline, advice) {
  main.dataset.state = state;
  main.classList.remove("pale");
  say("badge", badge);
  say("headline", headline);
  say("advice", advice);
  document.title = state === "unsure" || state === "failed" ? `● ${headline}` : `${headline} · iifl`;
}

async function render(news) {
  const { stage } = news;
  say("who", news.who);
  const percent = stage.total ? Math.floor((100 * stage.done) / stage.total) : 0;
  const timestep = `timestep ${Math.min(stage.done + 1, stage.total)} of ${stage.total}`;
  say("progress", stage.name === "fleet at work" ? timestep : `${percent} %`);
  document.getElementById("bar").style.width = `${percent}%`;
  const parts = [count(news.pushes, "move", "moves"), count(news.resets, "hard reset", "hard resets")];
  const sum = parts.filter((part) => !part.startsWith("0 ")).join(" and ");
  say("given", sum && `From you so far: ${sum}`);
  if (news.ticket) return renderTicket(news.ticket);
  ticket = null;
  arrow.classList.remove("on");
  if (news.end === "finished") {
    show("over", "", "The run is finished", "Thank you. You can close this page.");
    say("given", sum && `From you: ${sum}`);
  } else if (news.end === "stopped") {
    stopped("The run was stopped");
  } else if (news.resetting !== null) {
    show("waiting", "", `Robot ${news.resetting} is being reset`, "You are with it until that is done.");
  } else if (news.others) {
    show("waiting", "", "No robot needs you now", "The fleet waits for somebody else.");
  } else if (stage.name === "fleet at work") {
    show("waiting", "", "No robot needs you", "The fleet works on by itself, and calls you here when a robot needs help.");
  } else {
    const advice = stage.name === "trials" ? "Nobody is needed any more." : "You are needed when the fleet begins to work.";
    show("waiting", "", STAGES[stage.name] ?? stage.name, advice);
  }
}

function stopped(headline) {
  ticket = null;
  show("over", "", headline, "Give the same command again in the terminal: the run goes on where it was, and opens a new page. What you did is kept.");
}

async function renderTicket(next) {
  if (ticket && ticket.number === next.number) return;
  const image = new Image();
  image.src = `picture/${next.number}`;
  try {
    await image.decode();
  } catch {
    return; // it is not wanted any more; the next news says what is
  }
  ticket = next;
  shownAt = performance.now();
  picture.src = image.src;
  [picture.width, picture.height] = next.size;
  overlay.setAttribute("viewBox", `0 0 ${next.size[0]} ${next.size[1]}`);
  arrow.classList.remove("on");
  reset.disabled = !next.reset;
  say("instruction", next.instruction);
  const highest = next.rank === 1 ? ", highest of all" : "";
  const unsure = `Uncertainty ${Number(next.uncertainty.toPrecision(2))}${highest}`;
  if (next.reset) {
    show("failed", "", `Robot ${next.robot} has failed`, "It waits until you press Hard reset.");
  } else if (next.wants) {
    show("unsure", unsure, `Robot ${next.robot} needs you`, "Click where its next move should end.");
  } else {
    show("unsure", "Sure again, but you stay with it a little", `Robot ${next.robot} is still yours`, "Click where its next move should end.");
  }
}

// What the person does -----------------------------------------------------------------------------------------------

function pixelAt(event) {
  const box = picture.getBoundingClientRect();
  return [
    ((event.clientX - box.left) / box.width) * ticket.size[0],
    ((event.clientY - box.top) / box.height) * ticket.size[1],
  ];
}

const inside = ([x, y]) => x >= 0 && y >= 0 && x < ticket.size[0] && y < ticket.size[1];

// The end of the action that a click at `at` means: too long a one keeps its direction and ends where it leaves the box.
function endOf(at) {
  const [left, top, right, bottom] = ticket.box;
  let share = 1;
  [[left, right], [top, bottom]].forEach(([low, high], axis) => {
    const way = at[axis] - ticket.origin[axis];
    if (way) share = Math.min(share, ((way > 0 ? high : low) - ticket.origin[axis]) / way);
  });
  return ticket.origin.map((start, axis) => start + share * (at[axis] - start));
}

function set(id, attributes) {
  for (const [name, value] of Object.entries(attributes)) document.getElementById(id).setAttribute(name, value);
}

function point(event) {
  const at = ticket && !ticket.reset ? pixelAt(event) : null;
  arrow.classList.toggle("on", at !== null && inside(at) && !sending);
  if (!at) return;
  const scale = ticket.size[0] / picture.getBoundingClientRect().width; // picture pixels for one of the screen
  const [[x0, y0], [x, y]] = [ticket.origin, endOf(at)];
  const angle = Math.atan2(y - y0, x - x0);
  const shaft = { x1: x0, y1: y0, x2: x - 10 * scale * Math.cos(angle), y2: y - 10 * scale * Math.sin(angle) };
  set("halo", { ...shaft, "stroke-width": 8 * scale });
  set("shaft", { ...shaft, "stroke-width": 4 * scale });
  set("head", { transform: `translate(${x} ${y}) rotate(${(angle * 180) / Math.PI}) scale(${scale})` });
  set("tail", { transform: `translate(${x0} ${y0}) scale(${scale})` });
  set("rest", { x1: x, y1: y, x2: at[0], y2: at[1], "stroke-width": 2 * scale, "stroke-dasharray": 5 * scale });
}

async function send(what, message) {
  if (sending) return;
  sending = true;
  main.classList.add("pale");
  say("notice", "");
  try {
    const reply = await fetch(what, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(message),
    });
    if (!reply.ok) say("notice", (await reply.json()).error);
  } catch {
    say("notice", "That did not reach the program; please try again.");
  }
  sending = false;
  if (ticket) main.classList.remove("pale");
  arrow.classList.remove("on");
}

scene.addEventListener("pointermove", point);
scene.addEventListener("pointerleave", () => arrow.classList.remove("on"));
scene.addEventListener("pointercancel", () => { pressedOn = 0; });
scene.addEventListener("contextmenu", (event) => event.preventDefault());
scene.addEventListener("pointerdown", (event) => {
  if (event.button !== 0 || !ticket || performance.now() - shownAt < JUST_SHOWN) return;
  pressedOn = ticket.number;
  scene.setPointerCapture(event.pointerId);
  point(event);
});
scene.addEventListener("pointerup", (event) => {
  const meant = pressedOn;
  pressedOn = 0;
  if (!ticket || ticket.number !== meant) return;
  const [x, y] = pixelAt(event);
  if (!inside([x, y])) return arrow.classList.remove("on"); // drawn out of the picture: never mind
  if (ticket.reset) return say("notice", "The robot has failed: it can only be reset.");
  send("push", { ticket: ticket.number, x, y });
});

function hardReset() {
  if (ticket && ticket.reset && performance.now() - shownAt >= JUST_SHOWN) send("reset", { ticket: ticket.number });
}
reset.addEventListener("click", hardReset);
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "r" && !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey) hardReset();
});

// What is new --------------------------------------------------------------------------------------------------------

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

(async () => {
  let seen = -1;
  for (;;) {
    try {
      const reply = await fetch(`state?seen=${seen}`);
      const news = await reply.json();
      seen = news.version;
      if (ticket && !news.ticket && !news.end) {
        ticket = null;
        main.classList.add("pale");
        await pause(HOLD);
        seen = -1; // look again at once
        continue;
      }
      await render(news);
      if (news.end) return;
    } catch {
      stopped("The program cannot be reached");
      seen = -1;
      await pause(1000);
    }
  }
})();
