import Testing
import TransferCodec
import TransferModel

/// Tests of the governor with a model of a link, in virtual time.
@Suite struct CompressionGovernorTests {
    private typealias Mode = CompressionGovernor.Mode

    /// The link, the processors and the content of a push.
    struct Path: CustomTestStringConvertible {
        /// Bytes per second on the wire.
        var link: Double
        /// Bytes of content per second that all compressors together process by the quickest method.
        var codec: Double
        /// Ratio of compressed to plain size by the quickest method.
        var ratio: Double
        /// Bytes of content per second that the server inflates.
        var inflation = Double.infinity

        var testDescription: String {
            "link \(link / 1e6) MB/s, codec \(codec / 1e6), ratio \(ratio), inflation \(inflation / 1e6)"
        }

        /// zstd is slower and makes content smaller, as on log text (docs/PERFORMANCE.md); incompressible content does
        /// not shrink with zstd either.
        func figures(_ method: CompressionMethod) -> CompressionFigures {
            let (rate, ratio) =
                switch method {
                case .fast: (0.54 * codec, ratio == 1 ? 1 : 0.91 * self.ratio)
                case .small: (0.2 * codec, ratio == 1 ? 1 : 0.82 * self.ratio)
                default: (codec, self.ratio)
                }
            return CompressionFigures(method: method, rate: rate, ratio: ratio)
        }
    }

    private static let paths: [Path] = [
        Path(link: 1e5, codec: 300e6, ratio: 0.42), Path(link: 1e6, codec: 300e6, ratio: 0.42),
        Path(link: 12.5e6, codec: 300e6, ratio: 0.42), Path(link: 12.5e6, codec: 300e6, ratio: 1),
        Path(link: 12.5e6, codec: 60e6, ratio: 0.9), Path(link: 50e6, codec: 60e6, ratio: 0.4),
        Path(link: 125e6, codec: 300e6, ratio: 0.42), Path(link: 125e6, codec: 60e6, ratio: 0.42),
        Path(link: 125e6, codec: 300e6, ratio: 0.42, inflation: 50e6), Path(link: 1.2e9, codec: 300e6, ratio: 0.1),
        Path(link: 1.2e9, codec: 300e6, ratio: 1), Path(link: 290e6, codec: 300e6, ratio: 0.5),
    ]

    private static let fixed: [Mode] = [
        .none, .fixed(CompressionMethod(.zlib)), .fixed(.fast), .fixed(.small),
    ]

    /// The automatic mode is at most 5 % slower than the best fixed mode, except for the time that it needs to find
    /// that mode.
    @Test(arguments: paths) func autoIsNearTheBestOne(_ path: Path) {
        let seconds = max(30, 120e6 / path.link)
        let best = Self.fixed.map { Self.pushed($0, path, seconds: seconds) }.max() ?? 0
        #expect(Self.pushed(.auto, path, seconds: seconds) >= 0.95 * best)
    }

    /// Against a server that does not accept zstd.
    @Test(arguments: paths) func withoutZstdItIsNearTheBetterOneOfTheOthers(_ path: Path) {
        let seconds = max(30, 120e6 / path.link)
        let best = Self.fixed[..<2].map { Self.pushed($0, path, seconds: seconds, [.zlib]) }.max() ?? 0
        var simulation = Simulation(.auto, path, [.zlib])
        simulation.run(seconds: seconds)
        #expect(simulation.content >= 0.95 * best)
        #expect(simulation.used.isSubset(of: [CompressionMethod(.zlib)]))
    }

    /// The processor limits one method, and the link limits the other.
    @Test func theMethodFollowsFromTheLink() {
        let expected: [(Double, CompressionMethod)] = [
            (1e6, .small), (12.5e6, .small), (60e6, .fast), (125e6, CompressionMethod(.zlib)),
        ]
        for (link, method) in expected {
            var simulation = Simulation(.auto, Path(link: link, codec: 640e6, ratio: 0.42))
            simulation.run(seconds: 20)
            #expect(simulation.last == .compress(method), "\(link)")
        }
    }

    /// The other side may announce what it accepts after the content has begun.
    @Test func zstdIsUsedFromWhenItIsKnownToBeTaken() {
        var simulation = Simulation(.auto, Path(link: 12.5e6, codec: 640e6, ratio: 0.42), [.zlib])
        simulation.run(seconds: 2)
        #expect(simulation.last == .compress(CompressionMethod(.zlib)))
        simulation.takesZstd()
        simulation.run(seconds: 3)
        #expect(simulation.last == .compress(.small))
        var fixed = CompressionGovernor(.fixed(CompressionMethod(.zstd, level: 5)))
        let before = fixed.choose()
        #expect(before == .compress(CompressionMethod(.zlib, level: 5)))
        fixed.formats = [.zlib, .zstd]
        let after = fixed.choose()
        #expect(after == .compress(CompressionMethod(.zstd, level: 5)))
    }

    /// Figures of methods that are no longer allowed have no effect.
    @Test func lateFiguresAreOfNoUse() {
        var governor = CompressionGovernor(.auto)
        governor.formats = [.zstd]
        governor.measured([
            CompressionFigures(method: .init(.zlib), rate: 1e9, ratio: 0.1),
            .init(method: .fast, rate: 1e9, ratio: 0.1), .init(method: .small, rate: 1e9, ratio: 0.1),
        ])
        for step in 0..<100 as Range<Int64> {
            let now = MonotonicTime(nanoseconds: step * 50_000_000)
            governor.sent(content: 256 << 10, epoch: governor.epoch, now: now)
            governor.blocked(now: now)
            let choice = governor.choose()
            if case .compress(let method) = choice { #expect(method.format == .zstd) }
        }
    }

    /// A client that accepts no compression gets plain content.
    @Test func nothingIsCompressedForWhoTakesNothing() {
        var simulation = Simulation(.auto, Path(link: 1e6, codec: 640e6, ratio: 0.42), [])
        simulation.run(seconds: 20)
        #expect(simulation.used.isEmpty)
        var governor = CompressionGovernor(.fixed(.small), formats: [])
        let choice = governor.choose()
        #expect(choice == .plain)
    }

    @Test func aLinkThatBecomesFasterIsNoticed() {
        var simulation = Simulation(.auto, Path(link: 12.5e6, codec: 100e6, ratio: 0.42))
        simulation.run(seconds: 20)
        #expect(simulation.lastWasCompressed)
        simulation.path.link = 1.2e9
        simulation.run(seconds: 30)
        #expect(!simulation.lastWasCompressed)
    }

    @Test func aLinkThatBecomesSlowerIsNoticed() {
        var simulation = Simulation(.auto, Path(link: 1.2e9, codec: 100e6, ratio: 0.42))
        simulation.run(seconds: 5)
        #expect(!simulation.lastWasCompressed)
        simulation.path.link = 12.5e6
        simulation.run(seconds: 5)
        #expect(simulation.lastWasCompressed)
    }

    /// Plain chunks are longer and would only wait longer for the link. If the processor is the limit, they may be
    /// faster.
    @Test func aLookAtPlainChunksCanWaitWhereTheLinkIsTheLimit() {
        for (link, codec, mayWait) in [(12.5e6, 300e6, true), (50e6, 60e6, false)] {
            var simulation = Simulation(.auto, Path(link: link, codec: codec, ratio: 0.4))
            simulation.run(seconds: 2)
            #expect(simulation.lastWasCompressed)
            let before = simulation.plainChunks
            simulation.run(seconds: 15)
            #expect((simulation.plainChunks == before) == mayWait, "\(link)")
            simulation.run(seconds: 30)
            #expect(simulation.plainChunks > before)
        }
    }

    /// Compression does not help a source that is slower than the link, so the codec is not used.
    @Test func aSlowSourceIsLeftAlone() {
        var governor = CompressionGovernor(.auto)
        for step in 0..<1000 as Range<Int64> {
            let choice = governor.choose()
            #expect(choice == .plain)
            governor.sent(content: 1000, epoch: governor.epoch, now: MonotonicTime(nanoseconds: step * 10_000_000))
            governor.starved()
        }
    }

    @Test func modesThatLeaveNoChoice() {
        var none = CompressionGovernor(.none)
        var zlib = CompressionGovernor(.fixed(CompressionMethod(.zlib)))
        let choices = (none.choose(), zlib.choose())
        #expect(choices == (.plain, .compress(CompressionMethod(.zlib))))
    }

    /// Incompressible content is tried less and less often, and new content is tried at once.
    @Test func contentThatDoesNotShrinkIsSkipped() {
        var governor = CompressionGovernor(.fixed(.small), formats: [.zstd])
        var tried = 0
        for _ in 0..<1000 where governor.choose() == .compress(.small) {
            tried += 1
            governor.compressed(before: 1000, after: 960)
        }
        #expect((30...40).contains(tried))
        governor.contentChanged()
        var afresh = governor.choose()
        #expect(afresh == .compress(.small))
        governor.compressed(before: 1000, after: 940)
        afresh = governor.choose()
        #expect(afresh == .compress(.small))
    }

    private static func pushed(
        _ mode: Mode, _ path: Path, seconds: Double, _ formats: Set<CompressionFormat> = [.zlib, .zstd]
    ) -> Double {
        var simulation = Simulation(mode, path, formats)
        simulation.run(seconds: seconds)
        return simulation.content
    }
}

/// One connection with an endless source: chunks are compressed one after another, wait in a queue, and pass through a
/// buffer of the kernel that the link empties.
private struct Simulation {
    var path: CompressionGovernorTests.Path
    private(set) var content = 0.0
    private(set) var last = CompressionGovernor.Choice.plain
    private(set) var used: Set<CompressionMethod> = []
    private(set) var plainChunks = 0

    var lastWasCompressed: Bool { if case .compress = last { true } else { false } }

    private static let chunk = 256.0 * 1024

    /// Size of the kernel's buffer, which grows with the speed of the link (tcp_wmem in tcp(7)).
    private var buffer: Double { min(4e6, max(2 * Self.chunk, path.link * 0.3)) }

    private var governor: CompressionGovernor
    private var now = 0.0
    private var inBuffer = 0.0
    /// The time when the compressors will have finished their chunks.
    private var codecFree = 0.0

    init(
        _ mode: CompressionGovernor.Mode, _ path: CompressionGovernorTests.Path,
        _ formats: Set<CompressionFormat> = [.zlib, .zstd]
    ) {
        governor = CompressionGovernor(mode, formats: formats)
        self.path = path
    }

    mutating func takesZstd() { governor.formats.insert(.zstd) }

    private var time: MonotonicTime { MonotonicTime(nanoseconds: Int64(now * 1e9)) }

    mutating func run(seconds: Double) {
        let end = now + seconds
        while now < end { sendChunk() }
    }

    private mutating func sendChunk() {
        last = governor.choose()
        let epoch = governor.epoch
        var size = Self.chunk
        // The server accepts only as much as it inflates.
        var rate = path.link
        switch last {
        case .plain: plainChunks += 1
        case .plainMeasuring(let methods, _):
            plainChunks += 1
            governor.measured(methods.map(path.figures))
        case .compress(let method):
            used.insert(method)
            let figures = path.figures(method)
            size *= figures.ratio
            rate = min(rate, path.inflation * figures.ratio)
            codecFree = max(codecFree, now) + Self.chunk / figures.rate
            if codecFree > now {
                governor.starved()
                drain(until: codecFree, rate)
            }
            governor.compressed(before: Int(Self.chunk), after: Int(size))
        }
        if inBuffer + size > buffer {
            governor.blocked(now: time)
            drain(until: now + (inBuffer + size - buffer) / rate, rate)
        }
        inBuffer += size
        content += Self.chunk
        // The source takes time as well: about 4 GB/s.
        drain(until: now + Self.chunk / 4e9, rate)
        governor.sent(content: Int(Self.chunk), epoch: epoch, now: time)
    }

    private mutating func drain(until moment: Double, _ rate: Double) {
        inBuffer = max(0, inBuffer - (moment - now) * rate)
        now = moment
    }
}
