import Glibc
import Testing
import TransferCodec
import TransferIO
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferClient

@Suite struct LaneProducerTests {
    private static let buffers = BufferPool(size: OutgoingChunk.capacity, count: 64)

    /// Random mixes of everything that affects the needed room: no frame may be cut, and no bound exceeded.
    @Test(arguments: 1...16 as ClosedRange<UInt64>)
    func everyMixFitsItsChunks(_ seed: UInt64) async throws {
        var generator = SplitMix64(seed: seed)
        // Half of the contents can be compressed.
        let contents = (0..<80).map { number in
            let bytes = generator.bytes(Self.size(&generator))
            return number.isMultiple(of: 2) ? bytes : bytes.map { $0 & 7 }
        }
        let uploads = contents.enumerated().map { number, content in
            let name = Self.path(number, length: Int.random(in: 10...Limits.path, using: &generator))
            return switch Int.random(in: 0..<3, using: &generator) {
            case 0: Upload.stream(PieceSource(Self.pieces(content, &generator)), name: name)
            case 1: Upload.bytes(content, name: name, kind: .audio)
            default: Upload.bytes(content, name: name)
            }
        }
        var configuration = ClientConfiguration.patient
        configuration.digest = seed.isMultiple(of: 2) ? .sha256 : .xxh128
        let compressors = CompressorPool()
        let producer = Self.producer(uploads, configuration)
        var frames = Frames()
        var answer = LaneProducer.Answer.none
        while true {
            let chunk = await Self.emptyChunk()
            let next = producer.fill(chunk, .init(allowance: 7, answer: answer))
            #expect(chunk.begun.count <= 7)
            #expect(chunk.reports.isEmpty && chunk.abandoned.isEmpty, "seed \(seed)")
            #expect(chunk.count <= OutgoingChunk.capacity)
            if seed.isMultiple(of: 3) {
                let before = chunk.count
                compressors.lend(CompressionMethod(.zlib)) { compressor in
                    chunk.compress(as: .zlib) { compressor.compress($0) }
                }
                #expect(chunk.count <= before)
            }
            try frames.add(chunk)
            answer = next == .waitForAccept ? .accepted : .none
            guard next != .exhausted else { break }
        }
        #expect(frames.uploads.count == contents.count)
        for (upload, content) in zip(frames.uploads, contents) {
            let digest = ContentDigester.digest(configuration.digestFunction, content)
            let isSame = upload.content == content
            #expect(isSame && upload.end == End(size: UInt64(content.count), digest: digest), "seed \(seed)")
        }
    }

    private static func emptyChunk() async -> OutgoingChunk { OutgoingChunk(await buffers.take()) }

    private static func producer(
        _ uploads: [Upload], _ configuration: ClientConfiguration = ClientConfiguration()
    ) -> LaneProducer {
        LaneProducer(feed: UploadFeed(uploads, folder: ""), configuration: configuration)
    }

    /// Fills chunks until the producer has no more frames.
    ///
    /// - Returns: the reasons of aborted uploads.
    private static func fillAll(_ producer: LaneProducer, _ frames: inout Frames) async throws -> [Failure] {
        var abandoned: [Failure] = []
        while true {
            let chunk = await emptyChunk()
            let next = producer.fill(chunk, .init(allowance: 10))
            try frames.add(chunk)
            abandoned += chunk.abandoned.map(\.1)
            guard next == .more else { return abandoned }
        }
    }

    /// A file with a time in the past, so that every change shows.
    private static func oldFile(in directory: TemporaryDirectory, size: Int) throws -> String {
        let path = directory.path("file")
        try Files.write(path, [UInt8](repeating: 7, count: size))
        try Files.setTime(path, 1_000_000)
        return path
    }

    /// Sizes that are mostly small and often near a boundary.
    private static func size(_ generator: inout SplitMix64) -> Int {
        let boundaries = [0, 64, 65_534, 65_535, 65_536, OutgoingChunk.payloadSize, 2 * OutgoingChunk.payloadSize]
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<5: return Int.random(in: 0...2000, using: &generator)
        case 5..<9:
            let boundary = boundaries.randomElement(using: &generator) ?? 0
            return max(0, boundary + Int.random(in: -2...2, using: &generator))
        default: return Int.random(in: 0...1_000_000, using: &generator)
        }
    }

    private static func path(_ number: Int, length: Int) -> String {
        var path = "\(number)/"
        while path.utf8.count < length { path += path.utf8.count % 200 == 199 ? "/" : "n" }
        return path.hasSuffix("/") ? path + "n" : path
    }

    private static func pieces(_ content: [UInt8], _ generator: inout SplitMix64) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = content[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...300_000, using: &generator))
            pieces.append(Array(piece))
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }

    @Test func longestPathsLeaveRoomForContent() async throws {
        for size in [65_533, 65_534, 65_535, OutgoingChunk.payloadSize - 1, OutgoingChunk.payloadSize] {
            let upload = Upload.bytes([UInt8](repeating: 1, count: size), name: Self.path(0, length: Limits.path - 1))
            var configuration = ClientConfiguration.patient
            configuration.digest = .sha256
            var frames = Frames()
            #expect(try await Self.fillAll(Self.producer([upload, upload], configuration), &frames).isEmpty)
            #expect(frames.uploads.map(\.content.count) == [size, size])
        }
    }

    @Test(arguments: SourceFileTests.Change.allCases)
    func aLongFileThatChangesIsTakenBack(_ change: SourceFileTests.Change) async throws {
        let directory = try TemporaryDirectory()
        let path = try Self.oldFile(in: directory, size: 700_000)
        let producer = Self.producer([.path(path), .text("after", name: "after")])
        var frames = Frames()
        let first = await Self.emptyChunk()
        #expect(producer.fill(first, .init(allowance: 10)) == .more)
        try frames.add(first)
        try change.make(path)
        let abandoned = try await Self.fillAll(producer, &frames)
        #expect(abandoned == (change.showsThroughLinks ? [.changed] : []))
        #expect(frames.uploads.map(\.isAborted) == [change.showsThroughLinks, false])
        #expect(frames.uploads.last?.content == Array("after".utf8))
    }

    /// A small file is opened while its chunk is full, and changes before the next chunk. Then it must not be begun.
    @Test(arguments: SourceFileTests.Change.allCases)
    func aSmallFileThatChangesIsNotBegun(_ change: SourceFileTests.Change) async throws {
        let directory = try TemporaryDirectory()
        let path = try Self.oldFile(in: directory, size: 60_000)
        let before = (0..<4).map { Upload.bytes([UInt8](repeating: 1, count: 60_000), name: "before\($0)") }
        let producer = Self.producer(before + [.path(path), .text("after", name: "after")])
        let first = await Self.emptyChunk()
        #expect(producer.fill(first, .init(allowance: 10)) == .more)
        #expect(first.begun.count == 4)
        try change.make(path)
        let second = await Self.emptyChunk()
        #expect(producer.fill(second, .init(allowance: 10)) == .exhausted)
        #expect(second.begun.map(\.label) == (change.showsThroughLinks ? ["after"] : [path, "after"]))
        #expect(second.reports.map(\.result) == (change.showsThroughLinks ? [.sourceChanged] : []))
        var frames = Frames()
        try frames.add(second)
        #expect(frames.uploads.last?.begin.path == "after")
    }

    @Test func whatWasOpenedGoesBackWhenTheConnectionIsLost() async throws {
        let uploads = (0..<6).map { Upload.bytes([UInt8](repeating: 1, count: 60_000), name: "\($0)") }
        let feed = UploadFeed(uploads, folder: "")
        let producer = LaneProducer(feed: feed, configuration: ClientConfiguration())
        let chunk = await Self.emptyChunk()
        #expect(producer.fill(chunk, .init(allowance: 10)) == .more)
        producer.stop()
        feed.putBack(chunk.begun)
        var labels: [String] = []
        while case .upload(let upload)? = feed.next() { labels.append(upload.label) }
        #expect(labels == ["0", "1", "2", "3", "4", "5"])
    }

    @Test func nothingBeginsWithoutAllowance() async throws {
        let producer = Self.producer([.text("x", name: "x")])
        let chunk = await Self.emptyChunk()
        #expect(producer.fill(chunk, .init(allowance: 0)) == .waitForAllowance)
        #expect(chunk.isEmpty && chunk.begun.isEmpty)
    }
}
