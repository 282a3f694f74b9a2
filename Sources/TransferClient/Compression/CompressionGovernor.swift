import TransferModel

/// Decides chunk by chunk whether compressing pays, from what it sees of the link, the codec and the content. Knows no
/// clock; the time is an argument.
///
/// It starts with plain chunks. When the link is what holds them up, and the codec is faster than the link, it compresses
/// and looks whether content really leaves faster; if not it goes back, and waits longer before each further trial. Once
/// compressing has won, it looks from time to time whether plain chunks would leave faster by now.
///
/// ```
///     ┌───────────────────no better──────────────┐
///     ▼                                          │
///   plain ──held up, codec faster──► trying ──better──► compressing ──time──► probing
///                                      ▲                                        │ not held up: plain
///                                      └──────────────held up───────────────────┘
/// ```
struct CompressionGovernor {
    /// What to do with a chunk.
    enum Choice {
        case plain
        case compress
        /// Send it as it is, and see how fast the codec would have been.
        case plainMeasuringCodec
    }

    private enum State {
        case plain
        /// The rate of plain chunks has to be beaten.
        case trying(against: Double)
        case compressing(until: MonotonicTime)
        /// A look at plain chunks, which ends with a measurement or in time.
        case probing(until: MonotonicTime)
    }

    /// Long enough for the buffers of the kernel not to blur the rate.
    private static let window = Interval.milliseconds(150)

    /// What a trial of compression may take; its rate counts then, whatever was held up.
    private static let trial = Interval.milliseconds(300)

    /// A link that takes more than this in a look at plain chunks is not what holds them up.
    private static let probe = Interval.milliseconds(250)

    /// Waits before the next trial, and before the next look; doubled each time.
    private static let waits = (first: Interval.seconds(5), longest: Interval.seconds(240))

    /// By how much compressing has to win.
    private static let advantage = 1.03

    /// Content that didn't shrink: the next chunks of it are left alone, up to this many, before it is tried again.
    private static let mostSkipped = 32

    /// Bytes of content that a rate is taken from at least: the kernel takes them by the piece, and on a slow link such a
    /// piece takes longer than any of these times.
    private static let fewestBytes = 128 << 10

    private struct Measurement {
        let since: MonotonicTime
        var content = 0

        /// Bytes of content per second; nothing before enough has left.
        func rate(now: MonotonicTime, over window: Interval) -> Double? {
            guard now >= since + window, content >= CompressionGovernor.fewestBytes else { return nil }
            return Double(content) / (now - since).seconds
        }
    }

    /// Counts the changes of mind. Chunks carry it, so that those which still wait to be sent don't count for what was
    /// decided after them.
    private(set) var epoch = 0

    private let mode: ClientConfiguration.Compression
    private var state = State.plain { didSet { epoch += 1 } }
    private var wait = Self.waits.first
    private var nextTrial = MonotonicTime(nanoseconds: .min)
    /// Bytes of content per second that all compressors together take in, as far as it was seen.
    private var codecRate: Double?
    private var wantsCodecRate = false
    /// Since when bytes have been leaving without a pause.
    private var measured: Measurement?
    private var skipped = 0
    private var toSkip = 0

    init(_ mode: ClientConfiguration.Compression) {
        self.mode = mode
    }

    /// What to do with the next chunk.
    mutating func choose() -> Choice {
        switch (mode, state) {
        case (.none, _): return .plain
        case (.auto, .plain), (.auto, .probing):
            defer { wantsCodecRate = false }
            return wantsCodecRate ? .plainMeasuringCodec : .plain
        case (.zlib, _), (.auto, .trying), (.auto, .compressing):
            guard toSkip > 0 else { return .compress }
            toSkip -= 1
            return .plain
        }
    }

    /// The codec was measured: bytes per second that all compressors would take in together.
    mutating func codecMeasured(_ rate: Double) {
        codecRate = rate
    }

    /// A chunk was compressed.
    mutating func compressed(before: Int, after: Int) {
        guard after > before - before / 20 else {
            skipped = 0
            return
        }
        skipped = min(max(1, 2 * skipped), Self.mostSkipped)
        toSkip = skipped
    }

    /// Another upload's content follows; nothing is known of it.
    mutating func contentChanged() {
        skipped = 0
        toSkip = 0
    }

    /// The kernel has taken some content of a chunk of that epoch.
    mutating func sent(content: Int, epoch: Int, now: MonotonicTime) {
        guard mode == .auto, epoch == self.epoch else { return }
        measured?.content += content
        switch state {
        case .plain: break
        case .trying(let rate):
            if measured == nil { measured = Measurement(since: now) }
            if let seen = measured?.rate(now: now, over: Self.trial) { judge(seen, against: rate, now) }
        case .compressing(let until) where now >= until:
            state = .probing(until: now + Self.probe)
            measured = nil
        case .compressing: break
        case .probing(let until) where now >= until && measured == nil:
            // The link took everything at once: there is nothing to win.
            state = .plain
            wait = Self.waits.first
        case .probing: break
        }
    }

    /// Something waits to be sent, and the kernel takes nothing now.
    mutating func blocked(now: MonotonicTime) {
        guard mode == .auto, isPlain else { return }
        guard let measured else {
            self.measured = Measurement(since: now)
            wantsCodecRate = codecRate == nil
            return
        }
        guard let rate = measured.rate(now: now, over: Self.window) else { return }
        self.measured = Measurement(since: now)
        measuredPlain(rate, now)
    }

    /// There is nothing to send: the link is not what holds the content up.
    mutating func starved() {
        // Whoever compresses too slowly starves the link, and that counts.
        if isPlain { measured = nil }
    }

    private var isPlain: Bool {
        switch state {
        case .plain, .probing: true
        case .trying, .compressing: false
        }
    }

    /// Plain chunks leave at that rate, and would leave faster over a better link.
    private mutating func measuredPlain(_ rate: Double, _ now: MonotonicTime) {
        if case .plain = state {
            guard now >= nextTrial, let codecRate, codecRate > rate else { return }
        }
        state = .trying(against: rate)
        measured = nil
    }

    private mutating func judge(_ seen: Double, against rate: Double, _ now: MonotonicTime) {
        if seen > rate * Self.advantage {
            state = .compressing(until: now + wait)
        } else {
            state = .plain
            nextTrial = now + wait
        }
        wait = min(Interval(nanoseconds: 2 * wait.nanoseconds), Self.waits.longest)
        measured = nil
    }
}
