package import TransferModel

/// Decides for each chunk whether and how to compress it, from measurements of the link, the methods and the content.
/// It reads no clock; the time is an argument.
///
/// It starts with plain chunks. If the link limits their rate, and the fastest method that the peer accepts is faster
/// than the link, all methods are measured with some content. The method that would send content fastest over that link
/// is tried: the fastest method if the processor would be the limit, the method with the smallest output if the link
/// is. If content really is sent faster, the method stays in use. If not, plain chunks return, and the next trial comes
/// later each time. While a method is in use, the governor tests from time to time whether plain chunks would be faster
/// by now, and measures the methods again. It tests less often if the link limited compressed chunks, because plain
/// chunks, which are longer, cannot be faster on that link.
///
/// ```
///     ┌───────────────────no better──────────────┐
///     ▼                                          │
///   plain ──held up, codec faster──► trying ──better──► compressing ──time──► probing
///                                      ▲                                        │ not held up: plain
///                                      └──────────────held up───────────────────┘
/// ```
package struct CompressionGovernor: Sendable {
    /// Compression that the user wants.
    package enum Mode: Hashable, Sendable {
        case none
        /// The given method, or zlib until the peer is known to accept the method's format.
        case fixed(CompressionMethod)
        /// The method that sends content fastest; zlib is used with this level.
        case auto(zlibLevel: Int)

        /// `auto` with zlib's fastest level.
        package static let auto = Mode.auto(zlibLevel: 1)
    }

    /// What to do with a chunk.
    package enum Choice: Hashable, Sendable {
        case plain
        case compress(CompressionMethod)
        /// Send the chunk plain, and measure these methods with its first `bytes` bytes.
        case plainMeasuring([CompressionMethod], bytes: Int)
    }

    private enum State {
        case plain
        /// A trial that must beat the rate of plain chunks.
        case trying(CompressionMethod, against: Double)
        case compressing(CompressionMethod, until: MonotonicTime)
        /// A test of plain chunks, which ends with a measurement or after some time.
        case probing(until: MonotonicTime)
    }

    /// Shortest time of a measurement, so that the kernel's buffers do not distort the rate.
    private static let window = Interval.milliseconds(150)

    /// Duration of a trial, after which its rate is compared.
    private static let trial = Interval.milliseconds(300)

    /// Longest test of plain chunks: if the link has not blocked by then, the link is not the limit.
    private static let probe = Interval.milliseconds(250)

    /// Times to wait before the next trial or test; the time is doubled after each.
    private static let waits = (first: Interval.seconds(5), longest: Interval.seconds(240))

    /// Factor by which the next test is delayed if the link limited compressed chunks, because a test loses what
    /// compression saves in a quarter of a second.
    private static let patience: Int64 = 4

    /// Factor by which compressed chunks must be faster than plain ones.
    private static let advantage = 1.03

    /// Most chunks that are sent plain after content did not shrink, before compression is tried again.
    private static let mostSkipped = 32

    /// Bytes that are enough to measure the speed of a method. The ratio can only be measured with a whole frame.
    private static let firstSample = 64 << 10

    /// Fewest bytes from which a rate is computed: the kernel accepts bytes in portions, and on a slow link one portion
    /// takes longer than the times above.
    private static let fewestBytes = 128 << 10

    private struct Measurement {
        let since: MonotonicTime
        var content = 0

        /// Bytes of content per second; nil until enough were sent.
        func rate(now: MonotonicTime, over window: Interval) -> Double? {
            guard now >= since + window, content >= CompressionGovernor.fewestBytes else { return nil }
            return Double(content) / (now - since).seconds
        }
    }

    /// Number of changes of state so far. A chunk carries the number at which its choice was made, so that chunks that
    /// are still queued do not count for a later state.
    package private(set) var epoch = 0

    /// Formats that the peer is known to accept. A change invalidates all measurements.
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
    /// Measurements of the methods, the fastest first: of the fastest method alone, or of all.
    private var figures: [CompressionFigures] = []
    /// How many methods have to be measured, from the fastest on.
    private var wanted = 0
    /// Measured rate of plain chunks. A trial against this rate begins as soon as all methods are measured.
    private var rateToBeat: Double?
    /// The current measurement of the rate. It ends when there is nothing to send.
    private var measured: Measurement?
    /// Whether the link has blocked a compressed chunk since the trial began.
    private var isHeldUp = false
    private var skipped = 0
    private var toSkip = 0

    /// - Parameter formats: formats that the peer is known to accept.
    package init(_ mode: Mode, formats: Set<CompressionFormat> = [.zlib]) {
        (self.mode, self.formats) = (mode, formats)
    }

    private var isAuto: Bool { if case .auto = mode { true } else { false } }

    /// Methods to choose from, the fastest first.
    private var methods: [CompressionMethod] {
        guard case .auto(let level) = mode else { return [] }
        return [CompressionMethod(.zlib, level: level), .fast, .small].filter { formats.contains($0.format) }
    }

    /// Decides about the next chunk.
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

    /// The method in use, for chunks that are queued uncompressed; nil unless it is to be used until further notice.
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

    /// Records measurements. The rates are those of all compressors together.
    package mutating func measured(_ figures: [CompressionFigures]) {
        // Measurements that were requested before the peer announced its formats may be of other methods.
        guard figures.map(\.method) == Array(methods.prefix(figures.count)) else { return }
        self.figures = figures
    }

    /// Records the sizes of a compressed chunk.
    package mutating func compressed(before: Int, after: Int) {
        guard after > before - before / 20 else {
            skipped = 0
            return
        }
        skipped = min(max(1, 2 * skipped), Self.mostSkipped)
        toSkip = skipped
    }

    /// Forgets what is known of the content, because the content of another upload follows.
    package mutating func contentChanged() {
        skipped = 0
        toSkip = 0
    }

    /// Records that the kernel has accepted content of a chunk that has this epoch.
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
            // The link never blocked, so compression has no advantage.
            state = .plain
            wait = Self.waits.first
        case .probing: break
        }
    }

    /// Records that bytes wait to be sent, and that the kernel accepts none of them now.
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

    /// Records that there are no bytes to send, so that the link is not the limit.
    package mutating func starved() {
        // If a compressor is too slow, the link is idle as well, and that time must count against the compressor.
        if isPlain { (measured, rateToBeat) = (nil, nil) }
    }

    private var isProbing: Bool { if case .probing = state { true } else { false } }

    private var isPlain: Bool {
        switch state {
        case .plain, .probing: true
        case .trying, .compressing: false
        }
    }

    /// Uses a measured rate of plain chunks that was limited by the link.
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
