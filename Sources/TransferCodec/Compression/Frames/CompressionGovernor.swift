package import TransferModel

/// Decides chunk by chunk whether compressing pays, and how, from what it sees of the link, the methods and the content. Knows
/// no clock; the time is an argument.
///
/// It starts with plain chunks. When the link is what holds them up, and the quickest method that the other side takes is faster
/// than the link, all methods are measured with some of the content. The one that would have it leave fastest over that link is
/// tried: the quickest where the processor would be the limit, the one that makes the content smallest where the link is. If content
/// really leaves faster, it stays with that; if not it goes back, and waits longer before each further trial. Once compressing
/// has won, it looks from time to time whether plain chunks would leave faster by now, and measures the methods again: later where
/// the link held up what was compressed, because what is longer cannot leave faster there.
///
/// ```
///     ┌───────────────────no better──────────────┐
///     ▼                                          │
///   plain ──held up, codec faster──► trying ──better──► compressing ──time──► probing
///                                      ▲                                        │ not held up: plain
///                                      └──────────────held up───────────────────┘
/// ```
package struct CompressionGovernor: Sendable {
    /// What is wanted.
    package enum Mode: Hashable, Sendable {
        case none
        /// This method, or zlib as long as the other side is not known to take its format.
        case fixed(CompressionMethod)
        /// What makes the content arrive sooner; of zlib with that level.
        case auto(zlibLevel: Int)

        /// `auto` with zlib as it is fastest.
        package static let auto = Mode.auto(zlibLevel: 1)
    }

    /// What to do with a chunk.
    package enum Choice: Hashable, Sendable {
        case plain
        case compress(CompressionMethod)
        /// Send it as it is, and see what these methods would have done with so many bytes of it.
        case plainMeasuring([CompressionMethod], bytes: Int)
    }

    private enum State {
        case plain
        /// The rate of plain chunks has to be beaten.
        case trying(CompressionMethod, against: Double)
        case compressing(CompressionMethod, until: MonotonicTime)
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

    /// How many times as long it takes to the next look where the link held up compressed chunks. A look at plain chunks costs a
    /// quarter of a second of what compressing gains.
    private static let patience: Int64 = 4

    /// By how much compressing has to win.
    private static let advantage = 1.03

    /// Content that didn't shrink: the next chunks of it are left alone, up to this many, before it is tried again.
    private static let mostSkipped = 32

    /// Bytes of content that show how quick a method is; how small it makes content, only a whole frame shows.
    private static let firstSample = 64 << 10

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
    package private(set) var epoch = 0

    /// What the other side is known to take. When that changes, what was seen of methods says nothing any more.
    package var formats: Set<CompressionFormat> {
        didSet {
            guard formats != oldValue else { return }
            (state, measured, figures, rateToBeat) = (.plain, nil, [], nil)
        }
    }

    private let mode: Mode
    private var state = State.plain { didSet { epoch += 1 } }
    private var wait = Self.waits.first
    private var nextTrial = MonotonicTime(nanoseconds: .min)
    /// What was seen of the methods, the quickest first: of that one alone, or of all.
    private var figures: [CompressionFigures] = []
    /// Methods that are to be measured, from the quickest on.
    private var wanted = 0
    /// At what rate plain chunks left, when that makes a trial worth it as soon as all methods are measured.
    private var rateToBeat: Double?
    /// Since when bytes have been leaving without a pause.
    private var measured: Measurement?
    /// Whether the link has held up a chunk that was compressed, since compressing is tried.
    private var isHeldUp = false
    private var skipped = 0
    private var toSkip = 0

    /// - Parameter formats: what the other side is known to take.
    package init(_ mode: Mode, formats: Set<CompressionFormat> = [.zlib]) {
        (self.mode, self.formats) = (mode, formats)
    }

    private var isAuto: Bool { if case .auto = mode { true } else { false } }

    /// What there is to choose from, the quickest first.
    private var methods: [CompressionMethod] {
        guard case .auto(let level) = mode else { return [] }
        return [CompressionMethod(.zlib, level: level), .fast, .small].filter { formats.contains($0.format) }
    }

    /// What to do with the next chunk.
    package mutating func choose() -> Choice {
        switch (mode, state) {
        case (.none, _): return .plain
        case (.auto, .plain), (.auto, .probing):
            guard wanted > 0 else { return .plain }
            defer { wanted = 0 }
            return .plainMeasuring(
                Array(methods.prefix(wanted)), bytes: wanted == 1 ? Self.firstSample : FrameCompressor.mostContent)
        case (.fixed(let method), _):
            let usable = formats.contains(method.format) ? method : CompressionMethod(.zlib, level: method.level)
            return formats.contains(usable.format) ? compressing(usable) : .plain
        case (.auto, .trying(let method, _)), (.auto, .compressing(let method, _)): return compressing(method)
        }
    }

    /// How chunks are compressed that nobody has decided about yet, where that is by one method until further notice: then it
    /// is worth it for what waits to be sent as well.
    package var method: CompressionMethod? {
        switch (state, toSkip) {
        case (.trying(let method, _), 0), (.compressing(let method, _), 0): method
        default: nil
        }
    }

    private mutating func compressing(_ method: CompressionMethod) -> Choice {
        guard toSkip > 0 else { return .compress(method) }
        toSkip -= 1
        return .plain
    }

    /// The methods were measured; their rates are those of all compressors together.
    package mutating func measured(_ figures: [CompressionFigures]) {
        // Those that were asked for before the other side said what it takes are of others.
        guard figures.map(\.method) == Array(methods.prefix(figures.count)) else { return }
        self.figures = figures
    }

    /// A chunk was compressed.
    package mutating func compressed(before: Int, after: Int) {
        guard after > before - before / 20 else {
            skipped = 0
            return
        }
        skipped = min(max(1, 2 * skipped), Self.mostSkipped)
        toSkip = skipped
    }

    /// Another upload's content follows; nothing is known of it.
    package mutating func contentChanged() {
        skipped = 0
        toSkip = 0
    }

    /// The kernel has taken some content of a chunk of that epoch.
    package mutating func sent(content: Int, epoch: Int, now: MonotonicTime) {
        guard isAuto, epoch == self.epoch else { return }
        measured?.content += content
        switch state {
        case .plain: break
        case .trying(let method, let rate):
            if measured == nil { measured = Measurement(since: now) }
            if let seen = measured?.rate(now: now, over: Self.trial) { judge(method, seen, against: rate, now) }
        case .compressing(_, let until) where now >= until:
            state = .probing(until: now + Self.probe)
            figures = []
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
    package mutating func blocked(now: MonotonicTime) {
        guard isAuto else { return }
        guard isPlain else {
            isHeldUp = true
            return
        }
        guard let measured else {
            self.measured = Measurement(since: now)
            if figures.isEmpty { wanted = isProbing ? methods.count : min(1, methods.count) }
            return
        }
        if let rateToBeat, figures.count == methods.count { return tryBest(against: rateToBeat) }
        guard let rate = measured.rate(now: now, over: Self.window) else { return }
        self.measured = Measurement(since: now)
        measuredPlain(rate, now)
    }

    /// There is nothing to send: the link is not what holds the content up.
    package mutating func starved() {
        // Whoever compresses too slowly starves the link, and that counts.
        if isPlain { (measured, rateToBeat) = (nil, nil) }
    }

    private var isProbing: Bool { if case .probing = state { true } else { false } }

    private var isPlain: Bool {
        switch state {
        case .plain, .probing: true
        case .trying, .compressing: false
        }
    }

    /// Plain chunks leave at that rate, and would leave faster over a better link.
    private mutating func measuredPlain(_ rate: Double, _ now: MonotonicTime) {
        if case .plain = state {
            guard now >= nextTrial, figures.first?.rate ?? .infinity > rate else { return }
        }
        guard !figures.isEmpty, figures.count == methods.count else {
            (wanted, rateToBeat) = (methods.count, rate)
            return
        }
        tryBest(against: rate)
    }

    private mutating func tryBest(against rate: Double) {
        (rateToBeat, measured, isHeldUp) = (nil, nil, false)
        guard let best = figures.best(over: rate) else { return }
        state = .trying(best.method, against: rate)
    }

    private mutating func judge(
        _ method: CompressionMethod, _ seen: Double, against rate: Double, _ now: MonotonicTime
    ) {
        if seen > rate * Self.advantage {
            let patience = isHeldUp ? Self.patience : 1
            state = .compressing(method, until: now + Interval(nanoseconds: patience * wait.nanoseconds))
        } else {
            (state, figures) = (.plain, [])
            nextTrial = now + wait
        }
        wait = min(Interval(nanoseconds: 2 * wait.nanoseconds), Self.waits.longest)
        measured = nil
    }
}
