import Testing
import TransferModel

@testable import TransferClient

/// Against a model of a link, with virtual time.
@Suite struct CompressionGovernorTests {
    private typealias Mode = ClientConfiguration.Compression

    /// What a push runs over.
    struct Path: CustomTestStringConvertible {
        /// Bytes per second on the wire.
        var link: Double
        /// Bytes of content per second that the compressors take in together.
        var codec: Double
        /// Of compressed to plain size.
        var ratio: Double
        /// Bytes of content per second that the server inflates.
        var inflation = Double.infinity

        var testDescription: String {
            "link \(link / 1e6) MB/s, codec \(codec / 1e6), ratio \(ratio), inflation \(inflation / 1e6)"
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

    /// Never slower than the better of the two by more than 5 %, but for what it takes to find out.
    @Test(arguments: paths) func autoIsNearTheBetterOne(_ path: Path) {
        let seconds = max(30, 120e6 / path.link)
        let plain = Self.pushed(.none, path, seconds: seconds)
        let compressed = Self.pushed(.zlib, path, seconds: seconds)
        let auto = Self.pushed(.auto, path, seconds: seconds)
        #expect(auto >= 0.95 * max(plain, compressed))
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

    /// A source that is slower than the link gains nothing, and costs no codec.
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
        var zlib = CompressionGovernor(.zlib)
        let choices = (none.choose(), zlib.choose())
        #expect(choices == (.plain, .compress))
    }

    /// What doesn't shrink is tried ever more rarely, and other content afresh.
    @Test func contentThatDoesNotShrinkIsSkipped() {
        var governor = CompressionGovernor(.zlib)
        var tried = 0
        for _ in 0..<1000 where governor.choose() == .compress {
            tried += 1
            governor.compressed(before: 1000, after: 960)
        }
        #expect((30...40).contains(tried))
        governor.contentChanged()
        var afresh = governor.choose()
        #expect(afresh == .compress)
        governor.compressed(before: 1000, after: 940)
        afresh = governor.choose()
        #expect(afresh == .compress)
    }

    private static func pushed(_ mode: Mode, _ path: Path, seconds: Double) -> Double {
        var simulation = Simulation(mode, path)
        simulation.run(seconds: seconds)
        return simulation.content
    }
}

/// One connection with an endless source: chunks are compressed one after the other, wait in a queue, and go through a
/// buffer of the kernel that the link empties.
private struct Simulation {
    var path: CompressionGovernorTests.Path
    private(set) var content = 0.0
    private(set) var lastWasCompressed = false

    private static let chunk = 256.0 * 1024

    /// Bytes that the kernel holds: it grows its buffers with what the link takes (tcp_wmem in tcp(7)).
    private var buffer: Double { min(4e6, max(2 * Self.chunk, path.link * 0.3)) }

    private var governor: CompressionGovernor
    private var now = 0.0
    private var inBuffer = 0.0
    /// When the compressors are done with what they have.
    private var codecFree = 0.0

    init(_ mode: ClientConfiguration.Compression, _ path: CompressionGovernorTests.Path) {
        governor = CompressionGovernor(mode)
        self.path = path
    }

    private var time: MonotonicTime { MonotonicTime(nanoseconds: Int64(now * 1e9)) }

    mutating func run(seconds: Double) {
        let end = now + seconds
        while now < end { sendChunk() }
    }

    private mutating func sendChunk() {
        let choice = governor.choose()
        let epoch = governor.epoch
        lastWasCompressed = choice == .compress
        if choice == .plainMeasuringCodec { governor.codecMeasured(path.codec) }
        var size = Self.chunk
        // The server takes in no more than it inflates.
        var rate = path.link
        if lastWasCompressed {
            size *= path.ratio
            rate = min(rate, path.inflation * path.ratio)
            codecFree = max(codecFree, now) + Self.chunk / path.codec
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
        // The source takes its time, too: some 4 GB/s.
        drain(until: now + Self.chunk / 4e9, rate)
        governor.sent(content: Int(Self.chunk), epoch: epoch, now: time)
    }

    private mutating func drain(until moment: Double, _ rate: Double) {
        inBuffer = max(0, inBuffer - (moment - now) * rate)
        now = moment
    }
}
